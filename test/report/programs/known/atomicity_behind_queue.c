// Workers take jobs from a queue: the first makes an index, the second uses it. That they are taken in this
// order does not mean that they are done in this order: taking a job and doing it are two steps, between which
// another worker comes to the next job. What the first worker would have done is not in the failing run.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the index is used before it is there
// HEDDLE-SMALL: no
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { kJobs = 3 };

struct index {
  int places[4];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int next_job;
static void (*jobs[kJobs])(void);
struct index* _Atomic current;
atomic_int warm, found;

static void warm_up(void) {
  atomic_fetch_add(&warm, 1);
}

static void make_index(void) {
  struct index* index = malloc(sizeof *index);
  for (int i = 0; i < 4; ++i) index->places[i] = 10 * i;
  atomic_store(&current, index);  // [B]
}

static void use_index(void) {
  struct index* index = atomic_load(&current);  // [A]
  atomic_store(&found, index->places[2]);
}

static void* work(void* unused) {
  (void)unused;
  for (;;) {
    pthread_mutex_lock(&mutex);
    const int job = next_job < kJobs ? next_job++ : kJobs;
    pthread_mutex_unlock(&mutex);
    if (job == kJobs) return NULL;
    jobs[job]();
  }
}

int main(void) {
  jobs[0] = warm_up;
  jobs[1] = make_index;
  jobs[2] = use_index;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  free(current);
  return found == 20 ? 0 : 1;
}
