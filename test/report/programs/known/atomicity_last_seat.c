// Two agents look for a free seat under the lock, and take it under the lock, but not under one lock.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B each agent looks before the other one has taken the seat
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int free_seats = 1;
int sold;

static void* agent(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  const int any = free_seats > 0;  // [A]
  pthread_mutex_unlock(&lock);
  if (!any) return NULL;
  pthread_mutex_lock(&lock);
  free_seats = free_seats - 1;  // [B]
  ++sold;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, agent, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(free_seats >= 0);
  return 0;
}
