/* Threads that do anything to shared blocks under any lock, the right one or another, of all kinds: copies of
 * all sizes, blocks that are allocated, handed over, grown and freed under locks and without, locks that are
 * made anew. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 5
#define ROUNDS 700
#define LOCKS 6
#define BLOCKS 6
#define MOST 6000

static pthread_mutex_t mutexes[LOCKS];
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static struct block {
  unsigned size;
  unsigned char bytes[MOST];
}* blocks[BLOCKS];
static pthread_mutex_t guards[BLOCKS]; /* the blocks' own: nobody frees one without it */
static struct small {
  unsigned long n[6];
} smalls[8];
static struct {
  unsigned long n[700];
} larges[3];

static unsigned next(unsigned* random) {
  return (*random = *random * 1664525 + 1013904223) >> 16;
}

static unsigned long touch(unsigned* random, unsigned long mine) {
  for (unsigned i = next(random) % 4; i-- > 0;) {
    struct small *const a = &smalls[next(random) % 8], *const b = &smalls[next(random) % 8];
    switch (next(random) % 8) {
      case 0:
        if (a != b) memcpy(a, b, sizeof *a);
        break;
      case 1:
        if (a != b) memcpy(a->n + 1, b->n, 8 + next(random) % 33);
        break;
      case 2:
        if (a != b) *a = *b;
        break;
      case 3: {
        const unsigned to = next(random) % 3, from = (to + 1) % 3, at = next(random) % 600;
        memcpy(larges[to].n + at, larges[from].n + next(random) % 600, 8 * (1 + next(random) % 100));
        break;
      }
      case 4: {
        const unsigned to = next(random) % 3;
        memcpy(&larges[to], &larges[(to + 2) % 3], sizeof larges[to]);
        break;
      }
      case 5:
        memset(larges[next(random) % 3].n + 100 * (next(random) % 6), (int)mine, 8 * (next(random) % 100));
        break;
      case 6:
        mine = mine * 3 + larges[next(random) % 3].n[next(random) % 700] + a->n[2];
        break;
      default:
        a->n[next(random) % 6] += mine + b->n[next(random) % 6];
    }
  }
  return mine;
}

static unsigned long use_block(unsigned* random, unsigned long mine) {
  const unsigned i = next(random) % BLOCKS;
  struct block* gone = NULL;
  pthread_mutex_lock(&guards[i]);
  struct block* block = blocks[i];
  switch (next(random) % 6) {
    case 0:
      gone = block;
      block = malloc(offsetof(struct block, bytes) + next(random) % MOST + 8);
      block->size = 8;
      memset(block->bytes, (int)mine, 8);
      break;
    case 1:
      if (block == NULL) break;
      block = realloc(block, sizeof *block);
      if (block->size < MOST - 8) memset(block->bytes + block->size, (int)mine, MOST - block->size);
      block->size = MOST;
      break;
    case 2:
      if (block != NULL)
        memcpy(block->bytes, larges[next(random) % 3].n, block->size < 5600 ? block->size : 5600);
      break;
    case 3:
      if (block != NULL)
        memcpy(larges[next(random) % 3].n, block->bytes, block->size < 5600 ? block->size : 5600);
      break;
    case 4:
      free(block);
      block = NULL;
      break;
    default:
      if (block != NULL) mine = mine * 5 + block->bytes[next(random) % block->size];
  }
  blocks[i] = block;
  if (next(random) % 3 == 0) mine = touch(random, mine);
  pthread_mutex_unlock(&guards[i]);
  free(gone);
  return mine;
}

static void* work(void* argument) {
  const unsigned me = (unsigned)(unsigned long)argument;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  unsigned random = me * 2654435761u + (unsigned)now.tv_nsec;
  unsigned long mine = me;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    pthread_mutex_t *const a = &mutexes[next(&random) % LOCKS], *const b = &mutexes[next(&random) % LOCKS];
    switch (next(&random) % 12) {
      case 0:
      case 1:
        pthread_mutex_lock(a);
        mine = touch(&random, mine);
        pthread_mutex_unlock(a);
        break;
      case 2:
        pthread_mutex_lock(a < b ? a : b);
        mine = touch(&random, mine);
        if (a != b) pthread_mutex_lock(a < b ? b : a);
        mine = touch(&random, mine);
        pthread_mutex_unlock(a);
        mine = use_block(&random, mine);
        if (a != b) pthread_mutex_unlock(b);
        break;
      case 3:
        if (pthread_mutex_trylock(a) != 0) break;
        mine = touch(&random, mine);
        pthread_mutex_unlock(a);
        break;
      case 4:
        pthread_rwlock_rdlock(&rwlock);
        mine = mine * 3 + smalls[0].n[0] + larges[0].n[next(&random) % 700];
        if (next(&random) % 4 == 0) mine = use_block(&random, mine);
        pthread_rwlock_unlock(&rwlock);
        break;
      case 5:
        pthread_rwlock_wrlock(&rwlock);
        mine = touch(&random, mine);
        pthread_rwlock_unlock(&rwlock);
        break;
      case 6:
        pthread_spin_lock(&spin);
        mine = touch(&random, mine);
        pthread_spin_unlock(&spin);
        break;
      case 7:
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        mine = touch(&random, mine);
        pthread_mutex_unlock(&recursive);
        mine = touch(&random, mine);
        pthread_mutex_unlock(&recursive);
        break;
      case 8: {
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        if ((soon.tv_nsec += 20000) >= 1000000000) soon.tv_nsec -= 1000000000, ++soon.tv_sec;
        pthread_mutex_lock(a);
        mine = touch(&random, mine);
        if (next(&random) % 4 == 0) pthread_cond_timedwait(&condition, a, &soon);
        mine = touch(&random, mine);
        pthread_mutex_unlock(a);
        pthread_cond_broadcast(&condition);
        break;
      }
      case 9:
        if (next(&random) % 50 == 0) pthread_mutex_unlock(&mutexes[0]); /* perhaps another thread's */
        if (next(&random) % 50 == 0) pthread_mutex_init(&mutexes[1], NULL);
        break;
      default:
        mine = use_block(&random, mine);
    }
    if (next(&random) % 32 == 0) mine = touch(&random, mine);
  }
  return (void*)mine;
}

int main(void) {
  for (int i = 0; i < LOCKS; ++i) pthread_mutex_init(&mutexes[i], NULL);
  for (int i = 0; i < BLOCKS; ++i) pthread_mutex_init(&guards[i], NULL);
  pthread_spin_init(&spin, 0);
  pthread_t threads[THREADS];
  for (unsigned long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  unsigned long all = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    all = all * 31 + (unsigned long)sum;
  }
  printf("%lx\n", all);
  return 0;
}
