/* Simple race: four threads change two shared variables, which belong together, without a lock. The race of a
 * few accesses is run again and again; a barrier starts each round, and one thread looks whether an update was
 * lost.
 *
 *   sim_race ROUNDS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static pthread_barrier_t barrier;
static volatile int x, y;
static unsigned rounds, lost;

static void race(void) {
  const int seen = x;
  if (seen == y) {
    x = seen + 1;
    y = x;
  } else {
    x = seen + 1;
  }
}

static void* run(void* first) {
  for (unsigned round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&barrier);
    race();
    pthread_barrier_wait(&barrier);
    if (first != NULL) {
      if (x != THREADS || y != THREADS) ++lost;
      x = y = 0;
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rounds = (unsigned)atoi(argv[1]);
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run, i == 0 ? &barrier : NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  fprintf(stderr, "%u of %u rounds lost an update\n", lost, rounds);
  printf("%u rounds\n", rounds);
  return 0;
}
