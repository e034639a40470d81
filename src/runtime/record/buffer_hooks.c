/* The access hooks (abi/hooks.h) for threads that really run at the same time, over the store buffer of the
 * current log. Without a memory model of its own every access goes where it went.
 *
 * What orders mean is as in the control runtime (access.c there): loads happen in order, so acquire asks for
 * nothing; release matters under PSO only, where stores may overtake; sequentially consistent stores and
 * fences, read-modify-writes, and everything that happens in place or outside find an empty buffer.
 */
#include "abi/control.h"
#include "abi/hooks.h"
#include "runtime/record/runtime.h"

RT_TLS uint32_t heddle_control_site;

/* The buffer if there is one, and after its youngest store got its value. */
static struct rt_buffer* begin_hook(void) {
  if (!rt.buffered || rt_now == NULL) return NULL;
  struct rt_buffer* const buffer = &rt_now->buffer;
  rt_begin_work(buffer);
  buffer->open = false;
  return buffer;
}

/* Nothing to do for hooks that only look for stores. */
static bool nothing_stored(void) {
  return !rt.buffered || rt_now == NULL || rt_now->buffer.count == 0;
}

static void* read_access(const void* at, uint64_t size) {
  if (nothing_stored()) return (void*)(uintptr_t)at;
  rt_rest_with_stores(&rt_now->buffer);
  struct rt_buffer* const buffer = begin_hook();
  rt_pass_time(buffer);
  void* const from = rt_find_value(buffer, at, size);
  rt_end_work(buffer);
  return from;
}

static void* write_access(void* at, uint64_t size, uint64_t largest, bool release) {
  if (!rt.buffered || rt_now == NULL) return at;
  if (size == 0 || size > largest) {
    rt_drain_current();
    return at;
  }
  /* A bad address fails here and not when the store is carried out. */
  (void)*(volatile uint8_t*)at;
  (void)((volatile uint8_t*)at)[size - 1];
  struct rt_buffer* const buffer = begin_hook();
  rt_pass_time(buffer);
  uint8_t* const to = rt_add_store(buffer, at, size, release);
  rt_end_work(buffer);
  return to;
}

void* heddle_control_read(const void* at, uint64_t size, uint32_t site) {
  (void)site;
  return read_access(at, size);
}

void* heddle_control_write(void* at, uint64_t size, uint32_t site) {
  (void)site;
  return write_access(at, size, RT_LARGEST_STORE, false);
}

void* heddle_control_atomic_read(const void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)site;
  (void)order;
  return read_access(at, size);
}

/* Larger ones could not be carried out by one instruction. */
void* heddle_control_atomic_write(void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)site;
  const bool release = order == HEDDLE_ORDER_release || order == HEDDLE_ORDER_acq_rel;
  return write_access(at, size, order == HEDDLE_ORDER_seq_cst ? 0 : RT_ONE_STORE, release);
}

void* heddle_control_update(void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)size;
  (void)site;
  (void)order;
  rt_drain_current();
  return at;
}

void heddle_control_fence(uint32_t site, uint32_t order) {
  (void)site;
  if (nothing_stored()) return;
  if (order == HEDDLE_ORDER_seq_cst) rt_drain_current();
  if (order == HEDDLE_ORDER_release || order == HEDDLE_ORDER_acq_rel)
    rt_now->buffer.barrier = rt_now->buffer.next_number + 1;
}

void heddle_control_in_place(const void* at, uint64_t size, uint32_t site, uint32_t writes) {
  (void)at;
  (void)size;
  (void)site;
  (void)writes;
  rt_drain_current();
}

void heddle_control_assembly(uint32_t site) {
  (void)site;
  rt_drain_current();
}

void heddle_control_own(const void* at, uint64_t size) {
  if (nothing_stored()) return;
  struct rt_buffer* const buffer = begin_hook();
  rt_carry_overlapping(buffer, at, size);
  rt_end_work(buffer);
}

/* The call touches memory that may be in the buffer: all of it is carried out, whatever the ranges are. */
void heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes) {
  (void)at;
  (void)size;
  (void)limit;
  (void)writes;
}

void heddle_control_call(uint32_t site) {
  (void)site;
  rt_drain_current();
}

void heddle_control_blocking(uint32_t site, const char* name) {
  (void)site;
  (void)name;
  rt_drain_current();
}

void heddle_control_blocking_done(void) {}

extern const char __executable_start, etext;

static bool in_program(const void* code) {
  return (const char*)code >= &__executable_start && (const char*)code < &etext;
}

void heddle_control_leave(const void* target) {
  if (!in_program(target)) rt_drain_current();
}

/* Without a limit frames were left by a jump, and nobody knows how many: what is still buffered for them is
 * carried out now, while nothing else lives there but this hook. The caller's frame begins above the return
 * address. */
void heddle_control_frame_end(const void* limit) {
  if (nothing_stored()) return;
  struct rt_buffer* const buffer = begin_hook();
  rt_forget_frames(buffer, limit != NULL ? limit : (const uint8_t*)__builtin_frame_address(0) + 16);
  if (limit == NULL || !in_program(*(const void* const*)limit)) rt_carry_all(buffer);
  rt_end_work(buffer);
}
