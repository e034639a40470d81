/* Entries of the data stream: entries into the program, results of calls, synchronisation, bytes that calls
 * wrote.
 *
 * enter, sync and returned run often: they make no system call and call nothing outside the runtime.
 */
#include <string.h>
#include <sys/uio.h>
#include <wchar.h>

#include "abi/sync_kind.h"
#include "runtime/record/runtime.h"

static const uint8_t sync_objects[HEDDLE_SYNC_count] = {
#define RT_OBJECTS(name, objects) [HEDDLE_SYNC_##name] = objects,
    HEDDLE_SYNC_KINDS(RT_OBJECTS)
#undef RT_OBJECTS
};
_Static_assert(HEDDLE_RECORD_sync + HEDDLE_SYNC_count <= 256, "a tag is one byte");

static uint8_t* put_reference(struct rt_log* log, uint8_t* to, uint64_t address) {
  const uint64_t place = (address >> 3) % 255;
  if (log->references[place] == address) {
    *to++ = (uint8_t)place;
    return to;
  }
  log->references[place] = address;
  *to++ = 255;
  return rt_fixed(to, address, 8);
}

static uint8_t* put_stamp(struct rt_log* log, uint8_t* to) {
  const uint64_t now = RT_UNLIKELY(rt.sync_order) ? rt_next_in_order() : rt_tsc();
  const uint64_t units = now > log->last_stamp ? (now - log->last_stamp) / HEDDLE_RECORD_STAMP_UNIT : 0;
  log->last_stamp += units * HEDDLE_RECORD_STAMP_UNIT;
  return rt_varint(to, units);
}

/* ---- entries of a few bytes */
uint32_t heddle_record_enter(uint32_t function) {
  if (RT_UNLIKELY(heddle_record_state.word == NULL)) rt_begin_unseen_thread();
  const uint32_t from_outside = heddle_record_state.called == 0;
  heddle_record_state.called = 0;
  uint8_t* to = rt_room();
  *to++ = from_outside ? HEDDLE_RECORD_enter_from_outside : HEDDLE_RECORD_enter;
  rt_written(rt_varint(to, function));
  return from_outside;
}

static struct rt_log* log_of_level(uint32_t level) {
  return level == 0 ? &rt_self->log : rt_self->handlers[level];
}

/* Has the handler that this log is of been left for a frame here? It may run on a stack of its own. */
static bool is_left(const struct rt_log* log, uint64_t frame) {
  const struct rt_thread* const self = log->thread;
  const bool from_own = self->stack_low <= log->frame && log->frame < self->stack_high;
  const bool to_own = self->stack_low <= frame && frame < self->stack_high;
  return from_own == to_own ? frame > log->frame : to_own;
}

/* An exception, or the end of the thread, may have come out of a handler into the code that it interrupted. */
void heddle_record_landed(uint32_t invoke) {
  while (RT_UNLIKELY(rt_now->level != 0) && is_left(rt_now, (uint64_t)(uintptr_t)__builtin_frame_address(0)))
    rt_return_to(log_of_level(rt_now->level - 1), (const uint8_t*)__builtin_frame_address(0) + 16);
  heddle_record_state.called = 0; /* a handler may have come between a call through a pointer and its target */
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_landed;
  rt_written(rt_varint(to, invoke));
}

void heddle_record_foreign(const void* target) {
  struct rt_log* const log = rt_begin_entry();
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_foreign;
  rt_written(put_reference(log, to, (uint64_t)(uintptr_t)target));
  rt_end_entry(log);
}

void heddle_record_sync(uint32_t kind, const void* object, const void* second, const void* third) {
  if (RT_UNLIKELY(rt.buffered)) rt_drain_current();
  if (RT_UNLIKELY(rt.chaos)) rt_disturb(rt_self, __builtin_return_address(0));
  if (RT_UNLIKELY(kind == HEDDLE_SYNC_thread_join_cxx || kind == HEDDLE_SYNC_thread_detach_cxx))
    object = *(void* const*)object;
  if (RT_UNLIKELY(kind == HEDDLE_SYNC_cond_wait_cxx)) second = *(void* const*)second;
  const unsigned objects = kind < HEDDLE_SYNC_count ? sync_objects[kind] : 0;
  struct rt_log* const log = rt_begin_entry();
  if (RT_UNLIKELY(kind == HEDDLE_SYNC_thread_setcancel)) log->cancellable = true;
  uint8_t* to = rt_room();
  *to++ = (uint8_t)(HEDDLE_RECORD_sync + kind);
  if (objects > 0) to = put_reference(log, to, (uint64_t)(uintptr_t)object);
  if (objects > 1) to = put_reference(log, to, (uint64_t)(uintptr_t)second);
  if (objects > 2) to = put_reference(log, to, (uint64_t)(uintptr_t)third);
  if (heddle_sync_releases(kind) && rt.clock) to = put_stamp(log, to);
  rt_written(to);
  rt_end_entry(log);
}

void heddle_record_returned(uint64_t result, uint32_t bytes, uint32_t flags) {
  struct rt_log* const log = rt_begin_entry();
  uint8_t* to = rt_room();
  uint8_t* const tag = to++;
  *tag = HEDDLE_RECORD_returned;
  if ((flags & HEDDLE_RECORD_returned_errno) != 0 && *rt_self->errno_at != log->last_errno) {
    log->last_errno = *rt_self->errno_at;
    *tag |= HEDDLE_RECORD_returned_errno;
    to = rt_varint(to, (uint32_t)log->last_errno);
  }
  if ((flags & HEDDLE_RECORD_returned_stamp) != 0 && rt.clock) {
    *tag |= HEDDLE_RECORD_returned_stamp;
    to = put_stamp(log, to);
  }
  if (result != 0) {
    to = rt_fixed(to, result, bytes);
  } else if (bytes != 0) {
    *tag |= HEDDLE_RECORD_returned_zero;
  }
  rt_written(to);
  rt_end_entry(log);
}

/* ---- calls that return twice. The mark: bit 63: has returned; 4 bits level of the log, 19 bits number of
 * returns, 40 bits position of the entry of the first return. A jump out of a signal handler is noticed here:
 * the level of the mark is not the current one. */
#define HAS_RETURNED (1ull << 63)
#define COUNT_LIMIT ((1u << 19) - 1)
#define POSITION_MASK ((1ull << 40) - 1)
_Static_assert(RT_LEVELS < 16, "a level has 4 bits in a mark");

void heddle_record_twice_begin(uint64_t* mark) {
  *mark = (uint64_t)rt_now->level << 59;
}

void heddle_record_twice(uint64_t* mark, uint32_t call, uint32_t result) {
  struct rt_log* const log = log_of_level((uint32_t)(*mark >> 59) & 15);
  if (RT_UNLIKELY(log != rt_now)) rt_return_to(log, (const uint8_t*)__builtin_frame_address(0) + 16);
  heddle_record_state.called =
      0; /* a handler may have jumped here between a call through a pointer and its target */
  rt_begin_entry();
  const bool again = (*mark & HAS_RETURNED) != 0;
  uint32_t count = 0;
  if (again) {
    count = (uint32_t)(*mark >> 40) & COUNT_LIMIT;
    if (count < COUNT_LIMIT) ++count;
  }
  uint8_t* to = rt_room();
  const uint64_t position = rt_data_position(rt_now, &heddle_record_state);
  *to++ = HEDDLE_RECORD_twice;
  to = rt_varint(to, call);
  to = rt_varint(to, count);
  const uint64_t first = again ? *mark & POSITION_MASK : position & POSITION_MASK;
  if (count != 0) to = rt_varint(to, (position - first) & POSITION_MASK);
  rt_written(rt_fixed(to, result, 4));
  *mark = HAS_RETURNED | (uint64_t)log->level << 59 | (uint64_t)count << 40 | first;
  rt_end_entry(log);
}

/* ---- bytes. With NO_INPUTS zeros take their place: lengths and positions are as ever. */
static void put_bytes(const void* from, uint64_t size) {
  const uint8_t* at = from;
  while (size > 0) {
    struct heddle_record_chunk* const chunk = heddle_record_state.data;
    const uint64_t room = chunk->size - chunk->used;
    if (room == 0) {
      heddle_record_next_data();
      continue;
    }
    const uint64_t part = size < room ? size : room;
    uint8_t* const to = (uint8_t*)chunk + chunk->used;
    if (rt.no_inputs)
      memset(to, 0, part);
    else
      memcpy(to, at, part);
    rt_written(to + part);
    at += part;
    size -= part;
  }
}

static void begin_bytes(uint64_t size) {
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_bytes;
  rt_written(rt_varint(to, size));
}

void rt_put_range(const void* at, uint64_t size) {
  if (at == NULL) size = 0;
  begin_bytes(size);
  put_bytes(at, size);
}

/* The parts that were filled: the first `bytes` of all. */
static void put_vector(const struct iovec* parts, uint64_t elements, uint64_t bytes) {
  if (parts == NULL) bytes = 0;
  uint64_t there = 0;
  for (uint64_t i = 0; i < elements && there < bytes; ++i) there += parts[i].iov_len;
  if (there < bytes) bytes = there;
  begin_bytes(bytes);
  for (uint64_t i = 0; bytes > 0; ++i) {
    const uint64_t part = parts[i].iov_len < bytes ? parts[i].iov_len : bytes;
    put_bytes(parts[i].iov_base, part);
    bytes -= part;
  }
}

uint64_t rt_string_size(const char* text, uint64_t limit) {
  const uint64_t length = strnlen(text, limit);
  return length < limit ? length + 1 : limit;
}

uint64_t rt_wide_string_size(const wchar_t* text, uint64_t limit) {
  const uint64_t length = wcsnlen(text, limit / sizeof *text);
  const uint64_t size = (length + 1) * sizeof *text;
  return size < limit ? size : limit;
}

void heddle_record_range(const void* at, uint64_t size, uint32_t how, uint32_t source_kind, uint64_t source,
                         int64_t offset) {
  if (at == NULL) size = 0;
  switch (how) {
    case HEDDLE_RANGE_iovec:
      put_vector(at, size >> 48, size & ((1ull << 48) - 1));
      return;
    case HEDDLE_RANGE_pointee:
      if (size > 0) size = *(const uint32_t*)size;
      break;
    case HEDDLE_RANGE_string:
      if (size > 0) size = rt_string_size(at, size);
      break;
    case HEDDLE_RANGE_wide_string:
      if (size > 0) size = rt_wide_string_size(at, size);
      break;
    default:
      if (source_kind == HEDDLE_SOURCE_offset) size = rt_size_in_file((int)source, offset, size);
      if (size >= RT_BY_REFERENCE && !rt.no_inputs && !rt_now->sink &&
          rt_by_reference(at, size, source_kind, source, offset))
        return;
  }
  rt_put_range(at, size);
}
