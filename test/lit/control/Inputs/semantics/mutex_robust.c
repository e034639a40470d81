// Robust mutexes: the owner ends without unlocking; the next one is told, and repairs the mutex or loses it for
// good.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t repaired, lost;

static void make(pthread_mutex_t* mutex) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  assert(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0);
  assert(pthread_mutex_init(mutex, &attributes) == 0);
  pthread_mutexattr_destroy(&attributes);
}

static void* dies(void* unused) {
  (void)unused;
  assert(pthread_mutex_lock(&repaired) == 0);
  assert(pthread_mutex_lock(&lost) == 0);
  return NULL;
}

static void* late(void* unused) {
  (void)unused;
  assert(pthread_mutex_trylock(&lost) == ENOTRECOVERABLE);
  assert(pthread_mutex_lock(&repaired) == 0);
  assert(pthread_mutex_unlock(&repaired) == 0);
  return NULL;
}

int main(void) {
  pthread_t thread;
  make(&repaired);
  make(&lost);
  assert(pthread_create(&thread, NULL, dies, NULL) == 0);
  pthread_join(thread, NULL);
  assert(pthread_mutex_lock(&repaired) == EOWNERDEAD);
  assert(pthread_mutex_consistent(&repaired) == 0);
  assert(pthread_mutex_consistent(&repaired) == EINVAL);
  assert(pthread_mutex_unlock(&repaired) == 0);
  assert(pthread_mutex_trylock(&lost) == EOWNERDEAD);
  assert(pthread_mutex_unlock(&lost) == 0);
  assert(pthread_mutex_lock(&lost) == ENOTRECOVERABLE);
  assert(pthread_create(&thread, NULL, late, NULL) == 0);
  pthread_join(thread, NULL);
  assert(pthread_mutex_destroy(&lost) == 0);
  assert(pthread_mutex_destroy(&repaired) == 0);
  return 0;
}
