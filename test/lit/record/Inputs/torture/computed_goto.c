// Labels as values, asm goto, switches with ranges, loops that are not reducible, a function of two thousand branches.
#include <pthread.h>
#include <stdio.h>

volatile unsigned shared = 1;

__attribute__((noinline)) static unsigned machine(const unsigned char* code, unsigned size) {
  static void* const places[] = {&&add, &&skip, &&back, &&call, &&stop};
  unsigned at = 0, sum = 0, steps = 0;
  goto *places[code[0] % 5];
add:
  sum += at;
next:
  if (++at >= size || ++steps > 100) goto stop;
  goto *places[code[at] % 5];
skip:
  ++at;
  if (shared & 1) goto next;
  goto add;
back:
  at = at > 3 ? at - 3 : 0;
  goto next;
call:
  if (steps < 20) sum += machine(code + 1, size - 1);
  goto next;
stop:
  return sum;
}

__attribute__((noinline)) static int asm_goto(int n) {
  asm goto("test %0, %0; jz %l1; js %l2" : : "r"(n) : "cc" : zero, negative);
  return 1;
zero:
  return shared & 1 ? 2 : 3;
negative:
  return 4;
}

__attribute__((noinline)) static int tangled(unsigned n) {
  int rounds = 0;
  if (n & 1) goto second;
first:
  if (++rounds > 20) return rounds;
  if ((n + (unsigned)rounds) % 3 == 0) goto third;
second:
  if (++rounds > 20) return -rounds;
  if ((shared + n) & 1) goto first;
third:
  n = n * 5 + 1;
  if (n & 4) goto second;
  if (n & 8) goto first;
  return rounds * 2;
}

static unsigned ranges(unsigned n) {
  switch (n) {
    case 0 ... 9: return 1;
    case 10: shared = shared + 1; __attribute__((fallthrough));
    case 11 ... 99: return n & 1 ? 2 : 3;
    case 1000: return 4;
    case 100000 ... 200000: return 5;
    default: return 6;
  }
}

#define BRANCH(n) if (x & (1u << (n) % 31)) x = x * 5 + n; else x ^= n * 77;
#define TEN(n) BRANCH(n) BRANCH(n + 1) BRANCH(n + 2) BRANCH(n + 3) BRANCH(n + 4) BRANCH(n + 5) BRANCH(n + 6) BRANCH(n + 7) BRANCH(n + 8) BRANCH(n + 9)
#define HUNDRED(n) TEN(n) TEN(n + 10) TEN(n + 20) TEN(n + 30) TEN(n + 40) TEN(n + 50) TEN(n + 60) TEN(n + 70) TEN(n + 80) TEN(n + 90)
#define THOUSAND(n) HUNDRED(n) HUNDRED(n + 100) HUNDRED(n + 200) HUNDRED(n + 300) HUNDRED(n + 400) HUNDRED(n + 500) HUNDRED(n + 600) HUNDRED(n + 700) HUNDRED(n + 800) HUNDRED(n + 900)
__attribute__((noinline)) static unsigned many(unsigned x) {
  THOUSAND(1)
  if (shared == 3) return x;
  THOUSAND(7)
  return x;
}

static void* run(void* argument) {
  unsigned char code[64];
  unsigned sum = (unsigned)(unsigned long)argument;
  for (unsigned i = 0; i < sizeof code; ++i) code[i] = (unsigned char)(i * 7 + sum);
  for (unsigned n = 0; n < 30; ++n) {
    sum += machine(code + n, 64 - n) + (unsigned)tangled(n) + ranges(n * n * n) + (unsigned)asm_goto((int)n - 3);
    shared = sum;
  }
  for (unsigned n = 0; n < 5; ++n) sum += many(n * 2654435761u);
  return (void*)(unsigned long)sum;
}
int main(void) {
  pthread_t threads[3];
  for (unsigned long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
