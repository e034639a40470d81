/* mmap and its relatives: mappings whose address the program leaves open lie where the thread's own number of
 * earlier mappings says, are named by it, and those made since the snapshot are taken away by reset.
 *
 * Calls inside the C library do not come here; without address randomisation the kernel gives them the same
 * addresses in every run that maps in the same order.
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/control/heap.h"

/* Addresses: 1 TiB for thread 0, 32 GiB for each of the next 63, 8 MiB for the others; no address is used twice
 * in an execution. Who finds no room there gets what the kernel chooses. */
#define AREA 0x500000000000ull
#define AREA_END (AREA + 4096 * HEAP_GIB)

struct mapping {
  uint64_t start, size;
  uint64_t next_before; /* of its thread */
  uint32_t thread, number;
  bool gone;
};

#define MAX_MAPPINGS (1u << 20)
struct mappings {
  uint32_t count, saved_count;
  uint64_t next[HEDDLE_CONTROL_MAX_THREADS];
  uint32_t numbers[HEDDLE_CONTROL_MAX_THREADS];
  struct mapping all[MAX_MAPPINGS];
};
#define MAPPINGS ((struct mappings*)HEAP_MAPPINGS)
_Static_assert(sizeof(struct mappings) < HEAP_GIB, "fits behind the heap's state");

static uint64_t base_of(uint32_t thread) {
  if (thread == 0) return AREA;
  if (thread < HEAP_ROOMY) return AREA + 1024 * HEAP_GIB + (thread - 1) * 32 * HEAP_GIB;
  return AREA + 3072 * HEAP_GIB + thread * (8ull << 20);
}

static uint64_t end_of(uint32_t thread) {
  if (thread == 0) return base_of(1);
  return base_of(thread) + (thread < HEAP_ROOMY ? 32 * HEAP_GIB : 8ull << 20);
}

static uint64_t pages(uint64_t size) {
  return (size + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1);
}

static uint32_t this_thread(void) {
  return rt.current != NULL ? rt.current->index : 0;
}

static uint64_t next_address(uint32_t thread) {
  return MAPPINGS->next[thread] != 0 ? MAPPINGS->next[thread] : base_of(thread);
}

static void note(uint32_t thread, uint64_t start, uint64_t size) {
  struct mappings* state = MAPPINGS;
  if (state->count == MAX_MAPPINGS)
    return; /* it has no name, and reset is refused: see heap_mappings_reset() */
  state->all[state->count++] = (struct mapping){.start = start,
                                                .size = size,
                                                .next_before = state->next[thread],
                                                .thread = thread,
                                                .number = state->numbers[thread]++};
  if (start - AREA < AREA_END - AREA) state->next[thread] = start + size;
}

static void* result_of(long result) {
  if (result < 0 && result > -4096) {
    errno = (int)-result;
    return MAP_FAILED;
  }
  return (void*)result;
}

/* Reset cannot undo what reaches a file, or memory that was there before. */
static void needs_fresh_process(const char* what) {
  if (rt.active && rt.plan.renewal == HEDDLE_RENEWAL_reset) rt_fail(HEDDLE_OUTCOME_not_resettable, what);
}

static bool is_ours(uint64_t start, uint64_t size) {
  for (uint32_t i = MAPPINGS->count; i > MAPPINGS->saved_count; --i) {
    const struct mapping* mapping = &MAPPINGS->all[i - 1];
    if (!mapping->gone && start >= mapping->start && start + size <= mapping->start + mapping->size)
      return true;
  }
  return false;
}

void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  heap_prepare();
  if (rt.internal) return result_of(RT_SYS6(SYS_mmap, address, length, protection, flags, file, offset));
  const uint64_t size = pages(length);
  const uint32_t thread = this_thread();
  if ((flags & MAP_SHARED) != 0 && (flags & MAP_ANONYMOUS) == 0 && (protection & PROT_WRITE) != 0)
    needs_fresh_process("mmap: a shared, writable mapping of a file");
  if ((flags & MAP_FIXED) != 0 && !is_ours((uint64_t)(uintptr_t)address, size))
    needs_fresh_process("mmap: MAP_FIXED over memory that was there before main()");
  long result = -ENOMEM;
  const uint64_t wanted = next_address(thread);
  if (address == NULL && (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_32BIT | MAP_HUGETLB)) == 0 &&
      length != 0 && size < end_of(thread) - wanted) {
    result = RT_SYS6(SYS_mmap, wanted, length, protection, flags | MAP_FIXED_NOREPLACE, file, offset);
    if (result < 0 && result != -EEXIST) return result_of(result);
  }
  if (result < 0) result = RT_SYS6(SYS_mmap, address, length, protection, flags, file, offset);
  if (result >= 0 && (flags & MAP_FIXED) == 0) note(thread, (uint64_t)result, size);
  return result_of(result);
}

void* mmap64(void*, size_t, int, int, int, __off64_t) __attribute__((alias("mmap")));

static void note_gone(uint64_t start, uint64_t size) {
  for (uint32_t i = MAPPINGS->count; i > MAPPINGS->saved_count; --i) {
    struct mapping* mapping = &MAPPINGS->all[i - 1];
    if (mapping->start >= start && mapping->start + mapping->size <= start + size) mapping->gone = true;
  }
}

int munmap(void* address, size_t length) {
  heap_prepare();
  const uint64_t start = (uint64_t)(uintptr_t)address, size = pages(length);
  if (!rt.internal && !is_ours(start, size))
    needs_fresh_process("munmap of memory that was there before main()");
  if (rt.active && !rt.internal) rt_heap_event(address, length); /* others may be about to touch it */
  const long result = RT_SYS2(SYS_munmap, address, length);
  if (result == 0 && !rt.internal) note_gone(start, size);
  return result == 0 ? 0 : (errno = (int)-result, -1);
}

int mprotect(void* address, size_t length, int protection) {
  heap_prepare();
  if (!is_ours((uint64_t)(uintptr_t)address, pages(length)))
    needs_fresh_process("mprotect of memory that was there before main()");
  if (rt.active) rt_heap_event(address, length); /* others may be about to touch it */
  const long result = RT_SYS3(SYS_mprotect, address, length, protection);
  return result == 0 ? 0 : (errno = (int)-result, -1);
}

/* What grows moves to the thread's next address: whether there is room behind it depends on other threads. */
void* mremap(void* old, size_t old_length, size_t new_length, int flags, ...) {
  heap_prepare();
  va_list arguments;
  va_start(arguments, flags);
  void* address = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : NULL;
  va_end(arguments);
  const uint64_t start = (uint64_t)(uintptr_t)old, size = pages(new_length);
  const uint32_t thread = this_thread();
  if (!is_ours(start, pages(old_length))) needs_fresh_process("mremap of memory that was there before main()");
  const uint64_t wanted = next_address(thread);
  if ((flags & (MREMAP_MAYMOVE | MREMAP_FIXED)) == MREMAP_MAYMOVE && size > pages(old_length) &&
      size < end_of(thread) - wanted) {
    flags |= MREMAP_FIXED;
    address = (void*)wanted;
  }
  const long result = RT_SYS6(SYS_mremap, old, old_length, new_length, flags, address, 0);
  if (result >= 0 && (uint64_t)result != start) {
    note_gone(start, pages(old_length));
    note(thread, (uint64_t)result, size);
  }
  return result_of(result);
}

bool rt_mapping_place(const void* at, struct heddle_place* place) {
  heap_prepare();
  const uint64_t address = (uint64_t)(uintptr_t)at;
  for (uint32_t i = MAPPINGS->count; i > 0; --i) {
    const struct mapping* mapping = &MAPPINGS->all[i - 1];
    if (mapping->gone || address - mapping->start >= mapping->size) continue;
    *place = (struct heddle_place){.kind = HEDDLE_PLACE_map,
                                   .thread = mapping->thread,
                                   .index = mapping->number,
                                   .offset = address - mapping->start};
    return true;
  }
  return false;
}

void heap_mappings_snapshot(void) {
  heap_prepare();
  MAPPINGS->saved_count = MAPPINGS->count;
}

void heap_mappings_reset(void) {
  struct mappings* state = MAPPINGS;
  RT_CHECK(state->count < MAX_MAPPINGS);
  for (; state->count > state->saved_count; --state->count) {
    const struct mapping* mapping = &state->all[state->count - 1];
    if (!mapping->gone) RT_SYS2(SYS_munmap, mapping->start, mapping->size);
    state->next[mapping->thread] = mapping->next_before;
    state->numbers[mapping->thread] = mapping->number;
  }
}
