// Blocks of a file go through a queue to compressors, their results to a writer, in order. The main thread
// knows from the number of blocks written that all is done, and takes the queue away while a compressor still
// looks for more.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { kWorkers = 3, kBlocks = 6, kBlock = 64, kQueue = 4 };
struct queue {
  pthread_mutex_t* lock;
  pthread_cond_t *not_empty, *not_full;
  int blocks[kQueue];
  int head, tail, full, empty;
};
static unsigned char input[kBlocks][kBlock];
static struct {
  unsigned char bytes[2 * kBlock];
  int size;
  int ready;
} output[kBlocks];
static pthread_mutex_t out_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t out_ready = PTHREAD_COND_INITIALIZER;
static struct queue* make_queue(void) {
  struct queue* q = calloc(1, sizeof *q);
  q->empty = 1;
  q->lock = malloc(sizeof *q->lock);
  pthread_mutex_init(q->lock, NULL);
  q->not_empty = malloc(sizeof *q->not_empty);
  pthread_cond_init(q->not_empty, NULL);
  q->not_full = malloc(sizeof *q->not_full);
  pthread_cond_init(q->not_full, NULL);
  return q;
}
static void delete_queue(struct queue* q) {
  pthread_mutex_destroy(q->lock);
  free(q->lock);
  q->lock = NULL;
  free(q->not_empty);
  free(q->not_full);
  q->not_empty = q->not_full = NULL;
}
static void put(struct queue* q, int block) {
  q->blocks[q->tail] = block;
  q->tail = (q->tail + 1) % kQueue;
  q->full = q->tail == q->head;
  q->empty = 0;
}
static int take(struct queue* q) {
  int block = q->blocks[q->head];
  q->head = (q->head + 1) % kQueue;
  q->empty = q->head == q->tail;
  q->full = 0;
  return block;
}
static int compress(const unsigned char* in, unsigned char* out) {
  int size = 0;
  for (int i = 0; i < kBlock;) {
    int run = 1;
    while (i + run < kBlock && in[i + run] == in[i]) ++run;
    out[size++] = (unsigned char)run;
    out[size++] = in[i];
    i += run;
  }
  return size;
}
static int all_read;
static void* compressor(void* arg) {
  struct queue* q = arg;
  for (;;) {
    pthread_mutex_lock(q->lock);
    while (q->empty && !all_read) pthread_cond_wait(q->not_empty, q->lock);
    if (q->empty) {
      pthread_mutex_unlock(q->lock);
      return NULL;
    }
    int block = take(q);
    pthread_cond_signal(q->not_full);
    pthread_mutex_unlock(q->lock);
    int size = compress(input[block], output[block].bytes);
    pthread_mutex_lock(&out_lock);
    output[block].size = size;
    output[block].ready = 1;
    pthread_cond_signal(&out_ready);
    pthread_mutex_unlock(&out_lock);
  }
}
int main(void) {
  for (int b = 0; b < kBlocks; ++b)
    for (int i = 0; i < kBlock; ++i) input[b][i] = (unsigned char)(i / (b + 3));
  struct queue* q = make_queue();
  pthread_t t[kWorkers];
  for (int i = 0; i < kWorkers; ++i) pthread_create(&t[i], NULL, compressor, q);
  for (int b = 0; b < kBlocks; ++b) {
    pthread_mutex_lock(q->lock);
    while (q->full) pthread_cond_wait(q->not_full, q->lock);
    put(q, b);
    if (b == kBlocks - 1) all_read = 1;
    pthread_cond_broadcast(q->not_empty);
    pthread_mutex_unlock(q->lock);
  }
  int total = 0;
  for (int b = 0; b < kBlocks; ++b) {
    pthread_mutex_lock(&out_lock);
    while (!output[b].ready) pthread_cond_wait(&out_ready, &out_lock);
    total += output[b].size;
    pthread_mutex_unlock(&out_lock);
  }
#ifdef FIXED
  for (int i = 0; i < kWorkers; ++i) pthread_join(t[i], NULL);
#endif
  delete_queue(q);
#ifndef FIXED
  for (int i = 0; i < kWorkers; ++i) pthread_join(t[i], NULL);
#endif
  free(q);
  return total == 0;
}
