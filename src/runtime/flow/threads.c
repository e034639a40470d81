/* Threads and the process: stacks, the first and the last event of a thread. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

struct rt_fl_globals rt_fl;

/* ---- beginning and end of a thread, called by the record runtime */
static uint32_t slot_of_starting(const struct rt_thread* thread) {
  const uint32_t count = LOAD(&rt_fl.slots);
  for (uint32_t slot = 1; slot < count; ++slot)
    if (rt_fl.threads[slot].starting == thread) return slot;
  return 0;
}

static void give_recorded(struct rt_fl_local* local, const struct rt_thread* thread) {
  char name[HEDDLE_FLOW_NAME + 40];
  strcpy(name, "recorded/threads/");
  strcat(name, thread->name);
  strcat(name, ".flow");
  uint64_t size = 0;
  const struct heddle_flow_thread* const head = rt_fl_map_file(name, &size);
  uint32_t slot;
  if (head == NULL || size < HEDDLE_FLOW_PAGE ||
      !rt_fl_given_thread(thread->name, &slot, &local->fails, &local->last_event))
    return;
  const uint64_t used = head->used <= size - HEDDLE_FLOW_PAGE ? head->used : size - HEDDLE_FLOW_PAGE;
  local->given = (const uint8_t*)head + HEDDLE_FLOW_PAGE;
  local->given_end = local->given + used;
}

void rt_begin_buffer(struct rt_log* log) {
  if (log->level != 0 || rt_fl.mode == FL_OFF || rt.process == NULL || rt.forked) return;
  const struct rt_thread* const thread = log->thread;
  const bool first = strcmp(thread->name, "0") == 0;
  const uint32_t slot = first ? 0 : slot_of_starting(thread);
  if (!first && slot == 0) return; /* made by foreign code: not recorded */
  struct rt_fl_local* const local = rt_fl_begin_slot(slot);
  local->depth = 1;
  if (!rt_fl_open_stream(local, thread)) return;
  if (local->heap_next == 0) rt_fl_heap_begin(local);
  rt_fl.threads[slot].handle = (uint64_t)pthread_self();
  rt_fl.threads[slot].tid = thread->tid;
  if (rt_fl.mode == FL_REPLAY) give_recorded(local, thread);
  rt_fl_local = local;
  STORE(&rt_fl.threads[slot].head, heddle_flow_self);
  rt_fl_rest(false); /* the thread that had the slot may have rested for ever */
  local->depth = 0;
  rt_fl_event_after(rt_fl.threads[slot].creator, (struct rt_fl_point){0, 0});
  if (!first) rt_fl_name(0, HEDDLE_FLOW_name_begin);
  rt_fl_stack = local->own_stack;
}

/* Exit handlers run in the thread that libc counts as the last. */
static void wait_until_others_are_gone(const struct rt_fl_local* self) {
  for (uint32_t slot = 0; slot < LOAD(&rt_fl.slots); ++slot) {
    if (slot == self->slot || rt_fl.threads[slot].head == NULL) continue;
    while (!rt_fl_is_gone(slot)) RT_SYS0(SYS_sched_yield);
  }
}

bool rt_thread_ends(_Atomic uint32_t* live) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!rt_fl_active()) return --*live == 0;
  rt_fl_begin_object((const void*)live);
  const bool last = --*live == 0;
  rt_fl_end_event();
  rt_fl_name(0, HEDDLE_FLOW_name_end);
  if (last) {
    wait_until_others_are_gone(local);
    return true;
  }
  heddle_flow_self->ended = 1;
  STORE(&rt_fl.threads[local->slot].last, rt_fl_number());
  if (rt_fl.mode == FL_REPLAY) rt_fl_thread_over();
  local->depth = 1; /* libc's own end of the thread */
  rt_fl_close_stream(local);
  rt_fl_end_slot(local);
  return false;
}

/* ---- creation */
/* What the runtime has left on the stack so far depends on what it does: nobody is to find it there. */
__attribute__((noinline)) static void clear_stack(void) {
  volatile uint8_t bytes[32768];
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = 0;
}

static void* start_thread(void* argument) {
  const struct rt_fl_shared* const self = argument;
  clear_stack();
  return self->start != NULL ? self->start(self->argument) : (void*)(intptr_t)self->start_c11(self->argument);
}

static pthread_attr_t* with_stack(uint32_t slot, const pthread_attr_t* wanted, pthread_attr_t* storage) {
  size_t size = rt.default_stack_size;
  if (wanted != NULL) {
    void* address = NULL;
    memcpy(storage, wanted, sizeof *storage);
    if (pthread_attr_getstack(wanted, &address, &size) == 0 && address != NULL && (intptr_t)address > 0 &&
        (uintptr_t)address + size != 0 && (uintptr_t)address != -size)
      return storage; /* it brings its own */
    pthread_attr_getstacksize(wanted, &size);
  } else {
    pthread_attr_init(storage);
  }
  if (size < 65536) size = 65536;
  size = (size + 4095) & ~4095ull;
  const uint64_t at = rt_fl_slot_base(slot) + 65536;
  if (rt_fl.threads[slot].stack_size != 0) RT_SYS2(SYS_munmap, at, rt_fl.threads[slot].stack_size);
  rt_fl.threads[slot].stack_size = size;
  if (RT_SYS6(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE | MAP_STACK, -1, 0) != (long)at)
    rt_no_memory();
  pthread_attr_setstack(storage, (void*)at, size);
  return storage;
}

const pthread_attr_t* rt_choose_stack(struct rt_thread* child, const pthread_attr_t* wanted,
                                      pthread_attr_t* storage) {
  if (!rt_fl_active()) return wanted;
  struct rt_fl_local* const local = rt_fl_local;
  uint32_t slot = rt_fl.mode == FL_RECORD ? rt_fl_free_slot() : 0;
  rt_fl_event_after((struct rt_fl_point){slot, rt_fl.threads[slot].last}, rt_fl.threads[slot].freed);
  rt_fl_name(heddle_control_site, HEDDLE_FLOW_name_sync);
  if (rt_fl.mode == FL_REPLAY) {
    const uint8_t* bytes;
    uint64_t size;
    slot = (uint32_t)rt_fl_given(HEDDLE_FLOW_new_thread, &bytes, &size);
    uint32_t count = LOAD(&rt_fl.slots); /* one thread at a time does this */
    if (slot >= count) STORE(&rt_fl.slots, slot + 1);
    rt_fl_await_slot(slot);
  } else {
    rt_fl_note(HEDDLE_FLOW_new_thread, slot, NULL, 0);
  }
  rt_fl.threads[slot].start = child->start;
  rt_fl.threads[slot].start_c11 = child->start_c11;
  rt_fl.threads[slot].argument = child->argument;
  child->start = start_thread;
  child->start_c11 = NULL;
  child->argument = &rt_fl.threads[slot];
  rt_fl.threads[slot].starting = child;
  rt_fl.threads[slot].creator = (struct rt_fl_point){local->slot, rt_fl_number()};
  rt_fl.threads[slot].freed.number = 0;
  int detached = PTHREAD_CREATE_JOINABLE;
  if (wanted != NULL) pthread_attr_getdetachstate(wanted, &detached);
  rt_fl.threads[slot].detached = detached == PTHREAD_CREATE_DETACHED;
  local->made = slot;
  ++local->depth; /* what libc does now is its own business */
  return with_stack(slot, wanted, storage);
}

int rt_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*); /* of the record runtime */
int rt_thrd_create(thrd_t*, thrd_start_t, void*);

/* Who made it may detach it before it begins. One that is detached already may be over, and its slot another's.
 */
static void note_handle(uint64_t handle) {
  struct rt_fl_local* const local = rt_fl_local;
  if (local == NULL || local->made == 0) return;
  if (!rt_fl.threads[local->made].detached) STORE(&rt_fl.threads[local->made].handle, handle);
  local->made = 0;
}

RT_FL_ENTRY(pthread_create);
int rt_do_pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                         void* argument);
int rt_do_pthread_create(pthread_t* handle, const pthread_attr_t* attributes, void* (*start)(void*),
                         void* argument) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint32_t depth = local != NULL ? local->depth : 0;
  pthread_t made = 0;
  const int error = rt_pthread_create(&made, attributes, start, argument);
  if (error == 0) note_handle(made);
  if (local != NULL) local->depth = depth;
  if (error == 0) rt_fl_write_event(handle, &made, sizeof made);
  return error;
}

/* The latest: a program that brings the stacks itself gives the same one to several threads, one after the
 * other. */
static uint32_t slot_of_handle(pthread_t handle) {
  for (uint32_t i = LOAD(&rt_fl.slots); i-- > 0;)
    if (LOAD(&rt_fl.threads[i].handle) == (uint64_t)handle) return i;
  return HEDDLE_FLOW_SLOTS - 1;
}

RT_FL_ENTRY(pthread_detach);
int rt_do_pthread_detach(pthread_t handle);
int rt_do_pthread_detach(pthread_t handle) {
  static int (*real)(pthread_t);
  if (real == NULL) real = (int (*)(pthread_t))rt_real("pthread_detach");
  const uint32_t slot = slot_of_handle(handle); /* as long as it is one */
  rt_fl_empty_event();
  if (rt_fl_local != NULL) ++rt_fl_local->depth;
  const int error = real(handle);
  if (rt_fl_local != NULL) --rt_fl_local->depth;
  if (error == 0 && rt_fl_active()) rt_fl_slot_detached(slot);
  return error;
}

RT_FL_ENTRY(thrd_detach);
int rt_do_thrd_detach(thrd_t handle);
int rt_do_thrd_detach(thrd_t handle) {
  return rt_do_pthread_detach(handle) == 0 ? thrd_success : thrd_error;
}

RT_FL_ENTRY(thrd_create);
int rt_do_thrd_create(thrd_t* handle, thrd_start_t start, void* argument);
int rt_do_thrd_create(thrd_t* handle, thrd_start_t start, void* argument) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint32_t depth = local != NULL ? local->depth : 0;
  thrd_t made = 0;
  const int error = rt_thrd_create(&made, start, argument);
  if (error == thrd_success) note_handle(made);
  if (local != NULL) local->depth = depth;
  if (error == thrd_success) rt_fl_write_event(handle, &made, sizeof made);
  return error;
}

/* ---- joining */
void rt_fl_joined(pthread_t handle) {
  const uint32_t slot = slot_of_handle(handle);
  rt_fl_event_after((struct rt_fl_point){slot, LOAD(&rt_fl.threads[slot].last)}, (struct rt_fl_point){0, 0});
  if (rt_fl.mode == FL_RECORD && rt_fl_active()) rt_fl_slot_joined(slot);
}

void rt_fl_joined_again(pthread_t handle, int error) {
  if (error == 0 && rt_fl_active()) rt_fl_slot_joined(slot_of_handle(handle));
}

/* ---- the process */
__attribute__((constructor(102))) static void begin(void) {
  if (rt.process == NULL) return;
  uint64_t size = 0;
  const struct heddle_flow_plan* const plan = rt_fl_map_file("flow", &size);
  if (plan == NULL || size < sizeof *plan || plan->magic != HEDDLE_FLOW_PLAN_MAGIC) return;
  rt_fl_once_init();
  rt_fl_shadow_init();
  rt_fl.slots = 1;
  rt_fl.sequences = plan->sequences != 0;
  rt_fl.locks = plan->locks != 0;
  rt_fl.baseline = (enum heddle_flow_baseline)plan->baseline;
  rt_fl.mode = plan->replay ? FL_REPLAY : FL_RECORD;
  rt_fl_descriptors_init();
  if (rt_fl.mode == FL_REPLAY) rt_fl_turns_init();
  if (rt_fl.mode == FL_REPLAY && plan->names != 0) rt_fl_names_init();
  if (rt_self == NULL) rt_begin_unseen_thread();
  if (rt_fl.mode == FL_RECORD) rt_fl_files_init();
  rt_fl_children_init();
  rt_fl_streams_init();
  rt_fl_vdso_init();
  rt_fl_system_init();
  clear_stack();
}

/* ---- what the recording runtime asks of store buffers */
void rt_drain_current(void) {}
void rt_drain(struct rt_buffer* buffer) {
  (void)buffer;
}
void rt_interrupt_buffer(struct rt_buffer* buffer) {
  (void)buffer;
}
void rt_end_buffer(struct rt_log* log) {
  (void)log;
}
void rt_unwind_buffers(struct rt_log* to, const void* caller) {
  (void)to;
  (void)caller;
}
