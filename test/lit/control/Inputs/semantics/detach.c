// Detached threads, by attribute and by call; joining errors; results of joins; timed and try joins.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

sem_t done, go;

static void* posts(void* unused) {
  (void)unused;
  sem_post(&done);
  return NULL;
}

static void* waits(void* argument) {
  sem_wait(&go);
  return argument;
}

static void* joins_itself(void* unused) {
  (void)unused;
  assert(pthread_join(pthread_self(), NULL) == EDEADLK);
  assert(pthread_equal(pthread_self(), pthread_self()));
  return &done;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  int state;
  void* result;
  sem_init(&done, 0, 0);
  sem_init(&go, 0, 0);
  assert(pthread_attr_init(&attributes) == 0);
  assert(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
  assert(pthread_attr_getdetachstate(&attributes, &state) == 0 && state == PTHREAD_CREATE_DETACHED);
  assert(pthread_create(&thread, &attributes, posts, NULL) == 0);
  assert(pthread_attr_destroy(&attributes) == 0);
  assert(pthread_create(&thread, NULL, posts, NULL) == 0);
  assert(pthread_detach(thread) == 0);
  sem_wait(&done);
  sem_wait(&done);
  assert(pthread_create(&thread, NULL, waits, &go) == 0);
  assert(pthread_tryjoin_np(thread, &result) == EBUSY);
  struct timespec past = {1, 0};
  assert(pthread_timedjoin_np(thread, &result, &past) == ETIMEDOUT);
  sem_post(&go);
  assert(pthread_join(thread, &result) == 0 && result == &go);
  assert(pthread_create(&thread, NULL, waits, NULL) == 0);
  assert(pthread_detach(thread) == 0);
  assert(pthread_join(thread, NULL) == EINVAL);
  assert(pthread_detach(thread) == EINVAL);
  sem_post(&go);
  assert(pthread_create(&thread, NULL, joins_itself, NULL) == 0);
  assert(pthread_join(thread, &result) == 0 && result == &done);
  return 0;
}
