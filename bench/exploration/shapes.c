// Programs of the shapes that model checkers are measured with (huang-dissertation tables 3.4, 5.1, 5.2), one for each
// -DSHAPE_..., of size -DN=...; no property can fail, so that all of the state space counts.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

typedef atomic_int shared;
static int load(shared* from) { return atomic_load_explicit(from, memory_order_relaxed); }
static void store(shared* to, int value) { atomic_store_explicit(to, value, memory_order_relaxed); }

static volatile int result[16];  // of each thread: nobody reads it
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#if defined(SHAPE_account)  // half pay in without the lock under which the others draw
#define THREADS N
static shared amount;
static void work(int self) {
  const int locked = self % 2;
  if (locked) pthread_mutex_lock(&lock);
  store(&amount, load(&amount) + (locked ? -100 : 100));
  if (locked) pthread_mutex_unlock(&lock);
}
static void before(void) { store(&amount, 100); }
static void after(void) { result[0] = load(&amount); }

#elif defined(SHAPE_airline)  // sellers look whether the flight is sold out, then sell
#define THREADS N
static shared sold, closed, seat[N];
static void work(int self) {
  if (load(&closed)) return;
  if (load(&sold) >= N - 1) {
    store(&closed, 1);
  } else {
    store(&sold, load(&sold) + 1);
    store(&seat[self], 1);
  }
}
static void before(void) {}
static void after(void) {
  int seats = 0;
  for (int i = 0; i < N; ++i) seats += load(&seat[i]);
  result[0] = seats;
}

#elif defined(SHAPE_counter)  // one counts up, one down
#define THREADS 2
static shared count;
static void work(int self) {
  for (int i = 0; i < N; ++i) store(&count, load(&count) + (self == 0 ? 1 : -1));
}
static void before(void) {}
static void after(void) { result[0] = load(&count); }

#elif defined(SHAPE_pingpong)  // a pointer that is taken away for a moment
#define THREADS N
static int player = 7;
static _Atomic(int*) ball;
static void work(int self) {
  int* seen = atomic_load_explicit(&ball, memory_order_relaxed);
  result[self] = seen != NULL ? *seen : 0;
  int* mine = atomic_load_explicit(&ball, memory_order_relaxed);
  atomic_store_explicit(&ball, NULL, memory_order_relaxed);
  atomic_store_explicit(&ball, mine, memory_order_relaxed);
}
static void before(void) { atomic_store_explicit(&ball, &player, memory_order_relaxed); }
static void after(void) {}

#elif defined(SHAPE_bubblesort)  // a pass each over numbers in the wrong order
#define THREADS (N - 1)
static shared number[N];
static void work(int self) {
  (void)self;
  for (int i = 0; i + 1 < N; ++i) {
    const int left = load(&number[i]), right = load(&number[i + 1]);
    if (left > right) {
      store(&number[i], right);
      store(&number[i + 1], left);
    }
  }
}
static void before(void) {
  for (int i = 0; i < N; ++i) store(&number[i], N - i);
}
static void after(void) {
  int sorted = 1;
  for (int i = 0; i < N; ++i)
    if (load(&number[i]) != i + 1) sorted = 0;
  result[0] = sorted;
}

#elif defined(SHAPE_stack)  // pushes and pops under a lock, in any order
#define THREADS 2
static shared top, pushed, item[N];
static void work(int self) {
  for (int i = 0; i < N; ++i) {
    pthread_mutex_lock(&lock);
    const int at = self == 0 || load(&pushed) ? load(&top) : 0;
    if (self == 0) {
      if (at < N) {
        store(&item[at], i + 1);
        store(&top, at + 1);
      }
      store(&pushed, 1);
    } else if (at > 0) {
      store(&top, at - 1);
      result[1] = load(&item[at - 1]);
    }
    pthread_mutex_unlock(&lock);
  }
}
static void before(void) {}
static void after(void) {}

#elif defined(SHAPE_dekker)  // each says that it wants in, and looks at the other; one try
#define THREADS 2
static shared wants[2], turn, inside;
static void work(int self) {
  store(&wants[self], 1);
  for (int tries = 0; load(&wants[1 - self]); ++tries) {
    if (tries > 1) return;
    if (load(&turn) != self) {
      store(&wants[self], 0);
      for (int waits = 0; load(&turn) != self; ++waits)
        if (waits > 0) return;
      store(&wants[self], 1);
    }
  }
  store(&inside, self + 1);
  result[self] = load(&inside) == self + 1;
  store(&turn, 1 - self);
  store(&wants[self], 0);
}
static void before(void) {}
static void after(void) {}
#else
#error "which shape?"
#endif

static void* start(void* self) {
  work((int)(intptr_t)self);
  return NULL;
}

int main(void) {
  pthread_t thread[THREADS];
  before();
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&thread[i], NULL, start, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
  after();
  return 0;
}
