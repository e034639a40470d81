// Workers use a node that another thread takes away: they die of a null pointer, but for a handler that leaves
// by siglongjmp and lets them go on. What was begun then is not undone.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
struct node {
  int value;
};
static struct node one = {1};
static struct node* volatile current = &one;
static int begun, done;
static __thread sigjmp_buf out;
static void rescue(int number) {
  (void)number;
  siglongjmp(out, 3);
}
static void use(int round) {
  if (current == NULL) return;
  begun += round;
  done += round * current->value;
}
static void* work(void* unused) {
  for (int i = 1; i < 4; ++i) {
    if (sigsetjmp(out, 1) != 0) continue;
    use(i);
  }
  return unused;
}
static void* take(void* unused) {
  current = NULL;
  return unused;
}
int main(void) {
  signal(SIGSEGV, rescue);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, work, NULL);
  pthread_create(&threads[1], NULL, take, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(begun == done);
  return 0;
}
