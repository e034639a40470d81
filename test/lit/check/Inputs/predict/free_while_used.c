// Freed while another thread may still use it.
#include <pthread.h>
#include <stdlib.h>
int* buffer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* fill(void* unused) {
  pthread_mutex_lock(&lock);
  buffer[0] = 1;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void* drop(void* unused) {
  pthread_mutex_lock(&lock);
  free(buffer);
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t a, b;
  buffer = malloc(16);
  pthread_create(&a, NULL, fill, NULL);
#ifdef FIXED
  pthread_join(a, NULL);
#endif
  pthread_create(&b, NULL, drop, NULL);
#ifndef FIXED
  pthread_join(a, NULL);
#endif
  pthread_join(b, NULL);
  return 0;
}
