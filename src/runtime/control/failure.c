/* How an execution ends: failures of the program, standstill, the program's own exit.
 *
 * Whoever notices the end fills in the result and leaves by rt_finish; nothing of the program runs after that.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "runtime/control/control.h"
#include "runtime/control/server.h"
#include "runtime/control/switching.h"

#define ALTERNATE_STACK 65536

/* ---- the stack, into the result */
struct walk {
  struct heddle_result* result;
  bool in_handler; /* so far: of a crash that the program handles, what it does then is of less interest */
};

static _Unwind_Reason_Code frame(struct _Unwind_Context* context, void* argument) {
  struct walk* walk = argument;
  struct heddle_result* result = walk->result;
  if (walk->in_handler && rt_handles_faults(_Unwind_GetRegionStart(context))) {
    walk->in_handler = false;
    result->stack_size = 0;
  }
  int before = 0; /* frames of signals stand at the instruction, calls behind it */
  const uint64_t at = _Unwind_GetIPInfo(context, &before);
  if (at == 0 || result->stack_size == HEDDLE_CONTROL_MAX_STACK) return _URC_END_OF_STACK;
  result->stack[result->stack_size++] = before ? at : at - 1;
  return _URC_NO_REASON;
}

static _Unwind_Reason_Code frame_of_event(struct _Unwind_Context* context, void* argument) {
  struct heddle_stack* stack = argument;
  const uint64_t at = _Unwind_GetIP(context);
  if (at == 0 || stack->size == HEDDLE_CONTROL_MAX_STACK) return _URC_END_OF_STACK;
  stack->frames[stack->size++] = at;
  return _URC_NO_REASON;
}

void rt_keep_stack(struct heddle_stack* out) {
  out->size = 0;
  rt.active = false; /* the unwinder uses locks of its own, which are no events */
  _Unwind_Backtrace(frame_of_event, out);
  rt.active = true;
}

/* ---- the end */
_Noreturn void rt_finish(enum heddle_outcome outcome) {
  struct heddle_result* result = &rt.block->result;
  rt.active = false;
  result->outcome = outcome;
  result->thread = rt.current->index;
  result->site = rt.current->op.site;
  result->events = rt.events;
  result->values = rt.values;
  result->threads = rt.thread_count;
  result->preemptions = rt.preemptions;
  result->seed = rt.seed;
  result->load_base = rt.base;
  result->processor_time = rt_processor_time() - rt.begun;
  rt_close_step(rt.current);
  const bool stands = outcome == HEDDLE_OUTCOME_deadlock || outcome == HEDDLE_OUTCOME_lost_wakeup;
  rt_keep_pending(stands ? NULL : rt.current);
  if (outcome != HEDDLE_OUTCOME_passed) {
    rt.walking = true;
    struct walk walk = {.result = result, .in_handler = outcome == HEDDLE_OUTCOME_signal};
    _Unwind_Backtrace(frame, &walk);
    rt.walking = false;
  }
  rt_end_execution();
}

_Noreturn void rt_fail(enum heddle_outcome outcome, const char* text) {
  struct heddle_result* result = &rt.block->result;
  snprintf(result->text, sizeof result->text, "%s", text);
  rt_settle(rt.current);
  rt_finish(outcome);
}

_Noreturn void rt_fail_at(enum heddle_outcome outcome, const void* address, uint32_t other_thread,
                          uint32_t other_site, const char* text) {
  rt.block->result.address = (uint64_t)(uintptr_t)address;
  rt.block->result.other_thread = other_thread;
  rt.block->result.other_site = other_site;
  rt_fail(outcome, text);
}

_Noreturn void rt_unsupported(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char text[HEDDLE_CONTROL_TEXT];
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (!rt.active) {
    fprintf(stderr, "heddle: not possible under control: %s\n", text);
    if (rt.block == NULL || rt.forked) _exit(3);
  }
  rt_fail(HEDDLE_OUTCOME_unsupported, text);
}

_Noreturn void rt_bug(const char* text) {
  if (rt.block != NULL) rt_fail(HEDDLE_OUTCOME_internal, text);
  fprintf(stderr, "heddle: bug in the control runtime: %s\n", text);
  _exit(70);
}

/* ---- nothing can go on */
static struct rt_thread* holder_of(const struct rt_thread* thread) {
  switch (thread->op.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_timedlock:
      return rt_mutex_holder(thread->op.object);
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      return rt_rwlock_holder(thread->op.object);
    case HEDDLE_SYNC_spin_lock:
      return rt_spin_holder(thread->op.object);
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_guard_acquire:
      return rt_once_holder(thread->op.object);
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_timedjoin:
      return (struct rt_thread*)(uintptr_t)thread->op.second;
    case HEDDLE_SYNC_cond_wait: /* signalled, and waits for the mutex */
    case HEDDLE_SYNC_cond_timedwait:
      return thread->signalled ? rt_mutex_holder(thread->op.second) : NULL;
    default:
      return NULL;
  }
}

/* What a standstill is called depends on what the threads in it wait for. */
enum waits_for { THREAD, SIGNAL, SEMAPHORE, LOCK, OUTSIDE };

static enum waits_for waits_for(const struct rt_thread* thread) {
  switch (thread->op.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_timedjoin:
      return THREAD;
    case HEDDLE_SYNC_futex:
      return SIGNAL;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
      return thread->signalled ? LOCK : SIGNAL;
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_timedwait:
      return SEMAPHORE;
    case HEDDLE_SYNC_signal_delivery:
      return OUTSIDE;
    default:
      return LOCK;
  }
}

static bool waits_for_itself(const struct rt_thread* thread) {
  const struct rt_thread* at = holder_of(thread);
  for (uint32_t steps = 0; at != NULL && at->state == RT_ALIVE && steps < rt.live_count; ++steps) {
    if (at == thread) return true;
    at = holder_of(at);
  }
  return false;
}

/* A wake-up was lost when somebody waits for one, nobody waits for a lock, and no threads wait for each other.
 * A semaphore can be either: one thread that waits for one lacks a wake-up, several hold what the others want.
 */
_Noreturn void rt_standstill(void) {
  struct heddle_wait* waits = (struct heddle_wait*)((char*)rt.block + rt.block->layout.waits);
  uint32_t count = 0;
  uint32_t waiting[5] = {0};
  bool cycle = false;
  for (uint32_t i = 0; i < rt.live_count && count < rt.block->layout.waits_capacity; ++i) {
    const struct rt_thread* thread = &rt.threads[rt.live[i]];
    const struct rt_thread* holder = holder_of(thread);
    waits[count++] = (struct heddle_wait){.thread = thread->index,
                                          .kind = (uint32_t)thread->op.kind - HEDDLE_EVENT_sync,
                                          .object = (uint64_t)(uintptr_t)thread->op.object,
                                          .holder = holder != NULL ? holder->index : HEDDLE_NO_SITE,
                                          .site = thread->op.site};
    ++waiting[waits_for(thread)];
    cycle |= waits_for_itself(thread);
  }
  rt.block->result.waits = count;
  rt.current = &rt.threads[rt.live[0]];
  if (waiting[OUTSIDE] > 0 && waiting[OUTSIDE] + waiting[THREAD] == count)
    rt_fail(HEDDLE_OUTCOME_uncontrolled, "a signal from outside");
  const bool lost = !cycle && waiting[LOCK] == 0 && (waiting[SIGNAL] > 0 || waiting[SEMAPHORE] == 1);
  rt_finish(lost ? HEDDLE_OUTCOME_lost_wakeup : HEDDLE_OUTCOME_deadlock);
}

/* Before main(), or in a child that the program forked: as without us. */
static _Noreturn void die_by(int number) {
  const uint64_t by_default[4] = {0};
  RT_SYS4(SYS_rt_sigaction, number, by_default, NULL, 8);
  RT_SYS3(SYS_tgkill, RT_SYS0(SYS_getpid), RT_SYS0(SYS_gettid), number);
  for (;;) RT_SYS1(SYS_exit_group, 128 + number);
}

/* ---- assertions, abort, exceptions */
void __assert_fail(const char* condition, const char* file, unsigned line, const char* function) {
  fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function != NULL ? function : "",
          condition);
  if (!rt.active) die_by(SIGABRT);
  rt_fail(HEDDLE_OUTCOME_assertion, condition);
}

void __assert_perror_fail(int error, const char* file, unsigned line, const char* function) {
  __assert_fail(strerror(error), file, line, function);
}

void __assert(const char* condition, const char* file, int line) {
  __assert_fail(condition, file, (unsigned)line, NULL);
}

static bool terminating; /* by std::terminate */
static void (*default_terminate)(void);

__attribute__((weak)) extern void* __cxa_current_exception_type(void);
__attribute__((weak)) extern void (*_ZSt13set_terminatePFvvE(void (*)(void)))(void);

/* What std::exception::what() says of the exception at hand, or null. The layouts are those of the C++ ABI,
 * which libstdc++ and libc++abi share: type_info's fifth virtual function finds a base class in a thrown
 * object, what() is the third of std::exception. */
struct type_info {
  void** virtuals;
  const char* name;
};
__attribute__((weak)) extern struct type_info _ZTISt9exception;
__attribute__((weak)) extern void* _ZSt17current_exceptionv(void** exception);

static const char* what_of(const struct type_info* type) {
  static bool asking; /* what() itself may fail */
  if (asking || &_ZTISt9exception == NULL || _ZSt17current_exceptionv == NULL) return NULL;
  asking = true;
  void* object = NULL;
  _ZSt17current_exceptionv(&object);
  bool (*const catches)(const struct type_info*, const struct type_info*, void**, unsigned) = (bool (*)(
      const struct type_info*, const struct type_info*, void**, unsigned))_ZTISt9exception.virtuals[4];
  if (object == NULL || !catches(&_ZTISt9exception, type, &object, 1)) return NULL;
  void** const virtuals = *(void***)object;
  return ((const char* (*)(const void*))virtuals[2])(object);
}

static void on_terminate(void) {
  terminating = true;
  if (default_terminate != NULL) default_terminate();
  abort();
}

void abort(void) {
  if (!rt.active) die_by(SIGABRT);
  const struct type_info* type = NULL;
  if (terminating && __cxa_current_exception_type != NULL) type = __cxa_current_exception_type();
  if (type != NULL) {
    char text[HEDDLE_CONTROL_TEXT];
    const char* what = what_of(type);
    snprintf(text, sizeof text, "%s%s%s", type->name, what != NULL ? ": " : "", what != NULL ? what : "");
    rt_fail(HEDDLE_OUTCOME_exception, text);
  }
  rt_fail(HEDDLE_OUTCOME_abort, terminating ? "std::terminate" : "");
}

/* ---- signals */
static void on_signal(int number, siginfo_t* information, void* context) {
  (void)context;
  if (rt.walking) {
    rt.walking = false;
    rt_end_execution();
  }
  if (!rt.active) die_by(number);
  struct heddle_result* result = &rt.block->result;
  rt.current->op.ready = NULL; /* its object may be what cannot be read */
  result->number = number;
  result->address = (uint64_t)(uintptr_t)information->si_addr;
  result->text[0] = 0;
  if (number == SIGABRT) rt_finish(HEDDLE_OUTCOME_abort);
  const struct rt_slot* slot = rt.current->slot;
  const uint8_t* address = information->si_addr;
  if (number == SIGSEGV && slot != NULL && address < slot->low && slot->low - address < 65536)
    strcpy(result->text, "stack overflow");
  rt_finish(HEDDLE_OUTCOME_signal);
}

/* heddle asks why nothing happens. */
static void on_hang(int number, siginfo_t* information, void* context) {
  (void)number, (void)information, (void)context;
  if (!rt.active) return;
  struct heddle_control_block* block = rt.block;
  if (block->running_call) rt.current->op.site = block->running_site;
  rt_fail(HEDDLE_OUTCOME_uncontrolled, block->running_call ? block->running_name : "");
}

void rt_failure_thread_init(void) {
  const stack_t stack = {.ss_sp = rt_map(ALTERNATE_STACK), .ss_size = ALTERNATE_STACK};
  RT_SYS2(SYS_sigaltstack, &stack, NULL);
}

void rt_failure_init(void) {
  rt_failure_thread_init();
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) rt_own_handler(numbers[i], on_signal);
  rt_own_handler(RT_HANG_SIGNAL, on_hang);
  if (_ZSt13set_terminatePFvvE != NULL) default_terminate = _ZSt13set_terminatePFvvE(on_terminate);
}

/* ---- the program's own exit */
static bool failing_code(int code) {
  return (rt.plan.failing_codes[(code & 255) / 64] >> (code & 63) & 1) != 0;
}

_Noreturn void rt_exit_now(int code) {
  rt.block->result.exit_code = code & 255;
  rt_settle(rt.current);
  /* A program that tells of its crash by itself and exits has crashed all the same. */
  rt.block->result.number = rt_fault_at_hand();
  if (rt.block->result.number != 0) {
    rt.block->result.address = (uint64_t)(uintptr_t)rt.current->fault_address;
    rt_finish(HEDDLE_OUTCOME_signal);
  }
  if (failing_code(code)) {
    rt.block->result.number = code & 255;
    rt_fail(HEDDLE_OUTCOME_exit_code, "");
  }
  rt_finish(HEDDLE_OUTCOME_passed);
}

/* Last of all exit handlers: registered before anything of the program or its libraries. */
static void at_exit(int code, void* unused) {
  (void)unused;
  if (!rt.active) return;
  fflush(NULL);
  rt_exit_now(code);
}

static void at_quick_exit_code(void) {
  if (rt.active) rt_exit_now(0);
}

void rt_register_exit(void) {
  on_exit(at_exit, NULL);
  at_quick_exit(at_quick_exit_code);
}

static void exit_event(void) {
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_process_exit, NULL);
  rt_perform(self);
  rt_result(self, 0);
}

_Noreturn void exit(int code) {
  void (*real)(int) = (void (*)(int))rt_real("exit");
  if (rt.active) {
    exit_event();
    rt_run_destructors(rt.current);
  }
  real(code);
  __builtin_unreachable();
}

_Noreturn void _exit(int code) {
  if (rt.active) {
    exit_event();
    rt_exit_now(code);
  }
  for (;;) RT_SYS1(SYS_exit_group, code);
}

_Noreturn void _Exit(int code) {
  _exit(code);
}

/* pthread_exit in all threads: the process ends with 0, exit handlers run in the last one. */
_Noreturn void rt_last_thread_ended(void) {
  rt.live[rt.live_count++] = (uint16_t)rt.current->index;
  rt.current->state = RT_ALIVE;
  rt.current->op.ready = NULL;
  exit(0);
}
