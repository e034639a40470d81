/* Signal handlers of the program: which it has, and how the kernel comes to call them.
 *
 * They are kept in the model, so that they are put back with the program's memory. The kernel knows handlers of
 * this file only:
 * - Faults (segmentation fault and the like) happen at their place in the program: its handler runs at once.
 *   Other threads may run, and fault, before it ends, so the kernel blocks nothing meanwhile.
 * - Signals from outside are noted, and handled when their thread reaches its next event.
 *
 * Known hole: with fibres all threads have the same alternate stack. Two of them at once in handlers of faults
 * with SA_ONSTACK overwrite each other's frames.
 */
#include <errno.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include "runtime/control/control.h"

#define SIGNALS 65

static struct sigaction actions[SIGNALS]; /* by number */
static bool known[SIGNALS];               /* the program has said what to do */

RT_STATE static void (*own[SIGNALS])(int, siginfo_t*, void*); /* the runtime's, where the program has none */
RT_STATE static uint64_t touched;                             /* the kernel was told in this execution */
RT_STATE static struct sigaction inherited[SIGNALS]; /* what it did before it was told for the first time */

/* A handler that runs; on the stack of its thread. */
struct rt_running {
  struct rt_running* outer;
  const void* frame; /* below the frames that it interrupted */
  uint64_t mask;     /* before */
};

static bool is_function(const struct sigaction* action) {
  return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static int kernel_action(int number, const struct sigaction* action, struct sigaction* old) {
  int (*real)(int, const struct sigaction*, struct sigaction*) =
      (int (*)(int, const struct sigaction*, struct sigaction*))rt_real("sigaction");
  return real(number, action, old);
}

/* What the program wants. */
struct sigaction rt_action_of(int number) {
  if (known[number]) return actions[number];
  struct sigaction action = {.sa_handler = SIG_DFL};
  if (own[number] != NULL) return action;
  kernel_action(number, NULL, &action);
  return action;
}

static void on_fault(int number, siginfo_t* information, void* context);
static void on_arrival(int number, siginfo_t* information, void* context);

/* What heddle itself needs goes before what the program wants. */
static bool is_reserved(int number) {
  return number == SIGSYS || number == RT_HANG_SIGNAL || number == RT_LOOP_SIGNAL;
}

static int tell(int number) {
  const struct sigaction wanted = rt_action_of(number);
  struct sigaction told = {.sa_handler = wanted.sa_handler, .sa_flags = wanted.sa_flags & SA_NOCLDWAIT};
  if (own[number] != NULL) {
    const bool handled = is_function(&wanted) && !is_reserved(number);
    told.sa_flags = SA_SIGINFO | SA_NODEFER;
    told.sa_flags |= handled ? wanted.sa_flags & SA_ONSTACK : SA_ONSTACK;
    if (number == RT_LOOP_SIGNAL) told.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
    told.sa_sigaction = handled ? on_fault : own[number];
  } else if (is_function(&wanted)) {
    told.sa_flags = SA_SIGINFO | SA_ONSTACK | (wanted.sa_flags & (SA_RESTART | SA_NOCLDSTOP | SA_NOCLDWAIT));
    told.sa_sigaction = on_arrival;
  }
  touched |= 1ull << (number - 1);
  return kernel_action(number, &told, NULL);
}

static void call_handler(int number, siginfo_t* information, void* context, const void* frame) {
  const struct sigaction action = rt_action_of(number);
  if ((action.sa_flags & SA_RESETHAND) != 0) {
    actions[number] = (struct sigaction){.sa_handler = SIG_DFL};
    tell(number);
  }
  struct rt_thread* self = rt.current;
  struct rt_running running = {.outer = self->handlers, .frame = frame, .mask = self->signal_mask};
  const struct rt_op op = self->op; /* the handler's own events come between */
  const int error = errno;
  self->handlers = &running;
  self->signal_mask |= rt_signals_in(&action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) self->signal_mask |= 1ull << (number - 1);
  if ((action.sa_flags & SA_SIGINFO) != 0)
    action.sa_sigaction(number, information, context);
  else
    action.sa_handler(number);
  self->handlers = running.outer;
  self->signal_mask = running.mask;
  self->op = op;
  errno = error;
}

void rt_call_handler(int number, siginfo_t* information) {
  ucontext_t context = {.uc_flags = 0}; /* there is no interrupted instruction */
  call_handler(number, information, &context, &context);
}

void rt_leave_handlers(struct rt_thread* self, const void* to, bool restore_mask) {
  for (; self->handlers != NULL && self->handlers->frame <= to; self->handlers = self->handlers->outer)
    if (restore_mask) self->signal_mask = self->handlers->mask;
}

static void on_fault(int number, siginfo_t* information, void* context) {
  struct rt_thread* self = rt.current;
  /* A fault after the end is not the program's, and one that is blocked, as in its own handler, ends it. */
  if (rt.walking || (self->signal_mask >> (number - 1) & 1) != 0) own[number](number, information, context);
  const int fault = self->fault;
  const void* fault_address = self->fault_address;
  self->fault = number;
  self->fault_address = information->si_addr;
  const greg_t interrupted = ((const ucontext_t*)context)->uc_mcontext.gregs[REG_RSP];
  call_handler(number, information, context, (const void*)interrupted);
  self->fault = fault;
  self->fault_address = fault_address;
}

bool rt_handles_faults(uintptr_t function) {
  return function == (uintptr_t)on_fault;
}

static _Unwind_Reason_Code look_for_handler(struct _Unwind_Context* context, void* found) {
  if (!rt_handles_faults(_Unwind_GetRegionStart(context))) return _URC_NO_REASON;
  *(bool*)found = true;
  return _URC_END_OF_STACK;
}

/* A handler may have been left by a jump: only the stack tells. */
int rt_fault_at_hand(void) {
  bool found = false;
  if (rt.current->fault != 0) _Unwind_Backtrace(look_for_handler, &found);
  return found ? rt.current->fault : 0;
}

volatile uint32_t rt_handled_in_child;

static void on_arrival(int number, siginfo_t* information, void* context) {
  if (rt.active) {
    rt_signal_arrived(number, information);
    return;
  }
  call_handler(number, information, context, context);
  ++rt_handled_in_child;
}

void rt_own_handler(int number, void (*handler)(int, siginfo_t*, void*)) {
  own[number] = handler;
  tell(number);
}

void rt_handlers_reset(void) {
  for (int number = 1; number < SIGNALS; ++number) {
    if ((touched >> (number - 1) & 1) == 0) continue;
    if (known[number] || own[number] != NULL)
      tell(number);
    else
      kernel_action(number, &inherited[number], NULL);
  }
  touched = 0;
}

/* ---- what the program calls */
int sigaction(int number, const struct sigaction* restrict action, struct sigaction* restrict old) {
  if (number < 1 || number >= SIGNALS || ((number == SIGKILL || number == SIGSTOP) && action != NULL)) {
    errno = EINVAL;
    return -1;
  }
  if (rt.active) { /* all of the structure is to be read, not only what the effects table says */
    rt_settle(rt.current);
    rt_drain(rt.current);
  }
  const struct sigaction before = rt_action_of(number);
  if (action != NULL) {
    if (!known[number]) inherited[number] = before;
    known[number] = true;
    actions[number] = *action;
    if (tell(number) != 0) {
      actions[number] = before;
      return -1;
    }
  }
  if (old != NULL) *old = before;
  return 0;
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
  if ((flags & SA_NODEFER) == 0 && number > 0 && number < SIGNALS) sigaddset(&action.sa_mask, number);
  return sigaction(number, &action, &old) == 0 ? old.sa_handler : SIG_ERR;
}

sighandler_t signal(int number, sighandler_t handler) {
  return set_handler(number, handler, SA_RESTART);
}

sighandler_t bsd_signal(int number, sighandler_t handler) {
  return signal(number, handler);
}

sighandler_t ssignal(int number, sighandler_t handler) {
  return signal(number, handler);
}

/* Of programs that ask for plain System V or ISO C (-std=c11 without more). */
sighandler_t __sysv_signal(int number, sighandler_t handler) {
  return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

sighandler_t sysv_signal(int number, sighandler_t handler) {
  return __sysv_signal(number, handler);
}

int siginterrupt(int number, int interrupt) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0) return -1;
  action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
  return sigaction(number, &action, NULL);
}
