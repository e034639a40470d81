// A read-write lock. BUG: the writer takes it for reading.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int a, b;
void* writer(void* p) {
#ifdef BUG
  pthread_rwlock_rdlock(&lock);
#else
  pthread_rwlock_wrlock(&lock);
#endif
  a = 1;
  b = 1;
  pthread_rwlock_unlock(&lock);
  return p;
}
void* reader(void* p) {
  pthread_rwlock_rdlock(&lock);
  assert(a == b);
  pthread_rwlock_unlock(&lock);
  return p;
}
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, writer, 0);
  pthread_create(&t[1], 0, reader, 0);
  pthread_create(&t[2], 0, reader, 0);
  for (int i = 0; i < 3; ++i) pthread_join(t[i], 0);
}
