/* Programs of the shapes of CLAP's table 1 (PLDI 2013), each with a failure that few runs show, as large as asked for:
 *
 *   shapes sim_race ROUNDS    4 threads count without a lock
 *   shapes bbuf ROUNDS        bounded buffer whose consumers test with `if` instead of `while`
 *   shapes aget ROUNDS        4 threads fetch parts and add to one total without a lock
 *   shapes swarm ROUNDS       2 threads count the keys of their parts in shared bins
 *   shapes pfscan ROUNDS      2 threads take work from a queue under a lock, and count matches without
 *   shapes apache ROUNDS      27 threads write log entries; the length of the log has a lock in one of two places
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 32, BINS = 8, ROOM = 4 };

static int rounds;
/* volatile: an optimiser would add all rounds at once */
static volatile int count, total;
static volatile int bins[BINS];
static volatile int length;
static int buffer[ROOM], filled, taken;
static int work_left, seen;
static volatile int matches;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;

static void *count_up(void *argument) {
  for (int i = 0; i < rounds; ++i) ++count;
  return argument;
}

static void *produce(void *argument) {
  for (int i = 0; i < 3 * rounds; ++i) {
    pthread_mutex_lock(&lock);
    while (filled == ROOM) pthread_cond_wait(&not_full, &lock);
    buffer[filled++] = i + 1;
    pthread_cond_broadcast(&not_empty);
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

static void *consume(void *argument) {
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&lock);
    if (filled == 0) pthread_cond_wait(&not_empty, &lock);
    assert(filled != 0); /* woken, but somebody else was faster */
    taken += buffer[--filled] != 0;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

static void *fetch(void *argument) {
  for (int i = 0; i < rounds; ++i) total += 16;
  return argument;
}

static void *sort(void *argument) {
  unsigned key = (unsigned)(size_t)argument + 1;
  for (int i = 0; i < rounds; ++i) {
    key = key * 1103515245 + 12345;
    ++bins[key / 65536 % BINS];
  }
  return argument;
}

static void *scan(void *argument) {
  for (;;) {
    pthread_mutex_lock(&lock);
    const int mine = work_left != 0 ? work_left-- : 0;
    if (mine != 0) ++seen;
    pthread_mutex_unlock(&lock);
    if (mine == 0) return argument;
    ++matches;
  }
}

static void *serve(void *argument) {
  for (int i = 0; i < rounds; ++i) {
    pthread_mutex_lock(&lock);
    ++length;
    pthread_mutex_unlock(&lock);
    if (i == rounds / 2) ++length;
  }
  return argument;
}

static void run(int threads, void *(*first)(void *), void *(*others)(void *)) {
  pthread_t made[MOST_THREADS];
  for (size_t i = 0; i < (size_t)threads; ++i)
    pthread_create(&made[i], NULL, i == 0 ? first : others, (void *)i);
  for (int i = 0; i < threads; ++i) pthread_join(made[i], NULL);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const char *const shape = argv[1];
  rounds = atoi(argv[2]);
  if (strcmp(shape, "sim_race") == 0) {
    run(4, count_up, count_up);
    assert(count == 4 * rounds);
  } else if (strcmp(shape, "bbuf") == 0) {
    run(4, produce, consume);
    assert(taken == 3 * rounds);
  } else if (strcmp(shape, "aget") == 0) {
    run(3, fetch, fetch);
    assert(total == 3 * 16 * rounds);
  } else if (strcmp(shape, "swarm") == 0) {
    run(2, sort, sort);
    int sum = 0;
    for (int i = 0; i < BINS; ++i) sum += bins[i];
    assert(sum == 2 * rounds);
  } else if (strcmp(shape, "pfscan") == 0) {
    work_left = rounds;
    run(2, scan, scan);
    assert(matches == seen);
  } else if (strcmp(shape, "apache") == 0) {
    run(27, serve, serve);
    assert(length == 27 * (rounds + 1));
  } else {
    return 2;
  }
  return 0;
}
