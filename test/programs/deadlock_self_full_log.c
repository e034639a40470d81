// A log with room for two lines. Who finds no room flushes first, then adds.
//
// The bug: two threads can find the last place free at the same time. The second one meets a full log inside
// add(), with the lock held, and calls flush(), which takes the same (normal) mutex again: it waits for itself.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B one thread looks for room before the other one takes the last place
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum { kRoom = 2 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int lines[kRoom];
int used = 1;  // the line that main wrote at the start
int flushed;

static void flush_locked(void) {
  flushed += used;
  used = 0;
}

static void flush(void) {
  pthread_mutex_lock(&lock);
  flush_locked();
  pthread_mutex_unlock(&lock);
}

static int has_room(void) {
  pthread_mutex_lock(&lock);
  const int result = used < kRoom;  // [A]
  pthread_mutex_unlock(&lock);
  return result;
}

static void add(int line) {
  pthread_mutex_lock(&lock);
  if (used == kRoom) {
#ifdef FIXED
    flush_locked();
#else
    flush();
#endif
  }
  lines[used] = line;
  ++used;  // [B]
  pthread_mutex_unlock(&lock);
}

static void* writer(void* arg) {
  const int line = *(const int*)arg;
  if (!has_room()) flush();
  add(line);
  return NULL;
}

int main(void) {
  int texts[2] = {7, 8};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, writer, &texts[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(flushed + used == 3);
  return 0;
}
