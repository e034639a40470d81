// A validator reads a range of two limits and leaves with longjmp() when the range is empty, as a parser leaves
// with an error; it then tries once more. An editor moves the range up, one limit at a time.
//
// The bug: longjmp() leaves the critical section without unlocking, so the second attempt waits for the first
// one. It happens only when the validator looks between the two steps of the editor.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the lower limit is moved before the validator looks
// HEDDLE-DECISIVE: B C the validator looks before the upper limit is moved
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int low = 0;
int high = 10;

static void validate(jmp_buf error) {
  pthread_mutex_lock(&lock);
  if (low > high) {  // [B]
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    longjmp(error, 1);
  }
  pthread_mutex_unlock(&lock);
}

static void* validator(void* arg) {
  (void)arg;
  jmp_buf error;
  volatile int attempts = 0;
  if (setjmp(error) != 0 && attempts == 2) return NULL;
  ++attempts;
  validate(error);
  return NULL;
}

static void* editor(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  low = 20;  // [A]
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
  high = 30;  // [C]
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, validator, NULL);
  pthread_create(&threads[1], NULL, editor, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(low <= high);
  return 0;
}
