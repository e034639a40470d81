/* Things done once: pthread_once() and C11's call_once(), and the guards of C++'s local static variables.
 *
 * Both have a first word that is 0 at the start, 1 when it is done (of a guard compiled code reads the lowest
 * byte by itself), and owner << 8 while that thread is at it; others wait. When the function ends by an
 * exception or by the end of the thread, the next one tries again: this file is compiled with -fexceptions.
 */
#include <stdint.h>
#include <threads.h>

#include "runtime/control/sync.h"

enum { DONE = 1, OWNER_SHIFT = 8 };

int __cxa_guard_acquire(uint64_t* guard);
void __cxa_guard_release(uint64_t* guard);
void __cxa_guard_abort(uint64_t* guard);

static bool nobody_is_at_it(const struct rt_thread* self) {
  const uint32_t word = *(const uint32_t*)self->op.object;
  return word == 0 || (word & DONE) != 0;
}

struct rt_thread* rt_once_holder(const void* once) {
  return rt_owning_thread(*(const uint32_t*)once >> OWNER_SHIFT);
}

/* Is it for this thread to do it? */
static bool begin_once(struct rt_thread* self, uint32_t* word) {
  rt_go(self);
  if ((*word & DONE) != 0) {
    rt_refused(self, 0);
    return false;
  }
  if (*word != 0) rt_stuck("an initialisation that is under way already");
  *word = rt_owner(self) << OWNER_SHIFT;
  rt_done(self, 1);
  return true;
}

static void end_once(enum heddle_sync_kind kind, uint32_t* word, uint32_t state) {
  struct rt_thread* self = rt_begin(kind, word);
  rt_go(self);
  *word = state;
  rt_done(self, 0);
}

/* ---- pthread_once */
struct attempt {
  uint32_t* word;
  bool succeeded;
};

static void end_attempt(struct attempt* attempt) {
  /* An exception left the routine: somebody else is to do it. */
  if (attempt->succeeded)
    end_once(HEDDLE_SYNC_once, attempt->word, DONE);
  else
    end_once(HEDDLE_SYNC_guard_abort, attempt->word, 0);
}

int pthread_once(pthread_once_t* once, void (*routine)(void)) {
  uint32_t* word = (uint32_t*)once;
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_once, once);
  if (self != NULL) self->op.ready = nobody_is_at_it;
  if (!begin_once(self, word)) return 0;
  struct attempt attempt __attribute__((cleanup(end_attempt))) = {.word = word};
  routine();
  attempt.succeeded = true;
  return 0;
}

void call_once(once_flag* flag, void (*routine)(void)) {
  pthread_once(&flag->__data, routine);
}

/* ---- C++ */
int __cxa_guard_acquire(uint64_t* guard) {
  uint32_t* word = (uint32_t*)(void*)guard;
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_guard_acquire, guard);
  /* libstdc++ throws when a process without threads comes here again in the initialisation itself; with threads
   * it waits for ever. */
  if (self != NULL && rt.thread_count == 1 && *word == rt_owner(self) << OWNER_SHIFT)
    rt_fail(HEDDLE_OUTCOME_abort,
            "recursive initialisation of a static variable (__gnu_cxx::recursive_init_error)");
  if (self != NULL) self->op.ready = nobody_is_at_it;
  return begin_once(self, word);
}

void __cxa_guard_release(uint64_t* guard) {
  end_once(HEDDLE_SYNC_guard_release, (uint32_t*)(void*)guard, DONE);
}

void __cxa_guard_abort(uint64_t* guard) {
  end_once(HEDDLE_SYNC_guard_abort, (uint32_t*)(void*)guard, 0);
}
