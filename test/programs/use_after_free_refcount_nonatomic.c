// A document counts its readers: main, an editor that closes it, a preview that opens and closes it. The last
// one frees it.
//
// The bug: the count is a plain integer. The increment of the preview can get lost against the decrement of
// the editor, and the document is freed while main still uses it.
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: B A the decrement loads before the increment stores
// HEDDLE-DECISIVE: A C the increment stores before the decrement does
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: assert, double-free
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct document {
  long text;
  volatile int readers;
};

struct document* document;
#ifdef FIXED
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock(void) {
#ifdef FIXED
  pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void) {
#ifdef FIXED
  pthread_mutex_unlock(&mutex);
#endif
}

static void open_document(struct document* d) {
  lock();
  const int before = d->readers;
  d->readers = before + 1;  // [A]
  unlock();
}

static void close_document(struct document* d) {
  lock();
  const int left = d->readers - 1;  // [B]
  d->readers = left;                // [C]
  unlock();
  if (left == 0) free(d);
}

static void* preview(void* arg) {  // main keeps the document open meanwhile
  struct document* d = arg;
  open_document(d);
  assert(d->text == 42);
  close_document(d);
  return NULL;
}

static void* editor(void* arg) {
  close_document(arg);
  return NULL;
}

int main(void) {
  document = malloc(sizeof *document);
  document->text = 42;
  document->readers = 2;  // main and the editor
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, preview, document);
  pthread_create(&threads[1], NULL, editor, document);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(document->text == 42);
  close_document(document);
  return 0;
}
