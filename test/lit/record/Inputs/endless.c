// A recursion without an end that writes nothing to the log: the stack of the main thread, or of another, overflows.
#include <pthread.h>
#include <stddef.h>

static volatile int sink;

__attribute__((noinline)) static void forever(int depth) {
  volatile char room[200];
  room[0] = (char)depth;
  forever(depth + 1);
  sink = room[0];
}

static void* run(void* argument) {
  forever(0);
  return argument;
}

int main(int count, char** arguments) {
  (void)arguments;
  pthread_t thread;
  if (count > 1 && pthread_create(&thread, NULL, run, NULL) == 0) pthread_join(thread, NULL);
  forever(0);
}
