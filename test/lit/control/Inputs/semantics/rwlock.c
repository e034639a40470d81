// Read-write locks: readers share, writers do not; error codes of try and timed calls and of locking again.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_barrier_t both_read;
int value;
atomic_int writers;

static void* while_read(void* unused) {
  (void)unused;
  struct timespec past = {1, 0};
  assert(pthread_rwlock_tryrdlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
  return NULL;
}

static void* while_written(void* unused) {
  (void)unused;
  struct timespec past = {1, 0};
  assert(pthread_rwlock_tryrdlock(&lock) == EBUSY);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_timedrdlock(&lock, &past) == ETIMEDOUT);
  past.tv_nsec = -1;
  assert(pthread_rwlock_timedrdlock(&lock, &past) == EINVAL);
  return NULL;
}

static void* reader(void* unused) {
  (void)unused;
  assert(pthread_rwlock_rdlock(&lock) == 0);
  pthread_barrier_wait(&both_read);  // only possible when both hold it
  const int before = value;
  assert(atomic_load(&writers) == 0 && value == before);
  assert(pthread_rwlock_unlock(&lock) == 0);
  return NULL;
}

static void* writer(void* unused) {
  (void)unused;
  assert(pthread_rwlock_wrlock(&lock) == 0);
  assert(atomic_fetch_add(&writers, 1) == 0);
  ++value;
  atomic_fetch_sub(&writers, 1);
  assert(pthread_rwlock_unlock(&lock) == 0);
  return NULL;
}

static void in_thread(void* (*start)(void*)) {
  pthread_t thread;
  assert(pthread_create(&thread, NULL, start, NULL) == 0);
  assert(pthread_join(thread, NULL) == 0);
}

int main(void) {
  pthread_t threads[4];
  assert(pthread_barrier_init(&both_read, NULL, 2) == 0);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  in_thread(while_read);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_wrlock(&lock) == 0);
  in_thread(while_written);
  assert(pthread_rwlock_wrlock(&lock) == EDEADLK);
  assert(pthread_rwlock_rdlock(&lock) == EDEADLK);
  assert(pthread_rwlock_unlock(&lock) == 0);
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, reader, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) assert(pthread_create(&threads[i], NULL, writer, NULL) == 0);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(value >= 0 && value <= 2 && atomic_load(&writers) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(value == 2);
  assert(pthread_rwlock_destroy(&lock) == 0);
  return 0;
}
