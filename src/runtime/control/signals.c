/* Signals that the program sends to itself and its threads, masks, and waiting for signals.
 *
 * They are kept per thread, in the model: a handler runs when its thread reaches its next event, a thread in
 * sigwait goes on when one of its signals is there. A signal to the process goes to a thread that waits for it,
 * else to the eldest that does not block it, else to the eldest, where it stays pending. Signals from outside
 * are the kernel's business; masks are not passed on to it.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "runtime/control/control.h"
#include "runtime/control/switching.h"

static uint64_t bit(int number) {
  return 1ull << (number - 1);
}

/* What is not in the first 64 signals does not exist on Linux. */
static uint64_t bits_of(const sigset_t* set) {
  uint64_t bits;
  memcpy(&bits, set, sizeof bits);
  return bits;
}

static void set_of(uint64_t bits, sigset_t* set) {
  memset(set, 0, sizeof *set);
  memcpy(set, &bits, sizeof bits);
}

static int failed(int error) {
  errno = error;
  return -1;
}

/* ---- handlers */
struct kernel_action {
  void* handler;
  unsigned long flags;
  void* restorer;
  uint64_t mask;
};

static struct kernel_action action_of(int number) {
  struct kernel_action action = {0};
  RT_SYS4(SYS_rt_sigaction, number, NULL, &action, 8);
  return action;
}

static bool ignored_by_default(int number) {
  return number == SIGCHLD || number == SIGURG || number == SIGWINCH || number == SIGCONT;
}

/* The runtime's own handlers stand where the program has none. */
static bool is_failure(int number) {
  return number == SIGABRT || number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
         number == SIGTRAP;
}

static void deliver(struct rt_thread* self, int number) {
  const struct kernel_action action = action_of(number);
  if (action.handler == (void*)SIG_IGN) return;
  if (action.handler == (void*)SIG_DFL && ignored_by_default(number)) return;
  if (action.handler == (void*)SIG_DFL || is_failure(number)) {
    rt.block->result.number = number;
    rt_fail(number == SIGABRT ? HEDDLE_OUTCOME_abort : HEDDLE_OUTCOME_signal, "");
  }
  const struct rt_op op = self->op; /* the handler's own events come between */
  const uint64_t mask = self->signal_mask;
  const int saved = errno;
  self->signal_mask |= action.mask | bit(number);
  siginfo_t information = {.si_signo = number, .si_code = SI_TKILL};
  if ((action.flags & SA_SIGINFO) != 0)
    ((void (*)(int, siginfo_t*, void*))action.handler)(number, &information, NULL);
  else
    ((void (*)(int))action.handler)(number);
  errno = saved;
  self->signal_mask = mask;
  self->op = op;
}

void rt_deliver_signals(struct rt_thread* self) {
  while (rt_signal_pending(self)) {
    const int number = __builtin_ctzll(self->pending_signals & ~self->signal_mask) + 1;
    self->pending_signals &= ~bit(number);
    deliver(self, number);
  }
}

/* ---- sending */
int pthread_kill(pthread_t handle, int number) {
  if (number < 0 || number > 64) return EINVAL;
  if (!rt.active) return (int)-RT_SYS2(SYS_kill, RT_SYS0(SYS_getpid), number);
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_kill, (const void*)(uintptr_t)handle);
  rt_perform(self);
  struct rt_thread* target = rt_thread_of(handle);
  if (target == NULL) return rt_result(self, ESRCH);
  if (number != 0 && target->state == RT_ALIVE) target->pending_signals |= bit(number);
  if (rt_signal_pending(self)) rt_deliver_signals(self);
  return rt_result(self, 0);
}

int raise(int number) {
  const int error = pthread_kill((pthread_t)rt_thread_pointer(), number);
  return error == 0 ? 0 : failed(error);
}

static struct rt_thread* receiver(int number) {
  struct rt_thread* unblocked = NULL;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    struct rt_thread* thread = &rt.threads[rt.live[i]];
    if ((thread->awaited_signals & bit(number)) != 0) return thread;
    if (unblocked == NULL && (thread->signal_mask & bit(number)) == 0) unblocked = thread;
  }
  /* The sender itself, when it takes the signal, does so before kill() returns. */
  if ((rt.current->signal_mask & bit(number)) == 0) return rt.current;
  return unblocked != NULL ? unblocked : &rt.threads[rt.live[0]];
}

bool rt_send_to_process(int number) {
  if (action_of(number).handler == (void*)SIG_DFL && (number == SIGKILL || number == SIGSTOP)) return false;
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_kill, NULL);
  rt_perform(self);
  receiver(number)->pending_signals |= bit(number);
  if (rt_signal_pending(self)) rt_deliver_signals(self);
  rt_result(self, 0);
  return true;
}

/* ---- masks */
int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  struct rt_thread* self = rt.current;
  const uint64_t before = self->signal_mask;
  if (set != NULL) {
    const uint64_t bits = bits_of(set) & ~(bit(SIGKILL) | bit(SIGSTOP));
    if (how == SIG_BLOCK)
      self->signal_mask |= bits;
    else if (how == SIG_UNBLOCK)
      self->signal_mask &= ~bits;
    else if (how == SIG_SETMASK)
      self->signal_mask = bits;
    else
      return EINVAL;
  }
  if (old != NULL) set_of(before, old);
  if (rt.active && rt_signal_pending(self)) rt_deliver_signals(self);
  return 0;
}

int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  const int error = pthread_sigmask(how, set, old);
  return error == 0 ? 0 : failed(error);
}

int sigpending(sigset_t* set) {
  set_of(rt.current->pending_signals & rt.current->signal_mask, set);
  return 0;
}

/* ---- waiting: 0, or what ended the wait instead */
static bool signal_there(const struct rt_thread* self) {
  return (self->pending_signals & (self->awaited_signals | ~self->signal_mask)) != 0 || self->timed_out ||
         rt_cancel_pending(self);
}

static int wait_for_signal(uint64_t awaited, const struct timespec* limit) {
  if (!rt.active) rt_unsupported("waiting for a signal before main()");
  struct rt_thread* self = rt.current;
  rt_cancellation_point(self);
  self->awaited_signals = awaited;
  rt_sync(HEDDLE_SYNC_signal_delivery, NULL);
  self->op.ready = signal_there;
  if (limit != NULL) {
    self->op.timed = true;
    self->op.deadline =
        rt_clock(CLOCK_MONOTONIC) + (uint64_t)limit->tv_sec * 1000000000ull + (uint64_t)limit->tv_nsec;
  }
  rt_decide(self); /* as rt_perform, but awaited signals are taken before handlers run */
  rt_drain(self);
  const uint64_t taken = self->pending_signals & awaited;
  self->awaited_signals = 0;
  int number = 0;
  if (taken != 0) {
    number = __builtin_ctzll(taken) + 1;
    self->pending_signals &= ~bit(number);
  }
  rt_result(self, number);
  if (number != 0) return number;
  rt_cancellation_point(self);
  const bool handled = rt_signal_pending(self);
  rt_deliver_signals(self);
  return failed(handled ? EINTR : EAGAIN);
}

int sigwaitinfo(const sigset_t* set, siginfo_t* information) {
  const int number = wait_for_signal(bits_of(set), NULL);
  if (number > 0 && information != NULL) *information = (siginfo_t){.si_signo = number, .si_code = SI_TKILL};
  return number;
}

int sigtimedwait(const sigset_t* set, siginfo_t* information, const struct timespec* limit) {
  if (limit != NULL && !rt_valid_timespec(limit)) return failed(EINVAL);
  const int number = wait_for_signal(bits_of(set), limit);
  if (number > 0 && information != NULL) *information = (siginfo_t){.si_signo = number, .si_code = SI_TKILL};
  return number;
}

int sigwait(const sigset_t* set, int* number) {
  int got;
  while ((got = wait_for_signal(bits_of(set), NULL)) < 0) {
  }
  *number = got;
  return 0;
}

int sigsuspend(const sigset_t* set) {
  const uint64_t before = rt.current->signal_mask;
  rt.current->signal_mask = bits_of(set);
  wait_for_signal(0, NULL);
  rt.current->signal_mask = before;
  return failed(EINTR);
}

int pause(void) {
  wait_for_signal(0, NULL);
  return failed(EINTR);
}
