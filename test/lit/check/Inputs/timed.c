// A lock with a time limit: got or not.
#include <pthread.h>
#include <time.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* other(void* unused) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_sec += 1;
  if (pthread_mutex_timedlock(&lock, &time) == 0) pthread_mutex_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return pthread_join(thread, 0);
}
