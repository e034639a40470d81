// Fails when the child comes first: main wants to see 0.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void* child(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  shared = 1;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, child, NULL);
  pthread_mutex_lock(&mutex);
  const int seen = shared;
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
#ifndef OTHER
  assert(seen == 0);
#endif
  return seen;
}
