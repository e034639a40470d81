// Two accesses without a common lock, which a lock beside them orders in most runs.
#include <pthread.h>
#include <stdlib.h>
int requests, errors;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void count_error(void) {
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  ++errors;
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
}
static void count_request(void) {
  pthread_mutex_lock(&lock);
  ++requests;
  pthread_mutex_unlock(&lock);
}
static void* first(void* unused) {
  count_error();
  count_request();
  return unused;
}
static void* second(void* unused) {
  count_request();
  count_error();
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, first, NULL);
  pthread_create(&b, NULL, second, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
