/* What one thread writes decides what the other one does. */
#include <pthread.h>

int turns, sum;

static void* add(void* unused) {
  for (int i = 0; i < turns; ++i) ++sum;
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, add, 0);
  turns = 3;
  pthread_join(thread, 0);
  return sum > 3;
}
