/* Handlers of signals that come from outside wait until their thread comes back from a system call or from a
 * synchronisation function: places that a replay finds again. Handlers of faults run at once. */
#include <string.h>

#include "runtime/flow/flow.h"

typedef void (*handler_function)(int, siginfo_t*, void*);
struct waiting {
  handler_function handler;
  siginfo_t information;
};
static RT_TLS struct waiting waiting[64];

static bool is_fault(int number, const siginfo_t* information) {
  switch (number) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGTRAP:
    case SIGSYS:
      return information->si_code > 0;
    default:
      return number == SIGABRT;
  }
}

bool rt_hold_signal(int number, const siginfo_t* information, handler_function handler) {
  if (rt_fl_local == NULL || rt_fl.mode == FL_OFF || number > 64 || is_fault(number, information)) return false;
  if (rt_fl.mode == FL_REPLAY) return true; /* those of the recording count */
  waiting[number - 1].handler = handler;
  waiting[number - 1].information = *information;
  __atomic_fetch_or(&rt_fl_local->waiting_signals, 1ull << (number - 1), __ATOMIC_RELAXED);
  return true;
}

static void run_waiting(struct rt_fl_local* local) {
  while (local->waiting_signals != 0) {
    const int number = __builtin_ctzll(local->waiting_signals) + 1;
    const uint64_t mask = rt_block_signals();
    struct waiting signal = waiting[number - 1];
    __atomic_fetch_and(&local->waiting_signals, ~(1ull << (number - 1)), __ATOMIC_RELAXED);
    rt_restore_signals(mask);
    rt_fl_note(HEDDLE_FLOW_signal, number, &signal, sizeof signal);
    signal.handler(number, &signal.information, NULL);
  }
}

static void run_given(void) {
  while (rt_fl_next_is(HEDDLE_FLOW_signal)) {
    struct waiting signal;
    const uint8_t* bytes;
    uint64_t size;
    const int64_t number = rt_fl_given(HEDDLE_FLOW_signal, &bytes, &size);
    if (size != sizeof signal) rt_fl_diverged("a signal of another size", (int64_t)size, sizeof signal);
    memcpy(&signal, bytes, sizeof signal);
    signal.handler((int)number, &signal.information, NULL);
  }
}

void rt_fl_run_handlers(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  if (rt_fl.mode == FL_REPLAY)
    run_given();
  else
    run_waiting(rt_fl_local);
}
