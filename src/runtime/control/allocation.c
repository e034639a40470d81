/* malloc and its family, for the program and all its libraries.
 *
 * Freeing is an event: whether another thread touches the block before or after is up to the schedule. Taking a
 * block is none, since nobody else knows it yet. What the C library frees for itself is no event either: it may
 * hold a lock of its own then, which nobody under control could wait for.
 *
 * What libc takes on behalf of the runtime (rt.internal) is permanent memory with its size in front.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/control/heap.h"

static void* permanent(uint64_t size, uint64_t alignment) {
  if (alignment < HEAP_GRANULE) alignment = HEAP_GRANULE;
  const uint64_t memory = (uint64_t)(uintptr_t)rt_permanent(size + alignment + sizeof(uint64_t));
  const uint64_t start = (memory + sizeof(uint64_t) + alignment - 1) & ~(alignment - 1);
  ((uint64_t*)start)[-1] = size;
  return (void*)start;
}

static void* take(uint64_t size, uint64_t alignment, bool zero) {
  if (RT_UNLIKELY(rt.internal)) return permanent(size, alignment);
  bool reused;
  const struct heap_block* block = heap_take(size, alignment, &reused);
  if (RT_UNLIKELY(block == NULL)) {
    errno = ENOMEM;
    return NULL;
  }
  void* start = (void*)heap_start(block);
  if (zero && reused) memset(start, 0, size);
  return start;
}

static void give_back(void* p, const void* caller, const char* function) {
  struct heap_block* block = heap_checked(p, function);
  if (block == NULL) return;
  if (rt.active && !heap_in_c_library(caller)) {
    rt_heap_event(p, heap_capacity(block));
    block = heap_checked(p, function); /* others ran */
  }
  heap_release(block);
}

void* malloc(size_t size) {
  return take(size, HEAP_GRANULE, false);
}

void* calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return take(bytes, HEAP_GRANULE, true);
}

void free(void* p) {
  if (p == NULL || RT_UNLIKELY(rt_is_permanent(p))) return;
  give_back(p, __builtin_return_address(0), "free");
}

static void* resize(void* p, uint64_t size, const void* caller) {
  if (p == NULL) return take(size, HEAP_GRANULE, false);
  if (size == 0) { /* as glibc does */
    if (!rt_is_permanent(p)) give_back(p, caller, "realloc");
    return NULL;
  }
  uint64_t old;
  bool told = false;
  if (RT_UNLIKELY(rt_is_permanent(p))) {
    old = ((uint64_t*)p)[-1];
    if (size <= old) return p;
  } else {
    struct heap_block* block = heap_checked(p, "realloc");
    if (block == NULL) return NULL;
    old = heap_capacity(block);
    if (size <= old && size >= old / 4) return p;
    if (rt.active && !heap_in_c_library(caller)) {
      rt_heap_event(p, old);
      heap_checked(p, "realloc");
      told = true;
    }
  }
  void* moved = take(size, HEAP_GRANULE, false);
  if (moved == NULL) return NULL;
  memcpy(moved, p, size < old ? size : old);
  if (told) rt_heap_moved(p, moved, size < old ? size : old);
  if (!rt_is_permanent(p)) heap_release(heap_find((uint64_t)(uintptr_t)p));
  return moved;
}

void* realloc(void* p, size_t size) {
  return resize(p, size, __builtin_return_address(0));
}

void* reallocarray(void* p, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return resize(p, bytes, __builtin_return_address(0));
}

static bool is_power_of_two(size_t x) {
  return x != 0 && (x & (x - 1)) == 0;
}

void* memalign(size_t alignment, size_t size) {
  if (alignment > HEAP_LARGEST) {
    errno = EINVAL;
    return NULL;
  }
  size_t power = HEAP_GRANULE; /* what is no power of two is rounded up, as by glibc */
  while (power < alignment) power *= 2;
  return take(size, power, false);
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void** result, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int saved = errno;
  void* p = take(size, alignment, false);
  errno = saved;
  if (p == NULL) return ENOMEM;
  *result = p;
  return 0;
}

void* valloc(size_t size) {
  return take(size, HEAP_PAGE, false);
}

void* pvalloc(size_t size) {
  return take((size + HEAP_PAGE - 1) & ~(HEAP_PAGE - 1), HEAP_PAGE, false);
}

size_t malloc_usable_size(void* p) {
  if (p == NULL) return 0;
  if (rt_is_permanent(p)) return ((uint64_t*)p)[-1];
  const struct heap_block* block = heap_find((uint64_t)(uintptr_t)p);
  return block != NULL && heap_start(block) == (uint64_t)(uintptr_t)p ? heap_capacity(block) : 0;
}
