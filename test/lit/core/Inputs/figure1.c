// Figure 1 of Weeratunge, Zhang, Jagannathan (ASPLOS 2010): the flag x says whether p may be used, and another thread resets it. Computing in
// place of waiting makes the failure nearly certain when it runs natively; for a controlled run it is nothing.
#include <pthread.h>
#include <stddef.h>

struct node {
  int value;
};

volatile int x;
int a[3] = {0, 0, 1};
struct node node;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void compute(long rounds) {
  __asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

__attribute__((noinline)) static void use(struct node* p) {
  p->value = p->value + 1;
}

static void* first(void* arg) {
  (void)arg;
  for (int i = 0; i < 3; ++i) {
    x = 0;
    struct node* p = &node;
    pthread_mutex_lock(&lock);
    if (a[i]) {
      x = 1;
      p = NULL;
    }
    pthread_mutex_unlock(&lock);
    if (a[i]) compute(200000000);
    if (!x) use(p);
  }
  return NULL;
}

static void* second(void* arg) {
  (void)arg;
  compute(40000000);
  x = 0;
  return NULL;
}

int main(void) {
  pthread_t one, other;
  pthread_create(&one, NULL, first, NULL);
  pthread_create(&other, NULL, second, NULL);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
  return 0;
}
