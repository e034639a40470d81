// Reads stack memory that nobody has written: in main() after creating a thread, and in the thread. The exit
// code is a hash of what was there, and of what the C library says about threads before there are any.
#include <pthread.h>
#include <sys/single_threaded.h>

static unsigned in_thread;

__attribute__((noinline)) static unsigned leftovers(void) {
  volatile unsigned words[50000];  // more than what is cleared by hand
  unsigned hash = 0;
  for (int i = 0; i < 50000; ++i) hash = hash * 31 + words[i];
  for (int i = 0; i < 50000; i += 16) words[i] = (unsigned)i;  // for the next execution to find
  return hash * 2654435761u >> 25;
}

static void* run(void* unused) {
  in_thread = leftovers();
  return unused;
}

int main(void) {
  pthread_t thread;
  const unsigned alone = __libc_single_threaded ? 1 : 0;
  pthread_create(&thread, NULL, run, NULL);
  const unsigned hash = leftovers();
  pthread_join(thread, NULL);
  return (int)((hash + in_thread + alone) & 127);
}
