// A worker updates statistics under a lock and then waits for more work, until main cancels it. It has a
// cleanup handler that unlocks.
//
// The bug: a cancellation point stands between the lock and pthread_cleanup_push(). Cancelled there, the worker
// leaves the mutex locked and main waits for it forever.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the request to cancel before the worker passes the cancellation point
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
sem_t started;
sem_t more_work;
int updates;

static void unlock(void* mutex) {
  pthread_mutex_unlock(mutex);
}

static void* worker(void* arg) {
  (void)arg;
  sem_post(&started);
  pthread_mutex_lock(&lock);
#ifndef FIXED
  pthread_testcancel();  // [B] stands for any call that is a cancellation point
#endif
  pthread_cleanup_push(unlock, &lock);
#ifdef FIXED
  pthread_testcancel();
#endif
  ++updates;
  pthread_cleanup_pop(1);
  sem_wait(&more_work);
  return NULL;
}

int main(void) {
  sem_init(&started, 0, 0);
  sem_init(&more_work, 0, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  sem_wait(&started);
  pthread_cancel(thread);  // [A]
  void* result = NULL;
  pthread_join(thread, &result);
  assert(result == PTHREAD_CANCELED);
  pthread_mutex_lock(&lock);
  assert(updates == 0 || updates == 1);
  pthread_mutex_unlock(&lock);
  return 0;
}
