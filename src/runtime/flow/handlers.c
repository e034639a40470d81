/* Handlers of signals.
 *
 * A handler runs where a replay can run it again: before an event of instrumented code, at a call of the
 * runtime, or inside one that waits, in the kernel or for other threads. A signal that comes elsewhere is held
 * until then; while one is held every access takes the slow way (no granule seems to be owned), so that it does
 * not wait long. Inside a wait the handler runs at once, as the program expects: nobody knows how long the
 * thread will wait, perhaps for what the handler does; and the kernel itself decides what becomes of the
 * interrupted call. Handlers of faults run at once too: the event that meets a fault ends with it, whatever the
 * handler does.
 */
#include <errno.h>
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "runtime/flow/flow.h"

typedef void (*handler_function)(int, siginfo_t*, void*);
struct held {
  handler_function handler;
  uint64_t mask; /* signals that are blocked while it runs */
  siginfo_t information;
};
/* In the order in which they came. What comes when all are taken is lost, as of signals that are pending. */
#define HELD 128
static RT_TLS struct held held[HELD];

/* As it is written down. `place`: which of the places inside the runtime where handlers run, counted by each
 * thread; or the one before the next event. */
#define BEFORE_EVENT UINT64_MAX
struct noted {
  uint64_t handler, place;
  siginfo_t information;
};

/* A handler that runs, and what it interrupted. */
struct rt_fl_handler {
  struct rt_fl_handler* below;
  uint64_t frame; /* address; what the handler calls lies below it */
  uint32_t depth;
  bool waits;
  void* stack;
};
#define HANDLER_STACK (1ull << 20) /* no handler uses more */

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
      return false;
  }
}

static void run(int number, handler_function handler, siginfo_t* information, void* context) {
  struct rt_fl_local* const local = rt_fl_local;
  struct rt_fl_handler this = {.below = local->handlers,
                               .frame = (uint64_t)(uintptr_t)__builtin_frame_address(0),
                               .depth = local->depth,
                               .waits = local->waits,
                               .stack = rt_fl_stack};
  local->handlers = &this;
  local->depth = 0;
  local->waits = false;
  /* We may be on the stack of signals. Who leaves it for that of the runtime meets the next signal with its
   * beginning: with our frames. */
  rt_fl_stack = NULL;
  rt_fl_rest(false);
  const int error = errno;
  handler(number, information, context);
  errno = error;
  local->handlers = this.below;
  local->depth = this.depth;
  local->waits = this.waits;
  if (this.waits) rt_fl_rest(true);
  rt_fl_stack = this.stack;
  ++local->place; /* what it did is behind us */
}

/* The registers of the moment are those of no replay. */
static void run_noted(int number, struct held* signal, uint64_t place) {
  struct noted noted = {.handler = (uint64_t)(uintptr_t)signal->handler, .place = place};
  noted.information = signal->information;
  rt_fl_note(HEDDLE_FLOW_signal, number, &noted, sizeof noted);
  ucontext_t nothing = {0};
  run(number, signal->handler, &signal->information, &nothing);
}

/* The oldest that is not blocked now: with all signals blocked. */
static bool next_held(uint64_t mask, struct held* out) {
  struct rt_fl_local* const local = rt_fl_local;
  for (uint32_t i = 0; i < local->held_signals; ++i) {
    if ((mask >> (held[i].information.si_signo - 1) & 1) != 0) continue;
    *out = held[i];
    memmove(&held[i], &held[i + 1], (local->held_signals - i - 1) * sizeof held[0]);
    if (--local->held_signals == 0) heddle_flow_self->tag = local->tag;
    return true;
  }
  return false;
}

static void run_held(bool before_event) {
  while (rt_fl_local->held_signals != 0) {
    struct held signal;
    const uint64_t mask = rt_block_signals();
    const bool found = next_held(mask, &signal);
    rt_restore_signals(found ? mask | signal.mask : mask);
    if (!found) return;
    run_noted(signal.information.si_signo, &signal, before_event ? BEFORE_EVENT : rt_fl_local->place);
    rt_restore_signals(mask);
  }
}

static void run_given(bool before_event) {
  while (rt_fl_next_is(HEDDLE_FLOW_signal)) {
    struct noted noted;
    const uint8_t* bytes;
    uint64_t size;
    rt_fl_peek(HEDDLE_FLOW_signal, &bytes, &size);
    memcpy(&noted, bytes, sizeof noted);
    if (noted.place != (before_event ? BEFORE_EVENT : rt_fl_local->place)) return;
    const int number = (int)rt_fl_given(HEDDLE_FLOW_signal, &bytes, &size);
    if (size != sizeof noted) rt_fl_diverged("a signal of another size", sizeof noted, (int64_t)size);
    ucontext_t nothing = {0};
    run(number, (handler_function)(uintptr_t)noted.handler, &noted.information, &nothing);
  }
}

static void run_all(bool before_event) {
  if (rt_fl.mode == FL_REPLAY)
    run_given(before_event);
  else
    run_held(before_event);
}

/* Handlers run at once from here on. What came before has run: the log is not written by two of them. */
static void settle(void) {
  struct rt_fl_local* const local = rt_fl_local;
  rt_fl_settle_status();
  run_all(false);
  if (rt_fl.mode != FL_RECORD) return;
  for (;;) {
    const uint32_t blocked = local->held_signals;
    rt_fl_rest(true);
    __atomic_store_n(&local->waits, true, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&local->held_signals, __ATOMIC_RELAXED) == blocked) return;
    __atomic_store_n(&local->waits, false, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    run_held(false);
  }
}

static void run_in_wait(int number, struct held* signal) {
  __atomic_store_n(&rt_fl_local->waits, false, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  run_noted(number, signal, rt_fl_local->place);
  settle();
}

/* Where a fault is met in a stretch of accesses nobody knows how many of them were made: the number is in some
 * register. The recorded number is the one that the stretch began with: what was done since is one event. So it
 * is in a replay, which does know the number (rt_fl_in_faulting_stretch). If the handler has mended what was
 * wrong the access is made again, and the stretch goes on with the numbers it has, and with what it has looked
 * at: until the handler has events of its own nobody takes that over (shadow.c waits for the state unmixed). */
static void run_at_fault(int number, struct held* signal, void* context) {
  struct rt_fl_local* const local = rt_fl_local;
  struct heddle_flow_thread* const self = heddle_flow_self;
  const uint64_t status = self->status;
  const bool open = local->open, apart = local->depth != 0;
  const bool stretch = !open && !apart && rt_fl.mode == FL_RECORD && (status & 3) == HEDDLE_FLOW_direct;
  const uint64_t hash = self->hash, turned = local->turned, owed = local->owed;
  if (stretch) rt_fl_note(HEDDLE_FLOW_fault, number, NULL, 0);
  const bool again = !apart && rt_fl.mode == FL_REPLAY && rt_fl_end_faulting_stretch();
  /* In a stretch the status stays as it is: whoever waits for what was looked at goes on waiting. */
  if (!stretch && !again) rt_fl_abandon_event();
  local->faulted = stretch;
  const uint64_t ended = self->status;
  run(number, signal->handler, &signal->information, context);
  local->faulted = false;
  /* An access that met the fault in its hook is another event behind it (granules.c): others may have come. */
  if (self->status != ended || !again) return;
  STORE(&self->status, status);
  self->hash = hash;
  local->turned = turned > local->turned ? turned : local->turned;
  local->owed = owed;
  local->open = open;
}

/* ---- setting handlers: what was there before is in the order of the recording. */
static uint64_t actions;
void rt_begin_action(void) {
  rt_fl_begin_object(&actions);
}
void rt_end_action(void) {
  rt_fl_end_event();
}

bool rt_hold_signal(int number, const siginfo_t* information, handler_function handler, void* context) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local == NULL || rt_fl.mode == FL_OFF || number == SIGABRT) return false;
  struct held signal = {.handler = handler, .information = *information};
  if (is_fault(number, information)) {
    run_at_fault(number, &signal, context);
    return true;
  }
  if (rt_fl.mode == FL_REPLAY) return true; /* those of the recording count */
  if (local->waits) {
    run_in_wait(number, &signal);
    return true;
  }
  /* The kernel has blocked what the handler is to find blocked. */
  RT_SYS4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &signal.mask, 8);
  if (local->held_signals == HELD) return true;
  held[local->held_signals] = signal;
  __atomic_fetch_add(&local->held_signals, 1, __ATOMIC_RELAXED);
  heddle_flow_self->tag = ~0ull;
  return true;
}

void rt_fl_run_due_handlers(void) {
  run_all(false);
}

void rt_fl_begin_wait(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  ++rt_fl_local->place;
  rt_fl_wait_on();
}

void rt_fl_wait_on(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  settle();
}

void rt_fl_end_wait(void) {
  if (rt_fl_local == NULL) return;
  __atomic_store_n(&rt_fl_local->waits, false, __ATOMIC_RELAXED);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  rt_fl_rest(false);
}

bool rt_fl_handlers_due(uint64_t counted) {
  return rt_fl.mode == FL_REPLAY ? rt_fl_next_is_at(HEDDLE_FLOW_signal, rt_fl_number() - counted)
                                 : rt_fl_local->held_signals != 0;
}

void rt_fl_handlers_before_event(void) {
  run_all(true);
}

/* ---- leaving a handler by a jump: the runtime is as it was where the jump leads to, in code of the program */
static uint64_t target_of(const void* environment) { /* the stack pointer; libc disguises it */
  uint64_t at = ((const uint64_t*)environment)[6], guard;
  __asm__("mov %%fs:0x30, %0" : "=r"(guard));
  return (at >> 17 | at << 47) ^ guard;
}

static void before_jump(const void* environment) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local == NULL || local->handlers == NULL) return;
  const uint64_t to = target_of(environment);
  const struct rt_fl_handler* const now = local->handlers;
  while (local->handlers != NULL && local->handlers->frame - to >= HANDLER_STACK)
    local->handlers = local->handlers->below;
  if (local->handlers == now) return; /* inside the handler */
  local->depth = 0;
  local->waits = false;
  local->range_count = 0;
  rt_fl_settle_status();
  const uint64_t own = (uint64_t)(uintptr_t)local->own_stack;
  rt_fl_stack = own - to < FL_OWN_STACK ? NULL : local->own_stack;
}

#define JUMPS(name)                                                                \
  _Noreturn void name(struct __jmp_buf_tag* environment, int value);               \
  void name(struct __jmp_buf_tag* environment, int value) {                        \
    static void (*real)(struct __jmp_buf_tag*, int);                               \
    if (real == NULL) real = (void (*)(struct __jmp_buf_tag*, int))rt_real(#name); \
    before_jump(environment);                                                      \
    real(environment, value);                                                      \
    __builtin_unreachable();                                                       \
  }
#undef longjmp
#undef _longjmp
#undef siglongjmp
JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)
