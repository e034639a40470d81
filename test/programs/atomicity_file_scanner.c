// A parallel file scanner in the shape of pfscan: main walks a (made up) directory tree and queues the files,
// workers look for a word in them with one of several matchers and add up what they find.
//
// The bug: a worker that finds the queue empty gives the lock back before it looks whether the queue is closed.
// The last files and the closing can come in between; when all workers leave like that, these files are never
// scanned.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B a worker finds the queue empty before the last file is put into it
// HEDDLE-DECISIVE: C D the queue is closed before that worker looks whether it is
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { kWorkers = 2, kQueueSize = 4 };

// ---- a directory tree
// ----------------------------------------------------------------------------------------------

struct file {
  const char* name;
  const char* text;                // null for a directory
  const struct file* children[3];  // ends with null when shorter
};

static const struct file kNotes = {"notes", "a thread, a needle, a thread", {NULL}};
static const struct file kEmpty = {"empty", "", {NULL}};
static const struct file kReadme = {"README", "thread the needle", {NULL}};
static const struct file kSource = {"source", NULL, {&kNotes, &kEmpty, NULL}};
static const struct file kRoot = {"/", NULL, {&kSource, &kReadme, NULL}};

// ---- matchers
// ------------------------------------------------------------------------------------------------------

typedef int (*matcher)(const char* text, const char* word);

static int count_plain(const char* text, const char* word) {
  int count = 0;
  for (const char* at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) ++count;
  return count;
}

static int count_whole_text(const char* text, const char* word) {
  return strcmp(text, word) == 0;
}

struct options {
  const char* word;
  matcher match;
};

static const struct options kOptions[] = {
    {"thread", count_plain}, {"needle", count_plain}, {"", count_whole_text}};
enum { kSearches = sizeof kOptions / sizeof *kOptions };

// ---- the queue of files
// --------------------------------------------------------------------------------------------

struct file_queue {
  pthread_mutex_t lock;
  pthread_cond_t more;
  pthread_cond_t room;
  const struct file* slots[kQueueSize];
  int first;
  int count;
  atomic_int closed;
};

struct file_queue queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .room = PTHREAD_COND_INITIALIZER};

static void queue_put(struct file_queue* q, const struct file* file) {
  pthread_mutex_lock(&q->lock);
  while (q->count == kQueueSize) pthread_cond_wait(&q->room, &q->lock);
  q->slots[(q->first + q->count) % kQueueSize] = file;
  ++q->count;  // [B]
  pthread_cond_signal(&q->more);
  pthread_mutex_unlock(&q->lock);
}

static void queue_close(struct file_queue* q) {
  pthread_mutex_lock(&q->lock);
  atomic_store(&q->closed, 1);  // [C]
  pthread_cond_broadcast(&q->more);
  pthread_mutex_unlock(&q->lock);
}

static const struct file* take_locked(struct file_queue* q) {
  const struct file* result = q->slots[q->first];
  q->first = (q->first + 1) % kQueueSize;
  --q->count;
  pthread_cond_signal(&q->room);
  return result;
}

// Null when there are no more files.
static const struct file* queue_get(struct file_queue* q) {
  const struct file* result = NULL;
  pthread_mutex_lock(&q->lock);
  while (q->count == 0) {  // [A]
#ifdef FIXED
    if (atomic_load(&q->closed)) break;
#else
    pthread_mutex_unlock(&q->lock);
    if (atomic_load(&q->closed)) return NULL;  // [D]
    pthread_mutex_lock(&q->lock);
    if (q->count > 0) break;
    if (atomic_load(&q->closed)) continue;
#endif
    pthread_cond_wait(&q->more, &q->lock);
  }
  if (q->count > 0) result = take_locked(q);
  pthread_mutex_unlock(&q->lock);
  return result;
}

// ---- threads
// -------------------------------------------------------------------------------------------------------

pthread_mutex_t found_lock = PTHREAD_MUTEX_INITIALIZER;
int found[kSearches];

static void scan(const struct file* file) {
  int mine[kSearches];
  for (int i = 0; i < kSearches; ++i) mine[i] = kOptions[i].match(file->text, kOptions[i].word);
  pthread_mutex_lock(&found_lock);
  for (int i = 0; i < kSearches; ++i) found[i] += mine[i];
  pthread_mutex_unlock(&found_lock);
}

static void* worker(void* arg) {
  (void)arg;
  for (const struct file* file = queue_get(&queue); file != NULL; file = queue_get(&queue)) scan(file);
  return NULL;
}

static void walk(const struct file* file) {
  if (file->text != NULL) {
    queue_put(&queue, file);
    return;
  }
  for (int i = 0; i < 3 && file->children[i] != NULL; ++i) walk(file->children[i]);
}

int main(void) {
  pthread_t workers[kWorkers];
  for (int i = 0; i < kWorkers; ++i) pthread_create(&workers[i], NULL, worker, NULL);
  walk(&kRoot);
  queue_close(&queue);
  for (int i = 0; i < kWorkers; ++i) pthread_join(workers[i], NULL);
  assert(found[0] == 3);
  assert(found[1] == 2);
  assert(found[2] == 1);
  return 0;
}
