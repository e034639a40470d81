// A ring of messages whose two indexes are checked without the lock; consumers may overtake the producer.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
enum { kSlots = 4, kMessages = 8 };
static struct message {
  int number;
  const char* text;
} ring[kSlots];
static atomic_int head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int done;
static void* producer(void* arg) {
  (void)arg;
  for (int i = 1; i <= kMessages; ++i) {
    while (head - tail >= kSlots) {
      if (done) return 0;
    }
    ring[head % kSlots].number = i;
    ring[head % kSlots].text = "message";
    ++head;
  }
  return 0;
}
static int length(const char* s) {
  int n = 0;
  while (*s++) ++n;
  return n;
}
static void* consumer(void* arg) {
  int* total = arg;
  for (int k = 0; k < kMessages / 2; ++k) {
    while (tail >= head)
      if (done) return 0;
    struct message m;
    pthread_mutex_lock(&lock);
    m = ring[tail % kSlots];
    ring[tail % kSlots].text = 0;
    ++tail;
    pthread_mutex_unlock(&lock);
    *total += length(m.text);
  }
  return 0;
}
int main(void) {
  pthread_t p, c[2];
  int totals[2] = {0, 0};
  pthread_create(&p, 0, producer, 0);
  for (int i = 0; i < 2; ++i) pthread_create(&c[i], 0, consumer, &totals[i]);
  pthread_join(p, 0);
  for (int i = 0; i < 2; ++i) pthread_join(c[i], 0);
  return 0;
}
