// A pointer is looked at, and read again for its use; somebody takes it away in between.
#include <pthread.h>
#include <stdlib.h>
struct session { int user; };
struct session* current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int seen;
static void* use(void* unused) {
  pthread_mutex_lock(&lock);
  const int there = current != NULL;
#ifdef FIXED
  if (there) seen = current->user;
  pthread_mutex_unlock(&lock);
#else
  pthread_mutex_unlock(&lock);
  if (there) seen = current->user;
#endif
  return unused;
}
static void* log_out(void* unused) {
  pthread_mutex_lock(&lock);
  current = NULL;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t a, b;
  struct session session = {7};
  current = &session;
  pthread_create(&a, NULL, use, NULL);
  pthread_create(&b, NULL, log_out, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
