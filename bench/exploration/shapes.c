// Programs of the shapes that model checkers are measured with (huang-dissertation tables 3.4, 5.1, 5.2), one
// for each -DSHAPE_..., of size -DN=...; no property can fail, so that all of the state space counts.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#ifndef N
#define N 3
#endif

typedef atomic_int shared;  // not static: the compiler would keep some of them in registers
static int load(shared* from) {
  return atomic_load_explicit(from, memory_order_relaxed);
}
static void store(shared* to, int value) {
  atomic_store_explicit(to, value, memory_order_relaxed);
}

static volatile int result[16];  // of each thread: nobody reads it
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#if defined(SHAPE_account)  // half pay in without the lock under which the others draw
#define THREADS N
shared amount;
static void work(int self) {
  const int locked = self % 2;
  if (locked) pthread_mutex_lock(&lock);
  store(&amount, load(&amount) + (locked ? -100 : 100));
  if (locked) pthread_mutex_unlock(&lock);
}
static void before(void) {
  store(&amount, 100);
}
static void after(void) {
  result[0] = load(&amount);
}

#elif defined(SHAPE_airline)  // sellers look whether the flight is sold out, then sell
#define THREADS N
shared sold, closed, seat[N];
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
shared count;
static void work(int self) {
  for (int i = 0; i < N; ++i) store(&count, load(&count) + (self == 0 ? 1 : -1));
}
static void before(void) {}
static void after(void) {
  result[0] = load(&count);
}

#elif defined(SHAPE_pingpong)  // a pointer that is taken away for a moment
#define THREADS N
static int player = 7;
_Atomic(int*) ball;
static void work(int self) {
  int* seen = atomic_load_explicit(&ball, memory_order_relaxed);
  result[self] = seen != NULL ? *seen : 0;
  int* mine = atomic_load_explicit(&ball, memory_order_relaxed);
  atomic_store_explicit(&ball, NULL, memory_order_relaxed);
  atomic_store_explicit(&ball, mine, memory_order_relaxed);
}
static void before(void) {
  atomic_store_explicit(&ball, &player, memory_order_relaxed);
}
static void after(void) {}

#elif defined(SHAPE_bubblesort)  // a pass each over numbers in the wrong order
#define THREADS (N - 1)
shared number[N];
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
shared top, pushed, item[N];
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

#elif defined(SHAPE_dekker)  // each says that it wants in, and looks at the other; loops give up
#define THREADS 2
shared wants[2], turn, inside;
static void work(int self) {
  int tries = 0, waits = 0;
  store(&wants[self], 1);
  while (load(&wants[1 - self])) {
    if (tries++ > 1) return;
    if (load(&turn) == self + 1) continue;
    store(&wants[self], 0);
    while (load(&turn) != self + 1)
      if (waits++ > 1) return;
    store(&wants[self], 1);
  }
  store(&inside, self + 1);
  result[self] = load(&inside) == self + 1;
  store(&turn, 2 - self);
  store(&wants[self], 0);
}
static void before(void) {
  store(&turn, 1);
}
static void after(void) {}

#elif defined(SHAPE_peterson)  // each lets the other go first
#define THREADS 2
shared wants[2], turn, inside;
static void work(int self) {
  int waits = 0;
  store(&wants[self], 1);
  store(&turn, 2 - self);
  while (load(&wants[1 - self]) && load(&turn) == 2 - self)
    if (waits++ > 1) return;
  store(&inside, self + 1);
  result[self] = load(&inside) == self + 1;
  store(&wants[self], 0);
}
static void before(void) {}
static void after(void) {}

#elif defined(SHAPE_lamport)  // the fast lock: two words are enough where nobody else comes
#define THREADS 2
shared wants[2], first, second, inside;
static int gives_up(shared* at, int* waits) {  // before it is free
  while (load(at) != 0)
    if ((*waits)++ > 1) return 1;
  return 0;
}
static void work(int self) {
  int rounds = 0, waits[3] = {0};
  for (;;) {
    if (rounds++ > 1) return;
    store(&wants[self], 1);
    store(&first, self + 1);
    if (load(&second) != 0) {
      store(&wants[self], 0);
      if (gives_up(&second, &waits[0])) return;
      continue;
    }
    store(&second, self + 1);
    if (load(&first) == self + 1) break;
    store(&wants[self], 0);
    if (gives_up(&wants[1 - self], &waits[1])) return;
    if (load(&second) == self + 1) break;
    if (gives_up(&second, &waits[2])) return;
  }
  store(&inside, self + 1);
  result[self] = load(&inside) == self + 1;
  store(&second, 0);
  store(&wants[self], 0);
}
static void before(void) {}
static void after(void) {}

#elif defined(SHAPE_bakery)  // tickets
#define THREADS 2
shared choosing[2], ticket[2], inside;
static void work(int self) {
  int waits = 0, turns = 0;
  store(&choosing[self], 1);
  const int left = load(&ticket[0]), right = load(&ticket[1]), mine = 1 + (left > right ? left : right);
  store(&ticket[self], mine);
  store(&choosing[self], 0);
  while (load(&choosing[1 - self]))
    if (waits++ > 1) return;
  for (;;) {
    const int other = load(&ticket[1 - self]);
    if (other == 0 || other > mine || (other == mine && self == 0)) break;
    if (turns++ > 1) return;
  }
  store(&inside, self + 1);
  result[self] = load(&inside) == self + 1;
  store(&ticket[self], 0);
}
static void before(void) {}
static void after(void) {}

#elif defined( \
    SHAPE_rvexample)  // what a critical section leaves behind is read outside of it; main is a thread of it
#define THREADS 2
shared x, y;
static void work(int self) {
  for (int i = 0; i < N; ++i) {
    if (self == 1) {
      if (load(&x) <= 1) continue;
      const int seen = load(&y);
      result[1] = seen != 3;
      if (seen != 3) store(&y, 2);
      continue;
    }
    pthread_mutex_lock(&lock);
    store(&x, 0);
    pthread_mutex_unlock(&lock);
    if (load(&x) <= 0) continue;
    store(&y, load(&y) + 1);
    store(&x, 2);
  }
}
#define MEANWHILE
static void meanwhile(void) {
  for (int i = 0; i < N; ++i) {
    pthread_mutex_lock(&lock);
    store(&x, 1);
    store(&y, 1);
    pthread_mutex_unlock(&lock);
  }
}
static void before(void) {}
static void after(void) {}

#elif defined(SHAPE_stringbuffer)  // one appends a text whose length it asked for, one deletes it
#define THREADS 2
static pthread_mutex_t target_lock = PTHREAD_MUTEX_INITIALIZER;
shared length, letter[N], target_length, target[N + 1];
static int length_of(void) {
  pthread_mutex_lock(&lock);
  const int out = load(&length);
  pthread_mutex_unlock(&lock);
  return out;
}
static void work(int self) {
  if (self == 0) {
    pthread_mutex_lock(&target_lock);
    const int count = length_of(), at = load(&target_length);
    pthread_mutex_lock(&lock);
    result[0] = count <= load(&length);
    for (int i = 0; i < count; ++i) store(&target[at + i], load(&letter[i]));
    pthread_mutex_unlock(&lock);
    store(&target_length, at + count);
    pthread_mutex_unlock(&target_lock);
    return;
  }
  const int end = length_of();
  pthread_mutex_lock(&lock);
  const int now = load(&length);
  store(&length, now - (end < now ? end : now));
  pthread_mutex_unlock(&lock);
}
static void before(void) {
  store(&target_length, 1);
  store(&length, N);
  for (int i = 0; i < N; ++i) store(&letter[i], 'a' + i);
}
static void after(void) {}

#elif defined(SHAPE_example)  // two variables that belong together, and one that says so
#define THREADS 2
shared x, y, z;
static void work(int self) {
  for (int i = 0; i < N; ++i) {
    if (self == 0) {
      store(&z, 0);
      store(&x, 0);
      store(&y, 0);
      store(&x, 2);
      store(&y, 3);
      store(&z, 1);
    } else if (load(&z) == 1) {
      const int left = load(&x), right = load(&y);
      result[1] = left + 1 == right;
    }
  }
}
static void before(void) {}
static void after(void) {}

#elif defined(SHAPE_indep)  // pairs that have nothing to do with each other
#define THREADS (2 * N)
shared place[N];
static void work(int self) {
  if (self < N)
    store(&place[self], 1);
  else
    result[self] = load(&place[self - N]);
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
#ifdef MEANWHILE
  meanwhile();
#endif
  for (int i = 0; i < THREADS; ++i) pthread_join(thread[i], NULL);
  after();
  return 0;
}
