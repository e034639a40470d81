/* record --memory-model: store buffers simulated in software, so that what TSO and PSO allow happens often
 * (CLAP section 6). The rules are those of the control runtime (runtime/control/buffers.c), so that replay
 * knows the same executions; here threads run at the same time on all processors.
 *
 * A buffer belongs to one log and so to one thread: nothing of it is shared, and no lock or fence is needed. A
 * store waits in it with its value and is carried out at a later hook of the same thread. TSO carries out
 * oldest first. PSO lets a store go before older ones, unless they overlap or a release stands between. To
 * carry out early is always allowed, so whatever is difficult ends in carrying out, in order. The processor
 * below has a store buffer too (x86 is TSO): it keeps the order of what is carried out, and what empties ours
 * (fences, locked instructions) is followed by the program's own instruction, which empties that one.
 *
 * Time passes with the accesses of the thread: after a random number of them some stores are carried out, those
 * of a thread that only reads too. How patient a buffer is changes by phases.
 *
 * Signals. A handler has a buffer of its own, that of its log. What the interrupted code has stored must be
 * there for it, and must not overtake what the handler stores; so all of it is carried out before the handler
 * runs, as processors do, and the handler's when it ends. Two moments need care:
 * - The buffer is being worked on (`busy`). Then the signal waits until the hook is done (signals.c). Faults
 *   cannot wait; they only come where a store is carried out, and by then it is no longer in the buffer, which
 * is as it should be; the instruction is tried again when the handler returns.
 * - A hook has given out a place but the program's instruction has not written the value yet (`open`). The
 * place was filled with what will hardly be stored, so the value tells whether the store has happened; if not
 * it stays for after the handler, which does not see it. Stores of more than 8 bytes are not one instruction:
 * they stay too, but what is there of them is carried out for the handler. They are filled with what the memory
 * held.
 */
#include "runtime/record/buffers.h"

#include "runtime/record/runtime.h"

/* ---- bytes. Targets may have any alignment and type; volatile: one store instruction each. */
typedef uint16_t __attribute__((aligned(1), may_alias)) any16;
typedef uint32_t __attribute__((aligned(1), may_alias)) any32;
typedef uint64_t __attribute__((aligned(1), may_alias)) any64;

static void store_bytes(uint8_t* to, const uint8_t* from, uint64_t size) {
  switch (size) {
    case 1:
      *(volatile uint8_t*)to = *from;
      return;
    case 2:
      *(volatile any16*)to = *(const any16*)from;
      return;
    case 4:
      *(volatile any32*)to = *(const any32*)from;
      return;
    default:
      for (; size >= 8; size -= 8, to += 8, from += 8) *(volatile any64*)to = *(const any64*)from;
      for (; size > 0; --size) *(volatile uint8_t*)to++ = *from++;
  }
}

static bool equal(const uint8_t* a, const uint8_t* b, uint64_t size) {
  for (uint64_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

/* ---- stores in the buffer */
static struct rt_store* store_at(struct rt_buffer* buffer, uint32_t position) {
  return &buffer->stores[buffer->order[position]];
}

static uint8_t* value_at(struct rt_buffer* buffer, uint32_t position) {
  return buffer->values[buffer->order[position]] + ((uintptr_t)store_at(buffer, position)->at & 63);
}

static bool overlap(const struct rt_store* store, const void* at, uint64_t size) {
  const uint8_t* const from = at;
  return store->at < from + size && from < store->at + store->size;
}

static void remove_store(struct rt_buffer* buffer, uint32_t position) {
  buffer->taken &= ~(1ull << buffer->order[position]);
  --buffer->count;
  for (uint32_t i = position; i < buffer->count; ++i) buffer->order[i] = buffer->order[i + 1];
}

/* Memory is written when the buffer no longer knows the store: a fault finds it in order. */
static void carry_out(struct rt_buffer* buffer, uint32_t position) {
  const struct rt_store store = *store_at(buffer, position);
  uint8_t value[RT_LARGEST_STORE];
  store_bytes(value, value_at(buffer, position), store.size);
  remove_store(buffer, position);
  RT_ORDER();
  store_bytes(store.at, value, store.size);
  RT_ORDER();
}

void rt_carry_all(struct rt_buffer* buffer) {
  while (buffer->count != 0) carry_out(buffer, 0);
}

void rt_carry_overlapping(struct rt_buffer* buffer, const void* at, uint64_t size) {
  uint32_t wanted = buffer->count;
  while (wanted > 0 && !overlap(store_at(buffer, wanted - 1), at, size)) --wanted;
  for (; wanted > 0 && buffer->count > 0; --wanted) carry_out(buffer, 0);
}

/* ---- when, and which */
static uint32_t below(struct rt_buffer* buffer, uint32_t limit) {
  return (uint32_t)(rt_next_random(&buffer->random) >> 32) % limit;
}

static void draw_wait(struct rt_buffer* buffer) {
  static const uint32_t patience[] = {1, 2, 4, 16, 128, 1024};
  if (buffer->phase == 0) {
    buffer->phase = 1 + below(buffer, 64);
    buffer->patience = patience[below(buffer, sizeof patience / sizeof patience[0])];
  }
  --buffer->phase;
  buffer->wait = 1 + below(buffer, buffer->patience);
}

static bool may_overtake(struct rt_buffer* buffer, uint32_t position) {
  const struct rt_store* const store = store_at(buffer, position);
  for (uint32_t i = 0; i < position; ++i) {
    const struct rt_store* const older = store_at(buffer, i);
    if (older->number < store->barrier || overlap(older, store->at, store->size)) return false;
  }
  return true;
}

/* The oldest is often among those chosen, so that none stays for ever. */
static void carry_some_store(struct rt_buffer* buffer) {
  uint32_t position = 0;
  if (rt.pso && below(buffer, 4) != 0) position = below(buffer, buffer->count);
  carry_out(buffer, may_overtake(buffer, position) ? position : 0);
}

void rt_pass_time(struct rt_buffer* buffer) {
  if (buffer->count == 0 || --buffer->wait > 0) return;
  uint32_t number = below(buffer, 2) == 0 ? 1 : 1 + below(buffer, buffer->count);
  for (; number > 0 && buffer->count > 0; --number) carry_some_store(buffer);
  draw_wait(buffer);
}

/* ---- accesses */
/* Of up to 8 bytes the complement of what is there: hardly any store turns every bit. */
static void fill(struct rt_buffer* buffer, const uint8_t* at, uint64_t size) {
  const uint8_t turned = size <= RT_ONE_STORE ? 0xff : 0;
  for (uint64_t i = 0; i < size; ++i) buffer->filled[i] = *(const volatile uint8_t*)(at + i) ^ turned;
}

uint8_t* rt_add_store(struct rt_buffer* buffer, void* at, uint64_t size, bool release) {
  if (size > RT_ONE_STORE) rt_carry_overlapping(buffer, at, size);
  if (buffer->count == RT_STORES) carry_some_store(buffer);
  if (buffer->count == 0) draw_wait(buffer);
  fill(buffer, at, size);
  const uint32_t place = (uint32_t)__builtin_ctzll(~buffer->taken);
  const uint64_t number = ++buffer->next_number;
  buffer->stores[place] = (struct rt_store){
      .at = at, .size = size, .number = number, .barrier = release ? number : buffer->barrier};
  buffer->taken |= 1ull << place;
  buffer->order[buffer->count++] = (uint8_t)place;
  buffer->open = true;
  uint8_t* const value = value_at(buffer, buffer->count - 1);
  store_bytes(value, buffer->filled, size);
  return value;
}

void* rt_find_value(struct rt_buffer* buffer, const void* at, uint64_t size) {
  for (uint32_t position = buffer->count; position-- > 0;) {
    const struct rt_store* const store = store_at(buffer, position);
    if (!overlap(store, at, size)) continue;
    const uint8_t* const from = at;
    if (store->at <= from && from + size <= store->at + store->size)
      return value_at(buffer, position) + (from - store->at);
    rt_carry_overlapping(buffer, at, size);
    break;
  }
  return (void*)(uintptr_t)at;
}

/* ---- frames that end. The runtime's own frames lie below `limit` now, where older ones may have been. */
__attribute__((noinline)) void rt_forget_frames(struct rt_buffer* buffer, const void* limit) {
  const uint8_t* const low = (const uint8_t*)__builtin_frame_address(0) - HEDDLE_RECORD_PAGE;
  const uint64_t size = (uint64_t)((const uint8_t*)limit - low);
  for (uint32_t position = buffer->count; position-- > 0;)
    if (overlap(store_at(buffer, position), low, size)) remove_store(buffer, position);
}

/* ---- beginnings and ends */
void rt_begin_buffer(struct rt_log* log) {
  log->buffer.random = rt_thread_seed(log->thread) + log->level;
}

void rt_drain(struct rt_buffer* buffer) {
  if (RT_LIKELY(buffer->count == 0)) return;
  rt_begin_work(buffer);
  buffer->open = false;
  rt_carry_all(buffer);
  rt_end_work(buffer);
}

/* That a store waits is noticed only by threads that run meanwhile, and short threads hardly meet: a thread
 * with stores that wait stops for a moment now and then, often in its beginning. So that others see some of its
 * stores and not the rest, some are carried out before that, also where all of them will be at once. */
void rt_rest_with_stores(struct rt_buffer* buffer) {
  if (buffer->count == 0) return;
  if (buffer->rests == 0) {
    rt_begin_work(buffer);
    buffer->open = false;
    uint32_t number = buffer->count > 1 && below(buffer, 2) == 0 ? 1 + below(buffer, buffer->count - 1) : 0;
    for (; number > 0; --number) carry_some_store(buffer);
    rt_end_work(buffer);
    rt_rest(&buffer->random);
    buffer->rested += buffer->rested < 64;
    buffer->rests = 1 + below(buffer, buffer->rested < 64 ? 3 : 4000);
  }
  --buffer->rests;
}

void rt_drain_current(void) {
  if (rt_now == NULL) return;
  rt_rest_with_stores(&rt_now->buffer);
  rt_drain(&rt_now->buffer);
}

static bool has_happened(struct rt_buffer* buffer) { /* the youngest store, if it is open */
  const uint32_t last = buffer->count - 1;
  return !equal(value_at(buffer, last), buffer->filled, store_at(buffer, last)->size);
}

void rt_interrupt_buffer(struct rt_buffer* buffer) {
  if (buffer->count == 0) return;
  rt_begin_work(buffer);
  while (buffer->count > 1) carry_out(buffer, 0);
  if (!buffer->open) {
    rt_carry_all(buffer);
  } else if (buffer->count == 1 && has_happened(buffer)) {
    const struct rt_store* const store = store_at(buffer, 0);
    if (store->size <= RT_ONE_STORE)
      carry_out(buffer, 0);
    else
      store_bytes(store->at, value_at(buffer, 0), store->size);
  }
  rt_end_work(buffer);
}

void rt_end_buffer(struct rt_log* log) {
  struct rt_buffer* const buffer = &log->buffer;
  const struct rt_thread* const thread = log->thread;
  if (buffer->count == 0) return;
  rt_begin_work(buffer);
  for (uint32_t position = buffer->count; position-- > 0;)
    if (overlap(store_at(buffer, position), (const void*)(uintptr_t)thread->stack_low,
                thread->stack_high - thread->stack_low))
      remove_store(buffer, position);
  rt_end_work(buffer);
  rt_rest_with_stores(buffer);
  rt_begin_work(buffer);
  rt_carry_all(buffer);
  rt_end_work(buffer);
}

void rt_unwind_buffers(struct rt_log* to, const void* caller) {
  struct rt_thread* const thread = to->thread;
  for (uint32_t level = to->level; level <= rt_now->level; ++level) {
    struct rt_buffer* const buffer = level == 0 ? &thread->log.buffer : &thread->handlers[level]->buffer;
    rt_begin_work(buffer);
    if (buffer->open && buffer->count != 0 && !has_happened(buffer)) remove_store(buffer, buffer->count - 1);
    buffer->open = false;
    rt_forget_frames(buffer, caller);
    rt_carry_all(buffer);
    rt_end_work(buffer);
  }
}
