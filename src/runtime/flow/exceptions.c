/* Exceptions that several threads hold (std::exception_ptr, futures): libstdc++ counts their references without
 * an event. Which thread is the last one, and so destroys and frees the exception, is in the order of the
 * recording: each gives its reference back under a lock of the runtime's (streams.c). Not inside an event, since
 * a destructor is code of the program. */
#include "runtime/flow/flow.h"

static char references;

static void give_back_by(void (*real)(void*), void* self) {
  heddle_flow_lock(&references, (uint64_t)(uintptr_t)__builtin_frame_address(0));
  real(self);
  heddle_flow_unlock((uint64_t)(uintptr_t)__builtin_frame_address(0));
}

void __cxa_end_catch(void);
void __cxa_end_catch(void) {
  static void (*real)(void*);
  if (real == NULL) real = (void (*)(void*))rt_real("__cxa_end_catch");
  give_back_by(real, NULL);
}

void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void* self);
void _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(void* self) {
  static void (*real)(void*);
  if (real == NULL) real = (void (*)(void*))rt_real("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
  rt_fl_object_event(self); /* it becomes null */
  give_back_by(real, self);
}
