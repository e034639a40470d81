/* Failures: what killed the program is written into the process file before it dies.
 *
 * Signals that mean a failure and for which the program has no handler come to rt_on_failure, on the thread's
 * alternate stack (a stack may have overflown). It fills in the failure, lets heddle look at the
 * process while the other threads go on for a moment, and then lets the default action happen, so that exit
 * status and core file are the real ones. Of several threads that fail the first counts; the others wait for
 * the end.
 *
 * An exit code other than 0 while other threads live is a failure too: see on_failing_exit.
 *
 * Assertions and exceptions without a handler end in abort(): their text waits in the thread until its SIGABRT
 * comes.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>

#include "runtime/record/runtime.h"

#define LONGEST_LOOK_S 5

static const int failure_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

bool rt_is_failure_signal(int number) {
  for (size_t i = 0; i < sizeof failure_signals / sizeof failure_signals[0]; ++i)
    if (failure_signals[i] == number) return true;
  return false;
}

/* ---- telling heddle */
static void wait_until_seen(struct heddle_record_process* process) {
  struct timespec deadline = {0, 0};
  RT_SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &deadline); /* not what a program is told (runtime/flow) */
  deadline.tv_sec += LONGEST_LOOK_S;
  /* The mapping is shared with heddle, so these futexes are not private. The deadline is absolute (BITSET). */
  RT_SYS6(SYS_futex, &process->failed, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
  while (*(volatile uint32_t*)&process->failure_seen == 0) {
    const long result = RT_SYS6(SYS_futex, &process->failure_seen, FUTEX_WAIT_BITSET, 0, &deadline, NULL,
                                FUTEX_BITSET_MATCH_ANY);
    if (result == -ETIMEDOUT) return;
  }
}

/* Was the access one behind the end of the thread's stack? The kernel keeps a gap of a megabyte free below that
 * of the main thread; others have a page or more that cannot be accessed, which libc counts as part of the
 * stack. */
static bool stack_overflown(const struct rt_thread* self, int number, const siginfo_t* information) {
  if (self == NULL || (number != SIGSEGV && number != SIGBUS) || information->si_code <= 0) return false;
  const uint64_t address = (uint64_t)(uintptr_t)information->si_addr, gap = 1 << 20, guard = 65536;
  return address + gap >= self->stack_low && address < self->stack_low + guard;
}

void rt_publish_failure(struct rt_thread* self, int number, const siginfo_t* information, const void* context) {
  static _Atomic bool claimed;
  struct heddle_record_process* const process = rt.process;
  if (process == NULL || rt.forked) return;
  if (rt_hold_failure != NULL) rt_hold_failure(number);
  if (__atomic_exchange_n((bool*)&claimed, true, __ATOMIC_ACQ_REL)) {
    if (process->tid == (int32_t)RT_SYS0(SYS_gettid)) return; /* abort() goes on to die */
    for (;;) RT_SYS4(SYS_ppoll, NULL, 0, NULL, NULL);
  }
  process->signal = number;
  process->code = information->si_code;
  process->tid = (int32_t)RT_SYS0(SYS_gettid);
  process->address = information->si_code > 0 ? (uint64_t)(uintptr_t)information->si_addr : 0;
  const greg_t* const registers = ((const ucontext_t*)context)->uc_mcontext.gregs;
  process->pc = (uint64_t)registers[REG_RIP];
  process->sp = (uint64_t)registers[REG_RSP];
  process->failure = HEDDLE_RECORD_signal_failure;
  if (self != NULL) {
    memcpy(process->thread, self->name, sizeof process->thread);
    if (stack_overflown(self, number, information)) strcpy(process->text, "stack overflow");
    if (number == SIGABRT && self->failure != HEDDLE_RECORD_no_failure) {
      process->failure = self->failure;
      memcpy(process->text, self->text, sizeof process->text);
      memcpy(process->text2, self->text2, sizeof process->text2);
    }
  }
  RT_ORDER();
  *(volatile uint32_t*)&process->failed = 1;
  wait_until_seen(process);
}

/* Without heddle the process would be dead by now: it must not end well while it is looked at. */
void rt_let_fail(void) {
  const struct heddle_record_process* const process = rt.process;
  if (*(const volatile uint32_t*)&process->failure == HEDDLE_RECORD_no_failure) return;
  RT_ORDER();
  if (process->tid != (int32_t)RT_SYS0(SYS_gettid))
    for (;;) RT_SYS4(SYS_ppoll, NULL, 0, NULL, NULL);
}

bool rt_others_live(void) {
  struct stat tasks;
  /* By itself: a call of the library would be one of the program in a flow recording. */
  return RT_SYS2(SYS_stat, "/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3;
}

/* The program ends with an exit code that means a failure, and takes its other threads with it wherever they
 * are: heddle looks at those first, as at any failure. Registered before the exit handlers of the program, so
 * called after them. */
static void on_failing_exit(int status, void* unused) {
  (void)unused;
  struct heddle_record_process* const process = rt.process;
  if (status == 0 || process == NULL || rt.forked || process->failed != 0 || !rt_others_live()) return;
  if (rt_self != NULL) memcpy(process->thread, rt_self->name, sizeof process->thread);
  RT_ORDER();
  *(volatile uint32_t*)&process->failed = 1;
  wait_until_seen(process);
}

/* Faults happen again by themselves when the instruction is tried again; what somebody sent, and traps, which
 * stand behind their instruction, are sent once more. Blocked until the handler returns, they find the real
 * state. */
void rt_on_failure(int number, siginfo_t* information, void* context) {
  const int saved = errno;
  if (rt_now != NULL && !rt_now->buffer.busy) rt_interrupt_buffer(&rt_now->buffer);
  rt_publish_failure(rt_self, number, information, context);
  struct sigaction action = {.sa_handler = SIG_DFL};
  rt_sigaction(number, &action, NULL);
  if (information->si_code <= 0 || number == SIGTRAP || number == SIGSYS || number == SIGABRT)
    RT_SYS3(SYS_tgkill, RT_SYS0(SYS_getpid), RT_SYS0(SYS_gettid), number);
  errno = saved;
}

/* ---- assertions */
static struct rt_thread* failing(enum heddle_record_failure failure) {
  if (rt_self == NULL) rt_begin_unseen_thread();
  rt_self->failure = failure;
  return rt_self;
}

static void note_assertion(const char* condition, const char* file, unsigned line, const char* function) {
  struct rt_thread* const self = failing(HEDDLE_RECORD_assert_failure);
  snprintf(self->text, sizeof self->text, "%s", condition);
  snprintf(self->text2, sizeof self->text2, "%s:%u: %s", file, line, function != NULL ? function : "");
  if (rt_before_last_words != NULL) rt_before_last_words();
}

_Noreturn void __assert_fail(const char* condition, const char* file, unsigned line, const char* function) {
  note_assertion(condition, file, line, function);
  ((void (*)(const char*, const char*, unsigned, const char*))rt_real("__assert_fail"))(condition, file, line,
                                                                                        function);
  __builtin_unreachable();
}

_Noreturn void __assert_perror_fail(int error, const char* file, unsigned line, const char* function) {
  note_assertion(strerror(error), file, line, function);
  ((void (*)(int, const char*, unsigned, const char*))rt_real("__assert_perror_fail"))(error, file, line,
                                                                                       function);
  __builtin_unreachable();
}

_Noreturn void __assert(const char* condition, const char* file, int line) {
  note_assertion(condition, file, (unsigned)line, NULL);
  ((void (*)(const char*, const char*, int))rt_real("__assert"))(condition, file, line);
  __builtin_unreachable();
}

/* ---- exceptions that nobody handles. The layouts are those of the C++ ABI, which libstdc++ and libc++abi
 * share: type_info's fifth virtual function finds a base class in a thrown object, what() is the third of
 * std::exception. */
struct type_info {
  void** virtuals;
  const char* name;
};
__attribute__((weak)) extern struct type_info* __cxa_current_exception_type(void);
__attribute__((weak)) extern void (*_ZSt13set_terminatePFvvE(void (*)(void)))(void);
__attribute__((weak)) extern struct type_info _ZTISt9exception;
__attribute__((weak)) extern void* _ZSt17current_exceptionv(void** exception);
static void (*default_terminate)(void);

static const char* what_of(const struct type_info* type) {
  if (&_ZTISt9exception == NULL || _ZSt17current_exceptionv == NULL) return NULL;
  void* object = NULL;
  _ZSt17current_exceptionv(&object);
  bool (*const catches)(const struct type_info*, const struct type_info*, void**, unsigned) = (bool (*)(
      const struct type_info*, const struct type_info*, void**, unsigned))_ZTISt9exception.virtuals[4];
  if (object == NULL || !catches(&_ZTISt9exception, type, &object, 1)) return NULL;
  void** const virtuals = *(void***)object;
  return ((const char* (*)(const void*))virtuals[2])(object);
}

static void on_terminate(void) {
  const struct type_info* type = __cxa_current_exception_type != NULL ? __cxa_current_exception_type() : NULL;
  if (type != NULL && (rt_self == NULL || rt_self->failure == HEDDLE_RECORD_no_failure)) {
    struct rt_thread* const self = failing(HEDDLE_RECORD_exception_failure);
    snprintf(self->text, sizeof self->text, "%s", type->name);
    const char* const what = what_of(type); /* may itself fail: the type is there by then */
    snprintf(self->text2, sizeof self->text2, "%s", what != NULL ? what : "");
  }
  if (rt_before_last_words != NULL) rt_before_last_words();
  default_terminate();
}

/* ---- the beginning */
/* No handler of the program is to run in a thread that has failed. */
struct sigaction rt_failure_action(void) {
  struct sigaction action = {.sa_sigaction = rt_on_failure, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&action.sa_mask);
  return action;
}

void rt_failure_init(void) {
  if (rt.process == NULL) return;
  const struct sigaction ours = rt_failure_action();
  for (size_t i = 0; i < sizeof failure_signals / sizeof failure_signals[0]; ++i) {
    struct sigaction old;
    if (rt_sigaction(failure_signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
      rt_sigaction(failure_signals[i], &ours, NULL);
  }
  on_exit(on_failing_exit, NULL);
  if (_ZSt13set_terminatePFvvE != NULL) default_terminate = _ZSt13set_terminatePFvvE(on_terminate);
}
