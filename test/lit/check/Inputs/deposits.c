// Two deposits; FIXED: under a lock.
#include <assert.h>
#include <pthread.h>

int balance;
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* deposit(void* unused) {
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  balance = balance + 10;
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
  return unused;
}

int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, deposit, 0);
  pthread_create(&two, 0, deposit, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  assert(balance == 20);
  return 0;
}
