// A parallel compressor in the shape of pbzip2 0.9.4: main cuts the input into blocks and puts them into a
// queue, consumers compress them, a writer puts the compressed blocks in order, and main checks the result by
// expanding it again.
//
// The bug: main waits for the writer, not for the consumers, and deletes the queue. A consumer that comes back
// for another block finds the queue's mutex gone: its pointer is null, or points to freed memory.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B main deletes the mutex before a consumer locks it for the last time
// HEDDLE-SMALL: no
// HEDDLE-ALSO: use-after-free, deadlock
// HEDDLE-ARGS: 3
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInputSize = 400, kBlockSize = 64, kBlocks = (kInputSize + kBlockSize - 1) / kBlockSize };
enum { kQueueSize = 3, kMaxConsumers = 8 };

// ---- blocks
// --------------------------------------------------------------------------------------------------------

struct block {
  int number;
  size_t size;
  unsigned char bytes[2 * kBlockSize];
};

static struct block* block_new(int number, const unsigned char* bytes, size_t size) {
  struct block* result = malloc(sizeof *result);
  if (result == NULL) abort();
  result->number = number;
  result->size = size;
  if (size > 0) memcpy(result->bytes, bytes, size);
  return result;
}

// Pairs of a count and a byte.
static struct block* compress(const struct block* in) {
  struct block* out = block_new(in->number, NULL, 0);
  for (size_t i = 0; i < in->size;) {
    size_t run = 1;
    while (i + run < in->size && in->bytes[i + run] == in->bytes[i]) ++run;
    out->bytes[out->size++] = (unsigned char)run;
    out->bytes[out->size++] = in->bytes[i];
    i += run;
  }
  return out;
}

static size_t expand(const unsigned char* in, size_t size, unsigned char* out) {
  size_t written = 0;
  for (size_t i = 0; i + 1 < size; i += 2) {
    memset(out + written, in[i + 1], in[i]);
    written += in[i];
  }
  return written;
}

// ---- the queue of blocks to compress
// -------------------------------------------------------------------------------

struct queue {
  struct block* slots[kQueueSize];
  int head;
  int count;
  int closed;
  pthread_mutex_t* volatile lock;  // null after queue_delete()
  pthread_cond_t* not_empty;
  pthread_cond_t* not_full;
};

static void queue_init(struct queue* q) {
  memset(q, 0, sizeof *q);
  q->lock = malloc(sizeof *q->lock);
  q->not_empty = malloc(sizeof *q->not_empty);
  q->not_full = malloc(sizeof *q->not_full);
  if (q->lock == NULL || q->not_empty == NULL || q->not_full == NULL) abort();
  pthread_mutex_init(q->lock, NULL);
  pthread_cond_init(q->not_empty, NULL);
  pthread_cond_init(q->not_full, NULL);
}

static void queue_delete(struct queue* q) {
  pthread_mutex_t* lock = q->lock;
  q->lock = NULL;  // [A]
  pthread_mutex_destroy(lock);
  free(lock);
  pthread_cond_destroy(q->not_empty);
  free(q->not_empty);
  q->not_empty = NULL;
  pthread_cond_destroy(q->not_full);
  free(q->not_full);
  q->not_full = NULL;
}

static void queue_put(struct queue* q, struct block* block) {
  pthread_mutex_lock(q->lock);
  while (q->count == kQueueSize) pthread_cond_wait(q->not_full, q->lock);
  q->slots[(q->head + q->count) % kQueueSize] = block;
  ++q->count;
  pthread_cond_signal(q->not_empty);
  pthread_mutex_unlock(q->lock);
}

static void queue_close(struct queue* q) {
  pthread_mutex_lock(q->lock);
  q->closed = 1;
  pthread_cond_broadcast(q->not_empty);
  pthread_mutex_unlock(q->lock);
}

// Null when the queue is closed and empty.
static struct block* queue_get(struct queue* q) {
  struct block* result = NULL;
  pthread_mutex_lock(q->lock);  // [B]
  while (q->count == 0 && !q->closed) pthread_cond_wait(q->not_empty, q->lock);
  if (q->count > 0) {
    result = q->slots[q->head];
    q->head = (q->head + 1) % kQueueSize;
    --q->count;
    pthread_cond_signal(q->not_full);
  }
  pthread_mutex_unlock(q->lock);
  return result;
}

// ---- the compressed blocks, in order
// -------------------------------------------------------------------------------

struct output {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct block* blocks[kBlocks];
  unsigned char bytes[2 * kInputSize];
  size_t size;
};

struct output output = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void output_put(struct block* block) {
  pthread_mutex_lock(&output.lock);
  output.blocks[block->number] = block;
  pthread_cond_signal(&output.changed);
  pthread_mutex_unlock(&output.lock);
}

static struct block* output_wait(int number) {
  pthread_mutex_lock(&output.lock);
  while (output.blocks[number] == NULL) pthread_cond_wait(&output.changed, &output.lock);
  struct block* result = output.blocks[number];
  pthread_mutex_unlock(&output.lock);
  return result;
}

// ---- threads
// -------------------------------------------------------------------------------------------------------

struct queue queue;

static void* consumer(void* arg) {
  (void)arg;
  for (;;) {
    struct block* in = queue_get(&queue);
    if (in == NULL) return NULL;
    struct block* out = compress(in);
    free(in);
    output_put(out);
  }
}

static void* writer(void* arg) {
  (void)arg;
  for (int i = 0; i < kBlocks; ++i) {
    struct block* block = output_wait(i);
    memcpy(output.bytes + output.size, block->bytes, block->size);
    output.size += block->size;
    free(block);
  }
  return NULL;
}

static void produce(const unsigned char* input) {
  for (int i = 0; i < kBlocks; ++i) {
    const size_t from = (size_t)i * kBlockSize;
    const size_t size = kInputSize - from < kBlockSize ? kInputSize - from : kBlockSize;
    queue_put(&queue, block_new(i, input + from, size));
  }
  queue_close(&queue);
}

int main(int argc, char** argv) {
  const int consumers = argc > 1 ? atoi(argv[1]) : 2;
  if (consumers < 1 || consumers > kMaxConsumers) {
    fprintf(stderr, "usage: %s [1-%d consumers]\n", argv[0], kMaxConsumers);
    return 2;
  }
  static unsigned char input[kInputSize];
  for (int i = 0; i < kInputSize; ++i) input[i] = (unsigned char)('a' + (i / 7) % 5);

  queue_init(&queue);
  pthread_t writer_thread;
  pthread_t consumer_threads[kMaxConsumers];
  pthread_create(&writer_thread, NULL, writer, NULL);
  for (int i = 0; i < consumers; ++i) pthread_create(&consumer_threads[i], NULL, consumer, NULL);
  produce(input);
  pthread_join(writer_thread, NULL);
#ifdef FIXED
  for (int i = 0; i < consumers; ++i) pthread_join(consumer_threads[i], NULL);
#endif
  queue_delete(&queue);
#ifndef FIXED
  for (int i = 0; i < consumers; ++i) pthread_join(consumer_threads[i], NULL);
#endif

  static unsigned char expanded[kInputSize];
  const size_t size = expand(output.bytes, output.size, expanded);
  assert(size == kInputSize);
  assert(memcmp(expanded, input, kInputSize) == 0);
  return 0;
}
