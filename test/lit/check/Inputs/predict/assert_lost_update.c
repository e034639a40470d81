// An update is lost; main looks at the sum.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
int sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* add(void* unused) {
  pthread_mutex_lock(&lock);
  const int old = sum;
#ifndef FIXED
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  sum = old + 5;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, add, NULL);
  pthread_create(&b, NULL, add, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(sum == 10);
  return 0;
}
