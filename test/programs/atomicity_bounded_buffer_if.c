// A bounded buffer (CLAP's bbuf) with one producer of four items and two consumers of two items each.
//
// The bug: get() tests with `if` instead of `while`. Between the signal and the moment the woken consumer has
// the lock again, the other consumer can take the item; the first one takes from an empty buffer.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B a consumer finds nothing and waits before the other one takes the item it is woken for
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { kCapacity = 2, kItems = 4, kConsumers = 2 };

struct buffer {
  pthread_mutex_t lock;
  pthread_cond_t not_empty;
  pthread_cond_t not_full;
  int slots[kCapacity];
  int first;
  int count;
};

struct buffer buffer = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

static void put(struct buffer* b, int value) {
  pthread_mutex_lock(&b->lock);
  while (b->count == kCapacity) pthread_cond_wait(&b->not_full, &b->lock);
  b->slots[(b->first + b->count) % kCapacity] = value;
  ++b->count;
  pthread_cond_signal(&b->not_empty);
  pthread_mutex_unlock(&b->lock);
}

static int get(struct buffer* b) {
  pthread_mutex_lock(&b->lock);
#ifdef FIXED
  while (b->count == 0) pthread_cond_wait(&b->not_empty, &b->lock);
#else
  if (b->count == 0) pthread_cond_wait(&b->not_empty, &b->lock);  // [A]
#endif
  assert(b->count > 0);
  const int value = b->slots[b->first];
  b->first = (b->first + 1) % kCapacity;
  --b->count;  // [B]
  pthread_cond_signal(&b->not_full);
  pthread_mutex_unlock(&b->lock);
  return value;
}

static void* producer(void* arg) {
  (void)arg;
  for (int i = 1; i <= kItems; ++i) put(&buffer, i);
  return NULL;
}

static void* consumer(void* sum) {
  for (int i = 0; i < kItems / kConsumers; ++i) *(int*)sum += get(&buffer);
  return NULL;
}

int main(void) {
  pthread_t threads[kConsumers + 1];
  int sums[kConsumers] = {0};
  pthread_create(&threads[kConsumers], NULL, producer, NULL);
  for (int i = 0; i < kConsumers; ++i) pthread_create(&threads[i], NULL, consumer, &sums[i]);
  for (int i = 0; i <= kConsumers; ++i) pthread_join(threads[i], NULL);
  assert(sums[0] + sums[1] == 10);
  return 0;
}
