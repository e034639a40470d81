// Threads that never end and write both streams all the time: branches on shared values, counted loops, allocations, locks, callbacks,
// threads that come and go.
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

unsigned table[256];
volatile unsigned shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int compare(const void* left, const void* right) {
  const unsigned l = *(const unsigned*)left, r = *(const unsigned*)right;
  if (l == r) return 0;
  return l < r ? -1 : 1;
}
static unsigned paths(unsigned n) {
  unsigned sum = n;
  for (unsigned i = 0; i < 100; ++i) {
    if ((sum ^ shared) & 1) sum = sum * 5 + 1;
    else if (sum & 4) sum += table[shared & 255];
    else sum /= 3;
  }
  return sum;
}
static unsigned memory(unsigned n) {
  unsigned sum = 0;
  unsigned* block = malloc(n % 100 * sizeof *block + 8);
  for (unsigned i = 0; i < n % 100; ++i) block[i] = i * n;
  qsort(block, n % 100, sizeof *block, compare);
  for (unsigned i = 0; i < n % 100; ++i) sum += block[i];
  free(block);
  return sum;
}
static unsigned locked(unsigned n) {
  pthread_mutex_lock(&lock);
  table[n & 255] += n;
  if (table[n & 255] & 1) shared = n;
  pthread_mutex_unlock(&lock);
  return n;
}
static unsigned jumped(unsigned n) {
  jmp_buf here;
  volatile unsigned rounds = 0;
  const int came = setjmp(here);
  rounds = rounds + 1;
  if (rounds < n % 4) longjmp(here, came + 1);
  return rounds;
}
static void* small(void* argument) { return (void*)(unsigned long)paths((unsigned)(unsigned long)argument); }
static void* run(void* argument) {
  const unsigned kind = (unsigned)(unsigned long)argument;
  for (unsigned n = kind;; ++n) {
    switch (kind) {
      case 0: shared = paths(n); break;
      case 1: shared = memory(n) + jumped(n); break;
      case 2: shared = locked(n) + paths(n); break;
      default: {
        pthread_t thread;
        if (pthread_create(&thread, NULL, small, (void*)(unsigned long)n) == 0) pthread_join(thread, NULL);
      }
    }
  }
  return NULL;
}
int main(void) {
  pthread_t thread;
  for (unsigned long i = 1; i < 4; ++i) pthread_create(&thread, NULL, run, (void*)i);
  run(NULL);
}
