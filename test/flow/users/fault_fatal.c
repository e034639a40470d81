// A fault in memory that the thread owns, in the middle of a stretch; no handler, or one that tells and lets it
// happen again.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static int table[64];
static volatile int racy;
static int* page;
static int how;
static void on_fault(int s) {
  static const char x[] = "fault\n";
  write(2, x, 6);
  racy += 1;
  signal(s, SIG_DFL);
  if (how == 2) raise(s);
  if (how == 3) _exit(5);
  if (how == 4) abort();
}
static void* work(void* a) {
  int id = (int)(long)a;
  long sum = 0;
  int* p = page;
  if (id == 2) {
    for (int i = 0; i < 1024; i++) p[i] = i;
  }
  for (int i = 0; i < 30000; i++) {
    table[(i * 3 + id) & 63] += i;
    sum += table[i & 63];
    if (id == 2 && i == 15000) mprotect(p, 4096, PROT_NONE);
    if (id == 2) {
      table[5] += i;
      table[6] += table[5];
      if (i == 15100) sum += p[i & 1023];
    }
  }
  racy += (int)sum;
  return 0;
}
int main(int c, char** v) {
  how = c > 1 ? atoi(v[1]) : 0;
  if (how) signal(SIGSEGV, on_fault);
  page = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  printf("%d\n", racy);
  return 0;
}
