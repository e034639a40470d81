/* racey, after the description in Xu, Bodik, Hill: "A flight data recorder for full-system multiprocessor
 * deterministic replay", ISCA 2003: threads mix a signature through a small shared array without any
 * synchronisation, so that nearly every order of accesses ends with another signature. As in CLAP section 6.1:
 * an array of 64 unions, each with a cache line to itself, and two volatile variables that start the threads
 * together.
 *
 *   racey ROUNDS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2
#define ELEMENTS 64
#define PRIME1 103072243u
#define PRIME2 103995407u

union element {
  unsigned value;
  char line[64];
};

static union element shared[ELEMENTS];
static union element signature[THREADS];
static volatile int ready[THREADS];
static volatile int go;
static unsigned rounds;

static unsigned mix(unsigned a, unsigned b) {
  return (a + b * PRIME2) % PRIME1;
}

static void* run(void* argument) {
  const int me = (int)(long)argument;
  ready[me] = 1;
  while (!go) {
  }
  for (unsigned i = 0; i < rounds; ++i) {
    unsigned number = signature[me].value;
    const unsigned first = number % ELEMENTS;
    number = mix(number, shared[first].value);
    const unsigned second = number % ELEMENTS;
    number = mix(number, shared[second].value);
    shared[first].value = number;
    number = mix(number, shared[(first + second) % ELEMENTS].value);
    shared[second].value = number;
    signature[me].value = number;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rounds = (unsigned)atoi(argv[1]);
  for (unsigned i = 0; i < ELEMENTS; ++i) shared[i].value = mix(i, i);
  for (unsigned i = 0; i < THREADS; ++i) signature[i].value = mix(i, THREADS);
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < THREADS; ++i)
    while (!ready[i]) {
    }
  go = 1;
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  unsigned all = 0;
  for (int i = 0; i < THREADS; ++i) all = mix(all, signature[i].value);
  for (int i = 0; i < ELEMENTS; ++i) all = mix(all, shared[i].value);
  fprintf(stderr, "signature %08x\n", all); /* differs from run to run, as it should */
  printf("%u rounds\n", rounds);
  return 0;
}
