/* Arenas: where blocks lie, and how they rest when freed. See heap.h.
 *
 * One thread of the program runs at a time, so nothing here is locked.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/heap.h"

/* Of each arena: how much may rest before the oldest is handed out again. Large blocks have given their pages
 * back, they cost addresses only. */
#define RESTING_SMALL (64ull << 20)
#define ROOM_TIGHT (4ull << 20) /* an arena from HEAP_ROOMY on */
#define COMMIT_STEP (1ull << 20)

RT_STATE static bool prepared;

/* ---- the mapping */
static _Noreturn void no_memory(void) {
  static const char text[] =
      "heddle: no address space for the controlled heap (1.1 TiB, not reserved); is it limited, "
      "as by 'ulimit -v'?\n";
  RT_SYS3(SYS_write, STDERR_FILENO, text, sizeof text - 1);
  RT_SYS1(SYS_exit_group, 3);
  __builtin_trap();
}

static void make_accessible(uint64_t from, uint64_t to) {
  from &= ~(HEAP_PAGE - 1);
  to = (to + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);
  if (RT_SYS3(SYS_mprotect, from, to - from, PROT_READ | PROT_WRITE) != 0) no_memory();
}

static void prepare(void) {
  const uint64_t size = RT_HEAP_SIZE + RT_HEAP_SIZE / HEAP_GRANULE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  bool commits = false;
  long at = RT_SYS6(SYS_mmap, RT_HEAP_BASE, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at != (long)RT_HEAP_BASE) { /* a system that promises only the memory it has */
    commits = true;
    at = RT_SYS6(SYS_mmap, RT_HEAP_BASE, size, PROT_NONE, flags, -1, 0);
    if (at != (long)RT_HEAP_BASE) no_memory();
    make_accessible(HEAP_OWN, HEAP_OWN + sizeof(struct heap_state));
    make_accessible((uint64_t)HEAP_RECORDS, (uint64_t)(HEAP_RECORDS + HEAP_SLOTS));
    make_accessible((uint64_t)HEAP_COVER, (uint64_t)(HEAP_COVER + HEAP_SLOTS));
    make_accessible((uint64_t)HEAP_SAVED_ARENAS, (uint64_t)(HEAP_SAVED_ARENAS + HEAP_ARENAS));
    make_accessible((uint64_t)HEAP_SAVED, HEAP_SHADOW);
    RT_SYS3(SYS_mprotect, HEAP_SHADOW, RT_HEAP_SIZE / HEAP_GRANULE,
            PROT_READ); /* zero where nothing was taken */
  }
  /* A huge page for each arena would cost more to clear than most executions take. */
  RT_SYS3(SYS_madvise, RT_HEAP_BASE, size, MADV_NOHUGEPAGE);
  HEAP_STATE->commits = commits;
  HEAP_STATE->copies = HEAP_COPIES;
  prepared = true;
}

void heap_prepare(void) {
  if (RT_UNLIKELY(!prepared)) prepare();
}

/* ---- arenas */
uint64_t heap_small_base(uint32_t arena) {
  if (arena == 0) return RT_HEAP_BASE;
  if (arena < HEAP_ROOMY) return RT_HEAP_BASE + (31 + arena) * HEAP_GIB;
  if (arena == HEAP_SHARED) return RT_HEAP_BASE + 96 * HEAP_GIB;
  return RT_HEAP_BASE + 256 * HEAP_GIB + arena * ROOM_TIGHT;
}

static uint64_t small_room(uint32_t arena) {
  if (arena == 0) return 32 * HEAP_GIB;
  if (arena < HEAP_ROOMY) return HEAP_GIB;
  return arena == HEAP_SHARED ? 160 * HEAP_GIB : ROOM_TIGHT;
}

uint64_t heap_large_base(uint32_t arena) {
  if (arena == 0) return HEAP_LARGE;
  if (arena < HEAP_ROOMY) return HEAP_LARGE + (93 + 3ull * arena) * HEAP_GIB;
  return HEAP_LARGE + 288 * HEAP_GIB;
}

static uint64_t large_room(uint32_t arena) {
  if (arena == 0) return 96 * HEAP_GIB;
  if (arena < HEAP_ROOMY) return 3 * HEAP_GIB;
  return arena == HEAP_SHARED ? HEAP_OWN - heap_large_base(arena) : 0;
}

static struct heap_extent extent_of(uint64_t base, uint64_t room) {
  const uint64_t end =
      room == 0 ? base : base + room - 8 * HEAP_GRANULE; /* shadow_new() writes eight at once */
  return (struct heap_extent){.next = base, .usable = HEAP_STATE->commits ? base : end, .end = end};
}

static struct heap_arena* arena_of(uint32_t index) {
  struct heap_arena* arena = &HEAP_STATE->arenas[index];
  if (RT_UNLIKELY(arena->small.next == 0)) {
    arena->small = extent_of(heap_small_base(index), small_room(index));
    arena->large = extent_of(heap_large_base(index), large_room(index));
    if (index != HEAP_SHARED && index >= HEAP_STATE->threads) HEAP_STATE->threads = index + 1;
  }
  return arena;
}

static uint64_t take_addresses(struct heap_extent* extent, uint64_t front, uint64_t size, uint64_t alignment) {
  const uint64_t start = (extent->next + front + alignment - 1) & ~(alignment - 1);
  if (RT_UNLIKELY(start + size > extent->end)) return 0;
  if (RT_UNLIKELY(start + size > extent->usable)) {
    const uint64_t wanted = (start + size + COMMIT_STEP - 1) & ~(COMMIT_STEP - 1);
    const uint64_t usable = wanted < extent->end ? wanted : extent->end;
    make_accessible(extent->usable, usable);
    if (start < HEAP_LARGE)
      make_accessible((uint64_t)heap_shadow(extent->usable), (uint64_t)heap_shadow(usable) + 8);
    extent->usable = usable;
  }
  extent->next = start + size;
  return start;
}

/* ---- sizes: up to 1 KiB every number of granules, above eight sizes for each power of two */
static uint32_t class_of(uint64_t* granules) {
  const uint64_t wanted = *granules;
  if (wanted <= 64) return (uint32_t)wanted - 1;
  const uint32_t power = 63u - (uint32_t)__builtin_clzll(wanted - 1);
  const uint64_t step = 1ull << (power - 3);
  const uint64_t part = (wanted - 1 - (1ull << power)) / step;
  *granules = (1ull << power) + (part + 1) * step;
  return 64 + (power - 6) * 8 + (uint32_t)part;
}

/* ---- queues */
static void append(struct heap_queue* queue, struct heap_block* block) {
  block->next = NULL;
  if (queue->first == NULL)
    queue->first = block;
  else
    queue->last->next = block;
  queue->last = block;
}

static struct heap_block* take_first(struct heap_queue* queue) {
  struct heap_block* block = queue->first;
  queue->first = block->next;
  return block;
}

/* Freed blocks of one class are mostly aligned alike, so the first ones decide. */
static struct heap_block* take_aligned(struct heap_queue* queue, uint64_t alignment) {
  if (queue->first == NULL) return NULL;
  if ((heap_start(queue->first) & (alignment - 1)) == 0) return take_first(queue);
  struct heap_block* before = queue->first;
  for (int tries = 0; tries < 8 && before->next != NULL; ++tries, before = before->next) {
    struct heap_block* block = before->next;
    if ((heap_start(block) & (alignment - 1)) != 0) continue;
    before->next = block->next;
    if (queue->last == block) queue->last = before;
    return block;
  }
  return NULL;
}

/* ---- shadow */
static void shadow_new(uint64_t start, uint64_t granules) {
  uint8_t* shadow = heap_shadow(start);
  /* The first eight at once; what is behind a new block is zero and stays so. */
  const uint64_t first = 0x0404040403030201ull;
  _Static_assert(SHADOW_START == 1 && SHADOW_INSIDE == 2, "as in the pattern");
  const uint64_t pattern = granules >= 8 ? first : first & ((1ull << (8 * granules)) - 1);
  memcpy(shadow, &pattern, sizeof pattern);
  for (uint32_t power = 3; granules >> power != 0; ++power) {
    const uint64_t from = 1ull << power, rest = granules - from;
    memset(shadow + from, (int)(SHADOW_INSIDE + power), rest < from ? rest : from);
  }
}

static void shadow_flip_freed(uint64_t start, uint64_t granules) {
  uint8_t* shadow = heap_shadow(start);
  for (; granules >= 8; granules -= 8, shadow += 8) {
    uint64_t word;
    memcpy(&word, shadow, 8);
    word ^= 0x0101010101010101ull * SHADOW_FREED;
    memcpy(shadow, &word, 8);
  }
  for (; granules > 0; --granules) *shadow++ ^= SHADOW_FREED;
}

/* ---- taking */
static struct heap_block* new_small(struct heap_arena* arena, uint64_t granules, uint64_t alignment) {
  const uint64_t start =
      take_addresses(&arena->small, sizeof(struct heap_block), granules * HEAP_GRANULE, alignment);
  if (start == 0) return NULL;
  shadow_new(start, granules);
  return (struct heap_block*)start - 1;
}

static struct heap_block* new_large(struct heap_arena* arena, uint64_t granules, uint64_t alignment) {
  const uint64_t size = granules * HEAP_GRANULE;
  const uint64_t start = take_addresses(&arena->large, 0, size, alignment < HEAP_PAGE ? HEAP_PAGE : alignment);
  if (start == 0) return NULL;
  const uint64_t slot = (start - HEAP_LARGE) / HEAP_SLOT, last = (start + size - 1 - HEAP_LARGE) / HEAP_SLOT;
  for (uint64_t inside = slot + 1; inside <= last; ++inside) HEAP_COVER[inside] = (uint32_t)slot + 1;
  HEAP_RECORDS[slot].start = start;
  return &HEAP_RECORDS[slot].block;
}

static struct heap_block* take_from(uint32_t index, uint64_t granules, uint32_t class, uint64_t alignment,
                                    bool large, bool* reused) {
  struct heap_arena* arena = arena_of(index);
  struct heap_block* block = take_aligned(&arena->idle[class], alignment);
  *reused = block != NULL;
  if (block != NULL) {
    if (!large) shadow_flip_freed(heap_start(block), granules);
    return block;
  }
  block = large ? new_large(arena, granules, alignment) : new_small(arena, granules, alignment);
  if (block != NULL) block->arena = index;
  return block;
}

struct heap_block* heap_take(uint64_t size, uint64_t alignment, bool* reused) {
  heap_prepare();
  if (size > HEAP_LARGEST || alignment > HEAP_LARGEST) return NULL;
  const uint32_t thread = rt.current != NULL ? rt.current->index : 0;
  uint64_t granules = size == 0 ? 1 : (size + HEAP_GRANULE - 1) / HEAP_GRANULE;
  if (alignment > HEAP_PAGE && granules < HEAP_SLOT / HEAP_GRANULE) granules = HEAP_SLOT / HEAP_GRANULE;
  if (alignment < HEAP_GRANULE) alignment = HEAP_GRANULE;
  const uint32_t class = class_of(&granules);
  const bool large = granules >= HEAP_SLOT / HEAP_GRANULE;
  const uint32_t arena = rt.current != NULL ? rt.current->arena : 0;
  struct heap_block* block = take_from(arena, granules, class, alignment, large, reused);
  if (RT_UNLIKELY(block == NULL)) {
    block = take_from(HEAP_SHARED, granules, class, alignment, large, reused);
    if (block == NULL) return NULL;
  }
  block->granules = (uint32_t)granules;
  block->thread = (uint16_t)thread;
  block->number = HEAP_STATE->arenas[arena].blocks++;
  block->freed = 0;
  return block;
}

/* ---- finding */
static struct heap_block* find_small(uint64_t at) {
  const uint8_t* shadow = heap_shadow(at);
  uint8_t value;
  while ((value = *shadow & (uint8_t)~SHADOW_FREED) > SHADOW_START) shadow -= 1ull << (value - SHADOW_INSIDE);
  if (value == 0) return NULL;
  return (struct heap_block*)(RT_HEAP_BASE + ((uint64_t)shadow - HEAP_SHADOW) * HEAP_GRANULE) - 1;
}

static struct heap_block* find_large(uint64_t at) {
  uint64_t slot = (at - HEAP_LARGE) / HEAP_SLOT;
  if (HEAP_RECORDS[slot].start == 0 || HEAP_RECORDS[slot].start > at) {
    if (HEAP_COVER[slot] == 0) return NULL;
    slot = HEAP_COVER[slot] - 1;
  }
  struct heap_large* record = &HEAP_RECORDS[slot];
  return at - record->start < heap_capacity(&record->block) ? &record->block : NULL;
}

struct heap_block* heap_find(uint64_t at) {
  if (!prepared || at - RT_HEAP_BASE >= HEAP_OWN - RT_HEAP_BASE) return NULL;
  return at >= HEAP_LARGE ? find_large(at) : find_small(at);
}

/* ---- freeing */
static void make_idle(struct heap_arena* arena, struct heap_queue* queue, uint64_t* bytes, uint64_t bound) {
  while (*bytes > bound) {
    struct heap_block* block = take_first(queue);
    uint64_t granules = block->granules;
    *bytes -= heap_capacity(block);
    append(&arena->idle[class_of(&granules)], block);
  }
}

void heap_release(struct heap_block* block) {
  struct heap_arena* arena = &HEAP_STATE->arenas[block->arena];
  block->freed = 1;
  block->freed_site = heddle_control_site;
  block->freed_thread = (uint16_t)(rt.current != NULL ? rt.current->index : 0);
  if (heap_is_large(block)) {
    RT_SYS3(SYS_madvise, heap_start(block), heap_capacity(block), MADV_DONTNEED);
    append(&arena->resting_large, block);
    arena->resting_large_bytes += heap_capacity(block);
    make_idle(arena, &arena->resting_large, &arena->resting_large_bytes, large_room(block->arena) / 2);
    return;
  }
  shadow_flip_freed(heap_start(block), block->granules);
  append(&arena->resting_small, block);
  arena->resting_small_bytes += heap_capacity(block);
  const uint64_t half = small_room(block->arena) / 2;
  make_idle(arena, &arena->resting_small, &arena->resting_small_bytes,
            half < RESTING_SMALL ? half : RESTING_SMALL);
}
