// Cancellation: at cancellation points only, not while disabled; cleanup handlers run last to first, with the
// mutex of an interrupted wait held; thread-specific data is destroyed; the result says so.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t never = PTHREAD_COND_INITIALIZER;
pthread_key_t key;
sem_t ready, none;
atomic_int cleaned, destroyed, went_on;

static void destroy(void* value) {
  (void)value;
  atomic_fetch_add(&destroyed, 1);
}

static void first(void* argument) {
  assert(argument == &mutex && atomic_load(&cleaned) == 1);
  atomic_store(&cleaned, 2);
}

static void unlock(void* argument) {
  assert(atomic_load(&cleaned) == 0);
  assert(pthread_mutex_unlock(argument) == 0);
  atomic_store(&cleaned, 1);
}

static void* waits_for_condition(void* unused) {
  (void)unused;
  pthread_setspecific(key, &key);
  pthread_cleanup_push(first, &mutex);
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(unlock, &mutex);
  sem_post(&ready);
  for (;;) pthread_cond_wait(&never, &mutex);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}

static void* waits_for_semaphore(void* unused) {
  (void)unused;
  int old;
  assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
  assert(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
  sem_post(&ready);
  pthread_testcancel();
  usleep(100);
  atomic_store(&went_on, 1);
  assert(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old) == 0 && old == PTHREAD_CANCEL_DISABLE);
  sem_wait(&none);
  assert(!"behind a cancellation point");
  return NULL;
}

static void pops(void* argument) {
  ++*(int*)argument;
}

static void* not_cancelled(void* unused) {
  (void)unused;
  int count = 0;
  pthread_cleanup_push(pops, &count);
  pthread_cleanup_push(pops, &count);
  pthread_cleanup_pop(1);
  assert(count == 1);
  pthread_cleanup_pop(0);
  assert(count == 1);
  return &mutex;
}

static void* sleeps(void* unused) {
  (void)unused;
  for (;;) sleep(1000);
}

static void* cancel(void* (*start)(void*), int wait) {
  pthread_t thread;
  void* result;
  assert(pthread_create(&thread, NULL, start, NULL) == 0);
  if (wait) sem_wait(&ready);
  assert(pthread_cancel(thread) == 0);
  assert(pthread_join(thread, &result) == 0);
  return result;
}

int main(void) {
  assert(pthread_key_create(&key, destroy) == 0);
  sem_init(&ready, 0, 0);
  sem_init(&none, 0, 0);
  assert(cancel(waits_for_condition, 1) == PTHREAD_CANCELED);
  assert(atomic_load(&cleaned) == 2 && atomic_load(&destroyed) == 1);
  assert(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
  assert(cancel(waits_for_semaphore, 1) == PTHREAD_CANCELED && atomic_load(&went_on));
  assert(cancel(sleeps, 0) == PTHREAD_CANCELED);
  assert(cancel(not_cancelled, 0) == &mutex);
  return 0;
}
