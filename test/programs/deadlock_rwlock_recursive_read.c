// A tree walk takes the read lock for each level it goes down; a writer changes the tree once. The lock prefers
// writers.
//
// The bug: a second read lock of the same thread queues behind a waiting writer, which waits for the first one.
// Recursive read locks are not allowed with PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B the writer asks for the lock before the reader takes it for the second time
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_rwlock_t lock;
int parent_value = 1;
int child_value = 2;

static int child(void) {
#ifndef FIXED
  pthread_rwlock_rdlock(&lock);  // [B]
#endif
  const int result = child_value;
#ifndef FIXED
  pthread_rwlock_unlock(&lock);
#endif
  return result;
}

static void* walk(void* arg) {
  (void)arg;
  pthread_rwlock_rdlock(&lock);
  const int sum = parent_value + child();
  pthread_rwlock_unlock(&lock);
  assert(sum == 3 || sum == 30);
  return NULL;
}

static void* change(void* arg) {
  (void)arg;
  pthread_rwlock_wrlock(&lock);  // [A]
  parent_value = 10;
  child_value = 20;
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, walk, NULL);
  pthread_create(&threads[1], NULL, change, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pthread_rwlock_destroy(&lock);
  return 0;
}
