/* The access hooks of the variant record-order, for tests: what threads do to shared memory happens one after
 * the other, and is written down in that order with its values. The rest of the runtime is that of recording.
 *
 * A thread holds one lock from the hook of an access until its next hook, or until it leaves the program or
 * synchronises; so the access, which follows the hook, is inside. A library call that accesses memory is inside
 * too. Whoever holds it for long (a call that waits, a thread that died) loses it; what it does then is marked.
 * All this takes the place of store buffers (runtime/record/buffers.c), whose hooks stand in the right places.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "abi/control.h"
#include "abi/hooks.h"
#include "abi/order.h"
#include "runtime/record/runtime.h"

/* bytes of the file that are mapped at a time: whole entries, whole pages */
#define PIECE (4096 * sizeof(struct heddle_order_entry))
#define LONG_HELD 200000000ull /* ticks */

RT_TLS uint32_t heddle_control_site;

static struct {
  _Alignas(64) uint32_t holder; /* 0: nobody */
  uint64_t since;
  uint64_t last; /* stamp */
} lock;

static RT_TLS struct {
  uint32_t number; /* of this thread, from 1 */
  uint64_t file_end, random;
  struct heddle_order_entry *next, *end;
  struct heddle_order_entry* open; /* of the access that the thread is at */
  uint32_t ranges;
  bool holds;
} mine;
static uint32_t threads;

static void yield(void) {
  RT_SYS0(SYS_sched_yield);
}

static void take_lock(void) {
  for (uint32_t tries = 0;; ++tries) {
    uint32_t nobody = 0;
    if (__atomic_compare_exchange_n(&lock.holder, &nobody, mine.number, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      break;
    /* `nobody` is who holds it now */
    const uint64_t since = __atomic_load_n(&lock.since, __ATOMIC_RELAXED), now = rt_tsc();
    if (now > since && now - since > LONG_HELD &&
        __atomic_compare_exchange_n(&lock.holder, &nobody, mine.number, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      break;
    if (tries % 64 == 63) yield();
  }
  uint64_t now = rt_tsc();
  if (now <= lock.last) now = lock.last + 1;
  lock.last = now;
  __atomic_store_n(&lock.since, now, __ATOMIC_RELAXED);
  mine.holds = true;
}

/* Whether it was held all the time. */
static bool release_lock(void) {
  mine.holds = false;
  uint32_t me = mine.number;
  return __atomic_compare_exchange_n(&lock.holder, &me, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static uint64_t word_at(const void* at, uint64_t size) {
  uint64_t word = 0;
  memcpy(&word, at, size < 8 ? size : 8);
  return word;
}

/* The access that the thread was at has happened. */
static void settle(void) {
  if (!mine.holds) return;
  struct heddle_order_entry* const entry = mine.open;
  mine.open = NULL;
  if (entry != NULL && entry->kind == HEDDLE_EVENT_write)
    entry->value = word_at((const void*)(uintptr_t)entry->address, entry->size);
  if (entry != NULL && entry->kind == HEDDLE_EVENT_update)
    entry->after = word_at((const void*)(uintptr_t)entry->address, entry->size);
  if (!release_lock() && entry != NULL) entry->lost = 1;
}

static bool map_piece(void) {
  char path[RT_PATH_SIZE];
  rt_log_path(&rt_self->log, ".order", path);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  const long grown = RT_SYS2(SYS_ftruncate, fd, mine.file_end + PIECE);
  const long mapped =
      grown < 0 ? grown : RT_SYS6(SYS_mmap, NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, mine.file_end);
  RT_SYS1(SYS_close, fd);
  if (mapped < 0 && mapped >= -4095) return false;
  mine.next = (struct heddle_order_entry*)mapped;
  mine.end = mine.next + PIECE / sizeof(struct heddle_order_entry);
  mine.file_end += PIECE;
  return true;
}

static void begin(enum heddle_event_kind kind, const void* at, uint64_t size, uint32_t site) {
  if (!rt.buffered || rt_now == NULL || rt_now->level != 0) return;
  settle();
  if (mine.number == 0) {
    mine.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    mine.random = rt_thread_seed(rt_self);
  }
  /* Who has the lock would often get it again. */
  const uint64_t draw = rt_next_random(&mine.random) % 64;
  if (draw == 0) rt_rest(&mine.random);
  if (draw < 16) yield();
  if (mine.next == mine.end && !map_piece()) return;
  take_lock();
  struct heddle_order_entry* const entry = mine.next++;
  entry->site = site;
  entry->kind = (uint8_t)kind;
  entry->address = (uint64_t)(uintptr_t)at;
  entry->size = size;
  if (kind == HEDDLE_EVENT_read || kind == HEDDLE_EVENT_update) entry->value = word_at(at, size);
  if (kind == HEDDLE_EVENT_write) (void)*(volatile const uint8_t*)at;
  RT_ORDER();
  entry->tsc = lock.last;
  mine.open = entry;
}

void* heddle_control_read(const void* at, uint64_t size, uint32_t site) {
  if (size != 0) begin(HEDDLE_EVENT_read, at, size, site);
  return (void*)(uintptr_t)at;
}

void* heddle_control_write(void* at, uint64_t size, uint32_t site) {
  if (size != 0) begin(HEDDLE_EVENT_write, at, size, site);
  return at;
}

void* heddle_control_atomic_read(const void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)order;
  return heddle_control_read(at, size, site);
}

void* heddle_control_atomic_write(void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)order;
  return heddle_control_write(at, size, site);
}

void* heddle_control_update(void* at, uint64_t size, uint32_t site, uint32_t order) {
  (void)order;
  begin(HEDDLE_EVENT_update, at, size, site);
  return at;
}

void heddle_control_fence(uint32_t site, uint32_t order) {
  (void)order;
  begin(HEDDLE_EVENT_fence, NULL, 0, site);
}

void heddle_control_in_place(const void* at, uint64_t size, uint32_t site, uint32_t writes) {
  if (size != 0) begin(writes ? HEDDLE_EVENT_write : HEDDLE_EVENT_read, at, size, site);
}

void heddle_control_assembly(uint32_t site) {
  begin(HEDDLE_EVENT_call, NULL, 0, site);
}

void heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes) {
  (void)limit;
  (void)writes;
  if (at != NULL && size != 0) ++mine.ranges;
}

void heddle_control_call(uint32_t site) {
  if (mine.ranges != 0) begin(HEDDLE_EVENT_call, NULL, 0, site);
  mine.ranges = 0;
}

void heddle_control_blocking(uint32_t site, const char* name) {
  (void)site;
  (void)name;
  settle();
}

void heddle_control_leave(const void* target) {
  (void)target;
  if (mine.open == NULL || mine.open->kind != HEDDLE_EVENT_call) settle();
}

void heddle_control_blocking_done(void) {}
void heddle_control_own(const void* at, uint64_t size) {
  (void)at;
  (void)size;
}
void heddle_control_frame_end(const void* limit) {
  (void)limit;
}

/* ---- what the recording runtime asks of store buffers */
void rt_drain_current(void) {
  settle();
}
void rt_drain(struct rt_buffer* buffer) {
  (void)buffer;
  settle();
}
/* The access that the thread is at may be what interrupted it. */
void rt_interrupt_buffer(struct rt_buffer* buffer) {
  (void)buffer;
  if (mine.open != NULL) mine.open->lost = 1;
  settle();
}
void rt_end_buffer(struct rt_log* log) {
  (void)log;
  settle();
}
void rt_unwind_buffers(struct rt_log* to, const void* caller) {
  (void)to;
  (void)caller;
  settle();
}
void rt_begin_buffer(struct rt_log* log) {
  (void)log;
}
