// Fibres that go from thread to thread, with loops of accesses between the switches.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
enum { F = 6, T = 3 };
struct fibre {
  ucontext_t c;
  int done;
  int id;
};
static struct fibre fibres[F];
static struct fibre* queue[F + 1];
static int qn;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static __thread ucontext_t home;
static __thread struct fibre* current;
static int table[64];
static volatile int racy;
static int finished;
__attribute__((noinline)) static ucontext_t* my_home(void) {
  __asm__ volatile("");
  return &home;
}
__attribute__((noinline)) static struct fibre* me(void) {
  __asm__ volatile("");
  return current;
}
static void yield_(void) {
  swapcontext(&me()->c, my_home());
}
static void body(int id) {
  long sum = 0;
  for (int r = 0; r < 60; r++) {
    for (int i = 0; i < 30; i++) {
      table[(i + id) & 63] += r;
      sum += table[i];
    }
    racy += (int)sum;
    yield_();
    table[r & 63] ^= id;
    sum += racy;
  }
  table[id] = (int)sum;
  me()->done = 1;
  yield_();
}
static void* work(void* a) {
  (void)a;
  for (;;) {
    pthread_mutex_lock(&m);
    if (finished == F) {
      pthread_mutex_unlock(&m);
      return 0;
    }
    struct fibre* f = qn ? queue[--qn] : 0;
    pthread_mutex_unlock(&m);
    if (!f) {
      sched_yield();
      continue;
    }
    current = f;
    swapcontext(&home, &f->c);
    pthread_mutex_lock(&m);
    if (f->done)
      finished++;
    else {
      for (int i = qn++; i > 0; i--) queue[i] = queue[i - 1];
      queue[0] = f;
    }
    pthread_mutex_unlock(&m);
  }
}
int main(void) {
  for (int i = 0; i < F; i++) {
    getcontext(&fibres[i].c);
    fibres[i].c.uc_stack.ss_sp = malloc(65536);
    fibres[i].c.uc_stack.ss_size = 65536;
    fibres[i].id = i;
    makecontext(&fibres[i].c, (void (*)(void))body, 1, i);
    queue[qn++] = &fibres[i];
  }
  pthread_t t[T];
  for (long i = 0; i < T; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < T; i++) pthread_join(t[i], 0);
  printf("%d %d\n", racy, table[3]);
  return 0;
}
