// Faults that a handler mends: memory becomes readable and writable when threads come to it, in the middle of a
// loop of accesses, while they race. (The handler itself touches nothing that is shared, and mends the thread's
// own part only: docs/flow.md.)
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGES = 16, WORDS = 1024 };
static int* memory;
static int racy, numbers[16];
static __thread int* part;
static void on_fault(int s, siginfo_t* i, void* c) {
  (void)s;
  (void)i;
  (void)c;
  mprotect(part, PAGES / 4 * 4096, PROT_READ | PROT_WRITE);
}
static void* work(void* a) {
  const long id = (long)a;
  part = &memory[id * PAGES / 4 * WORDS];
  long sum = 0;
  for (int i = 0; i < PAGES / 4 * WORDS; i += 7) {
    racy += numbers[i % 16] += i;
    int* const at = &memory[id * PAGES / 4 * WORDS + i];
    *at += i;
    sum += *at + at[0] * 3;
    if (i % 64 == 0) racy += i;
  }
  return (void*)sum;
}
int main(void) {
  struct sigaction f = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &f, NULL);
  memory = mmap(NULL, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  long all = 0;
  for (int i = 0; i < 4; ++i) {
    void* n;
    pthread_join(threads[i], &n);
    all += (long)n;
  }
  printf("sum %ld racy %d\n", all, racy > 0);
  return 0;
}
