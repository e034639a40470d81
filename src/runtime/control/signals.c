/* Signals that the program sends to itself and its threads, masks, and waiting for signals.
 *
 * They are kept per thread, in the model: a handler runs when its thread reaches its next event, a thread in
 * sigwait goes on when one of its signals is there. A signal to the process goes to a thread that waits for it,
 * else to the eldest that does not block it, else to the eldest, where it stays pending. Masks are not passed
 * on to the kernel. Handlers: handlers.c.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "runtime/control/switching.h"

static uint64_t bit(int number) {
  return 1ull << (number - 1);
}

/* What is not in the first 64 signals does not exist on Linux. */
uint64_t rt_signals_in(const sigset_t* set) {
  uint64_t bits;
  memcpy(&bits, set, sizeof bits);
  return bits;
}

static void set_of(uint64_t bits, sigset_t* set) {
  memcpy(set, &bits, sizeof bits);
}

static int failed(int error) {
  errno = error;
  return -1;
}

/* ---- what is pending */
/* What came with signals, in order; those of number 32 and above may wait several times. */
struct queued {
  uint32_t thread;
  siginfo_t information;
};
#define QUEUE 256
static struct queued queue[QUEUE];
static uint32_t queue_size;
RT_STATE static siginfo_t from_outside[65];

static bool is_ignored(int number) {
  const sighandler_t handler = rt_action_of(number).sa_handler;
  return handler == SIG_IGN || (handler == SIG_DFL && (number == SIGCHLD || number == SIGURG ||
                                                       number == SIGWINCH || number == SIGCONT));
}

/* False: there is no room. */
static bool post(struct rt_thread* to, const siginfo_t* information) {
  const int number = information->si_signo;
  if (((to->signal_mask | to->awaited_signals) & bit(number)) == 0 && is_ignored(number)) return true;
  if (number < 32 && (to->pending_signals & bit(number)) != 0) return true;
  if (queue_size == QUEUE) return false;
  queue[queue_size++] = (struct queued){.thread = to->index, .information = *information};
  rt_set_pending(to, bit(number));
  return true;
}

static siginfo_t take(struct rt_thread* self, int number) {
  siginfo_t taken = from_outside[number];
  uint32_t found = 0, kept = 0;
  for (uint32_t i = 0; i < queue_size; ++i) {
    const bool fits = queue[i].thread == self->index && queue[i].information.si_signo == number;
    if (fits && found++ == 0)
      taken = queue[i].information;
    else
      queue[kept++] = queue[i];
  }
  queue_size = kept;
  if (found < 2) rt_clear_pending(self, bit(number));
  taken.si_signo = number;
  return taken;
}

/* ---- handlers */
static void deliver(struct rt_thread* self, int number) {
  siginfo_t information = take(self, number);
  if (is_ignored(number)) return;
  if (rt_action_of(number).sa_handler == SIG_DFL) {
    rt.block->result.number = number;
    rt_fail(number == SIGABRT ? HEDDLE_OUTCOME_abort : HEDDLE_OUTCOME_signal, "");
  }
  rt_call_handler(number, &information);
}

bool rt_signals_restart(const struct rt_thread* self) {
  uint64_t rest = self->pending_signals & ~self->signal_mask & ~RT_CANCEL_SIGNAL;
  for (; rest != 0; rest &= rest - 1)
    if ((rt_action_of(__builtin_ctzll(rest) + 1).sa_flags & SA_RESTART) == 0) return false;
  return true;
}

void rt_deliver_signals(struct rt_thread* self) {
  while (rt_signal_pending(self)) {
    if ((self->pending_signals & RT_CANCEL_SIGNAL) != 0) {
      rt_clear_pending(self, RT_CANCEL_SIGNAL);
      if (self->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) rt_cancellation_point(self);
      continue;
    }
    deliver(self, __builtin_ctzll(self->pending_signals & ~self->signal_mask) + 1);
  }
}

/* ---- sending */
static siginfo_t with_value(int number, union sigval value) {
  siginfo_t information = {.si_signo = number, .si_code = SI_QUEUE};
  information.si_pid = getpid();
  information.si_value = value;
  return information;
}

static int send_to_thread(pthread_t handle, int number, const siginfo_t* information) {
  if (number < 0 || number > 64) return EINVAL;
  if (!rt.active) return (int)-RT_SYS2(SYS_kill, RT_SYS0(SYS_getpid), number);
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_kill, (const void*)(uintptr_t)handle);
  rt_perform(self);
  struct rt_thread* target = rt_thread_of(handle);
  if (target == NULL) return rt_result(self, ESRCH);
  if (number != 0 && target->state == RT_ALIVE && !post(target, information)) return rt_result(self, EAGAIN);
  if (rt_signal_pending(self)) rt_deliver_signals(self);
  return rt_result(self, 0);
}

int pthread_kill(pthread_t handle, int number) {
  const siginfo_t information = {.si_signo = number, .si_code = SI_TKILL, .si_pid = getpid()};
  return send_to_thread(handle, number, &information);
}

int pthread_sigqueue(pthread_t handle, int number, const union sigval value) {
  const siginfo_t information = with_value(number, value);
  return send_to_thread(handle, number, &information);
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

/* Whether there was room for it. */
static bool send_to_process(const siginfo_t* information) {
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_kill, NULL);
  rt_perform(self);
  const bool sent = post(receiver(information->si_signo), information);
  if (rt_signal_pending(self)) rt_deliver_signals(self);
  rt_result(self, sent ? 0 : EAGAIN);
  return sent;
}

bool rt_send_to_process(int number) {
  if (number == SIGKILL || number == SIGSTOP) return false;
  const siginfo_t information = {.si_signo = number, .si_code = SI_USER, .si_pid = getpid()};
  send_to_process(&information);
  return true;
}

int sigqueue(pid_t id, int number, const union sigval value) {
  if (number < 0 || number > 64) return failed(EINVAL);
  if (rt.forked || id != getpid()) {
    int (*real)(pid_t, int, union sigval) = (int (*)(pid_t, int, union sigval))rt_real("sigqueue");
    return real(rt_real_id(id), number, value);
  }
  if (!rt.active || number == 0) return kill(id, number);
  const siginfo_t information = with_value(number, value);
  return send_to_process(&information) ? 0 : failed(EAGAIN);
}

/* In a handler of the kernel: between any two instructions, of the runtime too. */
void rt_signal_arrived(int number, const siginfo_t* information) {
  from_outside[number] = *information;
  if (number == SIGCHLD) from_outside[number].si_pid = rt_child_of(information->si_pid);
  rt_set_pending(receiver(number), bit(number));
}

/* ---- masks */
int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  struct rt_thread* self = rt.current;
  const uint64_t before = self->signal_mask;
  if (set != NULL) {
    const uint64_t bits = rt_signals_in(set) & ~(bit(SIGKILL) | bit(SIGSTOP) | RT_CANCEL_SIGNAL);
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

/* A forked child is not under control, and its handlers run at once: a wait ends when one has run since the
 * last wait, which may have been just before this one. */
static bool wait_in_child(const struct timespec* limit) {
  static uint32_t seen;
  const struct timespec moment = {.tv_nsec = 1000000};
  uint64_t left =
      limit != NULL ? (uint64_t)limit->tv_sec * 1000 + (uint64_t)limit->tv_nsec / 1000000 : UINT64_MAX;
  while (rt_handled_in_child == seen && left-- > 0) RT_SYS2(SYS_nanosleep, &moment, NULL);
  const bool handled = rt_handled_in_child != seen;
  seen = rt_handled_in_child;
  return handled;
}

static int wait_for_signal(uint64_t awaited, const struct timespec* limit, siginfo_t* information) {
  if (rt.forked) return failed(wait_in_child(limit) ? EINTR : EAGAIN);
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
    const siginfo_t got = take(self, number);
    if (information != NULL) *information = got;
  }
  rt_result(self, number);
  if (number != 0) return number;
  rt_cancellation_point(self);
  const bool handled = rt_signal_pending(self);
  rt_deliver_signals(self);
  return failed(handled ? EINTR : EAGAIN);
}

int sigwaitinfo(const sigset_t* set, siginfo_t* information) {
  return wait_for_signal(rt_signals_in(set), NULL, information);
}

int sigtimedwait(const sigset_t* set, siginfo_t* information, const struct timespec* limit) {
  if (limit != NULL && !rt_valid_timespec(limit)) return failed(EINVAL);
  return wait_for_signal(rt_signals_in(set), limit, information);
}

int sigwait(const sigset_t* set, int* number) {
  int got;
  while ((got = wait_for_signal(rt_signals_in(set), NULL, NULL)) < 0) {
  }
  *number = got;
  return 0;
}

int sigsuspend(const sigset_t* set) {
  const uint64_t before = rt.current->signal_mask;
  rt.current->signal_mask = rt_signals_in(set);
  wait_for_signal(0, NULL, NULL);
  rt.current->signal_mask = before;
  return failed(EINTR);
}

int pause(void) {
  wait_for_signal(0, NULL, NULL);
  return failed(EINTR);
}
