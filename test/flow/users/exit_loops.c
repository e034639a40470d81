// exit() while other threads are in loops of accesses, some detached; exit handlers read what they write.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int table[256];
static volatile long rounds;
static volatile int hot;
static void* work(void* a) {
  int id = (int)(long)a;
  for (unsigned i = 0;; i++) {
    table[(i * 7 + (unsigned)id) & 255] += (int)i;
    if (id & 1) hot += table[i & 255];
    if ((i & 63) == 0) rounds++;
  }
  return 0;
}
static void at_end(void) {
  long s = 0;
  for (int i = 0; i < 256; i++) {
    s += table[i];
    table[i] = 0;
  }
  printf("%ld\n", s & 1);
}
int main(void) {
  atexit(at_end);
  pthread_t t;
  for (long i = 0; i < 5; i++) {
    pthread_create(&t, 0, work, (void*)i);
    pthread_detach(t);
  }
  while (rounds < 400) {
  }
  long s = 0;
  for (int i = 0; i < 256; i++) s += table[i];
  printf("%ld\n", s & 1);
  exit((int)(s & 3));
}
