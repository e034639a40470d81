// SIGBUS behind the end of a mapped file, and SIGSEGV in guarded memory, in loops; jumps out. A lock is held.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static __thread sigjmp_buf back;
static int* map;
static int table[64], under[64];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int racy;
static int* page;
static void on_fault(int s, siginfo_t* i, void* c) {
  (void)c;
  (void)i;
  racy += s;
  siglongjmp(back, s);
}
static void* work(void* a) {
  int id = (int)(long)a;
  volatile long sum = 0;
  for (volatile int r = 0; r < 20; r++) {
    int w = sigsetjmp(back, 1);
    if (w == 0) {
      for (int i = 0; i < 2000; i++) {
        table[(i + id) & 63] += i;
        sum += map[i];
      }
    } else
      sum += w;
    pthread_mutex_lock(&m);
    mprotect(page, 4096, 3);
    for (int i = 0; i < 64; i++) {
      under[i] += id;
      page[i] += i;
    }
    mprotect(page, 4096, PROT_READ);
    if (sigsetjmp(back, 1) == 0) {
      for (int i = 0; i < 64; i++) {
        under[i] += 1;
        sum += page[i];
        if (i == 30 + r) page[i] = under[3];
      }
    }
    pthread_mutex_unlock(&m);
  }
  return (void*)sum;
}
int main(void) {
  struct sigaction f = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSEGV, &f, 0);
  sigaction(SIGBUS, &f, 0);
  int fd_ = open("busfile", O_RDWR | O_CREAT, 0600);
  ftruncate(fd_, 4096);
  map = mmap(0, 8192, 3, MAP_PRIVATE, fd_, 0);
  page = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < 3; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld %d\n", s, racy);
  return 0;
}
