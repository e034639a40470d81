/* Threads of the program: creation, end, joining, cancellation; what runs when a thread ends.
 *
 * Unwinding by pthread_exit and cancellation is the C++ ABI's forced unwinding, as in glibc: destructors run,
 * catch
 * (...) must rethrow. Cleanup handlers of C code (pthread_cleanup_push without exceptions) register jump
 * buffers.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <threads.h>
#include <unwind.h>

#include "abi/event_part.h"
#include "runtime/control/control.h"
#include "runtime/control/switching.h"

/* ---- thread-local objects with destructors */
struct destructor {
  void (*function)(void*);
  void* object;
  struct destructor* next;
};
static struct destructor* main_destructors; /* may have been registered before main(): reset with the program */

static struct destructor** destructors_of(struct rt_thread* self) {
  return self->index == 0 ? &main_destructors : (struct destructor**)&self->destructors;
}

int __cxa_thread_atexit_impl(void (*function)(void*), void* object, void* library) {
  (void)library; /* libraries are not unloaded under control */
  struct destructor** list = destructors_of(rt.current);
  struct destructor* entry = malloc(sizeof *entry);
  if (entry == NULL) abort();
  *entry = (struct destructor){.function = function, .object = object, .next = *list};
  *list = entry;
  return 0;
}

void rt_run_destructors(struct rt_thread* self) {
  struct destructor** list = destructors_of(self);
  while (*list != NULL) {
    const struct destructor entry = **list;
    *list = entry.next;
    entry.function(entry.object);
  }
}

/* ---- the end of a thread */
struct frame {
  jmp_buf back;
};

static void finish_thread(struct rt_thread* self) {
  rt_run_destructors(self);
  rt_run_key_destructors(self);
  rt_sync(HEDDLE_SYNC_thread_end, NULL);
  rt_perform(self);
  rt_keep_value(self, 0);
  rt_leave(self);
}

/* Programs may read what they have not written: what is left below by now are registers of whoever started the
 * thread, which depend on the substrate. */
__attribute__((noinline)) static void wipe_stack(void) {
  uint8_t below[4096];
  memset(below, 0, sizeof below);
  __asm__ volatile("" : : "r"(below) : "memory");
}

void rt_thread_main(struct rt_thread* self) {
  struct frame frame;
  self->exit_stack = &frame;
  if (_setjmp(frame.back) == 0) {
    rt_chosen(self);
    self->last.kind = HEDDLE_EVENT_sync;
    self->last.open = true;
    wipe_stack();
    self->result =
        self->start != NULL ? self->start(self->argument) : (void*)(intptr_t)self->start_c11(self->argument);
  }
  finish_thread(rt.current);
}

/* The main thread's frame: returning from pthread_exit there ends the thread, not the process. */
int rt_run_main(int (*function)(int, char**, char**), int argc, char** argv, char** envp) {
  struct frame frame;
  rt.current->exit_stack = &frame;
  if (_setjmp(frame.back) == 0) return function(argc, argv, envp);
  finish_thread(rt.current);
  return 0;
}

/* What sigsetjmp filled in for pthread_cleanup_push; the first of the spare words links it to the one before.
 */
typedef __pthread_unwind_buf_t cleanup_buffer;

static _Unwind_Reason_Code unwound(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                   struct _Unwind_Exception* exception, struct _Unwind_Context* context,
                                   void* argument) {
  (void)version, (void)class, (void)exception;
  struct rt_thread* self = argument;
  const uintptr_t stack = (uintptr_t)_Unwind_GetCFA(context);
  const bool over = (actions & _UA_END_OF_STACK) != 0 || stack >= (uintptr_t)self->exit_stack;
  cleanup_buffer* cleanup = self->cleanups;
  if (cleanup != NULL && (over || stack > (uintptr_t)cleanup))
    siglongjmp((struct __jmp_buf_tag*)(void*)cleanup->__cancel_jmp_buf, 1);
  if (over) longjmp(((struct frame*)self->exit_stack)->back, 1);
  return _URC_NO_REASON;
}

static void swallowed(_Unwind_Reason_Code reason, struct _Unwind_Exception* exception) {
  (void)reason, (void)exception;
  rt_fail(HEDDLE_OUTCOME_abort, "a catch (...) did not rethrow the end of its thread");
}

static _Noreturn void unwind(struct rt_thread* self) {
  static __thread struct _Unwind_Exception exception;
  memset(&exception, 0, sizeof exception);
  exception.exception_cleanup = swallowed;
  _Unwind_ForcedUnwind(&exception, unwound, self);
  longjmp(((struct frame*)self->exit_stack)->back, 1);
}

_Noreturn void rt_exit_thread(struct rt_thread* self, void* result) {
  self->result = result;
  self->unwinding = true;
  unwind(self);
}

void __pthread_register_cancel(cleanup_buffer* buffer) {
  buffer->__pad[0] = rt.current->cleanups;
  rt.current->cleanups = buffer;
}

void __pthread_unregister_cancel(cleanup_buffer* buffer) {
  rt.current->cleanups = buffer->__pad[0];
}

_Noreturn void __pthread_unwind_next(cleanup_buffer* buffer) {
  rt.current->cleanups = buffer->__pad[0];
  unwind(rt.current);
}

_Noreturn void pthread_exit(void* result) {
  if (!rt.active) rt_unsupported("pthread_exit before main()");
  rt_exit_thread(rt.current, result);
}

_Noreturn void thrd_exit(int result) {
  pthread_exit((void*)(intptr_t)result);
}

/* ---- creation */
static int create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                  int (*start_c11)(void*), void* argument) {
  if (rt.forked) rt_unsupported("a process that the program forked creates threads");
  if (!rt.active) rt_early_start();
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_create, handle);
  rt_perform(self);
  size_t stack_size = 0;
  if (attributes != NULL) pthread_attr_getstacksize(attributes, &stack_size);
  struct rt_slot* slot = rt_take_slot(stack_size, self);
  struct rt_thread* thread = slot != NULL ? rt_new_thread(self) : NULL;
  if (thread == NULL) return rt_result(self, EAGAIN);
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attributes != NULL) pthread_attr_getdetachstate(attributes, &detached);
  thread->detached = detached == PTHREAD_CREATE_DETACHED;
  thread->slot = slot;
  thread->signal_mask = self->signal_mask;
  thread->start = start;
  thread->start_c11 = start_c11;
  thread->argument = argument;
  thread->op = (struct rt_op){.kind = HEDDLE_EVENT_sync + HEDDLE_SYNC_thread_begin,
                              .order = HEDDLE_SYNC_cancellable,
                              .site = heddle_control_site};
  rt_note_start(thread, (uint64_t)(start != NULL ? (uintptr_t)start : (uintptr_t)start_c11));
  rt_start_on_slot(thread);
  *handle = rt_handle(thread);
  __libc_single_threaded = 0; /* libstdc++ looks at it; the slot's pthread may be older than this execution */
  return rt_result(self, 0);
}

int pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return create(handle, attributes, start, NULL, argument);
}

static int c11_result(int error) {
  switch (error) {
    case 0:
      return thrd_success;
    case ENOMEM:
    case EAGAIN:
      return thrd_nomem;
    case ETIMEDOUT:
      return thrd_timedout;
    case EBUSY:
      return thrd_busy;
    default:
      return thrd_error;
  }
}

int thrd_create(thrd_t* handle, thrd_start_t start, void* argument) {
  return c11_result(create(handle, NULL, NULL, start, argument));
}

/* ---- joining */
static bool target_finished(const struct rt_thread* self) {
  return ((const struct rt_thread*)self->op.second)->state == RT_FINISHED || self->timed_out ||
         rt_cancel_pending(self);
}

static int join(enum heddle_sync_kind kind, pthread_t handle, void** result, bool try, clockid_t clock,
                const struct timespec* deadline) {
  if (!rt.active) return ESRCH;
  struct rt_thread* self = rt.current;
  if (!try) rt_cancellation_point(self);
  struct rt_thread* target = rt_thread_of(handle);
  if (target == NULL || target->joined) return ESRCH;
  if (target->detached) return EINVAL;
  if (target == self) return EDEADLK;
  if (target->state == RT_ALIVE && target->op.second == self &&
      target->op.kind == HEDDLE_EVENT_sync + HEDDLE_SYNC_thread_join)
    return EDEADLK;
  if (deadline != NULL && !rt_valid_timespec(deadline)) return EINVAL;
  rt_sync(kind, (const void*)(uintptr_t)handle);
  self->op.second = target;
  if (result != NULL) self->op.size = HEDDLE_PART_result;
  self->op.timed = deadline != NULL;
  if (deadline != NULL) self->op.deadline = rt_deadline(clock, deadline);
  self->op.ready = try ? NULL : target_finished;
  rt_perform(self);
  if (target->state != RT_FINISHED || self->timed_out) {
    rt_unchanged(self);
    if (!try && rt_cancel_pending(self)) rt_result(self, ECANCELED);
    if (!try) rt_cancellation_point(self);
    return rt_result(self, try ? EBUSY : ETIMEDOUT);
  }
  if (target->joined) return rt_result(self, EINVAL);
  target->joined = true;
  rt_release_slot(target->slot);
  if (result != NULL) *result = target->result;
  return rt_result(self, 0);
}

int pthread_join(pthread_t handle, void** result) {
  return join(HEDDLE_SYNC_thread_join, handle, result, false, 0, NULL);
}

int pthread_tryjoin_np(pthread_t handle, void** result) {
  return join(HEDDLE_SYNC_thread_tryjoin, handle, result, true, 0, NULL);
}

int pthread_timedjoin_np(pthread_t handle, void** result, const struct timespec* deadline) {
  return join(HEDDLE_SYNC_thread_timedjoin, handle, result, false, CLOCK_REALTIME, deadline);
}

int pthread_clockjoin_np(pthread_t handle, void** result, clockid_t clock, const struct timespec* deadline) {
  return join(HEDDLE_SYNC_thread_timedjoin, handle, result, false, clock, deadline);
}

int thrd_join(thrd_t handle, int* result) {
  void* value = NULL;
  const int error = pthread_join(handle, result != NULL ? &value : NULL);
  if (error == 0 && result != NULL) *result = (int)(intptr_t)value;
  return c11_result(error);
}

int pthread_detach(pthread_t handle) {
  if (!rt.active) return ESRCH;
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_detach, (const void*)(uintptr_t)handle);
  rt_perform(self);
  struct rt_thread* target = rt_thread_of(handle);
  if (target == NULL || target->joined) return rt_result(self, ESRCH);
  if (target->detached) return rt_result(self, EINVAL);
  target->detached = true;
  if (target->state == RT_FINISHED) rt_release_slot(target->slot);
  return rt_result(self, 0);
}

int thrd_detach(thrd_t handle) {
  return c11_result(pthread_detach(handle));
}

/* ---- cancellation */
bool rt_cancel_pending(const struct rt_thread* thread) {
  return thread->cancel_requested && !thread->unwinding && thread->cancel_state == PTHREAD_CANCEL_ENABLE;
}

void rt_cancellation_point(struct rt_thread* self) {
  if (rt.active && rt_cancel_pending(self)) rt_exit_thread(self, PTHREAD_CANCELED);
}

int pthread_cancel(pthread_t handle) {
  if (!rt.active) return ESRCH;
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_cancel, (const void*)(uintptr_t)handle);
  self->op.second = rt_thread_of(handle);
  rt_perform(self);
  struct rt_thread* target = rt_thread_of(handle);
  if (target == NULL) return rt_result(self, ESRCH);
  if (target->state == RT_ALIVE) target->cancel_requested = true;
  if (target->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) rt_set_pending(target, RT_CANCEL_SIGNAL);
  if (target == self && self->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) rt_cancellation_point(self);
  return rt_result(self, 0);
}

void pthread_testcancel(void) {
  if (!rt.active) return;
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_thread_testcancel, NULL);
  rt_perform(self);
  rt_unchanged(self);
  rt_cancellation_point(self);
}

int pthread_setcancelstate(int state, int* old) {
  if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
  if (old != NULL) *old = rt.current->cancel_state;
  rt.current->cancel_state = state;
  if (rt.current->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS) rt_cancellation_point(rt.current);
  return 0;
}

int pthread_setcanceltype(int type, int* old) {
  if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
  if (old != NULL) *old = rt.current->cancel_type;
  rt.current->cancel_type = type;
  if (type == PTHREAD_CANCEL_ASYNCHRONOUS) rt_cancellation_point(rt.current);
  return 0;
}

/* ---- names and scheduling parameters: no effect on what the program computes */
int pthread_setname_np(pthread_t handle, const char* name) {
  if (strlen(name) >= sizeof rt.current->name) return ERANGE;
  struct rt_thread* thread = rt.active ? rt_thread_of(handle) : rt.current;
  if (thread == NULL) return ESRCH;
  strcpy(thread->name, name);
  return 0;
}

int pthread_getname_np(pthread_t handle, char* name, size_t size) {
  const struct rt_thread* thread = rt.active ? rt_thread_of(handle) : rt.current;
  if (thread == NULL) return ESRCH;
  if (size <= strlen(thread->name)) return ERANGE;
  strcpy(name, thread->name);
  return 0;
}

int pthread_setaffinity_np(pthread_t handle, size_t size, const cpu_set_t* set) {
  (void)handle, (void)size, (void)set;
  return 0;
}

int pthread_setschedparam(pthread_t handle, int policy, const struct sched_param* parameters) {
  (void)handle, (void)policy, (void)parameters;
  return 0;
}

int pthread_setschedprio(pthread_t handle, int priority) {
  (void)handle, (void)priority;
  return 0;
}
