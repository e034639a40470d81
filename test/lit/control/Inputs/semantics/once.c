// pthread_once: once, and nobody goes on before it is done; a cancelled attempt does not count.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_once_t once = PTHREAD_ONCE_INIT, interrupted = PTHREAD_ONCE_INIT;
int calls, ready, attempts, finished;

static void initialise(void) {
  ++calls;
  ready = 1;
}

static void* user(void* unused) {
  (void)unused;
  assert(pthread_once(&once, initialise) == 0);
  assert(calls == 1 && ready == 1);
  return NULL;
}

static void cancelled_first(void) {
  if (++attempts == 1) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  finished = 1;
}

static void* cancelled(void* unused) {
  (void)unused;
  pthread_once(&interrupted, cancelled_first);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  void* result;
  for (int i = 0; i < 3; ++i) assert(pthread_create(&threads[i], NULL, user, NULL) == 0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  assert(pthread_create(&threads[0], NULL, cancelled, NULL) == 0);
  pthread_join(threads[0], &result);
  assert(result == PTHREAD_CANCELED && !finished);
  assert(pthread_once(&interrupted, cancelled_first) == 0);
  assert(attempts == 2 && finished);
  return 0;
}
