// The source reads `data` only where the flag says that it is there. From -O1 on clang reads it in any case, and takes it or not.
#include <pthread.h>
#include <stddef.h>
int data, ready, seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* produce(void* unused) {
  data = 1;
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void* consume(void* unused) {
  pthread_mutex_lock(&lock);
  const int there = ready;
  pthread_mutex_unlock(&lock);
  int value = 0;
  if (there) value = data;
  seen = value;
  return unused;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, produce, NULL);
  pthread_create(&b, NULL, consume, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return seen > 1;
}
