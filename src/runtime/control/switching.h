/* Slots, for switching.c and those that start and end executions. */
#ifndef HEDDLE_RUNTIME_SWITCHING_H
#define HEDDLE_RUNTIME_SWITCHING_H

#include "runtime/control/control.h"

struct rt_slot {
  uint32_t number;
  uint32_t exists; /* futex */
  uint32_t turn;   /* futex: real threads */
  uint32_t idle;   /* futex: waits for its turn to run a thread */
  bool taken;      /* by a thread of this execution */
  bool used;       /* in this execution: not clean any more */
  struct rt_thread* thread;
  uint64_t thread_pointer;
  void* stack_pointer; /* fibres: while others run */
  void* loop;          /* real threads: where slot_main goes on */
  uint8_t *low, *start,
      *top;            /* stack: lowest byte, where a thread begins, end; above start is the slot's own part */
  uint8_t* image_from; /* above this: frames that never end, thread-local storage, libc's view of the thread */
  uint8_t* image;      /* copy of that, as before the first thread */
  uint64_t image_size;
};

void rt_switching_init(void);
struct rt_slot* rt_main_slot(void);
uint64_t rt_thread_pointer(void);
void rt_swap(void** save, void* load, uint64_t thread_pointer, int wrfsbase);
void rt_swap_to(void** save, void* load, uint64_t thread_pointer);
void* rt_fresh_stack(uint8_t* top, void (*function)(void*), void* argument);
/* The thread in this slot is finished, and another one has its turn. */
_Noreturn void rt_abandon(struct rt_slot* slot);

#endif
