// No race: whoever sees the flag comes behind the first write. That the flag is set twice hides this from predictions; an exploration sees it.
#include <pthread.h>
#include <stdlib.h>
int shared;
static volatile int flag;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* produce(void* unused) {
  shared = 1;
  pthread_mutex_lock(&lock);
  flag = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void* confirm(void* unused) {
  pthread_mutex_lock(&lock);
  if (flag) flag = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void* consume(void* unused) {
  pthread_mutex_lock(&lock);
  const int ready = flag;
  pthread_mutex_unlock(&lock);
  if (ready) shared = 2;
  return unused;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, produce, NULL);
  pthread_create(&threads[1], NULL, confirm, NULL);
  pthread_create(&threads[2], NULL, consume, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return 0;
}
