/* C11's mutexes, condition variables and thread-specific storage: the POSIX ones under other names, as in
 * glibc. (Its threads are in threads.c, call_once() in once.c.) */
#include <errno.h>
#include <threads.h>

#include "runtime/control/control.h"

static int answer(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    default:
      return thrd_error;
  }
}

static pthread_mutex_t* mutex_of(mtx_t* m) {
  return (pthread_mutex_t*)(void*)m;
}

static pthread_cond_t* condition_of(cnd_t* c) {
  return (pthread_cond_t*)(void*)c;
}

int mtx_init(mtx_t* m, int type) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  const bool recursive = type == (mtx_plain | mtx_recursive) || type == (mtx_timed | mtx_recursive);
  if (recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  return answer(pthread_mutex_init(mutex_of(m), &attributes));
}

void mtx_destroy(mtx_t* m) {
  pthread_mutex_destroy(mutex_of(m));
}

int mtx_lock(mtx_t* m) {
  return answer(pthread_mutex_lock(mutex_of(m)));
}

int mtx_timedlock(mtx_t* m, const struct timespec* time) {
  return answer(pthread_mutex_timedlock(mutex_of(m), time));
}

int mtx_trylock(mtx_t* m) {
  return answer(pthread_mutex_trylock(mutex_of(m)));
}

int mtx_unlock(mtx_t* m) {
  return answer(pthread_mutex_unlock(mutex_of(m)));
}

int cnd_init(cnd_t* c) {
  return answer(pthread_cond_init(condition_of(c), NULL));
}

void cnd_destroy(cnd_t* c) {
  pthread_cond_destroy(condition_of(c));
}

int cnd_signal(cnd_t* c) {
  return answer(pthread_cond_signal(condition_of(c)));
}

int cnd_broadcast(cnd_t* c) {
  return answer(pthread_cond_broadcast(condition_of(c)));
}

int cnd_wait(cnd_t* c, mtx_t* m) {
  return answer(pthread_cond_wait(condition_of(c), mutex_of(m)));
}

int cnd_timedwait(cnd_t* c, mtx_t* m, const struct timespec* time) {
  return answer(pthread_cond_timedwait(condition_of(c), mutex_of(m), time));
}

int tss_create(tss_t* key, tss_dtor_t destructor) {
  return answer(pthread_key_create(key, destructor));
}

void tss_delete(tss_t key) {
  pthread_key_delete(key);
}

void* tss_get(tss_t key) {
  return pthread_getspecific(key);
}

int tss_set(tss_t key, void* data) {
  return answer(pthread_setspecific(key, data));
}
