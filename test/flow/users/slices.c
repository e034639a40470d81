/* Threads that race for the same memory with every access: they take turns. Then two that hand one value to and fro, for whom
 * turns are of no use; and a signal that comes meanwhile. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#define THREADS 3
#define ELEMENTS 64
#define ROUNDS 60000
#define PASSES 3000

static unsigned shared[ELEMENTS * 4];
static unsigned results[THREADS];
static volatile unsigned ball;
static volatile sig_atomic_t signals;

static void count(int number) {
  (void)number;
  ++signals;
}

static void* race(void* argument) {
  const unsigned me = (unsigned)(unsigned long)argument;
  unsigned number = me;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    unsigned* const at = &shared[number % ELEMENTS * 4];
    number = number * 1664525 + *at + 1013904223;
    *at = number >> 3;
    number ^= shared[(number >> 8) % ELEMENTS * 4];
  }
  results[me] = number;
  return NULL;
}

static void* pass(void* argument) {
  const unsigned me = (unsigned)(unsigned long)argument;
  for (unsigned i = 0; i < PASSES; ++i) {
    for (unsigned tries = 0; ball % 2 != me; ++tries)
      if (tries % 256 == 255) sched_yield();
    ball = ball + 1;
  }
  return NULL;
}

int main(void) {
  signal(SIGUSR1, count);
  pthread_t threads[THREADS];
  for (unsigned long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, race, (void*)i);
  for (int i = 0; i < THREADS; ++i) pthread_kill(threads[i], SIGUSR1);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (unsigned long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, pass, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  unsigned all = 0;
  for (int i = 0; i < THREADS; ++i) all = all * 31 + results[i];
  printf("%x %u %d\n", all, ball, (int)signals);
  return 0;
}
