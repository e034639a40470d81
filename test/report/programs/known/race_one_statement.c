// One statement, two accesses, no protection.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A A the two additions overlap
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

volatile int votes;

static void* vote(void* arg) {
  (void)arg;
  votes = votes + 1;  // [A]
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, vote, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(votes == 2);
  return 0;
}
