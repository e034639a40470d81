/* Hooks of loads, stores and what else touches shared memory.
 *
 * The value of a load is in memory when its hook decides, that of a store only after it: a store's value is
 * looked at when the thread reaches its next hook (rt_settle), before anybody else can run.
 */
#include <string.h>
#include <wchar.h>

#include "runtime/control/control.h"

static uint64_t hash_bytes(const void* at, uint64_t size) {
  const uint8_t* from = at;
  uint64_t hash = size;
  for (; size >= 8; size -= 8, from += 8) {
    uint64_t word;
    memcpy(&word, from, 8);
    hash = rt_mix(hash, word);
  }
  uint64_t word = 0;
  memcpy(&word, from, size);
  return rt_mix(hash, word);
}

static uint64_t value_at(const void* at, uint64_t size) {
  uint64_t word = 0;
  switch (size) {
    case 1:
      return *(const uint8_t*)at;
    case 2:
      memcpy(&word, at, 2);
      return word;
    case 4:
      memcpy(&word, at, 4);
      return word;
    case 8:
      memcpy(&word, at, 8);
      return word;
    default:
      if (size > 8) return hash_bytes(at, size);
      memcpy(&word, at, size);
      return word;
  }
}

/* ---- events kept for heddle */
static struct heddle_event* kept(uint64_t number) {
  return (struct heddle_event*)((char*)rt.block + rt.block->layout.events) + number;
}

static uint64_t second_of(const struct rt_op* op) {
  if (op->second == NULL) return 0;
  const uint32_t sync = op->kind - (uint32_t)HEDDLE_EVENT_sync;
  if (sync >= HEDDLE_SYNC_thread_create && sync <= HEDDLE_SYNC_thread_join_cxx)
    return ((const struct rt_thread*)op->second)->index;
  if (sync == HEDDLE_SYNC_file_wait && op->size != HEDDLE_PART_none) return *(const uint64_t*)op->second;
  return (uint64_t)(uintptr_t)op->second;
}

static void write_event(uint64_t number, const struct rt_thread* thread) {
  *kept(number) = (struct heddle_event){.site = thread->op.site,
                                        .thread = (uint16_t)thread->index,
                                        .kind = (uint8_t)thread->op.kind,
                                        .order = thread->op.order & 0x7f,
                                        .drained = thread->drained,
                                        .address = (uint64_t)(uintptr_t)thread->op.object,
                                        .size = thread->op.size,
                                        .second = second_of(&thread->op)};
}

void rt_keep_event(struct rt_thread* self) {
  if (RT_LIKELY(!rt.plan.keep_events)) return;
  struct heddle_result* result = &rt.block->result;
  if (result->kept_events == rt.block->layout.events_capacity) return;
  self->last.event = result->kept_events++;
  write_event(self->last.event, self);
  self->drained = false;
  for (uint32_t i = 0; i < HEDDLE_CONTROL_MARKED; ++i)
    if (RT_UNLIKELY(rt.events == rt.plan.marked[i])) rt_keep_stack(&result->marked[i]);
}

void rt_keep_pending(const struct rt_thread* but) {
  if (!rt.plan.keep_events) return;
  struct heddle_result* result = &rt.block->result;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    const struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread == but) continue;
    if (result->kept_events + result->pending_events == rt.block->layout.events_capacity) return;
    write_event(result->kept_events + result->pending_events++, thread);
  }
}

/* The words of memory that an event has moved: [from, from + size) holds what is at `address`. Of a run that is
 * followed nobody asks for them, and those of a large block would leave no room for events. */
static void keep_data(const struct rt_thread* self, uint64_t address, const uint8_t* from, uint64_t size,
                      bool written) {
  if (RT_LIKELY(!rt.plan.keep_events) || rt.plan.keep_moves) return;
  struct heddle_result* result = &rt.block->result;
  while (size > 0 && result->kept_events < rt.block->layout.events_capacity) {
    uint64_t piece = 8 - address % 8;
    if (piece > size) piece = size;
    uint64_t word = 0;
    memcpy(&word, from, piece);
    *kept(result->kept_events++) = (struct heddle_event){.site = self->op.site,
                                                         .thread = (uint16_t)self->index,
                                                         .kind = HEDDLE_EVENT_data,
                                                         .order = written,
                                                         .address = address,
                                                         .size = piece,
                                                         .value = word};
    address += piece;
    from += piece;
    size -= piece;
  }
}

void rt_keep_data(const struct rt_thread* self, const void* at, uint64_t size, bool written) {
  keep_data(self, (uint64_t)(uintptr_t)at, at, size, written);
}

static bool is_large(uint64_t address, uint64_t size) {
  return address % 8 + size > 8;
}

/* What others need to know of a synchronisation object, beside what was done to it. */
static uint64_t number_of(const struct rt_thread* self) {
  const struct rt_op* op = &self->op;
  const uint32_t sync = op->kind - (uint32_t)HEDDLE_EVENT_sync;
  if (sync == HEDDLE_SYNC_thread_end) return (uint64_t)(uintptr_t)self->result;
  if (sync == HEDDLE_SYNC_thread_cancel && op->second != NULL)
    return ((const struct rt_thread*)op->second)->cancel_type == PTHREAD_CANCEL_ASYNCHRONOUS;
  if (sync >= HEDDLE_SYNC_thread_join && sync <= HEDDLE_SYNC_thread_timedjoin && op->size == HEDDLE_PART_result)
    return (uint64_t)(uintptr_t)((const struct rt_thread*)op->second)->result;
  if (sync >= HEDDLE_SYNC_mutex_init && sync < HEDDLE_SYNC_cond_init)
    return (uint32_t)((const pthread_mutex_t*)op->object)->__data.__kind |
           (rt_mutex_lost(op->object) ? HEDDLE_MUTEX_LOST : 0);
  if (sync >= HEDDLE_SYNC_rwlock_init && sync < HEDDLE_SYNC_spin_init)
    return ((const pthread_rwlock_t*)op->object)->__data.__flags;
  if (sync >= HEDDLE_SYNC_barrier_init && sync <= HEDDLE_SYNC_sem_getvalue && sync != HEDDLE_SYNC_sem_open)
    return *(const uint32_t*)op->object;
  if (sync == HEDDLE_SYNC_key_create) return *(const pthread_key_t*)op->object;
  return 0;
}

void rt_keep_value(struct rt_thread* self, uint64_t value) {
  if (RT_LIKELY(!rt.plan.keep_events) || self->last.event >= rt.block->result.kept_events) return;
  struct heddle_event* event = kept(self->last.event);
  if (event->kind < HEDDLE_EVENT_sync && event->kind != HEDDLE_EVENT_update) {
    event->value = value;
    return;
  }
  event->after = value;
  if (event->kind >= HEDDLE_EVENT_sync) event->value = number_of(self);
}

/* ---- spin loops: a thread that reads what it has read before, and changes nothing, waits for others */
void rt_note_read(struct rt_thread* self, uint32_t site, const void* at, const void* frame, uint64_t value) {
  for (uint32_t i = 0; i < self->read_count; ++i) {
    struct rt_read* read = &self->reads[i];
    if (read->at != at || read->site != site || read->frame != frame) continue;
    if (read->value != value) {
      read->value = value;
      read->seen = 1;
    } else if (++read->seen >= 3) {
      rt_set_spinning(self, true);
    }
    return;
  }
  if (self->read_count == RT_READS) {
    self->read_count = 0;
    self->reads_lost = true;
  }
  self->reads[self->read_count++] =
      (struct rt_read){.at = at, .frame = frame, .value = value, .site = site, .seen = 1};
}

static void progress(struct rt_thread* self) {
  self->read_count = 0;
  self->reads_lost = false;
  if (self->spinning) rt_set_spinning(self, false);
}

/* ---- ranges of memory that a library call works on */
#define MAX_RANGES 16
#define LARGEST_RANGE (1ull << 40)
RT_STATE static struct range {
  const void* at;
  uint64_t size, limit;
  bool writes;
} ranges[MAX_RANGES];
RT_STATE static uint32_t range_count;

/* How far a string goes is decided when the call happens, not when it is announced. */
static uint64_t extent(const struct range* range) {
  uint64_t size = 0;
  switch (range->size) {
    case HEDDLE_SIZE_STRING:
      while (size < range->limit && ((const char*)range->at)[size++] != 0) {
      }
      return size;
    case HEDDLE_SIZE_WIDE_STRING:
      while (size < range->limit && ((const wchar_t*)range->at)[size++] != 0) {
      }
      return size * sizeof(wchar_t);
    case HEDDLE_SIZE_OBJECT:
      return 1;
    default:
      return range->size;
  }
}

/* Of the call that is under way: there is one at most, since nobody else runs until it has come back. */
RT_STATE static struct range open_ranges[MAX_RANGES];
RT_STATE static uint32_t open_range_count;

static void keep_written_ranges(const struct rt_thread* self) {
  for (uint32_t i = 0; i < open_range_count; ++i)
    if (open_ranges[i].writes && open_ranges[i].size != HEDDLE_SIZE_OBJECT)
      keep_data(self, (uint64_t)(uintptr_t)open_ranges[i].at, open_ranges[i].at, extent(&open_ranges[i]), true);
  open_range_count = 0;
}

void rt_access_begin_execution(void) {
  range_count = open_range_count = 0; /* the last execution may have ended in the middle of a call */
}

void rt_settle(struct rt_thread* self) {
  if (!self->last.open) return;
  self->last.open = false;
  const uint64_t value = self->last.kind == HEDDLE_EVENT_sync || self->last.kind == HEDDLE_EVENT_call
                             ? 0
                             : value_at(self->last.at, self->last.size);
  switch (self->last.kind) {
    case HEDDLE_EVENT_write:
      rt_value(self, self->last.site, value);
      rt_keep_value(self, value);
      if (is_large(self->last.address, self->last.size))
        keep_data(self, self->last.address, self->last.at, self->last.size, true);
      if (self->last.buffered) {
        progress(self);
      } else if (value != self->last.before) {
        progress(self);
        rt_changed(self->last.at, self->last.size);
      }
      break;
    case HEDDLE_EVENT_update:
      rt_value(self, self->last.site, value);
      rt_keep_value(self, value);
      if (is_large(self->last.address, self->last.size))
        keep_data(self, self->last.address, self->last.at, self->last.size, true);
      if (value == self->last.before) {
        rt_note_read(self, self->last.site, self->last.at, self->last.frame, value);
      } else {
        progress(self);
        rt_changed(self->last.at, self->last.size);
      }
      break;
    default: /* synchronisation, library calls */
      keep_written_ranges(self);
      progress(self);
      rt_changed(NULL, 0);
  }
}

/* ---- hooks */
static inline struct rt_thread* access_op(enum heddle_event_kind kind, const void* at, uint64_t size,
                                          uint32_t site, uint32_t order) {
  struct rt_thread* self = rt.current;
  if (RT_UNLIKELY(rt_signal_pending(self))) rt_deliver_signals(self);
  self->op =
      (struct rt_op){.kind = (uint16_t)kind, .order = (uint8_t)order, .site = site, .object = at, .size = size};
  return self;
}

/* What a write is about to overwrite: heddle learns from it what memory is like before anybody writes. */
static void keep_before(const struct rt_thread* self, uint64_t value) {
  if (RT_LIKELY(!rt.plan.keep_events) || self->last.event >= rt.block->result.kept_events) return;
  kept(self->last.event)->after = value;
}

static void open_access(struct rt_thread* self, enum heddle_event_kind kind, const void* at, uint64_t size,
                        uint64_t before, bool buffered, const void* frame) {
  self->last.kind = (uint8_t)kind;
  self->last.open = true;
  self->last.buffered = buffered;
  self->last.at = at;
  self->last.size = size;
  self->last.address = (uint64_t)(uintptr_t)self->op.object;
  self->last.site = self->op.site;
  self->last.frame = frame;
  self->last.before = before;
}

static inline void* read_access(const void* at, uint64_t size, uint32_t site, uint32_t order) {
  if (!rt.active || size == 0) return (void*)(uintptr_t)at;
  struct rt_thread* self = access_op(HEDDLE_EVENT_read, at, size, site, order);
  rt_decide(self);
  rt_heap_check(at, size, site);
  void* from = self->oldest == NULL ? (void*)(uintptr_t)at : rt_forward(self, at, size);
  const uint64_t value = value_at(from, size);
  rt_value(self, site, value);
  rt_keep_value(self, value);
  if (is_large((uint64_t)(uintptr_t)at, size)) keep_data(self, (uint64_t)(uintptr_t)at, from, size, false);
  rt_note_read(self, site, at, __builtin_frame_address(0), value);
  return from;
}

/* A bad address fails here and not when the store becomes visible, in the middle of something else. */
static void touch(uint8_t* at) {
  __asm__ volatile("lock orb $0, %0" : "+m"(*at)); /* others may share the memory with the program */
}

static inline void* write_access(void* at, uint64_t size, uint32_t site, uint32_t order) {
  if (!rt.active || size == 0) return at;
  struct rt_thread* self = access_op(HEDDLE_EVENT_write, at, size, site, order);
  rt_decide(self);
  rt_heap_check(at, size, site);
  const bool release = order == HEDDLE_ORDER_release || order == HEDDLE_ORDER_acq_rel;
  if (rt.plan.memory_model == HEDDLE_MODEL_sc || order == HEDDLE_ORDER_seq_cst || size > RT_LARGEST_STORE) {
    rt_drain(self);
    const uint64_t before = value_at(at, size);
    keep_before(self, before);
    open_access(self, HEDDLE_EVENT_write, at, size, before, false, __builtin_frame_address(0));
    return at;
  }
  touch(at);
  touch((uint8_t*)at + size - 1);
  keep_before(self, value_at(at, size));
  if (self->buffered == (rt.plan.buffer_limit != 0 ? rt.plan.buffer_limit : 64))
    rt_flush_one(self, self->oldest);
  struct rt_store* store = rt_buffer_store(self, at, size, site, release);
  open_access(self, HEDDLE_EVENT_write, store->bytes, size, 0, true, __builtin_frame_address(0));
  return store->bytes;
}

void* heddle_control_read(const void* at, uint64_t size, uint32_t site) {
  return read_access(at, size, site, HEDDLE_ORDER_plain);
}

void* heddle_control_write(void* at, uint64_t size, uint32_t site) {
  return write_access(at, size, site, HEDDLE_ORDER_plain);
}

void* heddle_control_atomic_read(const void* at, uint64_t size, uint32_t site, uint32_t order) {
  return read_access(at, size, site, order);
}

void* heddle_control_atomic_write(void* at, uint64_t size, uint32_t site, uint32_t order) {
  return write_access(at, size, site, order);
}

void* heddle_control_update(void* at, uint64_t size, uint32_t site, uint32_t order) {
  if (!rt.active) return at;
  struct rt_thread* self = access_op(HEDDLE_EVENT_update, at, size, site, order);
  rt_decide(self);
  rt_heap_check(at, size, site);
  rt_drain(self);
  const uint64_t before = value_at(at, size);
  if (rt.plan.keep_events && self->last.event < rt.block->result.kept_events)
    kept(self->last.event)->value = before;
  if (is_large((uint64_t)(uintptr_t)at, size)) keep_data(self, (uint64_t)(uintptr_t)at, at, size, false);
  open_access(self, HEDDLE_EVENT_update, at, size, before, false, __builtin_frame_address(0));
  return at;
}

/* Acquire fences have nothing to do: loads happen in order. Release fences matter where stores may overtake. */
void heddle_control_fence(uint32_t site, uint32_t order) {
  if (!rt.active) return;
  struct rt_thread* self = access_op(HEDDLE_EVENT_fence, NULL, 0, site, order);
  rt_decide(self);
  if (order == HEDDLE_ORDER_seq_cst) rt_drain(self);
  if ((order == HEDDLE_ORDER_release || order == HEDDLE_ORDER_acq_rel) && self->youngest != NULL)
    self->barrier = self->youngest->number + 1;
}

void heddle_control_in_place(const void* at, uint64_t size, uint32_t site, uint32_t writes) {
  if (!rt.active || size == 0) return;
  /* As if it were atomic: it is not buffered. */
  struct rt_thread* self =
      access_op(writes ? HEDDLE_EVENT_write : HEDDLE_EVENT_read, at, size, site, HEDDLE_ORDER_seq_cst);
  rt_decide(self);
  rt_heap_check(at, size, site);
  rt_drain(self);
  const uint64_t value = value_at(at, size);
  if (writes) {
    open_access(self, HEDDLE_EVENT_write, at, size, value, false, __builtin_frame_address(0));
    return;
  }
  rt_value(self, site, value);
  rt_keep_value(self, value);
  if (is_large((uint64_t)(uintptr_t)at, size)) keep_data(self, (uint64_t)(uintptr_t)at, at, size, false);
  rt_note_read(self, site, at, __builtin_frame_address(0), value);
}

static struct rt_thread* before_assembly(uint32_t site) {
  struct rt_thread* self = access_op(HEDDLE_EVENT_call, NULL, 0, site, HEDDLE_CALL_object);
  rt_decide(self);
  rt_drain(self);
  return self;
}

void heddle_control_assembly_load(const void* at, uint64_t size, uint32_t site) {
  if (!rt.active) return;
  struct rt_thread* self = before_assembly(site);
  rt_heap_check(at, size, site);
  rt_note_read(self, site, at, __builtin_frame_address(0), value_at(at, size));
}

void heddle_control_assembly(uint32_t site) {
  if (!rt.active) return;
  struct rt_thread* self = before_assembly(site);
  open_access(self, HEDDLE_EVENT_call, NULL, 0, 0, false, __builtin_frame_address(0));
}

void heddle_control_own(const void* at, uint64_t size) {
  if (!rt.active || rt.current->oldest == NULL) return;
  rt_flush_overlapping(rt.current, at, size);
}

extern const char __executable_start, etext;

static bool in_program(const void* code) {
  return (const char*)code >= &__executable_start && (const char*)code < &etext;
}

static void leave_program(struct rt_thread* self) {
  self->drained = true;
  rt_drain(self);
}

void heddle_control_leave(const void* target) {
  if (!rt.active || rt.plan.memory_model == HEDDLE_MODEL_sc) return;
  if (!in_program(target)) leave_program(rt.current);
}

void heddle_control_frame_end(const void* limit) {
  if (!rt.active || rt.plan.memory_model == HEDDLE_MODEL_sc) return;
  if (rt.current->oldest != NULL)
    rt_forget_stack(rt.current, limit != NULL ? limit : __builtin_frame_address(0));
  if (limit != NULL && !in_program(*(const void* const*)limit)) leave_program(rt.current);
}

/* ---- library calls */
/* Libraries take numbers in the place of objects that they give no address: std::filesystem::path keeps what
 * kind of path it is in the bits of a null pointer, MAP_FAILED and the like are -1. */
static bool is_no_object(const void* at) {
  return (uint64_t)(uintptr_t)at + 4096 < 2 * 4096;
}

void heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes) {
  if (!rt.active || at == NULL || size == 0 || range_count == MAX_RANGES) return;
  if (size == HEDDLE_SIZE_OBJECT && is_no_object(at)) return;
  if (size < HEDDLE_SIZE_OBJECT && size > LARGEST_RANGE) size = HEDDLE_SIZE_OBJECT; /* memchr(p, c, SIZE_MAX) */
  ranges[range_count++] = (struct range){.at = at, .size = size, .limit = limit, .writes = writes != 0};
}

/* One event for the whole call. It sees buffered stores of its own thread only after they became visible, so
 * they do when it touches them or writes. */
void heddle_control_call(uint32_t site) {
  if (!rt.active || range_count == 0) return;
  struct range mine[MAX_RANGES];
  const uint32_t count = range_count;
  memcpy(mine, ranges, sizeof(struct range) * count);
  range_count = 0;
  bool writes = false, object = count == MAX_RANGES;
  for (uint32_t i = 0; i < count; ++i) {
    writes |= mine[i].writes;
    object |= mine[i].size == HEDDLE_SIZE_OBJECT;
  }
  const bool plain = count == 1 && mine[0].size < HEDDLE_SIZE_OBJECT;
  const void* first = mine[0].at; /* the object, if there is one */
  for (uint32_t i = count; i-- > 0;)
    if (mine[i].size == HEDDLE_SIZE_OBJECT) first = mine[i].at;
  const enum heddle_call_order order = object   ? HEDDLE_CALL_object
                                       : writes ? HEDDLE_CALL_writes
                                                : HEDDLE_CALL_reads;
  struct rt_thread* self = access_op(HEDDLE_EVENT_call, first, plain ? mine[0].size : 1, site, order);
  rt_decide(self);
  if (writes) rt_drain(self);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t least = mine[i].size >= HEDDLE_SIZE_OBJECT ? 1 : mine[i].size;
    rt_heap_check(mine[i].at, least, site);
    if (self->oldest != NULL &&
        (mine[i].size >= HEDDLE_SIZE_OBJECT || rt_overlaps_buffer(self, mine[i].at, least)))
      rt_drain(self);
    const uint64_t size = extent(&mine[i]);
    rt_heap_check(mine[i].at, size, site);
    if (!mine[i].writes) {
      rt_value(self, site, value_at(mine[i].at, size));
      if (mine[i].size != HEDDLE_SIZE_OBJECT)
        keep_data(self, (uint64_t)(uintptr_t)mine[i].at, mine[i].at, size, false);
    }
  }
  if (!writes) return;
  memcpy(open_ranges, mine, sizeof(struct range) * count);
  open_range_count = count;
  open_access(self, HEDDLE_EVENT_call, NULL, 0, 0, false, __builtin_frame_address(0));
}

void rt_heap_event(void* at, uint64_t size) {
  if (!rt.active) return;
  struct rt_thread* self = access_op(HEDDLE_EVENT_call, at, size, heddle_control_site, HEDDLE_CALL_frees);
  rt_decide(self);
  rt_drain(self);
  open_access(self, HEDDLE_EVENT_call, NULL, 0, 0, false, __builtin_frame_address(0));
}

/* What a block held has gone along with it: nobody ran since the event at its release, so both belong to that
 * one. */
void rt_heap_moved(const void* from, const void* to, uint64_t size) {
  if (!rt.active || size == 0) return;
  struct rt_thread* self = rt.current;
  rt_value(self, self->op.site, value_at(from, size));
  keep_data(self, (uint64_t)(uintptr_t)from, from, size, false);
  open_ranges[0] = (struct range){.at = to, .size = size, .writes = true};
  open_range_count = 1;
}

void heddle_control_blocking(uint32_t site, const char* name) {
  if (!rt.active) return;
  struct heddle_control_block* block = rt.block;
  block->running_site = site;
  strncpy(block->running_name, name, sizeof block->running_name - 1);
  block->running_call = 1;
}

void heddle_control_blocking_done(void) {
  if (rt.active) rt.block->running_call = 0;
}
