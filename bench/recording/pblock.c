/* Parallel block compressor over libbz2, in the shape of pbzip2: the main thread reads blocks into a bounded
 * queue, workers compress them, one thread writes the results in the order of the input.
 *
 *   pblock INPUT OUTPUT
 *
 * OUTPUT is a sequence of bzip2 streams, so `bzip2 -d` reads it. */
#include <bzlib.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORKERS 4
#define QUEUE 8
#define BLOCK (100 * 1000)

struct block {
  unsigned number;
  unsigned size;
  char* data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static struct block queue[QUEUE];
static unsigned head, tail;
static int input_ended;

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_changed = PTHREAD_COND_INITIALIZER;
static struct block* done;
static unsigned done_room;
static unsigned blocks = ~0u; /* known when the input has ended */
static int output;

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void put(struct block block) {
  pthread_mutex_lock(&lock);
  while (tail - head == QUEUE) pthread_cond_wait(&not_full, &lock);
  queue[tail++ % QUEUE] = block;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static int take(struct block* block) {
  pthread_mutex_lock(&lock);
  while (head == tail && !input_ended) pthread_cond_wait(&not_empty, &lock);
  const int got = head != tail;
  if (got) *block = queue[head++ % QUEUE];
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&lock);
  return got;
}

static void finish(struct block block) {
  pthread_mutex_lock(&done_lock);
  if (block.number >= done_room) {
    const unsigned room = 2 * block.number + 64;
    done = realloc(done, room * sizeof *done);
    if (done == NULL) fail("realloc");
    for (unsigned i = done_room; i < room; ++i) done[i].data = NULL;
    done_room = room;
  }
  done[block.number] = block;
  pthread_cond_signal(&done_changed);
  pthread_mutex_unlock(&done_lock);
}

static void* work(void* nothing) {
  (void)nothing;
  struct block block;
  while (take(&block)) {
    unsigned size = block.size + block.size / 100 + 600; /* as libbz2 asks for */
    char* compressed = malloc(size);
    if (compressed == NULL) fail("malloc");
    if (BZ2_bzBuffToBuffCompress(compressed, &size, block.data, block.size, 1, 0, 30) != BZ_OK) abort();
    free(block.data);
    finish((struct block){block.number, size, compressed});
  }
  return NULL;
}

static void* write_in_order(void* nothing) {
  (void)nothing;
  for (unsigned next = 0;; ++next) {
    pthread_mutex_lock(&done_lock);
    while (next < blocks && (next >= done_room || done[next].data == NULL))
      pthread_cond_wait(&done_changed, &done_lock);
    const int ended = next >= blocks;
    const struct block block = ended ? (struct block){0} : done[next];
    pthread_mutex_unlock(&done_lock);
    if (ended) return NULL;
    if (write(output, block.data, block.size) != (ssize_t)block.size) fail("write");
    free(block.data);
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int input = open(argv[1], O_RDONLY);
  if (input < 0) fail(argv[1]);
  output = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output < 0) fail(argv[2]);
  pthread_t workers[WORKERS], writer;
  for (int i = 0; i < WORKERS; ++i) pthread_create(&workers[i], NULL, work, NULL);
  pthread_create(&writer, NULL, write_in_order, NULL);
  unsigned number = 0;
  for (;; ++number) {
    char* data = malloc(BLOCK);
    if (data == NULL) fail("malloc");
    const ssize_t size = read(input, data, BLOCK);
    if (size < 0) fail("read");
    if (size == 0) {
      free(data);
      break;
    }
    put((struct block){number, (unsigned)size, data});
  }
  pthread_mutex_lock(&lock);
  input_ended = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&done_lock);
  blocks = number;
  pthread_cond_signal(&done_changed);
  pthread_mutex_unlock(&done_lock);
  for (int i = 0; i < WORKERS; ++i) pthread_join(workers[i], NULL);
  pthread_join(writer, NULL);
  printf("%u blocks\n", number);
  return close(output) == 0 ? 0 : 1;
}
