/* The heap. The address of a block follows from what its own thread has allocated and freed before, never from
 * other threads: each thread takes new blocks from its own part of the address space, and keeps what it frees,
 * whoever had allocated it. No lock, and the same addresses in a replay.
 *
 * Programs with memory errors look at, and write to, what lies beside a block and what was freed. So nothing
 * that the heap needs lies there: of what class a block is stands in a table far away, which blocks are free in
 * lists of their own. Between blocks are 16 bytes that the heap never writes, the fence: its words stand for
 * the state of the block behind it, so that who frees a block twice does so in the same order in a replay.
 *
 * Accesses to memory that only its own thread can reach are no events, and are judged by the object that they
 * are meant for. So blocks for such objects, the private ones, lie at the other end of the thread's part:
 * memory that was private stays so, and who accesses a block after it was freed meets other events there, not
 * private accesses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

#define FENCE 16
#define UNIT 16              /* blocks begin at multiples of it */
#define SMALL_CLASSES 64     /* up to 1024 bytes */
#define RECYCLED (64 * 1024) /* larger blocks are taken over as they are used */
/* What the table says of 16 bytes. A class: a block begins here. */
#define NO_BLOCK 0
#define PRIVATE 253 /* the fence of a private block */
#define ALIGNED 254 /* so does one for the program, inside of the block that begins below */
#define FREED 255
#define TABLE 0x400000000000ull

/* Eight classes for each doubling. */
static uint32_t class_of(uint64_t size) {
  if (size <= UNIT * SMALL_CLASSES) return (uint32_t)((size + UNIT - 1) / UNIT);
  const uint32_t top = 63 - (uint32_t)__builtin_clzll(size - 1);
  const uint64_t step = 1ull << (top - 3);
  return SMALL_CLASSES + (top - 10) * 8 + (uint32_t)((size - 1 - (1ull << top)) / step) + 1;
}

static uint64_t size_of(uint32_t c) {
  if (c <= SMALL_CLASSES) return (uint64_t)c * UNIT;
  const uint32_t top = 10 + (c - SMALL_CLASSES - 1) / 8, part = (c - SMALL_CLASSES - 1) % 8 + 1;
  return (1ull << top) + part * (1ull << (top - 3));
}

/* Before the first thread is known, for threads that foreign code makes, and for what libc allocates for itself
 * when it makes and ends threads: when and by whom that is freed depends on real time. */
#define COMMON (HEDDLE_FLOW_SLOTS - 1)
static struct rt_fl_local common = {.slot = COMMON};
static bool common_busy;

/* Twice as much memory is used as without recording, words beside granules: with huge pages it is found as
 * fast. Where a thread uses little these would only be a waste. */
#define LITTLE (4ull << 20)
static void use_huge_pages(uint64_t begin, uint64_t end) {
  RT_SYS3(SYS_madvise, begin, end - begin, MADV_HUGEPAGE);
}

/* Before that it comes in pieces: a fault for each page, two for words, which are read before they are written,
 * took a twentieth of the time of a server that ran for half a second. (Linux 5.14; before, page by page.) */
#define PIECE (128ull << 10)
static void populate(struct rt_fl_local* local) {
  if (local->heap_present >= rt_fl_slot_base(local->slot) + HEDDLE_FLOW_SLOT_SIZE / 2 + LITTLE) return;
  RT_SYS3(SYS_madvise, local->heap_present, PIECE, MADV_POPULATE_WRITE);
  const uint64_t words = ((local->heap_present ^ HEDDLE_FLOW_SHADOW) + HEDDLE_FLOW_ASIDE) & ~4095ull;
  RT_SYS3(SYS_madvise, words, PIECE, MADV_POPULATE_WRITE);
  local->heap_present += PIECE;
}

static uint8_t* entry_of(uint64_t at) {
  return (uint8_t*)(TABLE + (at - HEDDLE_FLOW_BASE) / UNIT);
}

static void map_at(uint64_t at, uint64_t size) {
  RT_SYS6(SYS_mmap, at, size, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Private blocks do not end with a page. A large one, of whole pages, would begin with one: what is read from a
 * file to a few bytes behind the beginning of a page the kernel copies 15 times slower than elsewhere (AMD). */
#define NO_PAGE 2048

void rt_fl_heap_begin(struct rt_fl_local* local) {
  const uint64_t size = HEDDLE_FLOW_SLOT_SIZE / 2, begin = rt_fl_slot_base(local->slot) + size,
                 end = begin + size;
  local->heap_next = begin + FENCE;
  local->heap_present = begin;
  local->heap_end = end - NO_PAGE;
  map_at(begin, size);
  map_at((uint64_t)(uintptr_t)entry_of(begin), size / UNIT);
  use_huge_pages(begin + LITTLE, end - LITTLE);
  use_huge_pages((begin + LITTLE) ^ HEDDLE_FLOW_SHADOW, (end - LITTLE) ^ HEDDLE_FLOW_SHADOW);
}

static struct rt_fl_local* lock_common(void) {
  while (__atomic_exchange_n(&common_busy, true, __ATOMIC_ACQUIRE)) RT_SYS0(SYS_sched_yield);
  if (common.heap_next == 0) rt_fl_heap_begin(&common);
  return &common;
}

static struct rt_fl_local* lock_heap(void) {
  return rt_fl_local != NULL && rt_fl_local->depth == 0 ? rt_fl_local : lock_common();
}

static void unlock_heap(const struct rt_fl_local* local) {
  if (local == &common) __atomic_store_n(&common_busy, false, __ATOMIC_RELEASE);
}

/* ---- blocks that are free, by class; the last one first */
static void keep(struct rt_fl_blocks* blocks, void* block) {
  if (blocks->count == blocks->room) {
    const uint32_t room = blocks->room == 0 ? 512 : 2 * blocks->room;
    void** const more = rt_map_memory(room * sizeof *more);
    if (more == NULL) rt_no_memory();
    if (blocks->room != 0) {
      memcpy(more, blocks->blocks, blocks->count * sizeof *more);
      RT_SYS2(SYS_munmap, blocks->blocks, blocks->room * sizeof *more);
    }
    blocks->blocks = more;
    blocks->room = room;
  }
  blocks->blocks[blocks->count++] = block;
}

/* Nobody has seen the block. */
static uint64_t new_block(struct rt_fl_local* local, uint32_t c, bool private) {
  const uint64_t bytes = size_of(c) + FENCE;
  if (local->heap_end - local->heap_next < bytes) return 0;
  if (private) {
    local->heap_end -= bytes;
    *entry_of(local->heap_end) = PRIVATE;
    return local->heap_end + FENCE;
  }
  local->heap_next += bytes;
  if (local->heap_next > local->heap_present) populate(local);
  return local->heap_next - bytes;
}

static bool is_private(uint64_t block) {
  return *entry_of(block - FENCE) == PRIVATE;
}

static bool begin_block(uint64_t block, uint64_t accessed, uint64_t size) {
  return !is_private(block) && rt_fl_begin_block((const void*)(block - FENCE), FENCE + accessed, FENCE + size);
}

static void* allocate(uint64_t size, bool zero) {
  const bool private = heddle_flow_private != 0;
  heddle_flow_private = 0;
  if (size > HEDDLE_FLOW_SLOT_SIZE / 4) {
    errno = ENOMEM;
    return NULL;
  }
  const uint32_t c = class_of(size == 0 ? 1 : size);
  struct rt_fl_local* const local = lock_heap();
  struct rt_fl_blocks* const free = &local->free[private][c];
  const bool again = free->count != 0;
  const uint64_t block =
      again ? (uint64_t)(uintptr_t)free->blocks[--free->count] : new_block(local, c, private);
  unlock_heap(local);
  if (block == 0) {
    errno = ENOMEM;
    return NULL;
  }
  if (!private && size_of(c) <= RECYCLED) rt_fl_settle_block((const void*)(block - FENCE), FENCE + size_of(c));
  /* Somebody may still know it: that it is in use again is an event. */
  const bool event = again && begin_block(block, 0, 0);
  *entry_of(block) = (uint8_t)c;
  rt_fl_end_block(event);
  if (again && zero) {
    if (private)
      memset((void*)block, 0, size);
    else
      rt_fl_clear_event((void*)block, size);
  }
  return (void*)block;
}

/* The block that the bytes are in: where nothing begins, the next one below, if it is not far. */
#define FAR (1u << 22)
static uint64_t begin_of(uint64_t at) {
  if (at % UNIT != 0 || at - HEDDLE_FLOW_BASE >= HEDDLE_FLOW_SLOTS * HEDDLE_FLOW_SLOT_SIZE ||
      at % HEDDLE_FLOW_SLOT_SIZE < HEDDLE_FLOW_SLOT_SIZE / 2 + FENCE)
    return 0;
  for (uint32_t i = 0; i < FAR && at % HEDDLE_FLOW_SLOT_SIZE >= HEDDLE_FLOW_SLOT_SIZE / 2; ++i, at -= UNIT)
    if (*entry_of(at) != NO_BLOCK && *entry_of(at) != ALIGNED && *entry_of(at) != PRIVATE) return at;
  return 0;
}

RT_FL_ENTRY(malloc);
void* rt_do_malloc(size_t size);
void* rt_do_malloc(size_t size) {
  return allocate(size, false);
}

RT_FL_ENTRY(calloc);
void* rt_do_calloc(size_t count, size_t size);
void* rt_do_calloc(size_t count, size_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return allocate(bytes, true);
}

static void refuse(const char* text) { /* as libc does */
  RT_SYS3(SYS_write, 2, text, strlen(text));
  abort();
}

static bool has_fence(uint64_t begin) {
  const uint64_t* const fence = (const uint64_t*)(begin - FENCE);
  return (fence[0] | fence[1]) == 0;
}

RT_FL_ENTRY(free);
void rt_do_free(void* block);
void rt_do_free(void* block) {
  if (block == NULL) return;
  const uint64_t at = (uint64_t)(uintptr_t)block, begin = begin_of(at);
  if (begin == 0) refuse("free(): invalid pointer\n");
  /* Somebody may still access it, or free it too: an event like any other. What it is about is certain inside
   * only, so its size may be another one by then. */
  const uint64_t before = size_of(*entry_of(begin)), size = before <= RECYCLED ? before : UNIT;
  const bool event = begin_block(begin, UNIT, size);
  const uint32_t c = *entry_of(begin);
  const bool whole = has_fence(begin), known = begin == at || *entry_of(at) == ALIGNED;
  if (c != FREED && whole && known) {
    *entry_of(at) = NO_BLOCK;
    *entry_of(begin) = FREED;
    *(uint64_t*)begin = begin >> 12; /* not what was there, as libc leaves it */
  }
  rt_fl_end_block(event);
  if (c == FREED) refuse("free(): double free detected\n");
  if (!whole || !known) refuse("free(): invalid pointer\n");
  struct rt_fl_local* const local = begin >= rt_fl_slot_base(COMMON) ? lock_common() : lock_heap();
  keep(&local->free[is_private(begin)][c], (void*)begin);
  unlock_heap(local);
}

/* 0: it is none. */
static uint64_t usable(const void* block) {
  const uint64_t at = (uint64_t)(uintptr_t)block, begin = begin_of(at);
  if (begin == 0 || *entry_of(begin) == FREED) return 0;
  return begin + size_of(*entry_of(begin)) - at;
}

size_t malloc_usable_size(void* block) {
  return block == NULL ? 0 : usable(block);
}

RT_FL_ENTRY(realloc);
void* rt_do_realloc(void* block, size_t size);
void* rt_do_realloc(void* block, size_t size) {
  if (block == NULL) return malloc(size);
  const uint64_t begin = begin_of((uint64_t)(uintptr_t)block);
  if (begin == 0) refuse("realloc(): invalid pointer\n");
  const bool event = begin_block(begin, 0, 0);
  const size_t have = usable(block);
  rt_fl_end_block(event);
  if (have == 0) refuse("realloc(): invalid pointer\n");
  if (size != 0 && size <= have && size >= have / 2) return block;
  heddle_flow_private |= is_private(begin);
  void* const other = malloc(size);
  if (other == NULL) return NULL;
  if (is_private(begin))
    memcpy(other, block, have < size ? have : size);
  else
    rt_fl_copy_event(other, block, have < size ? have : size);
  free(block);
  return other;
}

RT_FL_ENTRY(reallocarray);
void* rt_do_reallocarray(void* block, size_t count, size_t size);
void* rt_do_reallocarray(void* block, size_t count, size_t size) {
  uint64_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, bytes);
}

static void* aligned(size_t alignment, size_t size) {
  if (alignment <= UNIT) return malloc(size);
  char* const block = malloc(size + alignment);
  if (block == NULL) return NULL;
  const uint64_t at = ((uint64_t)(uintptr_t)block + alignment - 1) & ~(uint64_t)(alignment - 1);
  if (at != (uint64_t)(uintptr_t)block) *entry_of(at) = ALIGNED;
  return (void*)at;
}

RT_FL_ENTRY(memalign);
void* rt_do_memalign(size_t alignment, size_t size);
void* rt_do_memalign(size_t alignment, size_t size) {
  return aligned(alignment, size);
}
RT_FL_ENTRY(aligned_alloc);
void* rt_do_aligned_alloc(size_t alignment, size_t size);
void* rt_do_aligned_alloc(size_t alignment, size_t size) {
  return aligned(alignment, size);
}
RT_FL_ENTRY(valloc);
void* rt_do_valloc(size_t size);
void* rt_do_valloc(size_t size) {
  return aligned(4096, size);
}
RT_FL_ENTRY(pvalloc);
void* rt_do_pvalloc(size_t size);
void* rt_do_pvalloc(size_t size) {
  return aligned(4096, (size + 4095) & ~4095ull);
}
RT_FL_ENTRY(posix_memalign);
int rt_do_posix_memalign(void** to, size_t alignment, size_t size);
int rt_do_posix_memalign(void** to, size_t alignment, size_t size) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const block = aligned(alignment, size);
  if (block == NULL) return ENOMEM;
  *to = block;
  return 0;
}
