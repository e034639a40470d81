// The C11 threads of <threads.h>: a worker waits for a job, main hands one over and closes.
//
// The bug: main sets the flag without the mutex. The signal can come after the worker's test and before its
// wait.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A B the worker tests before the flag is set
// HEDDLE-DECISIVE: C D the signal comes before the wait
// HEDDLE-SMALL: yes
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <threads.h>

mtx_t lock;
cnd_t changed;
atomic_int job;

static int worker(void* arg) {
  (void)arg;
  mtx_lock(&lock);
  while (job == 0) {            // [A]
    cnd_wait(&changed, &lock);  // [D]
  }
  const int result = job * 2;
  mtx_unlock(&lock);
  return result;
}

int main(void) {
  mtx_init(&lock, mtx_plain);
  cnd_init(&changed);
  thrd_t thread;
  thrd_create(&thread, worker, NULL);
#ifdef FIXED
  mtx_lock(&lock);
#endif
  job = 21;              // [B]
  cnd_signal(&changed);  // [C]
#ifdef FIXED
  mtx_unlock(&lock);
#endif
  int result = 0;
  thrd_join(thread, &result);
  assert(result == 42);
  cnd_destroy(&changed);
  mtx_destroy(&lock);
  return 0;
}
