// The visitor looks whether the door is open, and only then takes the lock and waits; the doorman may ring in between.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A C the visitor looks before the door is opened
// HEDDLE-DECISIVE: D B the bell rings before the visitor waits for it
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
atomic_int open_door;

static void* visitor(void* arg) {
  (void)arg;
  if (atomic_load(&open_door)) return NULL;  // [A]
  pthread_mutex_lock(&lock);
  pthread_cond_wait(&bell, &lock);  // [B]
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* doorman(void* arg) {
  (void)arg;
  atomic_store(&open_door, 1);  // [C]
  pthread_cond_signal(&bell);   // [D]
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, visitor, NULL);
  pthread_create(&threads[1], NULL, doorman, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
