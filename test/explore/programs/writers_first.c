/* A table behind a read-write lock that prefers writers. BUG: a reader takes it again while it has it, behind a writer that waits. */
// safe: sc tso pso
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int keys[2] = {1, 2}, version;

static int find(int key) {
#ifdef BUG
  pthread_rwlock_rdlock(&lock);
#endif
  int at = -1;
  for (int i = 0; i < 2; ++i)
    if (keys[i] == key) at = i;
#ifdef BUG
  pthread_rwlock_unlock(&lock);
#endif
  return at;
}

static void* look_up(void* unused) {
  pthread_rwlock_rdlock(&lock);
  const int before = version, at = find(2);
  assert(at == 1 || before == 1);
  pthread_rwlock_unlock(&lock);
  return unused;
}

static void* swap(void* unused) {
  pthread_rwlock_wrlock(&lock);
  keys[0] = 2;
  keys[1] = 1;
  version = 1;
  pthread_rwlock_unlock(&lock);
  return unused;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, look_up, NULL);
  pthread_create(&threads[1], NULL, swap, NULL);
  pthread_create(&threads[2], NULL, look_up, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  assert(version == 1);
  return 0;
}
