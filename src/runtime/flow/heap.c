/* The heap. The address of a block follows from what its own thread has allocated and freed before, never from
 * other threads: each thread takes new blocks from its own part of the address space, and keeps what it frees,
 * whoever had allocated it. No lock, and the same addresses in a replay.
 *
 * A block has 16 bytes before it: its size class, and for aligned blocks where it really begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

struct head {
  uint32_t size_class;
  uint32_t offset; /* from the real beginning to this head */
  uint64_t magic;
};
#define MAGIC 0x70616568656c6468ull
#define FREED 0x6565726665686468ull
#define SMALL_STEP 16
#define SMALL_CLASSES 64     /* up to 1024 bytes */
#define RECYCLED (64 * 1024) /* larger blocks are taken over as they are used */

/* Eight classes for each doubling. */
static uint32_t class_of(uint64_t size) {
  if (size <= SMALL_STEP * SMALL_CLASSES) return (uint32_t)((size + SMALL_STEP - 1) / SMALL_STEP);
  const uint32_t top = 63 - (uint32_t)__builtin_clzll(size - 1);
  const uint64_t step = 1ull << (top - 3);
  return SMALL_CLASSES + (top - 10) * 8 + (uint32_t)((size - 1 - (1ull << top)) / step) + 1;
}

static uint64_t size_of(uint32_t c) {
  if (c <= SMALL_CLASSES) return (uint64_t)c * SMALL_STEP;
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

void rt_fl_heap_begin(struct rt_fl_local* local) {
  local->heap_next = rt_fl_slot_base(local->slot) + HEDDLE_FLOW_SLOT_SIZE / 2;
  local->heap_end = local->heap_next + HEDDLE_FLOW_SLOT_SIZE / 2;
  RT_SYS6(SYS_mmap, local->heap_next, local->heap_end - local->heap_next, PROT_READ | PROT_WRITE,
          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  use_huge_pages(local->heap_next + LITTLE, local->heap_end);
  use_huge_pages((local->heap_next + LITTLE) ^ HEDDLE_FLOW_SHADOW, local->heap_end ^ HEDDLE_FLOW_SHADOW);
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

static struct head* head_of(void* block) {
  return (struct head*)block - 1;
}

static void* allocate(uint64_t size, bool zero) {
  if (size > HEDDLE_FLOW_SLOT_SIZE / 4) {
    errno = ENOMEM;
    return NULL;
  }
  const uint32_t c = class_of(size == 0 ? 1 : size);
  struct rt_fl_local* const local = lock_heap();
  void* block = local->free[c];
  if (block != NULL) {
    local->free[c] = *(void**)block;
    unlock_heap(local);
    head_of(block)->magic = MAGIC;
    if (size_of(c) <= RECYCLED) rt_fl_settle_block(block, size_of(c));
    if (zero) rt_fl_clear_event(block, size);
    return block;
  }
  const uint64_t bytes = size_of(c) + sizeof(struct head);
  if (local->heap_end - local->heap_next < bytes) {
    unlock_heap(local);
    errno = ENOMEM;
    return NULL;
  }
  struct head* const head = (struct head*)local->heap_next;
  local->heap_next += bytes;
  unlock_heap(local);
  *head = (struct head){.size_class = c, .offset = 0, .magic = MAGIC};
  if (size_of(c) <= RECYCLED) rt_fl_settle_block(head + 1, size_of(c));
  return head + 1;
}

static void* begin_of(void* block) {
  return (char*)block - head_of(block)->offset;
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

static void refuse(uint64_t magic) { /* as libc does */
  const char* const text = magic == FREED ? "free(): double free detected\n" : "free(): invalid pointer\n";
  RT_SYS3(SYS_write, 2, text, strlen(text));
  abort();
}

RT_FL_ENTRY(free);
void rt_do_free(void* block);
void rt_do_free(void* block) {
  if (block == NULL) return;
  if (head_of(block)->magic != MAGIC) refuse(head_of(block)->magic);
  void* const begin = begin_of(block);
  struct head* const head = head_of(begin);
  head_of(block)->magic = head->magic = FREED;
  struct rt_fl_local* const local =
      (uint64_t)(uintptr_t)begin >= rt_fl_slot_base(COMMON) ? lock_common() : lock_heap();
  /* Somebody may still access it: an event like any other. */
  const uint64_t size = size_of(head->size_class);
  rt_fl_free_event(begin, size <= RECYCLED ? size : sizeof(void*), &local->free[head->size_class]);
  local->free[head->size_class] = begin;
  unlock_heap(local);
}

size_t malloc_usable_size(void* block) {
  if (block == NULL) return 0;
  return size_of(head_of(begin_of(block))->size_class) - head_of(block)->offset;
}

RT_FL_ENTRY(realloc);
void* rt_do_realloc(void* block, size_t size);
void* rt_do_realloc(void* block, size_t size) {
  if (block == NULL) return malloc(size);
  const size_t have = malloc_usable_size(block);
  if (size != 0 && size <= have && size >= have / 2) return block;
  void* const other = malloc(size);
  if (other == NULL) return NULL;
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
  if (alignment <= 16) return malloc(size);
  char* const block = malloc(size + alignment + sizeof(struct head));
  if (block == NULL) return NULL;
  const uint64_t at = ((uint64_t)(uintptr_t)block + alignment - 1) & ~(uint64_t)(alignment - 1);
  if (at == (uint64_t)(uintptr_t)block) return block;
  struct head* const head = head_of((void*)at);
  *head = (struct head){.size_class = 0, .offset = (uint32_t)(at - (uint64_t)(uintptr_t)block), .magic = MAGIC};
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
