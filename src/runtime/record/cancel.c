/* Threads that are cancelled.
 *
 * libc sends them a signal of its own, whose handler unwinds the thread, or comes back if it cannot be
 * cancelled just then. A thread that has chosen to be cancelled at any time is interrupted anywhere, also in a
 * hook. So that handler is treated as those of the program (signals.c): it waits for hooks that are being
 * carried out, and the logs say where it found the thread. libc sets it at the first pthread_cancel of the
 * process; a thread that does nothing is cancelled first, so that none of the program's meets it before.
 */
#include <pthread.h>
#include <unistd.h>

#include "runtime/record/runtime.h"

static int real_cancel(pthread_t thread) {
  return ((int (*)(pthread_t))rt_real("pthread_cancel"))(thread);
}

static void* wait_for_it(void* unused) {
  for (;;) pause();
  return unused;
}

static void take_over(void) {
  const uint64_t mask = rt_block_signals();
  pthread_t thread;
  int (*const create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))rt_real("pthread_create");
  if (create(&thread, NULL, wait_for_it, NULL) == 0) {
    real_cancel(thread);
    int (*const join)(pthread_t, void**) = (int (*)(pthread_t, void**))rt_real("pthread_join");
    join(thread, NULL);
    rt_take_over(RT_CANCEL_SIGNAL);
  }
  rt_restore_signals(mask);
}

int pthread_cancel(pthread_t thread) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, take_over);
  return real_cancel(thread);
}
