// main leaves by pthread_exit: the others go on, cleanup handlers and destructors of main run, the program ends
// with 0 when the last thread does, after the exit handlers.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

pthread_key_t key;
pthread_t main_thread;
atomic_int worked, cleaned, destroyed;
sem_t leaving;

static void handler(void) {
  if (!(atomic_load(&worked) == 2 && atomic_load(&cleaned) && atomic_load(&destroyed))) _exit(9);
}

static void destroy(void* value) {
  (void)value;
  atomic_store(&destroyed, 1);
}

static void clean(void* argument) {
  sem_post(argument);
  atomic_store(&cleaned, 1);
}

static void* worker(void* unused) {
  (void)unused;
  sem_wait(&leaving);
  sem_post(&leaving);
  atomic_fetch_add(&worked, 1);
  return NULL;
}

static void* joins_main(void* unused) {
  (void)unused;
  void* result;
  assert(pthread_join(main_thread, &result) == 0 && result == &key);
  atomic_fetch_add(&worked, 1);
  return NULL;
}

int main(void) {
  pthread_t thread;
  main_thread = pthread_self();
  sem_init(&leaving, 0, 0);
  assert(atexit(handler) == 0);
  assert(pthread_key_create(&key, destroy) == 0);
  pthread_setspecific(key, &key);
  assert(pthread_create(&thread, NULL, worker, NULL) == 0);
  assert(pthread_create(&thread, NULL, joins_main, NULL) == 0);
  pthread_cleanup_push(clean, &leaving);
  pthread_exit(&key);
  pthread_cleanup_pop(0);
}
