/* The store buffer of a log (buffers.c): its layout, and what the other files of the runtime do with it. */
#ifndef HEDDLE_RUNTIME_RECORD_BUFFERS_H
#define HEDDLE_RUNTIME_RECORD_BUFFERS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define RT_STORES 32        /* that a buffer holds */
#define RT_LARGEST_STORE 64 /* larger ones (memcpy) happen in place */
#define RT_ONE_STORE 8      /* up to this size, but for odd ones, one instruction carries it out */

struct rt_store {
  uint8_t* at;
  uint64_t size;
  uint64_t number;  /* counts stores of the buffer */
  uint64_t barrier; /* PSO: all with a smaller number go before this one */
};

struct rt_buffer {
  uint32_t count;
  uint8_t order[RT_STORES]; /* places, oldest store first */
  uint64_t taken;           /* places: bit set */
  uint64_t next_number, barrier;
  /* The youngest store has its place, but perhaps not its value yet: the program's instruction follows the
   * hook. `filled` is what the place held when it was given out. */
  bool open;
  uint8_t filled[RT_LARGEST_STORE];
  /* Somebody works on the buffer: a signal that comes now waits in `deferred` (if si_signo is not 0), and
   * `deferred_mask` is the thread's signal mask as it was. */
  bool busy;
  uint64_t deferred_mask;
  siginfo_t deferred;
  /* Accesses until stores are carried out again; how long that is at most, and how often it holds yet. */
  uint32_t wait, patience, phase;
  uint32_t rests, rested; /* accesses until the thread rests again; how often it has, at most 64 */
  uint64_t random;
  struct rt_store stores[RT_STORES];
  /* Values. Each lies as its target does, modulo 64: instructions may need the alignment. */
  _Alignas(64) uint8_t values[RT_STORES][2 * RT_LARGEST_STORE];
};

struct rt_log;

void rt_begin_buffer(struct rt_log* log);
void rt_rest_with_stores(struct rt_buffer* buffer);
/* All stores of the current log become visible. */
void rt_drain_current(void);
/* A signal handler is about to run, or the thread has failed: stores that have happened become visible. */
void rt_interrupt_buffer(struct rt_buffer* buffer);
/* The code that filled the buffer has ended: a handler returned. */
void rt_drain(struct rt_buffer* buffer);
/* The thread ends: its stack is no more. */
void rt_end_buffer(struct rt_log* log);
/* After a jump out of handlers, from the current log to an older one; `caller` is the lowest address of the
 * stack that is still in use. */
void rt_unwind_buffers(struct rt_log* to, const void* caller);

/* signals.c: the signal that waits is sent again. */
void rt_send_deferred(struct rt_buffer* buffer);

/* ---- between buffers.c and buffer_hooks.c */
static inline void rt_begin_work(struct rt_buffer* buffer) {
  *(volatile bool*)&buffer->busy = true;
  __asm__ volatile("" ::: "memory");
}

static inline void rt_end_work(struct rt_buffer* buffer) {
  __asm__ volatile("" ::: "memory");
  *(volatile bool*)&buffer->busy = false;
  __asm__ volatile("" ::: "memory");
  if (__builtin_expect(buffer->deferred.si_signo != 0, 0)) rt_send_deferred(buffer);
}

/* These between rt_begin_work and rt_end_work. */
void rt_carry_all(struct rt_buffer* buffer);
void rt_carry_overlapping(struct rt_buffer* buffer, const void* at, uint64_t size);
void rt_pass_time(struct rt_buffer* buffer);
uint8_t* rt_add_store(struct rt_buffer* buffer, void* at, uint64_t size, bool release);
/* Where a load finds its value: in the buffer or in memory. */
void* rt_find_value(struct rt_buffer* buffer, const void* at, uint64_t size);
void rt_forget_frames(struct rt_buffer* buffer, const void* limit);

#endif
