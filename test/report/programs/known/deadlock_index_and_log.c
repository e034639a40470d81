// Writers lock the index and then the log; rotation locks the log and then the index.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A D the writer has the index before rotation asks for it
// HEDDLE-DECISIVE: C B rotation has the log before the writer asks for it
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stddef.h>

pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
int entries, lines;

static void* writer(void* arg) {
  (void)arg;
  pthread_mutex_lock(&index_lock);  // [A]
  ++entries;
  pthread_mutex_lock(&log_lock);  // [B]
  ++lines;
  pthread_mutex_unlock(&log_lock);
  pthread_mutex_unlock(&index_lock);
  return NULL;
}

static void* rotation(void* arg) {
  (void)arg;
  pthread_mutex_lock(&log_lock);  // [C]
  lines = 0;
  pthread_mutex_lock(&index_lock);  // [D]
  entries = 0;
  pthread_mutex_unlock(&index_lock);
  pthread_mutex_unlock(&log_lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, writer, NULL);
  pthread_create(&threads[1], NULL, rotation, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
