// Thread-specific data: a value for each thread, destructors at its end (again when they set values), none for
// null, none for deleted keys, none for main when it returns.
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

pthread_key_t plain, counted, again, deleted;
atomic_int destroyed, rounds;

static void count(void* value) {
  assert(pthread_getspecific(counted) == NULL);
  assert((uintptr_t)value == 7 || (uintptr_t)value == 8);
  atomic_fetch_add(&destroyed, 1);
}

static void set_again(void* value) {
  const int round = atomic_fetch_add(&rounds, 1);
  if (round < 2) assert(pthread_setspecific(again, value) == 0);
}

static void never(void* value) {
  (void)value;
  assert(!"destructor of a deleted key");
}

static void* worker(void* number) {
  assert(pthread_getspecific(counted) == NULL);
  assert(pthread_setspecific(counted, number) == 0);
  assert(pthread_setspecific(plain, number) == 0);
  assert(pthread_setspecific(deleted, number) == 0);
  assert(pthread_getspecific(counted) == number && pthread_getspecific(plain) == number);
  return NULL;
}

static void* repeats(void* unused) {
  (void)unused;
  pthread_setspecific(again, &rounds);
  pthread_setspecific(counted, (void*)8);
  pthread_setspecific(counted, NULL);
  pthread_exit(NULL);
}

int main(void) {
  pthread_t threads[2];
  assert(pthread_key_create(&plain, NULL) == 0 && pthread_key_create(&counted, count) == 0);
  assert(pthread_key_create(&again, set_again) == 0 && pthread_key_create(&deleted, never) == 0);
  pthread_setspecific(counted, (void*)9);
  pthread_key_t extra;
  assert(pthread_key_create(&extra, never) == 0);
  assert(pthread_key_delete(extra) == 0);
  assert(pthread_key_delete(extra) == EINVAL);
  assert(pthread_setspecific(extra, &extra) == EINVAL);
  assert(pthread_key_delete(deleted) == 0);
  assert(pthread_key_create(&deleted, NULL) == 0);  // the same number again, perhaps
  assert(pthread_getspecific(deleted) == NULL);
  assert(pthread_create(&threads[0], NULL, worker, (void*)7) == 0);
  assert(pthread_create(&threads[1], NULL, worker, (void*)8) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(atomic_load(&destroyed) == 2);
  assert(pthread_create(&threads[0], NULL, repeats, NULL) == 0);
  pthread_join(threads[0], NULL);
  assert(atomic_load(&rounds) == 3 && atomic_load(&destroyed) == 2);
  assert(pthread_getspecific(counted) == (void*)9);
  return 0;
}
