// exit() by another thread than main ends the program, handlers run once, last to first, and see everything.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int state, order;

static void last(void) {
  if (order != 1 || state != 5) _exit(8);
  _exit(0);
}

static void first(void) {
  order = 1;
}

static void* ends(void* unused) {
  (void)unused;
  state = 5;
  exit(7);
}

int main(void) {
  pthread_t thread;
  atexit(last);
  atexit(first);
  assert(pthread_create(&thread, NULL, ends, NULL) == 0);
  for (;;) pause();
}
