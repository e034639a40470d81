// Recursion: Ackermann, mutual, through pointers, deep (100,000 frames), and loops around calls of themselves.
#include <pthread.h>
#include <stdio.h>

volatile unsigned shared = 3;
typedef unsigned Step(unsigned);
static unsigned odd(unsigned n);
static unsigned even(unsigned n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) static unsigned odd(unsigned n) { return n == 0 ? 0 : even(n - 1); }

__attribute__((noinline)) static unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__attribute__((noinline)) static unsigned deep(unsigned n) {
  volatile unsigned here = n;
  if (n == 0) return shared;
  const unsigned below = deep(n - 1);
  return here & 1 ? below + 1 : below;
}

static unsigned hop(unsigned n);
Step* volatile steps[2] = {hop, even};
__attribute__((noinline)) static unsigned hop(unsigned n) {
  unsigned sum = 0;
  for (unsigned i = 1; i <= n && i < 5; ++i) {
    if ((i ^ shared) & 1) sum += steps[0](n / (i + 1));
    else sum += steps[1](i);
  }
  return sum;
}

static void* run(void* unused) {
  unsigned sum = ackermann(2, 5) + even(101) + hop(40);
  (void)unused;
  shared = sum & 7;
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
  run(NULL);
  deep(40000);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
