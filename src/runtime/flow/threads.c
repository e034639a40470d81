/* Threads and the process: slots, stacks, the first and the last event of a thread. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/flow/flow.h"

struct fl_globals fl;

/* ---- beginning and end of a thread, called by the record runtime */
static uint32_t slot_of_starting(const struct rt_thread* thread) {
  const uint32_t count = LOAD(&fl.slots);
  for (uint32_t slot = 1; slot < count; ++slot)
    if (fl.threads[slot].starting == thread) return slot;
  return 0;
}

static void give_recorded(struct fl_local* local, const struct rt_thread* thread) {
  char name[HEDDLE_FLOW_NAME + 40];
  strcpy(name, "recorded/threads/");
  strcat(name, thread->name);
  strcat(name, ".flow");
  uint64_t size = 0;
  const struct heddle_flow_thread* const head = fl_map_file(name, &size);
  uint32_t slot;
  if (head == NULL || size < HEDDLE_FLOW_PAGE || !fl_given_thread(thread->name, &slot, &local->fails, &local->last_event))
    return;
  const uint64_t used = head->used <= size - HEDDLE_FLOW_PAGE ? head->used : size - HEDDLE_FLOW_PAGE;
  local->given = (const uint8_t*)head + HEDDLE_FLOW_PAGE;
  local->given_end = local->given + used;
}

void rt_begin_buffer(struct rt_log* log) {
  if (log->level != 0 || fl.mode == FL_OFF || rt.process == NULL || rt.forked) return;
  const struct rt_thread* const thread = log->thread;
  const bool first = strcmp(thread->name, "0") == 0;
  const uint32_t slot = first ? 0 : slot_of_starting(thread);
  if (!first && slot == 0) return; /* made by foreign code: not recorded */
  struct fl_local* const local = rt_map_memory(sizeof *local);
  if (local == NULL) rt_no_memory();
  local->slot = slot;
  local->depth = 1;
  if (!fl_open_stream(local, thread)) {
    RT_SYS2(SYS_munmap, local, sizeof *local);
    return;
  }
  fl_heap_begin(local);
  fl.threads[slot].handle = (uint64_t)pthread_self();
  if (fl.mode == FL_REPLAY) give_recorded(local, thread);
  fl_local = local;
  STORE(&fl.threads[slot].head, heddle_flow_self);
  local->depth = 0;
  fl_event_after(fl.threads[slot].creator, fl.threads[slot].created);
}

void rt_thread_ends(void) {
  struct fl_local* const local = fl_local;
  if (!fl_active()) return;
  heddle_flow_begin();
  heddle_flow_end();
  heddle_flow_self->ended = 1;
  STORE(&fl.threads[local->slot].last, fl_number());
  if (fl.mode == FL_REPLAY) fl_thread_over();
  local->depth = 1; /* libc's own end of the thread */
}

/* ---- creation */
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
  const uint64_t at = fl_slot_base(slot) + 65536;
  if (RT_SYS6(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE | MAP_STACK, -1, 0) != (long)at)
    rt_no_memory();
  pthread_attr_setstack(storage, (void*)at, size);
  return storage;
}

const pthread_attr_t* rt_choose_stack(struct rt_thread* child, const pthread_attr_t* wanted, pthread_attr_t* storage) {
  if (!fl_active()) return wanted;
  struct fl_local* const local = fl_local;
  heddle_flow_begin();
  heddle_flow_end();
  uint32_t slot = 0;
  if (fl.mode == FL_REPLAY) {
    const uint8_t* bytes;
    uint64_t size;
    slot = (uint32_t)fl_given(HEDDLE_FLOW_new_thread, &bytes, &size);
    uint32_t count = LOAD(&fl.slots); /* one thread at a time does this */
    if (slot >= count) STORE(&fl.slots, slot + 1);
  } else {
    slot = __atomic_fetch_add(&fl.slots, 1, __ATOMIC_ACQ_REL);
    if (slot >= HEDDLE_FLOW_SLOTS - 1) {
      static const char text[] = "heddle: too many threads for flow recording (at most 1022)\n";
      RT_SYS3(SYS_write, 2, text, sizeof text - 1);
      for (;;) RT_SYS1(SYS_exit_group, 70);
    }
    fl_note(HEDDLE_FLOW_new_thread, slot, NULL, 0);
  }
  fl.threads[slot].starting = child;
  fl.threads[slot].creator = local->slot;
  fl.threads[slot].created = fl_number();
  return with_stack(slot, wanted, storage);
}

/* ---- joining */
static uint32_t slot_of_handle(pthread_t handle) {
  const uint64_t slot = ((uint64_t)handle - HEDDLE_FLOW_BASE) / HEDDLE_FLOW_SLOT_SIZE;
  if (slot < HEDDLE_FLOW_SLOTS) return (uint32_t)slot;
  for (uint32_t i = 0; i < LOAD(&fl.slots); ++i)
    if (fl.threads[i].handle == (uint64_t)handle) return i;
  return HEDDLE_FLOW_SLOTS - 1;
}

void fl_joined(pthread_t handle) {
  const uint32_t slot = slot_of_handle(handle);
  fl_event_after(slot, LOAD(&fl.threads[slot].last));
}

/* ---- the process */
static void in_child(void) {
  fl.mode = FL_OFF;
  heddle_flow_self = &fl_nobody;
}

__attribute__((constructor(102))) static void begin(void) {
  if (rt.process == NULL) return;
  uint64_t size = 0;
  const struct heddle_flow_plan* const plan = fl_map_file("flow", &size);
  if (plan == NULL || size < sizeof *plan || plan->magic != HEDDLE_FLOW_PLAN_MAGIC) return;
  fl_shadow_init();
  fl.slots = 1;
  fl.sequences = plan->sequences != 0;
  fl.locks = plan->locks != 0;
  fl.mode = plan->replay ? FL_REPLAY : FL_RECORD;
  if (fl.mode == FL_REPLAY) fl_turns_init();
  if (rt_self == NULL) rt_begin_unseen_thread();
  pthread_atfork(NULL, NULL, in_child);
  fl_system_init();
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
