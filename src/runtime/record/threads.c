/* Threads: their names, the beginning and the end of their logs.
 *
 * pthread_create and thrd_create are interposed: the new thread sets up its log before anything of the program
 * runs in it. It is called NAME.k, NAME being its maker and k a number that the maker counts. A thread whose
 * making was not seen (clone by foreign code, libc's helper threads), or whose name would be too long, is
 * called 0?N.
 *
 * A log is closed by the destructor of a key, in the last round of destructors. After the last of all threads
 * ended by pthread_exit the exit handlers run in it: its log stays open. Live threads are counted by an atomic
 * counter; a thread that begins or ends goes through the kernel anyway.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <threads.h>

#include "runtime/record/runtime.h"

#define LONGEST_NAME 200

static pthread_key_t end_key;
static bool have_key;
static _Atomic uint32_t live;   /* threads with a log */
static _Atomic uint32_t unseen; /* names 0?N given out */
static _Atomic bool main_named;

/* ---- memory */
static struct rt_thread* new_thread(void) {
  struct rt_thread* const thread = rt_map_memory(sizeof *thread);
  if (thread != NULL) RT_SYS3(SYS_mprotect, thread->guard, sizeof thread->guard, PROT_NONE);
  return thread;
}

static void free_thread(struct rt_thread* thread) {
  RT_SYS2(SYS_munmap, thread, sizeof *thread);
}

struct rt_log* rt_handler_log(struct rt_thread* self, uint32_t level) {
  if (level > RT_LEVELS) level = RT_LEVELS;
  if (self->handlers[level] == NULL) {
    const uint64_t mask = rt_block_signals();
    struct rt_log* const log = rt_map_memory(sizeof *log);
    if (log == NULL) rt_no_memory();
    rt_open_log(log, self, level);
    self->handlers[level] = log;
    rt_restore_signals(mask);
  }
  return self->handlers[level];
}

/* ---- names */
static char* put_number(char* to, uint32_t number) {
  char digits[10];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  return to;
}

static void name_unseen(struct rt_thread* thread) {
  strcpy(thread->name, "0?");
  put_number(thread->name + 2, ++unseen);
}

static void name_child(struct rt_thread* parent, struct rt_thread* child) {
  const size_t length = strlen(parent->name);
  if (length + 1 + 10 > LONGEST_NAME) {
    name_unseen(child);
    return;
  }
  memcpy(child->name, parent->name, length);
  child->name[length] = '.';
  put_number(child->name + length + 1, parent->children);
}

static void write_child(uint32_t number) {
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_child;
  rt_written(rt_varint(to, number));
}

/* ---- the end */
static void close_thread(struct rt_thread* self) {
  for (uint32_t level = 1; level <= RT_LEVELS; ++level) {
    if (self->handlers[level] == NULL) continue;
    rt_close_log(self->handlers[level]);
    RT_SYS2(SYS_munmap, self->handlers[level], sizeof *self->handlers[level]);
  }
  rt_end_buffer(&self->log);
  rt_close_log(&self->log);
  memset(&heddle_record_state, 0, sizeof heddle_record_state);
  rt_now = NULL;
  rt_self = NULL;
  stack_t stack;
  if (RT_SYS2(SYS_sigaltstack, NULL, &stack) == 0 && stack.ss_sp == self->alternate_stack) {
    stack.ss_flags = SS_DISABLE;
    RT_SYS2(SYS_sigaltstack, &stack, NULL);
  }
  free_thread(self);
}

/* The key's value counts the rounds. Signals stay blocked behind the last: nothing of the program is to run. */
static void end_of_thread(void* round) {
  if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(end_key, (void*)((intptr_t)round + 1));
    return;
  }
  if (rt_self == NULL || (rt_thread_ends != NULL ? rt_thread_ends(&live) : --live == 0)) return;
  rt_block_signals();
  close_thread(rt_self);
}

/* ---- the beginning, in the thread itself, with signals blocked */
static void begin_thread(struct rt_thread* self) {
  self->tid = (int32_t)RT_SYS0(SYS_gettid);
  self->errno_at = &errno;
  rt_self = self;
  rt_open_log(&self->log, self, 0);
  rt_make_current(&self->log);
  stack_t stack;
  if (RT_SYS2(SYS_sigaltstack, NULL, &stack) == 0 && (stack.ss_flags & SS_DISABLE) != 0) {
    stack = (stack_t){.ss_sp = self->alternate_stack, .ss_size = sizeof self->alternate_stack};
    RT_SYS2(SYS_sigaltstack, &stack, NULL);
  }
  if (have_key) pthread_setspecific(end_key, (void*)1);
  if (rt.chaos) rt_chaos_begin(self);
}

static void find_main_stack(struct rt_thread* self) {
  extern void* __libc_stack_end;
  struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
  RT_SYS4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
  self->stack_high = ((uint64_t)(uintptr_t)__libc_stack_end | (HEDDLE_RECORD_PAGE - 1)) + 1;
  const uint64_t size = limit.rlim_cur < 1ull << 40 ? limit.rlim_cur : 1ull << 30;
  /* Arguments and environment stand above and count too; the last of them is the name of the program. */
  const char* const last = (const char*)getauxval(AT_EXECFN);
  const uint64_t top =
      last != NULL ? ((uint64_t)(uintptr_t)(last + strlen(last)) | (HEDDLE_RECORD_PAGE - 1)) + 1 : 0;
  self->stack_low = (top > self->stack_high ? top : self->stack_high) - size;
}

void rt_begin_unseen_thread(void) {
  rt_init();
  const uint64_t mask = rt_block_signals();
  struct rt_thread* const self = new_thread();
  if (self == NULL) rt_no_memory();
  ++live;
  if (RT_SYS0(SYS_gettid) == RT_SYS0(SYS_getpid) && !main_named) {
    main_named = true;
    strcpy(self->name, "0");
    find_main_stack(self);
  } else {
    name_unseen(self);
  }
  begin_thread(self);
  rt_restore_signals(mask);
}

/* libc puts the thread's own block (the thread pointer, and 2304 bytes behind it) at the upper end of the
 * stack. */
static void find_stack(struct rt_thread* self) {
  if (self->stack_high != 0) return;
  const uint64_t block = (uint64_t)(uintptr_t)__builtin_thread_pointer();
  self->stack_high = ((block + 2304) | (HEDDLE_RECORD_PAGE - 1)) + 1;
  self->stack_low = self->stack_high - self->stack_low;
}

static void* run(void* argument) {
  struct rt_thread* const self = argument;
  rt_block_signals(); /* an attribute may have chosen another mask */
  find_stack(self);
  begin_thread(self);
  rt_restore_signals(self->signal_mask);
  void* const result =
      self->start != NULL ? self->start(self->argument) : (void*)(intptr_t)self->start_c11(self->argument);
  rt_end_buffer(&self->log); /* foreign code, and who joins this thread, must see all */
  return result;
}

/* ---- creation */
/* stack_low holds the size until the thread knows where it is. */
static void note_stack(struct rt_thread* thread, const pthread_attr_t* attributes) {
  void* address = NULL;
  size_t size = rt.default_stack_size;
  if (attributes != NULL && pthread_attr_getstack(attributes, &address, &size) == 0 && address != NULL &&
      (uintptr_t)address + size != 0 && (intptr_t)address > 0) {
    thread->stack_low = (uint64_t)(uintptr_t)address;
    thread->stack_high = thread->stack_low + size;
    return;
  }
  thread->stack_low = size != 0 ? size : rt.default_stack_size;
}

static int create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                  int (*start_c11)(void*), void* argument) {
  static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (real == NULL)
    real = (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))rt_real("pthread_create");
  if (rt_self == NULL) rt_begin_unseen_thread();
  rt_drain_current();
  struct rt_thread* const self = rt_self;
  struct rt_thread* const child = new_thread();
  if (child == NULL) return EAGAIN;
  child->start = start;
  child->start_c11 = start_c11;
  child->argument = argument;
  note_stack(child, attributes);
  /* The child must not run a handler before it has its log: it inherits a mask that blocks all. */
  const uint64_t mask = rt_block_signals();
  child->signal_mask = mask;
  sigset_t chosen;
  const bool chosen_mask = attributes != NULL && pthread_attr_getsigmask_np(attributes, &chosen) == 0;
  if (chosen_mask) memcpy(&child->signal_mask, &chosen, sizeof child->signal_mask);
  ++self->children;
  name_child(self, child);
  write_child(self->children);
  ++live;
  pthread_attr_t own;
  if (rt_choose_stack != NULL) attributes = rt_choose_stack(child, attributes, &own);
  const int error = real(handle, attributes, run, child);
  if (error != 0) {
    --live;
    write_child(0);
    free_thread(child);
  }
  rt_restore_signals(mask);
  return error;
}

/* Another runtime that uses this file may have functions of these names that call these. */
#ifdef RT_CREATE_APART
#define pthread_create rt_pthread_create
#define thrd_create rt_thrd_create
int pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int thrd_create(thrd_t*, thrd_start_t, void*);
#endif

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return create(handle, attributes, start, NULL, argument);
}

int thrd_create(thrd_t* handle, thrd_start_t start, void* argument) {
  switch (create(handle, NULL, NULL, start, argument)) {
    case 0:
      return thrd_success;
    case ENOMEM:
    case EAGAIN:
      return thrd_nomem;
    default:
      return thrd_error;
  }
}

void rt_threads_init(void) {
  have_key = pthread_key_create(&end_key, end_of_thread) == 0;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_getstacksize(&attributes, &rt.default_stack_size);
  pthread_attr_destroy(&attributes);
}
