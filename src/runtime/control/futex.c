/* syscall(): futexes under control; what this runtime gives under a libc name is the same by its number; the
 * rest goes to the system.
 *
 * libstdc++ comes here for futures, latches, barriers, semaphores and waiting on atomics. Waiting is two
 * events: the first compares and makes the thread a waiter, the second goes on. Which waiters a wake-up may
 * wake: waiters.h; where bit sets or requeueing are used, the oldest come first, as in the kernel. A waiter's
 * bit set is its op.second.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "abi/event_part.h"
#include "runtime/control/sync.h"
#include "runtime/control/waiters.h"

static long failed(struct rt_thread* self, int error) {
  errno = error;
  return rt_refused(self, -1);
}

/* ---- waiting */
static uint32_t bits_of(const struct rt_thread* waiter) {
  return (uint32_t)(uintptr_t)waiter->op.second;
}

static struct timespec from_now(const struct timespec* time) {
  const uint64_t now = rt_clock(CLOCK_MONOTONIC);
  struct timespec end = {.tv_sec = (time_t)(now / 1000000000u),
                         .tv_nsec = (long)(now % 1000000000u) + time->tv_nsec};
  if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    ++end.tv_sec;
  }
  if (__builtin_add_overflow(end.tv_sec, time->tv_sec, &end.tv_sec)) end.tv_sec = INT64_MAX;
  return end;
}

/* `time`: null for ever, else relative to now or, for `clock`, absolute. */
static long wait(uint32_t* word, uint32_t expected, uint32_t bits, const struct timespec* time, bool relative,
                 clockid_t clock) {
  if (bits == 0 || (time != NULL && (!rt_valid_timespec(time) || time->tv_sec < 0)))
    return failed(NULL, EINVAL);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_futex, word);
  const bool plain = bits == FUTEX_BITSET_MATCH_ANY;
  if (self != NULL && plain) {
    self->op.size = time != NULL ? HEDDLE_PART_timed_compare : HEDDLE_PART_compare;
    self->op.second = (const void*)(uintptr_t)expected;
  }
  rt_go(self);
  if (*(volatile uint32_t*)word != expected) return failed(self, EAGAIN);
  if (self == NULL) {
    if (time == NULL) rt_stuck("a futex");
    return failed(NULL, ETIMEDOUT);
  }
  rt_start_waiting(self);
  rt_result(self, 0);

  rt_sync(HEDDLE_SYNC_futex, word);
  self->op.second = (const void*)(uintptr_t)bits;
  if (plain) self->op.size = time != NULL ? HEDDLE_PART_timed_go_on : HEDDLE_PART_go_on;
  self->op.ready = rt_is_awake;
  self->op.spurious = true;
  struct timespec end;
  if (time != NULL) end = relative ? from_now(time) : *time;
  rt_until(self, clock, time != NULL ? &end : NULL);
  rt_perform(self);
  const bool timed_out = self->timed_out;
  if (rt_stop_waiting(self) || !timed_out) return rt_result(self, 0);
  errno = ETIMEDOUT;
  return rt_result(self, -1);
}

/* ---- waking */
/* How many were woken. */
static uint64_t wake_some(const uint32_t* word, uint64_t count, uint32_t bits) {
  bool all_alike = bits == FUTEX_BITSET_MATCH_ANY;
  struct rt_thread* waiter = rt_oldest_waiter(word, NULL);
  for (; waiter != NULL && all_alike; waiter = rt_oldest_waiter(word, waiter))
    all_alike = bits_of(waiter) == FUTEX_BITSET_MATCH_ANY;
  if (all_alike) return rt_wake(word, count);
  rt_settle_wakes(word);
  uint64_t woken = 0;
  for (waiter = rt_oldest_waiter(word, NULL); waiter != NULL && woken < count;) {
    struct rt_thread* next = rt_oldest_waiter(word, waiter);
    if ((bits_of(waiter) & bits) != 0) {
      rt_wake_this(waiter);
      ++woken;
    }
    waiter = next;
  }
  return woken;
}

/* The kernel wakes one when it is asked for none. */
static uint64_t at_least_one(uint32_t count) {
  return (int32_t)count < 1 ? 1 : count;
}

static long wake(const uint32_t* word, uint32_t count, uint32_t bits) {
  if (bits == 0) return failed(NULL, EINVAL);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_futex, word);
  if (self == NULL) return 0;
  if (bits == FUTEX_BITSET_MATCH_ANY) {
    self->op.size = HEDDLE_PART_wake;
    self->op.second = (const void*)(uintptr_t)at_least_one(count);
  }
  rt_perform(self); /* the word itself may have been freed by whom an earlier store let go on */
  const uint64_t woken = wake_some(word, at_least_one(count), bits);
  return rt_result(self, (int)woken);
}

/* Wakes some, lets others wait for another word. `expected` null: whatever the word's value. */
static long requeue(uint32_t* word, uint32_t wakes, uint32_t moves, uint32_t* to, const uint32_t* expected) {
  if ((int32_t)wakes < 0 || (int32_t)moves < 0) return failed(NULL, EINVAL);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_futex, word);
  rt_go(self);
  if (expected != NULL && *(volatile uint32_t*)word != *expected) return failed(self, EAGAIN);
  if (self == NULL) return 0;
  rt_settle_wakes(word);
  rt_settle_wakes(to);
  uint64_t done = 0;
  for (struct rt_thread* waiter = rt_oldest_waiter(word, NULL);
       waiter != NULL && done < (uint64_t)wakes + moves;) {
    struct rt_thread* next = rt_oldest_waiter(word, waiter);
    if (done < wakes)
      rt_wake_this(waiter);
    else if (word != to)
      rt_move_waiter(waiter, to);
    ++done;
    waiter = next;
  }
  return rt_result(self, (int)done);
}

/* FUTEX_WAKE_OP: the second word is changed as `code` says, and its waiters woken too when its old value
 * fulfils the condition there. */
static bool wake_op(uint32_t* word, uint32_t code) {
  const uint32_t operation = (code >> 28) & 7, comparison = (code >> 24) & 15;
  int32_t operand = (int32_t)(code << 8) >> 20;
  const int32_t compared = (int32_t)(code << 20) >> 20;
  if ((code >> 28 & FUTEX_OP_OPARG_SHIFT) != 0) operand = (int32_t)(1u << (operand & 31));
  const int32_t old = (int32_t)*word;
  switch (operation) {
    case FUTEX_OP_SET:
      *word = (uint32_t)operand;
      break;
    case FUTEX_OP_ADD:
      *word += (uint32_t)operand;
      break;
    case FUTEX_OP_OR:
      *word |= (uint32_t)operand;
      break;
    case FUTEX_OP_ANDN:
      *word &= ~(uint32_t)operand;
      break;
    case FUTEX_OP_XOR:
      *word ^= (uint32_t)operand;
      break;
    default:
      break;
  }
  rt_changed(word, sizeof *word);
  switch (comparison) {
    case FUTEX_OP_CMP_EQ:
      return old == compared;
    case FUTEX_OP_CMP_NE:
      return old != compared;
    case FUTEX_OP_CMP_LT:
      return old < compared;
    case FUTEX_OP_CMP_LE:
      return old <= compared;
    case FUTEX_OP_CMP_GT:
      return old > compared;
    default:
      return old >= compared;
  }
}

static long wake_two(uint32_t* word, uint32_t count, uint32_t* second, uint32_t second_count, uint32_t code) {
  if (((code >> 28) & 7) > FUTEX_OP_XOR || ((code >> 24) & 15) > FUTEX_OP_CMP_GE) return failed(NULL, ENOSYS);
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_futex, word);
  rt_go(self);
  if (self != NULL) rt_heap_check(second, sizeof *second, self->op.site);
  const bool both = wake_op(second, code);
  if (self == NULL) return 0;
  uint64_t woken = wake_some(word, at_least_one(count), FUTEX_BITSET_MATCH_ANY);
  if (both) woken += wake_some(second, at_least_one(second_count), FUTEX_BITSET_MATCH_ANY);
  return rt_result(self, (int)woken);
}

/* ---- the system call */
/* `fourth` is a time, or a number. */
static long futex(uint32_t* word, int operation, uint32_t value, long fourth, uint32_t* second,
                  uint32_t third) {
  const int command = operation & FUTEX_CMD_MASK;
  const bool realtime = (operation & FUTEX_CLOCK_REALTIME) != 0;
  const struct timespec* time = (const struct timespec*)fourth; /* NOLINT(performance-no-int-to-ptr) */
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  if (waits && time != NULL && (!rt_valid_timespec(time) || time->tv_sec < 0)) return failed(NULL, EINVAL);
  if (realtime && command != FUTEX_WAIT_BITSET && command <= FUTEX_WAKE_BITSET) return failed(NULL, ENOSYS);
  if ((uintptr_t)word % sizeof *word != 0) return failed(NULL, EINVAL);
  if (word == NULL) return failed(NULL, EFAULT);
  const bool uses_second = command == FUTEX_REQUEUE || command == FUTEX_CMP_REQUEUE || command == FUTEX_WAKE_OP;
  if (uses_second && (uintptr_t)second % sizeof *second != 0) return failed(NULL, EINVAL);
  if (uses_second && second == NULL) return failed(NULL, EFAULT);
  switch (command) {
    case FUTEX_WAIT:
      return wait(word, value, FUTEX_BITSET_MATCH_ANY, time, true, CLOCK_MONOTONIC);
    case FUTEX_WAIT_BITSET:
      return wait(word, value, third, time, false, realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC);
    case FUTEX_WAKE:
      return wake(word, value, FUTEX_BITSET_MATCH_ANY);
    case FUTEX_WAKE_BITSET:
      return wake(word, value, third);
    case FUTEX_REQUEUE:
      return requeue(word, value, (uint32_t)fourth, second, NULL);
    case FUTEX_CMP_REQUEUE:
      return requeue(word, value, (uint32_t)fourth, second, &third);
    case FUTEX_WAKE_OP:
      return wake_two(word, value, second, (uint32_t)fourth, third);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_UNLOCK_PI:
    case FUTEX_TRYLOCK_PI:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_CMP_REQUEUE_PI:
      rt_unsupported("a futex with priority inheritance (operation %d)", command);
    default:
      return failed(NULL, ENOSYS);
  }
}

static long with_errno(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  const long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
             e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  /* NOLINTBEGIN(performance-no-int-to-ptr): that is how system calls get their arguments */
  switch (number) {
    case SYS_futex:
      return futex((uint32_t*)a, (int)b, (uint32_t)c, d, (uint32_t*)e, (uint32_t)f);
    case SYS_futex_waitv:
      rt_unsupported("waiting for several futexes (futex_waitv)");
    case SYS_gettid:
      return gettid();
    case SYS_getpid:
      return getpid();
    case SYS_getrandom:
      return getrandom((void*)a, (size_t)b, (unsigned)c);
    case SYS_sched_yield:
      return sched_yield();
    case SYS_clock_gettime:
      return clock_gettime((clockid_t)a, (struct timespec*)b);
    case SYS_gettimeofday:
      return gettimeofday((struct timeval*)a, (void*)b);
    case SYS_nanosleep:
      return nanosleep((const struct timespec*)a, (struct timespec*)b);
    case SYS_clock_nanosleep:
      return with_errno(clock_nanosleep((clockid_t)a, (int)b, (const struct timespec*)c, (struct timespec*)d));
    case SYS_exit_group:
      _exit((int)a);
    default:
      break;
  }
  /* NOLINTEND(performance-no-int-to-ptr) */
  const long result = rt_system_call(number, a, b, c, d, e, f);
  return result < 0 && result > -4096 ? with_errno((int)-result) : result;
}
