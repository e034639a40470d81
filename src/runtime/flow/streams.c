/* Streams and other objects that a library made and keeps (FILE, std::cout, DIR). A call that works on one may
 * wait for what is outside the program, such as a pipe, and may call the program back, such as a buffer that it
 * brings: so the call is not inside an event. Instead each such object has a lock here, which is held during
 * the call, and the order in which threads hold it is recorded as that of any lock. libc's own lock in a FILE
 * has no events. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

/* So many that two objects hardly share one: who waits for its input would hold up others. A futex: slot + 1 of
 * the thread that has it, and whether others may wait. */
#define LOCKS 65536
#define AWAITED (1u << 31)
static uint32_t locks[LOCKS];

/* Those that the thread holds, the one it took last at the end. */
struct hold {
  const void* object;
  uint64_t frame; /* of the function that makes the call; ~0: held until it is released */
};
#define HOLDS 32
static RT_TLS struct hold holds[HOLDS];
static RT_TLS uint32_t hold_count;

/* Of the C++ library, if the program uses it. They go through the streams of C, and their calls may be mixed
 * with those. std::cerr and std::cin come to std::cout too, by being tied, so stdout and stderr have one lock
 * then; input must not keep others from output. */
#define STREAM(name) extern const char name[] __attribute__((weak))
STREAM(_ZSt4cout);
STREAM(_ZSt4cerr);
STREAM(_ZSt4clog);
STREAM(_ZSt5wcout);
STREAM(_ZSt5wcerr);
STREAM(_ZSt5wclog);
#define OSTREAM 272
static const void* stream_below(const void* object) {
  if (object == stderr && _ZSt4cerr != NULL) return stdout;
  const char* const output[] = {_ZSt4cout, _ZSt4cerr, _ZSt4clog, _ZSt5wcout, _ZSt5wcerr, _ZSt5wclog};
  for (size_t i = 0; i < sizeof output / sizeof output[0]; ++i)
    if (output[i] != NULL && (uint64_t)((const char*)object - output[i]) < OSTREAM) return stdout;
  return object;
}

static uint32_t* lock_of(const void* object) {
  return &locks[(uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15ull >> 48];
}

static bool try_lock(uint32_t* lock) {
  uint32_t now = 0;
  const uint32_t mine = rt_fl_local->slot + 1;
  return __atomic_compare_exchange_n(lock, &now, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         (now & ~AWAITED) == mine;
}

static void wait_for(uint32_t* lock) {
  while (!try_lock(lock)) {
    uint32_t now = LOAD(lock);
    if (now != 0 &&
        __atomic_compare_exchange_n(lock, &now, now | AWAITED, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      RT_SYS6(SYS_futex, lock, FUTEX_WAIT_PRIVATE, now | AWAITED, NULL, NULL, 0);
  }
}

static void unlock(uint32_t* lock) {
  if ((__atomic_exchange_n(lock, 0, __ATOMIC_ACQ_REL) & AWAITED) != 0)
    RT_SYS6(SYS_futex, lock, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static bool is_mine(const uint32_t* lock) {
  for (uint32_t i = 0; i < hold_count; ++i)
    if (lock_of(holds[i].object) == lock) return true;
  return false;
}

static void release(uint32_t at) {
  const void* const object = holds[at].object;
  uint32_t* const lock = lock_of(object);
  for (--hold_count; at < hold_count; ++at) holds[at] = holds[at + 1];
  rt_fl_object_event(object);
  if (rt_fl.mode == FL_RECORD && !is_mine(lock)) unlock(lock);
}

/* Calls that were left by an exception or a jump: their frames are below ours, on the same stack. */
#define ONE_STACK (64ull << 20)
static void release_left(uint64_t frame) {
  while (hold_count > 0 && frame - holds[hold_count - 1].frame < ONE_STACK) release(hold_count - 1);
}

static bool has_room(void) {
  return rt_fl_active() && !rt_fl_local->open && hold_count < HOLDS;
}

static void hold(const void* object, uint64_t frame) {
  holds[hold_count++] = (struct hold){object, frame};
  rt_fl_object_event(object);
}

static uint32_t ended_by; /* slot + 1 of the thread that ends the process */

static void lock_for_call(uint32_t* lock) {
  const uint32_t ends = LOAD(&ended_by);
  if (ends != 0 && ends != rt_fl_local->slot + 1) {
    rt_fl_wait_on();
    for (;;) RT_SYS0(SYS_pause);
  }
  if (try_lock(lock)) return;
  rt_fl_wait_on();
  wait_for(lock);
  rt_fl_end_wait();
}

static void acquire(const void* object, uint64_t frame) {
  rt_fl_run_handlers();
  if (rt_fl.mode == FL_RECORD) lock_for_call(lock_of(object));
  hold(object, frame);
}

RT_FL_ENTRY(heddle_flow_lock);
uint64_t rt_do_heddle_flow_lock(const void* object, uint64_t frame);
uint64_t rt_do_heddle_flow_lock(const void* object, uint64_t frame) {
  if (object == NULL || !has_room()) return 0;
  const int error = errno;
  release_left(frame);
  acquire(stream_below(object), frame);
  errno = error;
  return 0;
}

RT_FL_ENTRY(heddle_flow_unlock);
uint64_t rt_do_heddle_flow_unlock(uint64_t frame);
uint64_t rt_do_heddle_flow_unlock(uint64_t frame) {
  if (!rt_fl_active() || rt_fl_local->open) return 0;
  const int error = errno;
  release_left(frame);
  errno = error;
  return 0;
}

/* ---- all streams. Nobody closes one while its lock is held here, so it is there as long as it is in libc's
 * list.
 */
extern FILE* _IO_list_all;
void _IO_list_lock(void);
void _IO_list_unlock(void);

struct streams {
  FILE** at;
  size_t count, room;
};

static struct streams list_streams(bool (*concerns)(FILE*)) {
  struct streams list = {NULL, 0, 0};
  _IO_list_lock();
  for (const FILE* stream = _IO_list_all; stream != NULL; stream = stream->_chain) ++list.room;
  list.at = rt_map_memory(list.room * sizeof(FILE*));
  if (list.at == NULL) rt_no_memory();
  for (FILE* stream = _IO_list_all; stream != NULL; stream = stream->_chain)
    if (concerns(stream)) list.at[list.count++] = stream;
  _IO_list_unlock();
  return list;
}

static bool is_open(const FILE* stream) {
  _IO_list_lock();
  const FILE* at = _IO_list_all;
  while (at != NULL && at != stream) at = at->_chain;
  _IO_list_unlock();
  return at != NULL;
}

/* Which streams it was done with is recorded, in their order. */
static void with_all(bool (*concerns)(FILE*), bool (*get)(uint32_t* lock), void (*perform)(FILE*)) {
  if (rt_fl.mode == FL_REPLAY) {
    for (FILE* stream; (stream = (FILE*)heddle_flow_told(0)) != NULL;) perform(stream);
    return;
  }
  const struct streams list = list_streams(concerns);
  for (size_t i = 0; i < list.count && has_room(); ++i) {
    uint32_t* const lock = lock_of(stream_below(list.at[i]));
    if (!get(lock)) continue;
    if (is_open(list.at[i]) && concerns(list.at[i])) {
      heddle_flow_told((uint64_t)(uintptr_t)list.at[i]);
      perform(list.at[i]);
    } else if (!is_mine(lock)) {
      unlock(lock);
    }
  }
  heddle_flow_told(0);
  RT_SYS2(SYS_munmap, list.at, list.room * sizeof(FILE*));
}

static bool is_full(FILE* stream) {
  return __fpending(stream) > 0;
}
static bool await_lock(uint32_t* lock) {
  lock_for_call(lock);
  return true;
}
static RT_TLS int flushed;
static void flush(FILE* stream) {
  hold(stream_below(stream), UINT64_MAX);
  flushed |= RT_FL_REAL(fflush, stream);
  release(hold_count - 1);
}
static int flush_all(void) {
  flushed = 0;
  with_all(is_full, await_lock, flush);
  return flushed;
}

/* Behind the exit handlers of the program libc writes what is in the streams, whoever uses them. So from here
 * on nobody does, if they can be had. */
static bool is_written(FILE* stream) {
  return __fwriting(stream) != 0;
}
static bool get_soon(uint32_t* lock) {
  if (try_lock(lock)) return true;
  const struct timespec millisecond = {.tv_nsec = 1000000};
  bool got = false;
  rt_fl_wait_on();
  for (int i = 0; i < 1000 && !got; ++i) {
    RT_SYS4(SYS_ppoll, NULL, 0, &millisecond, NULL);
    got = try_lock(lock);
  }
  rt_fl_end_wait();
  return got;
}
static void keep(FILE* stream) {
  hold(stream_below(stream), UINT64_MAX);
}
static void at_end(int status, void* unused) {
  (void)status;
  (void)unused;
  if (!has_room()) return;
  STORE(&ended_by, rt_fl_local->slot + 1);
  with_all(is_written, get_soon, keep);
}

void rt_fl_streams_init(void) {
  on_exit(at_end, NULL);
}

/* ---- what libc calls so. A callback of the stream's may run: on the program's stack. */
int fflush(FILE* stream) {
  if (stream == NULL && has_room()) return flush_all();
  heddle_flow_lock(stream, (uint64_t)(uintptr_t)__builtin_frame_address(0));
  const int result = RT_FL_REAL(fflush, stream);
  heddle_flow_unlock((uint64_t)(uintptr_t)__builtin_frame_address(0));
  return result;
}

/* Held until the process is over, or, if the program jumps out of what it does about its end, until the next
 * call of the thread. So which of several threads comes first, as libstdc++ asks without a lock, is recorded
 * too. */
void rt_before_last_words(void) {
  heddle_flow_lock(stderr, (uint64_t)(uintptr_t)__builtin_frame_address(0));
}

static bool is_held(const void* object, uint32_t* at) {
  for (*at = hold_count; (*at)-- > 0;)
    if (holds[*at].object == object && holds[*at].frame == UINT64_MAX) return true;
  return false;
}

RT_FL_ENTRY(flockfile);
void rt_do_flockfile(FILE* stream);
void rt_do_flockfile(FILE* stream) {
  if (has_room()) acquire(stream_below(stream), UINT64_MAX);
  static void (*real)(FILE*);
  if (real == NULL) real = (void (*)(FILE*))rt_real("flockfile");
  real(stream);
}

RT_FL_ENTRY(funlockfile);
void rt_do_funlockfile(FILE* stream);
void rt_do_funlockfile(FILE* stream) {
  static void (*real)(FILE*);
  if (real == NULL) real = (void (*)(FILE*))rt_real("funlockfile");
  real(stream);
  uint32_t at;
  if (rt_fl_active() && !rt_fl_local->open && is_held(stream_below(stream), &at)) release(at);
}

RT_FL_ENTRY(ftrylockfile);
int rt_do_ftrylockfile(FILE* stream);
int rt_do_ftrylockfile(FILE* stream) {
  if (!has_room()) return RT_FL_REAL(ftrylockfile, stream);
  const void* const object = stream_below(stream);
  if (heddle_flow_told(rt_fl.mode == FL_RECORD && !try_lock(lock_of(object))) != 0) return -1;
  hold(object, UINT64_MAX);
  return RT_FL_REAL(ftrylockfile, stream);
}
