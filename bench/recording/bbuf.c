/* Bounded buffer: producers and consumers over one mutex and two condition variables.
 *
 *   bbuf ITEMS     that each producer puts in */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PRODUCERS 2
#define CONSUMERS 2
#define ROOM 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static unsigned buffer[ROOM];
static unsigned first, count;
static unsigned items;

static void put(unsigned item) {
  pthread_mutex_lock(&lock);
  while (count == ROOM) pthread_cond_wait(&not_full, &lock);
  buffer[(first + count) % ROOM] = item;
  if (count++ == 0) pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&lock);
}

static unsigned take(void) {
  pthread_mutex_lock(&lock);
  while (count == 0) pthread_cond_wait(&not_empty, &lock);
  const unsigned item = buffer[first];
  first = (first + 1) % ROOM;
  if (count-- == ROOM) pthread_cond_broadcast(&not_full);
  pthread_mutex_unlock(&lock);
  return item;
}

static void* produce(void* nothing) {
  for (unsigned i = 1; i <= items; ++i) put(i);
  return nothing;
}

static void* consume(void* sum) {
  const unsigned mine = items * PRODUCERS / CONSUMERS;
  for (unsigned i = 0; i < mine; ++i) *(unsigned long*)sum += take();
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  items = (unsigned)atoi(argv[1]);
  pthread_t producers[PRODUCERS], consumers[CONSUMERS];
  struct {
    unsigned long sum;
    char line[56];
  } sums[CONSUMERS] = {0};
  for (int i = 0; i < PRODUCERS; ++i) pthread_create(&producers[i], NULL, produce, NULL);
  for (int i = 0; i < CONSUMERS; ++i) pthread_create(&consumers[i], NULL, consume, &sums[i].sum);
  unsigned long all = 0;
  for (int i = 0; i < PRODUCERS; ++i) pthread_join(producers[i], NULL);
  for (int i = 0; i < CONSUMERS; ++i) {
    pthread_join(consumers[i], NULL);
    all += sums[i].sum;
  }
  printf("sum %lu\n", all);
  return all == (unsigned long)PRODUCERS * items * (items + 1ul) / 2 ? 0 : 1;
}
