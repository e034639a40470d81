// A thread waits for another in a loop of a library that heddle does not see.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

void wait_until_set(int* flag);

static int flag, counter;

static void* adds(void* unused) {
  (void)unused;
  for (int i = 0; i < 2; ++i) {
    const int before = counter;
    counter = before + 1;
  }
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, adds, NULL);
#ifndef FIXED
  const int before = counter;
  counter = before + 1;
#endif
  wait_until_set(&flag);
#ifdef FIXED
  ++counter;
#endif
  assert(counter == 3);
  pthread_join(thread, NULL);
  return 0;
}
