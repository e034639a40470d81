// Faults in memory that the thread owns, behind reads of the same stretch; the handler jumps out.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
static __thread sigjmp_buf back;
static int racy, table[64];
static int* pages[4];
static void on_fault(int s) {
  (void)s;
  siglongjmp(back, 1);
}
static void* work(void* a) {
  long id = (long)a;
  int* volatile mine_ = pages[id];
  long sum = 0;
  volatile long kept = 0;
  int mine_table[64];
  int* mt = mine_table;
  for (int i = 0; i < 64; i++) mt[i] = i * 3 + 1;
  for (int i = 0; i < 1024; i++) mine_[i] = i + (int)id;
  for (int round = 0; round < 30; round++) {
    int* m = mine_;
    mprotect(m, 4096, PROT_NONE);
    if (sigsetjmp(back, 1) == 0) {
      int acc = 0;
      for (int i = 0; i < 40; i++) {
        acc += pages[id] == m;
        table[id * 16 + i % 16] += i;
        acc += table[id * 16 + (i + 3) % 16];
        if (i == 20 + round % 10) acc += m[i];
      }
      sum += acc;
    } else
      kept++;
    mprotect(m, 4096, PROT_READ | PROT_WRITE);
    racy += (int)sum + m[round];
  }
  return (void*)(sum + kept);
}
int main(void) {
  struct sigaction f = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
  sigaction(SIGSEGV, &f, 0);
  for (int i = 0; i < 4; i++) pages[i] = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < 4; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld %d\n", s, racy);
  return 0;
}
