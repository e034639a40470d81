// Several faults in one stretch of accesses of all sizes, which the handler mends: everything at once, or one
// page of the thread after the other.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
typedef int v4 __attribute__((vector_size(16)));
struct big {
  long a, b, c, d;
};
enum { PER = 24 };
static char* memory;
static int racy, numbers[64];
static __thread char* next_;
static void on_fault(int s) {
  (void)s;
  mprotect(next_, 4096, PROT_READ | PROT_WRITE);
  next_ += 8192;
}
static void* work(void* a) {
  long id = (long)a;
  char* m = memory + id * PER * 4096;
  long sum = 0;
  for (int round = 0; round < 3; round++) {
    for (int p = 0; p < PER; p++) memset(m + p * 4096, p + round, 64);
    for (int p = 0; p < PER; p += 2) mprotect(m + p * 4096, 4096, PROT_NONE);
    next_ = m;
    for (int p = 0; p < PER; p++) {
      char* at = m + p * 4096;
      numbers[id * 16 + p % 16] += p;
      sum += numbers[id * 16 + (p + 1) % 16];
      switch (p % 6) {
        case 0:
          sum += *(int*)(at + 4);
          break;
        case 2: {
          v4 x = *(v4*)at;
          x += 1;
          *(v4*)(at + 16) = x;
          sum += x[1];
        } break;
        case 4: {
          struct big b;
          memcpy(&b, at, 32);
          sum += b.c;
          memcpy(at + 32, &b, 32);
        } break;
        default:
          at[3] += 1;
          sum += at[3];
      }
    }
    racy += (int)sum;
  }
  return (void*)sum;
}
int main(void) {
  struct sigaction f = {.sa_handler = on_fault};
  sigaction(SIGSEGV, &f, 0);
  memory = mmap(0, 4 * PER * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
