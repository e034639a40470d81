// A thread tells main() through a pipe that the data is there; with BUG too early.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];
int data;

static void* gives(void* unused) {
  (void)unused;
#ifndef BUG
  data = 5;
#endif
  assert(write(ends[1], "x", 1) == 1);
#ifdef BUG
  data = 5;
#endif
  return NULL;
}

int main(void) {
  pthread_t thread;
  char byte;
  assert(pipe(ends) == 0);
  pthread_create(&thread, NULL, gives, NULL);
  assert(read(ends[0], &byte, 1) == 1);
  const int seen = data;
  pthread_join(thread, NULL);
  return seen - 5;
}
