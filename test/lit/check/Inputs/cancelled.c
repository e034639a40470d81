// Cancellation, which the exploration does not follow.
#include <pthread.h>
#include <unistd.h>

static void* other(void* unused) {
  pause();
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  pthread_cancel(thread);
  return pthread_join(thread, 0);
}
