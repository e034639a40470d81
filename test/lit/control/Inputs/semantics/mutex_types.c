// Mutexes of each type: error codes of try, relock, unlock by a stranger, destruction; mutual exclusion.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t recursive, errorcheck;
int counter;

static void make(pthread_mutex_t* mutex, int type) {
  pthread_mutexattr_t attributes;
  int got;
  assert(pthread_mutexattr_init(&attributes) == 0);
  assert(pthread_mutexattr_settype(&attributes, type) == 0);
  assert(pthread_mutexattr_gettype(&attributes, &got) == 0 && got == type);
  assert(pthread_mutex_init(mutex, &attributes) == 0);
  assert(pthread_mutexattr_destroy(&attributes) == 0);
}

static void* stranger(void* unused) {
  (void)unused;
  assert(pthread_mutex_trylock(&normal) == EBUSY);
  assert(pthread_mutex_trylock(&recursive) == EBUSY);
  assert(pthread_mutex_trylock(&errorcheck) == EBUSY);
  assert(pthread_mutex_unlock(&recursive) == EPERM);
  assert(pthread_mutex_unlock(&errorcheck) == EPERM);
  return NULL;
}

static void* adder(void* mutex) {
  for (int i = 0; i < 3; ++i) {
    assert(pthread_mutex_lock(mutex) == 0);
    ++counter;
    assert(pthread_mutex_unlock(mutex) == 0);
  }
  return NULL;
}

static void both(void* (*start)(void*), void* argument) {
  pthread_t a, b;
  assert(pthread_create(&a, NULL, start, argument) == 0);
  assert(pthread_create(&b, NULL, start, argument) == 0);
  assert(pthread_join(a, NULL) == 0);
  assert(pthread_join(b, NULL) == 0);
}

int main(void) {
  make(&recursive, PTHREAD_MUTEX_RECURSIVE);
  make(&errorcheck, PTHREAD_MUTEX_ERRORCHECK);
  assert(pthread_mutex_lock(&normal) == 0);
  assert(pthread_mutex_trylock(&normal) == EBUSY);
  assert(pthread_mutex_lock(&recursive) == 0);
  assert(pthread_mutex_lock(&recursive) == 0);
  assert(pthread_mutex_trylock(&recursive) == 0);
  assert(pthread_mutex_lock(&errorcheck) == 0);
  assert(pthread_mutex_lock(&errorcheck) == EDEADLK);
  assert(pthread_mutex_trylock(&errorcheck) == EBUSY);
  assert(pthread_mutex_destroy(&normal) == EBUSY);
  both(stranger, NULL);
  for (int i = 0; i < 3; ++i) {
    both(stranger, NULL);
    assert(pthread_mutex_unlock(&recursive) == 0);
  }
  assert(pthread_mutex_unlock(&recursive) == EPERM);
  assert(pthread_mutex_unlock(&errorcheck) == 0);
  assert(pthread_mutex_unlock(&errorcheck) == EPERM);
  assert(pthread_mutex_unlock(&normal) == 0);
  both(adder, &normal);
  both(adder, &recursive);
  both(adder, &errorcheck);
  assert(counter == 18);
  assert(pthread_mutex_destroy(&normal) == 0);
  assert(pthread_mutex_destroy(&recursive) == 0);
  assert(pthread_mutex_destroy(&errorcheck) == 0);
  return 0;
}
