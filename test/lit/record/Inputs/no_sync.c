// A program without atomic operations of its own: branches, loops, loads that feed addresses, calls of all kinds, locks.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned shared[16], written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
typedef unsigned Action(unsigned);

// Stores to no global: so its variant must not either.
__attribute__((noinline)) unsigned pure(unsigned n) {
  unsigned sum = n;
  for (unsigned i = 0; i < 20; ++i) {
    if (sum & 1) sum = sum * 5 + shared[sum & 15];
    else if (shared[i & 15] & 1) sum += shared[shared[i & 15] & 15];
    else sum /= 2;
  }
  return sum;
}
__attribute__((noinline)) unsigned counted(unsigned n) {
  unsigned sum = 0;
  while (n != 1 && sum < 100) {
    n = n / 2 + 3 * (n & shared[0]);
    ++sum;
  }
  return sum;
}
__attribute__((noinline)) unsigned stores(unsigned n) {
  written = n;
  return n & 1 ? pure(n) : counted(n);
}
__attribute__((noinline)) unsigned recursive(unsigned n) { return n < 2 ? 1 : recursive(n - 1) + recursive(n - 2); }
int compare(const void* left, const void* right) { return *(const int*)left < *(const int*)right ? -1 : 1; }
__attribute__((noinline)) unsigned foreign(unsigned n) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = (int)(n * 7 % (unsigned)(i + 1));
  qsort(values, 8, sizeof values[0], compare);
  char* text = malloc(20);
  snprintf(text, 20, "%d", values[3]);
  const unsigned length = (unsigned)strlen(text);
  free(text);
  return length;
}
__attribute__((noinline)) unsigned locked(unsigned n) {
  pthread_mutex_lock(&lock);
  if (shared[n & 15] > 3) n += shared[n & 15];
  pthread_mutex_unlock(&lock);
  return n;
}
__attribute__((noinline)) unsigned jumping(unsigned n) {
  jmp_buf here;
  volatile unsigned rounds = 0;
  if (setjmp(here) < 3 && ++rounds < n) longjmp(here, (int)rounds);
  return rounds;
}
Action* volatile actions[4] = {pure, stores, foreign, jumping};
void* run(void* argument) {
  for (unsigned i = 0; i < 8; ++i) locked(actions[i & 3](i) + recursive(i));
  return argument;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
