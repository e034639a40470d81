// C11 threads: results, mutexes of each type, conditions, once, thread-specific storage, time-outs.
#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <threads.h>
#include <time.h>

mtx_t mutex, timed, recursive;
cnd_t condition;
once_flag flag = ONCE_FLAG_INIT;
tss_t key;
int calls, ready;
atomic_int destroyed;
thread_local int local = 5;

static void initialise(void) {
  ++calls;
}

static void destroy(void* value) {
  assert(value == &local);
  atomic_fetch_add(&destroyed, 1);
}

static int waiter(void* argument) {
  call_once(&flag, initialise);
  assert(calls == 1);
  local += *(int*)argument;
  assert(tss_get(key) == NULL && tss_set(key, &local) == thrd_success);
  mtx_lock(&mutex);
  while (!ready) assert(cnd_wait(&condition, &mutex) == thrd_success);
  assert(mtx_unlock(&mutex) == thrd_success);
  assert(mtx_trylock(&timed) == thrd_busy);
  struct timespec past;
  timespec_get(&past, TIME_UTC);
  assert(mtx_timedlock(&timed, &past) == thrd_timedout);
  if (local == 7) thrd_exit(70);
  return local;
}

int main(void) {
  thrd_t threads[2];
  int numbers[2] = {1, 2}, result;
  assert(mtx_init(&mutex, mtx_plain) == thrd_success && mtx_init(&timed, mtx_timed) == thrd_success);
  assert(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success &&
         cnd_init(&condition) == thrd_success);
  assert(tss_create(&key, destroy) == thrd_success);
  assert(mtx_lock(&recursive) == thrd_success && mtx_trylock(&recursive) == thrd_success);
  assert(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
  assert(mtx_lock(&timed) == thrd_success);
  for (int i = 0; i < 2; ++i) assert(thrd_create(&threads[i], waiter, &numbers[i]) == thrd_success);
  assert(!thrd_equal(threads[0], threads[1]) && !thrd_equal(threads[0], thrd_current()));
  mtx_lock(&mutex);
  struct timespec past = {1, 0};
  int code;
  do code = cnd_timedwait(&condition, &mutex, &past);
  while (code == thrd_success);
  assert(code == thrd_timedout);
  ready = 1;
  assert(cnd_broadcast(&condition) == thrd_success);
  mtx_unlock(&mutex);
  thrd_yield();
  assert(thrd_join(threads[0], &result) == thrd_success && result == 6);
  assert(thrd_join(threads[1], &result) == thrd_success && result == 70);
  assert(atomic_load(&destroyed) == 2 && local == 5);
  struct timespec moment = {0, 1000000};
  assert(thrd_sleep(&moment, NULL) == 0);
  mtx_unlock(&timed);
  mtx_destroy(&mutex);
  cnd_destroy(&condition);
  tss_delete(key);
  return 0;
}
