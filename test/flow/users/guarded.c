/* What locks guard, in all the ways that programs get wrong: a table under one lock that is also looked at without
 * it, blocks that are filled under one lock and freed under another one or under none, a number in the same 8
 * bytes as a spin lock, a lock that is taken twice, one that another thread releases, one that is tried. Threads
 * that do not hold the lock come in between all the time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 5
#define ROUNDS 400
#define SLOTS 6

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t twice = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, foreign = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t read_often = PTHREAD_RWLOCK_INITIALIZER;
static struct {
  pthread_spinlock_t lock;
  unsigned number; /* in the same 8 bytes */
} beside;
static struct block {
  unsigned size;
  unsigned char bytes[];
} * table[SLOTS];
static volatile unsigned long sums[SLOTS], read_sum, foreign_sum, twice_sum;
static volatile unsigned mixed; /* under locks, and without */

static unsigned next(unsigned* random) {
  return (*random = *random * 1664525 + 1013904223) >> 16;
}

static struct block* filled(unsigned size, unsigned seed) {
  struct block* const made = malloc(sizeof *made + size);
  made->size = size;
  memset(made->bytes, (int)seed, size);
  return made;
}

static unsigned long sum_of(const struct block* block) {
  unsigned long sum = block->size;
  for (unsigned i = 0; i < block->size; i += 7) sum = sum * 31 + block->bytes[i];
  return sum;
}

static void use_table(unsigned* random) {
  const unsigned slot = next(random) % SLOTS, what = next(random) % 8;
  struct block *made = what == 0 ? filled(next(random) % 3000, *random) : NULL, *gone = NULL, *copy = NULL;
  pthread_mutex_lock(&table_lock);
  if (made == NULL && (what == 1 || table[slot] == NULL)) made = filled(next(random) % 3000, *random);
  if (made != NULL) {
    gone = table[slot];
    table[slot] = made;
  } else if (what < 4) {
    memset(table[slot]->bytes, (int)*random, table[slot]->size);
  } else {
    copy = filled(table[slot]->size, 0);
    memcpy(copy->bytes, table[slot]->bytes, copy->size);
  }
  sums[slot] = sums[slot] * 3 + sum_of(table[slot]);
  if (next(random) % 2 == 0) {
    free(gone);
    gone = NULL;
  }
  pthread_mutex_unlock(&table_lock);
  if (copy != NULL) mixed += (unsigned)sum_of(copy);
  free(copy);
  if (gone == NULL) return;
  pthread_mutex_lock(&other_lock);
  mixed += (unsigned)sum_of(gone);
  pthread_mutex_unlock(&other_lock);
  free(gone);
}

static void use_others(unsigned* random) {
  switch (next(random) % 7) {
    case 0:
      pthread_spin_lock(&beside.lock);
      beside.number = beside.number * 5 + mixed;
      pthread_spin_unlock(&beside.lock);
      break;
    case 1:
      if (pthread_mutex_trylock(&table_lock) != 0) break;
      sums[0] += sums[1];
      pthread_mutex_unlock(&table_lock);
      break;
    case 2:
      pthread_mutex_lock(&twice);
      pthread_mutex_lock(&twice);
      twice_sum = twice_sum * 3 + 1;
      pthread_mutex_unlock(&twice);
      twice_sum += mixed;
      pthread_mutex_unlock(&twice);
      break;
    case 3: /* whoever has it */
      if (next(random) % 8 == 0) pthread_mutex_unlock(&foreign);
      break;
    case 4:
      pthread_mutex_lock(&table_lock);
      pthread_mutex_lock(&other_lock);
      sums[2] += sums[3];
      pthread_mutex_unlock(&table_lock); /* not the inner one first */
      mixed += (unsigned)sums[2];
      pthread_mutex_unlock(&other_lock);
      break;
    case 5:
      pthread_rwlock_rdlock(&read_often);
      mixed += (unsigned)read_sum;
      pthread_rwlock_unlock(&read_often);
      break;
    default:
      pthread_rwlock_wrlock(&read_often);
      read_sum = read_sum * 7 + sums[4]; /* without its lock */
      pthread_rwlock_unlock(&read_often);
  }
  if (pthread_mutex_trylock(&foreign) == 0 || next(random) % 64 == 0) {
    foreign_sum = foreign_sum * 3 + mixed;
    if (next(random) % 2 == 0) foreign_sum ^= sums[5];
    pthread_mutex_unlock(&foreign);
  }
}

/* A lock that everybody takes, and now and then releases for another one. */
static pthread_mutex_t lent = PTHREAD_MUTEX_INITIALIZER;
static unsigned long lent_sum[8];
static void use_lent(unsigned* random) {
  pthread_mutex_lock(&lent);
  for (unsigned i = 0; i < 8; ++i) lent_sum[i] = lent_sum[i] * 3 + i + lent_sum[(i + 1) % 8];
  if (next(random) % 32 == 0) {
    pthread_mutex_unlock(&lent);
    for (unsigned i = 0; i < 4; ++i) lent_sum[i] += *random; /* it believes that it has it still */
    if (pthread_mutex_trylock(&lent) == 0) pthread_mutex_unlock(&lent);
  } else {
    pthread_mutex_unlock(&lent);
  }
}
static void release_lent(unsigned* random) {
  static pthread_cond_t nobody = PTHREAD_COND_INITIALIZER;
  const struct timespec never = {.tv_nsec = -1};
  switch (next(random) % 50) {
    case 0:
      pthread_mutex_unlock(&lent); /* perhaps another thread's */
      break;
    case 1: /* fails, and has not waited */
      if (pthread_cond_timedwait(&nobody, &lent, &never) != 0) lent_sum[7] += 3;
  }
}

static void* work(void* argument) {
  unsigned random = (unsigned)(unsigned long)argument * 2654435761u;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    use_table(&random);
    use_others(&random);
    use_lent(&random);
    if (i > ROUNDS / 2) release_lent(&random);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_spin_init(&beside.lock, PTHREAD_PROCESS_PRIVATE);
  for (unsigned long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  for (unsigned i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  unsigned long all = mixed + beside.number + read_sum + foreign_sum + twice_sum;
  for (unsigned i = 0; i < SLOTS; ++i) all = all * 31 + sums[i];
  for (unsigned i = 0; i < 8; ++i) all = all * 31 + lent_sum[i];
  printf("%lx\n", all);
  return 0;
}
