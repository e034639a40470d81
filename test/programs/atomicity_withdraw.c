// Two cash machines withdraw 60 each from an account of 100.
//
// The bug: the balance is checked in one critical section and taken in the next. Both machines can pass the
// check before either takes the money. Atomicity violation by check-then-act; every single access is protected
// by the mutex.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the check of one machine before the withdrawal of the other (and the other way round)
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long balance = 100;

#ifdef FIXED
static int withdraw(long amount) {
  pthread_mutex_lock(&lock);
  const int enough = balance >= amount;
  if (enough) balance -= amount;
  pthread_mutex_unlock(&lock);
  return enough;
}
#else
static long current_balance(void) {
  pthread_mutex_lock(&lock);
  const long result = balance;  // [A]
  pthread_mutex_unlock(&lock);
  return result;
}

static int withdraw(long amount) {
  if (current_balance() < amount) return 0;
  pthread_mutex_lock(&lock);
  balance -= amount;  // [B]
  pthread_mutex_unlock(&lock);
  return 1;
}
#endif

static void* machine(void* arg) {
  (void)arg;
  withdraw(60);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, machine, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(balance >= 0);
  return 0;
}
