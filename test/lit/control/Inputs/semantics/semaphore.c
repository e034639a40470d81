// Semaphores: values, waiting, try and timed waits, errors by errno.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

sem_t items, slots, none, full;
int buffer[2], total;

static int value_of(sem_t* semaphore) {
  int value;
  assert(sem_getvalue(semaphore, &value) == 0);
  return value;
}

static void* producer(void* unused) {
  (void)unused;
  for (int i = 0; i < 4; ++i) {
    assert(sem_wait(&slots) == 0);
    buffer[i % 2] = i + 1;
    assert(sem_post(&items) == 0);
  }
  return NULL;
}

static void* consumer(void* unused) {
  (void)unused;
  for (int i = 0; i < 4; ++i) {
    assert(sem_wait(&items) == 0);
    assert(buffer[i % 2] == i + 1);
    total += buffer[i % 2];
    assert(sem_post(&slots) == 0);
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  struct timespec deadline;
  assert(sem_init(&items, 0, 0) == 0 && sem_init(&slots, 0, 2) == 0 && sem_init(&none, 0, 0) == 0);
  assert(sem_init(&full, 0, SEM_VALUE_MAX) == 0);
  errno = 0;
  assert(sem_init(&full, 0, (unsigned)SEM_VALUE_MAX + 1) == -1 && errno == EINVAL);
  assert(sem_post(&full) == -1 && errno == EOVERFLOW);
  errno = 0;
  assert(sem_trywait(&none) == -1 && errno == EAGAIN);
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_nsec = (deadline.tv_nsec + 1000000) % 1000000000;  // at most a second ago, or in a moment
  errno = 0;
  assert(sem_timedwait(&none, &deadline) == -1 && errno == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  errno = 0;
  assert(sem_clockwait(&none, CLOCK_MONOTONIC, &deadline) == -1 && errno == ETIMEDOUT);
  deadline.tv_nsec = -1;
  errno = 0;
  assert(sem_timedwait(&none, &deadline) == -1 && errno == EINVAL);
  assert(sem_trywait(&slots) == 0 && value_of(&slots) == 1);
  assert(sem_post(&slots) == 0);
  assert(pthread_create(&a, NULL, producer, NULL) == 0);
  assert(pthread_create(&b, NULL, consumer, NULL) == 0);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(total == 10 && value_of(&items) == 0 && value_of(&slots) == 2);
  assert(sem_destroy(&items) == 0 && sem_destroy(&slots) == 0 && sem_destroy(&none) == 0);
  return 0;
}
