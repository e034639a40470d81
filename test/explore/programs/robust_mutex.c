// A thread ends with the lock: the next one repairs what it left. -DBUG: the next one does not, and main cannot have the lock any more.
// safe: sc tso pso
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t lock;
static int total, copy;
static int take(void) {
  const int got = pthread_mutex_lock(&lock);
#ifndef BUG
  if (got == EOWNERDEAD) {
    copy = total;
    pthread_mutex_consistent(&lock);
    return 0;
  }
#endif
  return got;
}
static void* dies(void* p) {
  take();
  total++;
  return p;
}
static void* works(void* p) {
  take();
  assert(total == copy);
  total++;
  copy++;
  pthread_mutex_unlock(&lock);
  return p;
}
int main(void) {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&lock, &robust);
  pthread_t t, u;
  pthread_create(&t, 0, dies, 0);
  pthread_create(&u, 0, works, 0);
  pthread_join(t, 0);
  pthread_join(u, 0);
  assert(take() == 0);
  assert(total == 2 && copy == 2);
  pthread_mutex_unlock(&lock);
}
