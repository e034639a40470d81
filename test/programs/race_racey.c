// After racey, the benchmark of deterministic replay: two threads mix the numbers of a shared array, full of
// races on purpose, so that almost any other interleaving gives another signature.
//
// The "bug": the signature of the run differs from the one of running the threads one after the other.
//
// HEDDLE-FAILURE: exit:3
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B a load of one thread comes before a store of the other (of many)
// HEDDLE-SMALL: no
#include <pthread.h>
#include <stddef.h>

enum { kThreads = 2, kSlots = 64, kRounds = 40, kPrime = 1103 };

volatile unsigned slots[kSlots];
unsigned ends[kThreads];
#ifdef FIXED
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int turn;
#endif

static unsigned mix(unsigned i, unsigned j) {
  return (i + j * kPrime) % 10007;
}

static unsigned run(unsigned start) {
  unsigned index = start;
  for (int i = 0; i < kRounds; ++i) {
    const unsigned number = slots[index % kSlots];  // [A]
    index = mix(index, number);
    slots[index % kSlots] = mix(number, index);  // [B]
  }
  return index;
}

static void* work(void* arg) {
  const unsigned me = *(const unsigned*)arg;
#ifdef FIXED
  pthread_mutex_lock(&lock);
  while (turn != (int)me) pthread_cond_wait(&changed, &lock);
#endif
  ends[me] = run(me + 1);
#ifdef FIXED
  ++turn;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
#endif
  return NULL;
}

static void reset(void) {
  for (unsigned i = 0; i < kSlots; ++i) slots[i] = i * i + 7;
}

static unsigned signature(void) {
  unsigned result = 0;
  for (unsigned i = 0; i < kSlots; ++i) result = mix(result, slots[i]);
  for (unsigned i = 0; i < kThreads; ++i) result = mix(result, ends[i]);
  return result;
}

int main(void) {
  reset();
  for (unsigned i = 0; i < kThreads; ++i) ends[i] = run(i + 1);
  const unsigned expected = signature();

  reset();
  pthread_t threads[kThreads];
  unsigned ids[kThreads];
  for (unsigned i = 0; i < kThreads; ++i) {
    ids[i] = i;
    pthread_create(&threads[i], NULL, work, &ids[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  return signature() == expected ? 0 : 3;
}
