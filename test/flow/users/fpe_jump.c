// Divisions by zero between accesses of a stretch; the handler jumps out.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static __thread sigjmp_buf back;
static int racy, table[64], divs[64];
static volatile int faults;
static void on_fault(int s) {
  (void)s;
  siglongjmp(back, 1);
}
__attribute__((noinline)) static int many(int id, int n) {
  int acc = 0;
  for (int i = 0; i < n; i++) {
    table[id * 16 + i % 16] += i;
    acc += table[id * 16 + (i + 3) % 16] / divs[id * 16 + i % 16];
    racy ^= acc;
  }
  return acc;
}
__attribute__((noinline)) static int first(int id, int d) {
  int q = 100 / d;
  table[id * 16] += q;
  return q + table[id * 16 + 1];
}
static void* work(void* a) {
  int id = (int)(long)a;
  long sum = 0;
  volatile long kept = 0;
  for (int i = 0; i < 16; i++) divs[id * 16 + i] = i + 1;
  for (int round = 0; round < 40; round++) {
    if (round % 3 == 0) divs[id * 16 + round % 16] = 0;
    if (sigsetjmp(back, 1) == 0) {
      if (round % 4 == 1)
        sum += first(id, round % 8 == 1 ? 0 : 3);
      else
        sum += many(id, 30);
    } else {
      kept++;
      faults++;
      divs[id * 16 + (round - round % 3) % 16] = 2;
    }
    racy += (int)sum;
  }
  return (void*)(sum + kept);
}
int main(void) {
  struct sigaction f = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
  sigaction(SIGFPE, &f, 0);
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < 4; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld %d %d\n", s, racy, faults);
  return 0;
}
