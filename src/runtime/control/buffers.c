/* Store buffers: TSO and PSO as machines (huang-dissertation section 3.2.1; Sewell et al., CACM 2010).
 *
 * A store enters the buffer of its thread and becomes visible by a flush, which is a decision of the schedule.
 * TSO flushes oldest first. PSO has a buffer per location: a store may overtake older ones, unless they overlap
 * (then memory would end with the older value), or a release comes between: a release store waits for
 * everything older, and everything younger than a release fence waits for everything older than it (`barrier`).
 *
 * Loads see the thread's own stores, byte by byte, the youngest first.
 */
#include <string.h>

#include "runtime/control/control.h"

/* Memory of stores is reused by size; larger ones are not buffered (access.c). */
static const uint64_t kSizes[] = {64, RT_LARGEST_STORE};
#define SIZES (sizeof kSizes / sizeof kSizes[0])

RT_STATE static struct rt_store* free_stores[SIZES];
RT_STATE static uint8_t* put_together; /* for one load at a time */
RT_STATE static uint64_t next_number;

void rt_buffers_begin_execution(void) {
  memset(free_stores, 0, sizeof free_stores);
  next_number = 1;
  put_together = NULL;
}

static struct rt_store* new_store(uint64_t size) {
  const uint32_t class = size <= kSizes[0] ? 0 : 1;
  struct rt_store* store = free_stores[class];
  if (store != NULL) {
    free_stores[class] = store->next;
    return store;
  }
  const uint64_t head = offsetof(struct rt_store, bytes);
  const uintptr_t memory = (uintptr_t)rt_scratch(sizeof *store + kSizes[class] + 64);
  store = (struct rt_store*)(((memory + head + 63) & ~(uintptr_t)63) -
                             head); /* the program's store may be aligned */
  store->class = class;
  return store;
}

struct rt_store* rt_buffer_store(struct rt_thread* self, void* at, uint64_t size, uint32_t site, bool release) {
  struct rt_store* store = new_store(size);
  store->next = NULL;
  store->number = next_number++;
  store->barrier = release ? store->number : self->barrier;
  store->priority = rt_next_random(&rt.random) >> 1;
  store->at = at;
  store->size = size;
  store->site = site;
  store->occurrence = rt.plan.guided ? rt_guide_count(self, site, HEDDLE_TARGET_write) : 0;
  if (self->youngest != NULL)
    self->youngest->next = store;
  else
    self->oldest = store;
  self->youngest = store;
  ++self->buffered;
  return store;
}

static bool overlap(const struct rt_store* store, const void* at, uint64_t size) {
  const uint8_t* from = at;
  return store->at < from + size && from < store->at + store->size;
}

static bool holds_back(const struct rt_store* older, const struct rt_store* younger) {
  return older->number < younger->barrier || overlap(older, younger->at, younger->size);
}

struct rt_store* rt_first_to_flush(const struct rt_thread* thread, struct rt_store* wanted) {
  for (struct rt_store* older = thread->oldest; older != wanted;) {
    if (holds_back(older, wanted)) {
      wanted = older;
      older = thread->oldest;
    } else {
      older = older->next;
    }
  }
  return wanted;
}

bool rt_may_flush(const struct rt_thread* thread, const struct rt_store* store) {
  for (const struct rt_store* older = thread->oldest; older != store; older = older->next)
    if (holds_back(older, store)) return false;
  return true;
}

static void remove_store(struct rt_thread* thread, struct rt_store* store) {
  struct rt_store* before = NULL;
  if (store != thread->oldest)
    for (before = thread->oldest; before->next != store;) before = before->next;
  if (before != NULL)
    before->next = store->next;
  else
    thread->oldest = store->next;
  if (thread->youngest == store) thread->youngest = before;
  --thread->buffered;
  store->next = free_stores[store->class];
  free_stores[store->class] = store;
}

/* A store that becomes visible after its block was freed is a use after free by the thread that stored. */
static void check_block(struct rt_thread* thread, const struct rt_store* store) {
  if ((uint64_t)(uintptr_t)store->at - RT_HEAP_BASE >= RT_HEAP_SIZE) return;
  struct rt_thread* current = rt.current;
  const uint32_t site = thread->op.site;
  rt.current = thread;
  thread->op.site = store->site;
  rt_heap_check(store->at, store->size, store->site);
  thread->op.site = site;
  rt.current = current;
}

void rt_flush_one(struct rt_thread* thread, struct rt_store* store) {
  rt_settle(thread); /* its value may not have been looked at yet */
  check_block(thread, store);
  if (memcmp(store->at, store->bytes, store->size) != 0) {
    memcpy(store->at, store->bytes, store->size);
    rt_changed(store->at, store->size);
  }
  remove_store(thread, store);
}

void rt_forget_stack(struct rt_thread* thread, const void* limit) {
  rt_settle(thread);
  const uint8_t* low = rt_stack_low(thread);
  for (struct rt_store *store = thread->oldest, *next; store != NULL; store = next) {
    next = store->next;
    if (store->at >= low && store->at < (const uint8_t*)limit) remove_store(thread, store);
  }
}

void rt_drain(struct rt_thread* thread) {
  while (thread->oldest != NULL) rt_flush_one(thread, thread->oldest);
}

void rt_flush_overlapping(struct rt_thread* thread, const void* at, uint64_t size) {
  for (struct rt_store *store = thread->oldest, *next; store != NULL; store = next) {
    next = store->next;
    if (overlap(store, at, size)) rt_flush_one(thread, store);
  }
}

bool rt_overlaps_buffer(const struct rt_thread* thread, const void* at, uint64_t size) {
  for (const struct rt_store* store = thread->oldest; store != NULL; store = store->next)
    if (overlap(store, at, size)) return true;
  return false;
}

void* rt_forward(struct rt_thread* self, const void* at, uint64_t size) {
  const struct rt_store* youngest = NULL;
  for (struct rt_store* store = self->oldest; store != NULL; store = store->next)
    if (overlap(store, at, size)) youngest = store;
  if (youngest == NULL) return (void*)(uintptr_t)at;
  const uint8_t* from = at;
  if (youngest->at == from && size <= youngest->size) return (void*)(uintptr_t)youngest->bytes;
  /* Parts of it, put together in memory that is aligned like the original. */
  if (put_together == NULL) put_together = rt_scratch(RT_LARGEST_STORE + 128);
  uint8_t* copy = size <= RT_LARGEST_STORE ? put_together : rt_scratch(size + 128);
  copy = (uint8_t*)(((uintptr_t)copy + 63) & ~(uintptr_t)63) + ((uintptr_t)at & 63);
  memcpy(copy, at, size);
  for (const struct rt_store* store = self->oldest; store != NULL; store = store->next) {
    if (!overlap(store, at, size)) continue;
    const uint8_t* low = store->at > from ? store->at : from;
    const uint8_t* high = store->at + store->size < from + size ? store->at + store->size : from + size;
    memcpy(copy + (low - from), store->bytes + (low - store->at), (size_t)(high - low));
  }
  return copy;
}

/* ---- names of locations */
extern char __executable_start, _end;

bool rt_place_of(const void* at, struct heddle_place* place) {
  memset(place, 0, sizeof *place);
  if (rt_heap_place(at, place) || rt_mapping_place(at, place)) return true;
  const uint64_t address = (uint64_t)(uintptr_t)at;
  const bool inside = (const char*)at >= &__executable_start && (const char*)at < &_end;
  *place = (struct heddle_place){.kind = inside ? HEDDLE_PLACE_program : HEDDLE_PLACE_address,
                                 .offset = inside ? address - rt.base : address};
  return true;
}

bool rt_place_matches(const struct heddle_place* place, const void* at) {
  if (place->kind == HEDDLE_PLACE_address) return place->offset == (uint64_t)(uintptr_t)at;
  struct heddle_place found;
  rt_place_of(at, &found);
  return memcmp(place, &found, sizeof found) == 0;
}
