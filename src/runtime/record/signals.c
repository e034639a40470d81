/* Signal handlers of the program: what runs in them goes to logs of their own.
 *
 * A handler may interrupt the program, or a hook, between any two instructions. It gets the log of the next
 * level (NAME@1 for what interrupts ordinary code), and the state of the interrupted log is put back when it
 * returns, so that neither disturbs the other. A handler that is left by siglongjmp, an exception or the end of
 * the thread is noticed where that arrives (heddle_record_twice, heddle_record_landed). To this end sigaction
 * and its older kin are interposed: the kernel gets on_signal, the program is told of its own handlers. For
 * signals that mean a failure the default action is rt_on_failure, which looks like it.
 */
#include <errno.h>
#include <string.h>
#include <ucontext.h>

#include "runtime/record/runtime.h"

/* The program's handlers, and whether they were set with SA_SIGINFO. A handler is called with all three
 * arguments: what takes one only does not see the others. */
static void* _Atomic handlers[_NSIG];
static _Atomic bool with_information[_NSIG];
static sigset_t interrupting; /* siginterrupt() */

int rt_sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  static int (*real)(int, const struct sigaction*, struct sigaction*);
  if (real == NULL) real = (int (*)(int, const struct sigaction*, struct sigaction*))rt_real("sigaction");
  return real(number, action, old);
}

/* ---- running a handler */
static void on_signal(int number, siginfo_t* information, void* context);

static void write_signal(int number, uint64_t pc, const struct rt_log* below) {
  const bool in_transit = below->transit == below->words + 1;
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_signal;
  to = rt_varint(to, (uint32_t)number);
  to = rt_fixed(to, pc, 8);
  to = rt_varint(to, below->words);
  to = rt_fixed(to, in_transit ? below->transit_word : *below->saved.word, 8);
  to = rt_varint(to, below->saved.path);
  to = rt_varint(to, rt_data_position(below, &below->saved));
  rt_written(to);
}

/* ---- a signal while the store buffer is worked on (buffers.c), a word of the path is completed (log.c) or an
 * entry is made (rt_begin_entry) waits until that is done: its handler may never come back. The thread goes on
 * with signals blocked, and then gets it once more. Faults cannot wait: they are not blocked. */
static const uint64_t fault_signals = 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
                                      1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1);

static bool defer(struct rt_log* log, int number, const siginfo_t* information, void* context) {
  struct rt_buffer* const buffer = &log->buffer;
  const bool is_busy = buffer->busy || log->transit == log->words + 1;
  if (!is_busy || (fault_signals >> (number - 1) & 1) != 0) return false;
  uint64_t mask;
  sigset_t* const blocked = &((ucontext_t*)context)->uc_sigmask;
  memcpy(&mask, blocked, sizeof mask);
  buffer->deferred_mask = mask;
  buffer->deferred = *information;
  mask |= ~fault_signals;
  memcpy(blocked, &mask, sizeof mask);
  return true;
}

void rt_send_deferred(struct rt_buffer* buffer) {
  siginfo_t information = buffer->deferred;
  const uint64_t mask = buffer->deferred_mask;
  buffer->deferred.si_signo = 0;
  const int number = information.si_signo;
  const int saved = errno;
  struct sigaction action;
  if (rt_sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
    /* SA_RESETHAND has done its work too early. */
    action = (struct sigaction){.sa_sigaction = on_signal,
                                .sa_flags = SA_SIGINFO | (int)SA_RESETHAND | SA_NODEFER | SA_ONSTACK};
    rt_sigaction(number, &action, NULL);
  }
  errno = saved;
  const long pid = RT_SYS0(SYS_getpid), tid = RT_SYS0(SYS_gettid);
  if (RT_SYS4(SYS_rt_tgsigqueueinfo, pid, tid, number, &information) < 0) RT_SYS3(SYS_tgkill, pid, tid, number);
  rt_restore_signals(mask);
}

static void on_signal(int number, siginfo_t* information, void* context) {
  void (*const handler)(int, siginfo_t*, void*) = (void (*)(int, siginfo_t*, void*))handlers[number];
  if (rt_hold_signal != NULL && rt_hold_signal(number, information, handler, context)) return;
  if (rt_self == NULL && number == RT_CANCEL_SIGNAL) {
    handler(number, information, context);
    return;
  }
  if (rt_self == NULL) rt_begin_unseen_thread();
  struct rt_thread* const self = rt_self;
  if (self->failure != HEDDLE_RECORD_no_failure && number == SIGABRT)
    rt_publish_failure(self, number, information, context);
  struct rt_log* const below = rt_now;
  const bool busy = below->buffer.busy; /* only faults interrupt that */
  if (defer(below, number, information, context)) return;
  rt_interrupt_buffer(&below->buffer);
  struct rt_log* const log = rt_handler_log(self, below->level + 1);
  const uint64_t pc = (uint64_t)((const ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  uint64_t mask = rt_block_signals(); /* another handler must not find the logs half exchanged */
  rt_make_current(log);
  log->frame = (uint64_t)(uintptr_t)__builtin_frame_address(0);
  write_signal(number, pc, below);
  rt_restore_signals(mask);
  handler(number, information, context);
  rt_drain(&log->buffer);
  mask = rt_block_signals();
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_signal_end;
  rt_written(to);
  rt_make_current(below);
  below->buffer.busy = busy;
  rt_restore_signals(mask);
}

/* ---- when a handler did not come back. A signal may have found the thread on its way here, in a log of the
 * level above: there too somebody waits in vain. Who was interrupted by a fault in the middle of a hook will
 * not finish it: a word that was not completed is so by the next hook (heddle_record_next_word). */
void rt_return_to(struct rt_log* log, const void* caller) {
  rt_unwind_buffers(log, caller);
  const uint64_t mask = rt_block_signals();
  for (uint32_t level = log->level; level < rt_now->level; ++level) {
    struct rt_log* const lost = level == 0 ? &rt_self->log : rt_self->handlers[level];
    lost->transit = 0;
    lost->buffer.busy = false;
    rt_mark_lost(lost);
  }
  rt_make_current(log);
  rt_restore_signals(mask);
}

/* ---- setting handlers */
/* Two threads that set handlers of one signal at a time are told apart by this lock only, and signals are
 * blocked while it is held. Nothing of this is on the recording path. */
static _Atomic bool busy;

static uint64_t lock(void) {
  const uint64_t mask = rt_block_signals();
  while (__atomic_exchange_n((bool*)&busy, true, __ATOMIC_ACQUIRE)) RT_SYS0(SYS_sched_yield);
  return mask;
}

static void unlock(uint64_t mask) {
  __atomic_store_n((bool*)&busy, false, __ATOMIC_RELEASE);
  rt_restore_signals(mask);
}

static bool is_handler(const struct sigaction* action) {
  return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* What the program is told of the action that the kernel has. */
static void as_program_sees(struct sigaction* action, void* handler, bool information) {
  if ((action->sa_flags & SA_SIGINFO) == 0) return;
  if (action->sa_sigaction == rt_on_failure) {
    memset(action, 0, sizeof *action);
    action->sa_handler = SIG_DFL;
  } else if (action->sa_sigaction == on_signal) {
    action->sa_handler = (void (*)(int))handler;
    if (!information) action->sa_flags &= ~SA_SIGINFO;
  }
}

/* What the kernel is told instead of what the program wants. */
static struct sigaction as_kernel_sees(int number, const struct sigaction* wanted) {
  struct sigaction action = *wanted;
  if (is_handler(wanted)) {
    action.sa_sigaction = on_signal;
    action.sa_flags |= SA_SIGINFO;
    if (rt_hold_signal != NULL) {
      action.sa_flags |= SA_ONSTACK;      /* it comes at any time, and leaves no trace */
      sigdelset(&action.sa_mask, SIGSYS); /* by which that runtime meets system calls */
    }
  } else if (wanted->sa_handler == SIG_DFL && rt.process != NULL && rt_is_failure_signal(number)) {
    action = rt_failure_action();
  }
  return action;
}

int rt_program_action(int number, const struct sigaction* wanted, struct sigaction* old) {
  if (number <= 0 || number >= _NSIG || number == SIGKILL || number == SIGSTOP)
    return rt_sigaction(number, wanted, old); /* says what is wrong */
  const uint64_t mask = lock();
  void* const handler = handlers[number];
  const bool information = with_information[number];
  struct sigaction action;
  if (wanted != NULL) {
    action = as_kernel_sees(number, wanted);
    if (is_handler(wanted)) {
      with_information[number] = (wanted->sa_flags & SA_SIGINFO) != 0;
      handlers[number] = (void*)wanted->sa_handler;
    }
  }
  struct sigaction before;
  const int result = rt_sigaction(number, wanted != NULL ? &action : NULL, &before);
  if (result == 0 && old != NULL) {
    as_program_sees(&before, handler, information);
    *old = before;
  }
  unlock(mask);
  return result;
}

int sigaction(int number, const struct sigaction* wanted, struct sigaction* old) {
  if (rt_begin_action != NULL) rt_begin_action();
  const int result = rt_program_action(number, wanted, old);
  if (rt_end_action != NULL) rt_end_action();
  return result;
}

int __sigaction(int number, const struct sigaction* wanted, struct sigaction* old) {
  return sigaction(number, wanted, old);
}

/* libc's signals are not known to sigaction(). The action is the kernel's, as libc has set it; its first member
 * is the handler. */
void rt_take_over(int number) {
  struct {
    void* handler;
    uint64_t flags;
    void* restorer;
    uint64_t mask;
  } action;
  const uint64_t mask = lock();
  if (RT_SYS4(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) == 0 && action.handler != NULL &&
      (action.flags & SA_SIGINFO) != 0 && action.handler != (void*)on_signal) {
    with_information[number] = true;
    handlers[number] = action.handler;
    action.handler = (void*)on_signal;
    RT_SYS4(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask);
  }
  unlock(mask);
}

/* ---- the older forms, as in libc */
static __sighandler_t set(int number, __sighandler_t handler, int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  struct sigaction old;
  sigemptyset(&action.sa_mask);
  if (handler == SIG_ERR || number < 1 || number >= _NSIG) {
    errno = EINVAL;
    return SIG_ERR;
  }
  return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

__sighandler_t signal(int number, __sighandler_t handler) {
  const bool interrupts = number > 0 && number < _NSIG && sigismember(&interrupting, number) == 1;
  return set(number, handler, interrupts ? 0 : SA_RESTART);
}

__sighandler_t bsd_signal(int number, __sighandler_t handler) {
  return signal(number, handler);
}

__sighandler_t ssignal(int number, __sighandler_t handler) {
  return signal(number, handler);
}

__sighandler_t sysv_signal(int number, __sighandler_t handler) {
  return set(number, handler, (int)SA_RESETHAND | SA_NODEFER);
}

__sighandler_t __sysv_signal(int number, __sighandler_t handler) {
  return sysv_signal(number, handler);
}

int siginterrupt(int number, int interrupts) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0) return -1;
  if (interrupts) {
    sigaddset(&interrupting, number);
    action.sa_flags &= ~SA_RESTART;
  } else {
    sigdelset(&interrupting, number);
    action.sa_flags |= SA_RESTART;
  }
  return sigaction(number, &action, NULL);
}

__sighandler_t sigset(int number, __sighandler_t handler) {
  sigset_t this, before;
  sigemptyset(&this);
  if (handler == SIG_ERR || sigaddset(&this, number) != 0) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction old;
  if (handler == SIG_HOLD) {
    if (sigprocmask(SIG_BLOCK, &this, &before) != 0) return SIG_ERR;
    if (sigismember(&before, number) == 1) return SIG_HOLD;
    return sigaction(number, NULL, &old) == 0 ? old.sa_handler : SIG_ERR;
  }
  const __sighandler_t was = set(number, handler, 0);
  if (was == SIG_ERR || sigprocmask(SIG_UNBLOCK, &this, &before) != 0) return SIG_ERR;
  return sigismember(&before, number) == 1 ? SIG_HOLD : was;
}
