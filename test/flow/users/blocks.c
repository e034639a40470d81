// Blocks of the heap that go from hand to hand: allocated under a lock and elsewhere, taken by other threads under the lock, used outside
// of it, freed in both ways, and looked at after they were freed and beyond their end.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 3, kRounds = 600, kPlaces = 16 };
struct block {
  uint32_t size, sum;
  char* text;
};
static struct block* places[kPlaces];
static struct block* stale[kThreads];  // without a lock: it may have been freed
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t results[kThreads];

static uint32_t next(uint32_t* random) {
  *random = *random * 1664525 + 1013904223;
  return *random >> 8;
}

static struct block* make(uint32_t* random) {
  struct block* const made = next(random) % 2 != 0 ? malloc(sizeof *made) : calloc(1, sizeof *made);
  made->size = 8 + next(random) % 900;
  made->text = malloc(made->size);
  memset(made->text, (int)(next(random) % 256), made->size);
  made->sum = made->size;
  return made;
}

static void drop(struct block* block) {
  if (block == NULL) return;
  free(block->text);
  free(block);
}

static uint64_t use(struct block* block, uint32_t* random) {
  if (block == NULL) return 1;
  if (next(random) % 4 == 0) block->text = realloc(block->text, block->size += 100);
  uint64_t sum = block->sum;
  for (uint32_t i = 0; i < block->size - 100 && i < 40; ++i) sum = sum * 31 + (uint8_t)block->text[i];
  block->text[next(random) % block->size] = (char)sum;
  return sum;
}

static void* work(void* argument) {
  const uintptr_t self = (uintptr_t)argument;
  uint32_t random = (uint32_t)self + 1;
  uint64_t sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    struct block* const outside = next(&random) % 3 == 0 ? make(&random) : NULL;
    pthread_mutex_lock(&mutex);
    struct block** const place = &places[next(&random) % kPlaces];
    struct block* const taken = *place;
    *place = outside != NULL ? outside : make(&random);
    char* const copy = malloc((*place)->size); /* allocated here, used behind */
    memcpy(copy, (*place)->text, (*place)->size);
    const uint32_t size = (*place)->size;
    if (next(&random) % 3 == 0) sum += use(*place, &random);
    if (next(&random) % 5 == 0) drop(places[i % kPlaces]), places[i % kPlaces] = NULL;
    pthread_mutex_unlock(&mutex);
    sum = sum * 31 + (uint8_t)copy[size / 2];
    free(copy);
    if (taken != NULL) {
      sum += use(taken, &random);
      stale[self] = taken;
      drop(taken);
    }
    struct block* const other = stale[(self + 1) % kThreads];
    if (other != NULL) sum = sum * 31 + other->sum;
  }
  results[self] = sum;
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  for (uintptr_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) printf("%016lx\n", (unsigned long)results[i]);
  return 0;
}
