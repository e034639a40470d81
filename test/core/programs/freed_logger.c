// Workers write lines into a logger with a buffer; main shuts it down as soon as the jobs are counted as done.
// A worker counts its job before it writes its last line.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWorkers = 3, kJobs = 5, kBuffer = 256 };

struct sink {
  void (*write)(struct sink* sink, const char* text, size_t size);
  size_t bytes;
};

struct logger {
  pthread_mutex_t lock;
  struct sink* sink;
  char* buffer;
  size_t used;
  unsigned lines;
};

struct pool {
  pthread_mutex_t lock;
  pthread_cond_t done;
  int next;
  int finished;
  int results[kWorkers * kJobs];
};

static struct logger* logger;
static struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER};

static void count_bytes(struct sink* sink, const char* text, size_t size) {
  sink->bytes += strnlen(text, size);
}

static struct logger* open_logger(void) {
  struct logger* opened = calloc(1, sizeof *opened);
  pthread_mutex_init(&opened->lock, NULL);
  opened->sink = calloc(1, sizeof *opened->sink);
  opened->sink->write = count_bytes;
  opened->buffer = malloc(kBuffer);
  return opened;
}

static void flush(struct logger* to) {
  to->buffer[to->used] = '\0';
  to->sink->write(to->sink, to->buffer, to->used);
  to->used = 0;
}

static void put(struct logger* to, const char* format, ...) {
  char line[64];
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&to->lock);
  if (to->used + (size_t)size >= kBuffer - 1) flush(to);
  memcpy(to->buffer + to->used, line, (size_t)size);
  to->used += (size_t)size;
  ++to->lines;
  pthread_mutex_unlock(&to->lock);
}

static void close_logger(struct logger* to) {
  flush(to);
  logger = NULL;
  free(to->buffer);
  to->buffer = NULL;
  to->sink = NULL;
  free(to);
}

static int work(int job) {
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += (job * i) % 7;
  return sum;
}

static void* worker(void* arg) {
  const int number = (int)(size_t)arg;
  for (;;) {
    pthread_mutex_lock(&pool.lock);
    const int job = pool.next < kWorkers * kJobs ? pool.next++ : -1;
    pthread_mutex_unlock(&pool.lock);
    if (job < 0) return NULL;
    put(logger, "worker %d begins job %d\n", number, job);
    const int result = work(job);
    pthread_mutex_lock(&pool.lock);
    pool.results[job] = result;
    ++pool.finished;
    pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.lock);
    put(logger, "worker %d: job %d gave %d\n", number, job, result);
  }
}

int main(void) {
  logger = open_logger();
  pthread_t workers[kWorkers];
  for (size_t i = 0; i < kWorkers; ++i) pthread_create(&workers[i], NULL, worker, (void*)i);
  pthread_mutex_lock(&pool.lock);
  while (pool.finished < kWorkers * kJobs) pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
  close_logger(logger);
  for (size_t i = 0; i < kWorkers; ++i) pthread_join(workers[i], NULL);
  int sum = 0;
  for (int i = 0; i < kWorkers * kJobs; ++i) sum += pool.results[i];
  printf("%d\n", sum);
  return 0;
}
