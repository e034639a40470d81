// Two threads record a hit each. Recording must not block, so it uses trylock.
//
// The bug: when the lock is taken the hit is dropped instead of being recorded later.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B one thread tries the lock before the other one has unlocked
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int hits;
#ifdef FIXED
atomic_int missed;
#endif

static void* hit(void* arg) {
  (void)arg;
  if (pthread_mutex_trylock(&lock) == 0) {  // [A]
    ++hits;
    pthread_mutex_unlock(&lock);  // [B]
  } else {
#ifdef FIXED
    ++missed;
#endif
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, hit, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
#ifdef FIXED
  hits += missed;
#endif
  assert(hits == 2);
  return 0;
}
