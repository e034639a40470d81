/* Things that are done once: by the thread that did it in the recorded run. The routine runs outside of events.
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <threads.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

enum { NEW = 0, RUNNING = 1, DONE = 2 };

/* Whether the caller has to do it; otherwise it has been done. */
RT_FL_ENTRY(rt_fl_begin_once);
int rt_fl_begin_once(int* state);
int rt_do_rt_fl_begin_once(int* state);
int rt_do_rt_fl_begin_once(int* state) {
  bool mine = false;
  if (rt_fl_active() && rt_fl.mode == FL_REPLAY) {
    rt_fl_object_event(state);
    mine = rt_fl_next_is(HEDDLE_FLOW_ran_once);
    const uint8_t* bytes;
    uint64_t size;
    if (mine) rt_fl_given(HEDDLE_FLOW_ran_once, &bytes, &size);
    return mine;
  }
  for (;;) {
    int now = NEW;
    if (LOAD(state) == DONE) break;
    if (__atomic_compare_exchange_n(state, &now, RUNNING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      mine = true;
      break;
    }
    if (now == DONE) break;
    RT_SYS6(SYS_futex, state, FUTEX_WAIT_PRIVATE, RUNNING, NULL, NULL, 0);
  }
  rt_fl_object_event(state);
  if (mine && rt_fl_active()) rt_fl_note(HEDDLE_FLOW_ran_once, 1, NULL, 0);
  return mine;
}

/* `guard`: a byte beside the state that says, to code of the program, that it is done. */
RT_FL_ENTRY(rt_fl_end_once);
void rt_fl_end_once(int* state, int now, uint8_t* guard);
void rt_do_rt_fl_end_once(int* state, int now, uint8_t* guard);
void rt_do_rt_fl_end_once(int* state, int now, uint8_t* guard) {
  rt_fl_begin_object(state);
  if (guard != NULL) STORE(guard, 1);
  STORE(state, now);
  rt_fl_end_event();
  RT_SYS6(SYS_futex, state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

struct undo {
  int* state;
  bool done;
};
static void undo(struct undo* undo) { /* an exception left the routine */
  if (!undo->done) rt_fl_end_once(undo->state, NEW, NULL);
}

int pthread_once(pthread_once_t* once, void (*routine)(void)) {
  if (!rt_fl_begin_once(once)) return 0;
  __attribute__((cleanup(undo))) struct undo on_exception = {.state = once};
  routine();
  on_exception.done = true;
  rt_fl_end_once(once, DONE, NULL);
  return 0;
}

void call_once(once_flag* once, void (*routine)(void)) {
  pthread_once((pthread_once_t*)once, routine);
}

/* Initialisation of function-local statics (Itanium C++ ABI 3.3.3): the first byte says that it is done; the
 * state is in the second half. */
int __cxa_guard_acquire(uint64_t* guard) {
  int* const state = (int*)guard + 1;
  if (!rt_fl_begin_once(state)) return 0;
  return 1;
}

void __cxa_guard_release(uint64_t* guard) {
  rt_fl_end_once((int*)guard + 1, DONE, (uint8_t*)guard);
}

/* A library looks whether its static is there without an event, so who comes while another thread makes it may
 * or may not ask here. Of libstdc++'s statics one matters, the locks of atomic shared pointers: it is made before
 * there are threads. */
__attribute__((weak)) void _ZNSt10_Sp_lockerC1EPKv(void* self, const void* pointer);
__attribute__((weak)) void _ZNSt10_Sp_lockerD1Ev(void* self);
void rt_fl_once_init(void) {
  unsigned char locker[2];
  if (_ZNSt10_Sp_lockerC1EPKv == NULL || _ZNSt10_Sp_lockerD1Ev == NULL) return;
  _ZNSt10_Sp_lockerC1EPKv(locker, NULL);
  _ZNSt10_Sp_lockerD1Ev(locker);
}

void __cxa_guard_abort(uint64_t* guard) {
  rt_fl_end_once((int*)guard + 1, NEW, NULL);
}
