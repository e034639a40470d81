// Threads work until main() has slept for a second.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int stop;
static long done[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void* works(void* number) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pthread_mutex_lock(&mutex);
    ++done[(size_t)number];
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, works, (void*)i);
  sleep(1);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(done[0] + done[1] > 0);
  return 0;
}
