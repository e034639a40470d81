/* The heap as it was at the snapshot: contents and records of the blocks that existed then, nothing behind
 * them.
 *
 * It takes as long as the execution used memory: what lies behind the snapshot's end in each arena is cleared,
 * what lies before it is copied back. Where much existed at the snapshot it becomes a private file mapping, of
 * which the kernel drops only the pages that were changed.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/control/heap.h"

#define CLEAR_BY_HAND (256ull << 10) /* from here on the kernel is faster */
/* From here on a file mapping is better: sooner for large blocks, of which an execution touches few (the C++
 * library keeps one of 72 KiB for emergencies). */
#define COPY_SMALL (256ull << 10)
#define COPY_LARGE (64ull << 10)

static uint64_t page_up(uint64_t at) {
  return (at + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);
}

static uint64_t page_down(uint64_t at) {
  return at & ~(HEAP_PAGE - 1);
}

/* ---- snapshot */
static void add_saved(uint64_t start, uint64_t size, void* copy) {
  HEAP_SAVED[HEAP_STATE->saved_count++] = (struct heap_saved){.start = start, .size = size, .copy = copy};
}

static void save_by_hand(uint64_t start, uint64_t end) {
  if (start == end) return;
  void* copy = (void*)HEAP_STATE->copies;
  memcpy(copy, (const void*)start, end - start);
  HEAP_STATE->copies += (end - start + 15) & ~15ull;
  add_saved(start, end - start, copy);
}

static bool is_zero(uint64_t page) {
  const uint64_t* words = (const uint64_t*)page;
  for (uint32_t i = 0; i < HEAP_PAGE / 8; ++i)
    if (words[i] != 0) return false;
  return true;
}

/* Pages of zeros, as of a large block that is hardly used yet, become holes. */
static bool save_as_file(uint64_t start, uint64_t end) {
  const long file = RT_SYS2(SYS_memfd_create, "heddle heap", MFD_CLOEXEC);
  if (file < 0) return false;
  bool fine = RT_SYS2(SYS_ftruncate, file, end - start) == 0;
  for (uint64_t at = start; at < end && fine; at += HEAP_PAGE)
    fine = is_zero(at) || RT_SYS4(SYS_pwrite64, file, at, HEAP_PAGE, at - start) == (long)HEAP_PAGE;
  if (fine)
    fine = RT_SYS6(SYS_mmap, start, end - start, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, file, 0) == (long)start;
  RT_SYS1(SYS_close, file);
  if (fine) add_saved(start, end - start, NULL);
  return fine;
}

static void save(uint64_t start, uint64_t end, uint64_t most_by_hand) {
  const uint64_t from = page_up(start), to = page_down(end);
  if (end - start < most_by_hand || !save_as_file(from, to)) {
    save_by_hand(start, end);
    return;
  }
  save_by_hand(start, from);
  save_by_hand(to, end);
}

/* The slots in which blocks of this part of the addresses of large blocks start or lie. */
static uint64_t slot_down(uint64_t at) {
  return (at - HEAP_LARGE) / HEAP_SLOT;
}

static uint64_t slot_up(uint64_t at) {
  return (at - HEAP_LARGE + HEAP_SLOT - 1) / HEAP_SLOT;
}

static void save_arena(uint32_t index) {
  const struct heap_arena* arena = &HEAP_STATE->arenas[index];
  HEAP_SAVED_ARENAS[index] = *arena;
  if (arena->small.next == 0) return;
  const uint64_t small = heap_small_base(index), large = heap_large_base(index);
  save(small, arena->small.next, COPY_SMALL);
  save((uint64_t)heap_shadow(small), (uint64_t)heap_shadow(arena->small.next), COPY_SMALL);
  if (arena->large.next == large) return;
  save(large, arena->large.next, COPY_LARGE);
  save((uint64_t)&HEAP_RECORDS[slot_down(large)], (uint64_t)&HEAP_RECORDS[slot_up(arena->large.next)],
       COPY_SMALL);
  save((uint64_t)&HEAP_COVER[slot_down(large)], (uint64_t)&HEAP_COVER[slot_up(arena->large.next)], COPY_SMALL);
}

void rt_heap_snapshot(void) {
  heap_prepare();
  struct heap_state* state = HEAP_STATE;
  state->saved_count = 0;
  state->copies = HEAP_COPIES;
  state->saved_threads = state->threads;
  for (uint32_t i = 0; i < state->threads; ++i) save_arena(i);
  save_arena(HEAP_SHARED);
  heap_mappings_snapshot();
}

/* ---- reset */
static void clear(uint64_t start, uint64_t end) {
  if (start >= end) return;
  const uint64_t from = page_up(start), to = page_down(end);
  if (end - start < CLEAR_BY_HAND || RT_SYS3(SYS_madvise, from, to - from, MADV_DONTNEED) != 0) {
    memset((void*)start, 0, end - start);
    return;
  }
  memset((void*)start, 0, from - start);
  memset((void*)to, 0, end - to);
}

static void reset_arena(uint32_t index, bool existed) {
  struct heap_arena* arena = &HEAP_STATE->arenas[index];
  if (arena->small.next == 0) return; /* was not used */
  const struct heap_arena* before = &HEAP_SAVED_ARENAS[index];
  existed = existed && before->small.next != 0;
  const uint64_t small = existed ? before->small.next : heap_small_base(index);
  const uint64_t large = existed ? before->large.next : heap_large_base(index);
  const uint64_t small_end = arena->small.next, large_end = arena->large.next;
  clear(small, small_end);
  clear((uint64_t)heap_shadow(small), (uint64_t)heap_shadow(small_end));
  if (large_end != large) {
    clear(large, large_end);
    clear((uint64_t)&HEAP_RECORDS[slot_down(large)], (uint64_t)&HEAP_RECORDS[slot_up(large_end)]);
    clear((uint64_t)&HEAP_COVER[slot_down(large)], (uint64_t)&HEAP_COVER[slot_up(large_end)]);
  }
  if (existed)
    *arena = *before;
  else
    memset(arena, 0, sizeof *arena);
}

/* In this order: the first slot behind the snapshot's end may hold a record of before. */
void rt_heap_reset(void) {
  struct heap_state* state = HEAP_STATE;
  for (uint32_t i = 0; i < state->threads; ++i) reset_arena(i, i < state->saved_threads);
  reset_arena(HEAP_SHARED, true);
  for (uint32_t i = 0; i < state->saved_count; ++i) {
    const struct heap_saved* saved = &HEAP_SAVED[i];
    if (saved->copy != NULL)
      memcpy((void*)saved->start, saved->copy, saved->size);
    else
      RT_SYS3(SYS_madvise, saved->start, saved->size, MADV_DONTNEED);
  }
  state->threads = state->saved_threads;
  heap_mappings_reset();
}
