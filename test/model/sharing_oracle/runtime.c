// Sharing oracle, step 3: watches the accesses of an instrumented program (see instrument.cpp).
//
// Rule: a byte that an access judged private has touched must not be touched by another thread if either of the
// two writes. Ordered or not makes no difference: a private access is invisible to the rest of heddle.
// The program's threads take turns (oracle_turn), so one table without locks will do, and no pointer is torn.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 3, WRITE = 1, PRIVATE = 2, CONSTANT = 4, UNREACHABLE = 8 };

struct byte_state {
  uintptr_t address;
  // Access number + 1 by thread: any read, any write, a private read, a private write.
  uint32_t read[THREADS], written[THREADS], private_read[THREADS], private_written[THREADS], constant;
};

enum { TABLE = 1 << 20 };
static struct byte_state *table;
static size_t used;
static char *heap, *heap_end;
static int private_accesses;

_Thread_local int oracle_thread;  // 0: main

static void fail(uintptr_t address, uint32_t a, int thread_a, uint32_t b, int thread_b) {
  fprintf(stdout, "VIOLATION address %p: access %u of thread %d was judged private; access %u of thread %d\n",
          (void *)address, a - 1, thread_a, b - 1, thread_b);
  fflush(stdout);
  _exit(1);
}

static struct byte_state *state_of(uintptr_t address) {
  if (!table) table = mmap(0, sizeof *table * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  size_t at = (address ^ (address >> 20)) % TABLE;  // neighbours stay neighbours: few pages
  while (table[at].address && table[at].address != address) at = (at + 1) % TABLE;
  if (!table[at].address) {
    table[at].address = address;
    if (++used > TABLE / 2) {
      puts("LIMIT table");
      fflush(stdout);
      _exit(2);
    }
  }
  return &table[at];
}

static void touch(struct byte_state *s, uint32_t number, unsigned flags) {
  const int me = oracle_thread;
  const uint32_t mark = number + 1;
  if (flags & WRITE) s->written[me] = mark; else s->read[me] = mark;
  if (flags & PRIVATE) {
    if (flags & WRITE) s->private_written[me] = mark; else s->private_read[me] = mark;
  }
  if (flags & CONSTANT) s->constant = mark;
  if (s->constant && (flags & WRITE)) fail(s->address, s->constant, me, mark, me);
  for (int other = 0; other < THREADS; ++other) {
    if (other == me) continue;
    // mine private against theirs, then theirs private against mine
    if (s->private_written[me] && s->read[other]) fail(s->address, s->private_written[me], me, s->read[other], other);
    if (s->private_written[me] && s->written[other]) fail(s->address, s->private_written[me], me, s->written[other], other);
    if (s->private_read[me] && s->written[other]) fail(s->address, s->private_read[me], me, s->written[other], other);
    if (s->private_written[other] && s->read[me]) fail(s->address, s->private_written[other], other, s->read[me], me);
    if (s->private_written[other] && s->written[me]) fail(s->address, s->private_written[other], other, s->written[me], me);
    if (s->private_read[other] && s->written[me]) fail(s->address, s->private_read[other], other, s->written[me], me);
  }
}

// Only the save area of variadic arguments is still on a real stack, where addresses are used again.
static int on_stack(uintptr_t address) {
  static _Thread_local uintptr_t low, high;
  if (!high) {
    pthread_attr_t attributes;
    void *base;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    low = (uintptr_t)base;
    high = low + size;
  }
  // Thread-local variables lie above the frames, in the same mapping.
  return address >= low && address < (uintptr_t)__builtin_frame_address(0) + 65536 && address < high &&
         !(address >= (uintptr_t)__builtin_thread_pointer() - 4096);
}

void oracle_access(uint32_t number, uintptr_t address, uint64_t size, uint32_t flags) {
  if (flags & UNREACHABLE) fail(address, number + 1, oracle_thread, number + 1, oracle_thread);
  if (flags & PRIVATE) ++private_accesses;
  if (on_stack(address)) return;
  for (uint64_t i = 0; i < size; ++i) touch(state_of(address + i), number, flags);
}

void *oracle_alloc(uint64_t size) {
  if (heap == 0 || heap + size + 32 > heap_end) {
    heap = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    heap_end = heap + (64 << 20);
  }
  char *result = heap;
  *(uint64_t *)result = size;
  heap += (size + 16 + 15) & ~(uint64_t)15;
  return result + 16;
}
void *oracle_calloc(uint64_t count, uint64_t size) { return oracle_alloc(count * size); }
void *oracle_realloc(void *old, uint64_t size) {
  void *made = oracle_alloc(size);
  if (old) {
    uint64_t had = ((uint64_t *)old)[-2];
    memcpy(made, old, had < size ? had : size);
  }
  return made;
}
void oracle_free(void *old) { (void)old; }

// One thread runs at a time. 0 is main, until it passes the turn on; threads are numbered as they are created and
// live until the end, so that their thread-local variables stay apart.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, created;

void oracle_wait(int me) {
  oracle_thread = me;
  pthread_mutex_lock(&lock);
  while (turn != me) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}
void oracle_pass(int to) {
  pthread_mutex_lock(&lock);
  turn = to;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static struct { void *(*start)(void *); void *argument; } starts[THREADS];

static void *begin(void *number) {
  const int me = (int)(intptr_t)number;
  oracle_wait(me);
  return starts[me].start(starts[me].argument);
}
int oracle_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  const int me = ++created;
  starts[me].start = start;
  starts[me].argument = argument;
  return pthread_create(thread, attributes, begin, (void *)(intptr_t)me);
}
void oracle_end(void) {
  printf("OK %d private accesses\n", private_accesses);
  fflush(stdout);
  _exit(0);
}
