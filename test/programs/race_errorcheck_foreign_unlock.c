// Two threads update a file behind an errorcheck mutex. Who does not get the lock skips the update; a common
// way out releases the lock "if it is held".
//
// The bug: the note that the lock is held is shared. A thread that was refused sees the note of the other one
// and unlocks a mutex it does not own; the errorcheck mutex says EPERM.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B one thread notes that it holds the lock before the other one, refused, reads the note
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_mutex_t lock;
int updates;
#ifdef FIXED
static _Thread_local int held;
#else
atomic_int held;
#endif

static void* update(void* arg) {
  (void)arg;
  if (pthread_mutex_trylock(&lock) == 0) {
    held = 1;  // [A]
    ++updates;
  }
  if (held) {  // [B]
    held = 0;
    assert(pthread_mutex_unlock(&lock) == 0);
  }
  return NULL;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, update, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(pthread_mutex_destroy(&lock) == 0);
  assert(updates == 1 || updates == 2);
  return 0;
}
