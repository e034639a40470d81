/* Slots: the numbers that words and edges name threads by. There are some thousand, and programs make more
 * threads than that, one after the other: a thread that begins takes the slot of one that is over.
 *
 * The two are one sequence of events then. The new thread's numbers follow those of the old one; what that one
 * owned is its own; it goes on with the blocks that were free, and knows of whatever the old one knew to come
 * before. So words say nothing else than before. That the new one comes after the old one is known by the event
 * that makes it, which comes after the last event of the old one.
 *
 * A thread is over when it was joined, or when nobody will join it and the system's thread is gone: until then
 * its stack is in use. Who ends while it holds a lock keeps its slot. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "runtime/flow/flow.h"

enum slot_state { SLOT_USED, SLOT_ENDING, SLOT_OVER }; /* ending: over as soon as the system's thread is gone */

static uint32_t leftovers; /* slots that are ending or over */

static char* put_text(char* to, const char* text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

/* The first thread of a process stays in the list of threads when it has ended. */
bool rt_fl_is_gone(uint32_t slot) {
  const int32_t tid = LOAD(&rt_fl.threads[slot].tid);
  if (tid == 0) return false;                  /* it has yet to begin */
  if (tid == RT_SYS0(SYS_gettid)) return true; /* the system gives numbers again */
  if (RT_SYS3(SYS_tgkill, RT_SYS0(SYS_getpid), tid, 0) == -ESRCH) return true;
  if (slot != 0) return false;
  char path[60], digits[12], text[256];
  int count = 0;
  for (int32_t rest = tid; rest != 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
  char* to = put_text(path, "/proc/self/task/");
  while (count > 0) *to++ = digits[--count];
  put_text(to, "/stat");
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return true;
  const long length = RT_SYS3(SYS_read, fd, text, sizeof text - 1);
  RT_SYS1(SYS_close, fd);
  if (length <= 0) return true;
  text[length] = 0;
  const char* const behind = strrchr(text, ')');
  return behind == NULL || behind[2] == 'Z' || behind[2] == 'X';
}

/* ---- the end */
static void leave(struct rt_fl_shared* thread, enum slot_state state) {
  const struct rt_fl_local* const local = thread->local;
  if (local == NULL || local->locks != 0 || local->hold_count != 0) return;
  if (__atomic_exchange_n(&thread->state, state, __ATOMIC_ACQ_REL) == SLOT_USED)
    __atomic_fetch_add(&leftovers, 1, __ATOMIC_RELAXED);
}

void rt_fl_end_slot(struct rt_fl_local* local) {
  struct rt_fl_shared* const thread = &rt_fl.threads[local->slot];
  rt_fl_rest(true); /* until the next one begins */
  STORE(&thread->local, local);
  __atomic_thread_fence(
      __ATOMIC_SEQ_CST); /* either it sees that it is detached, or who detaches it that it has ended */
  if (LOAD(&thread->detached)) leave(thread, SLOT_ENDING);
}

static struct rt_fl_point last_event(void) {
  return (struct rt_fl_point){rt_fl_local->slot, rt_fl_number()};
}

void rt_fl_slot_detached(uint32_t slot) {
  struct rt_fl_shared* const thread = &rt_fl.threads[slot];
  thread->freed = last_event();
  STORE(&thread->detached, true);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (LOAD(&thread->local) != NULL) leave(thread, SLOT_ENDING);
}

void rt_fl_slot_joined(uint32_t slot) {
  struct rt_fl_shared* const thread = &rt_fl.threads[slot];
  thread->freed = last_event();
  STORE(&thread->handle, 0);
  if (LOAD(&thread->local) != NULL) leave(thread, SLOT_OVER);
}

/* ---- a new thread */
/* From here on the slot is the new one's, which has yet to begin. */
static void hand_over(struct rt_fl_shared* thread) {
  thread->left = thread->local;
  thread->local = NULL;
  thread->handle = 0;
  STORE(&thread->tid, 0);
}

static bool take(uint32_t slot) {
  uint32_t* const state = &rt_fl.threads[slot].state;
  uint32_t now = LOAD(state);
  if (now == SLOT_USED || (now == SLOT_ENDING && !rt_fl_is_gone(slot))) return false;
  if (!__atomic_compare_exchange_n(state, &now, SLOT_USED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return false;
  __atomic_fetch_sub(&leftovers, 1, __ATOMIC_RELAXED);
  hand_over(&rt_fl.threads[slot]);
  return true;
}

static uint32_t take_leftover(void) {
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 1; slot < count && LOAD(&leftovers) != 0; ++slot)
    if (take(slot)) return slot;
  return 0;
}

uint32_t rt_fl_free_slot(void) {
  const uint32_t left = take_leftover();
  if (left != 0) return left;
  const uint32_t slot = __atomic_fetch_add(&rt_fl.slots, 1, __ATOMIC_ACQ_REL);
  if (slot < HEDDLE_FLOW_SLOTS - 1) return slot;
  rt_refuse("flow recording follows at most 1022 threads at the same time");
}

void rt_fl_await_slot(uint32_t slot) {
  if (rt_fl.threads[slot].tid == 0) return; /* nobody has had it */
  while (!take(slot)) RT_SYS0(SYS_sched_yield);
}

struct rt_fl_local* rt_fl_begin_slot(uint32_t slot) {
  struct rt_fl_shared* const thread = &rt_fl.threads[slot];
  struct rt_fl_local* local = thread->left;
  thread->starting = NULL; /* its memory will be used again */
  thread->left = NULL;
  thread->asked = thread->settles = 0;
  if (local != NULL) {
    const size_t kept = offsetof(struct rt_fl_local, last_edge);
    memset((char*)local + kept, 0, sizeof *local - kept);
    return local;
  }
  local = rt_map_memory(sizeof *local);
  uint8_t* const stack = rt_map_memory(FL_OWN_STACK);
  if (local == NULL || stack == NULL) rt_no_memory();
  local->slot = slot;
  local->own_stack = stack + FL_OWN_STACK - 64;
  return local;
}
