// A pool of threads that can be paused: who pauses it waits until nobody works any more, the others wait until
// it goes on. A worker who finds the pool paused counts himself as waiting behind the look whether the pauser
// must be told.
#include <pthread.h>
#include <stdio.h>
enum { kWorkers = 3, kJobs = 9 };
static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, paused, resumed;
  int jobs[kJobs], first, last;
  int active, pause, closing, done;
} pool = {PTHREAD_MUTEX_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          {0},
          0,
          0,
          0,
          0,
          0,
          0};
static int config = 1;
static int perform(int job) {
  int sum = 0;
  for (int i = 0; i < 4; ++i) sum += job * config;
  return sum;
}
static void* worker(void* arg) {
  long sum = 0;
  (void)arg;
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    while (pool.pause) pthread_cond_wait(&pool.resumed, &pool.lock);
    while (pool.first == pool.last && !pool.closing && !pool.pause) pthread_cond_wait(&pool.work, &pool.lock);
    if (pool.pause) continue;
    if (pool.first == pool.last) break;
    int job = pool.jobs[pool.first++];
    pool.active++;
    pthread_mutex_unlock(&pool.lock);
    sum += perform(job);
    pthread_mutex_lock(&pool.lock);
    pool.done++;
#ifdef FIXED
    if (--pool.active == 0 && pool.pause) pthread_cond_signal(&pool.paused);
#else
    if (pool.active == 1 && pool.pause) pthread_cond_signal(&pool.paused);
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_lock(&pool.lock);
    pool.active--;
#endif
  }
  pthread_mutex_unlock(&pool.lock);
  return (void*)sum;
}
static void pause_pool(void) {
  pthread_mutex_lock(&pool.lock);
  pool.pause = 1;
  while (pool.active) pthread_cond_wait(&pool.paused, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}
static void resume_pool(void) {
  pthread_mutex_lock(&pool.lock);
  pool.pause = 0;
  pthread_cond_broadcast(&pool.resumed);
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
}
static void submit(int job) {
  pthread_mutex_lock(&pool.lock);
  pool.jobs[pool.last++] = job;
  pthread_cond_signal(&pool.work);
  pthread_mutex_unlock(&pool.lock);
}
int main(void) {
  pthread_t t[kWorkers];
  for (int i = 0; i < kWorkers; ++i) pthread_create(&t[i], NULL, worker, NULL);
  for (int i = 0; i < kJobs; ++i) {
    submit(i);
    if (i % 4 == 3) {
      pause_pool();
      config++;
      resume_pool();
    }
  }
  pthread_mutex_lock(&pool.lock);
  pool.closing = 1;
  pthread_cond_broadcast(&pool.work);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < kWorkers; ++i) pthread_join(t[i], NULL);
  return pool.done != kJobs;
}
