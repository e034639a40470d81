// Crashes, by argument: segv, abort, assert, fpe, overflow (of the stack), exit (while others run), quick (_exit).
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int shared, zero, *volatile nowhere;
static const char* how = "";

__attribute__((noinline)) static int overflow(int n) {
  volatile char padding[1000];
  padding[n % 1000] = (char)n;
  return shared == -1 ? 0 : overflow(n + 1) + padding[n % 999];
}
__attribute__((noinline)) static void fail(int depth) {
  if (depth > 0) {
    fail(depth - 1);
    shared = shared + 1;
    return;
  }
  if (strcmp(how, "segv") == 0) *nowhere = 1;
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "assert") == 0) assert(shared == -1);
  if (strcmp(how, "fpe") == 0) shared = 1000 / zero;
  if (strcmp(how, "overflow") == 0) shared = overflow(0);
  if (strcmp(how, "exit") == 0) exit(5);
  if (strcmp(how, "quick") == 0) _exit(6);
}
static void* busy(void* argument) {
  const long number = (long)argument;
  for (int i = 0;; ++i) {
    if ((i ^ shared) & 1) shared = shared + 1;
    if (number == 2 && i == 20000) fail(5);
  }
  return NULL;
}
int main(int argc, char** argv) {
  pthread_t threads[3];
  if (argc > 1) how = argv[1];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, busy, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
