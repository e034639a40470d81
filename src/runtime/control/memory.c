/* Memory of the runtime itself: at fixed addresses, apart from the program's, never reset. */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/control/control.h"

#define OWN_BASE 0x3e0000000000ull
#define OWN_END 0x500000000000ull /* the control block and the stacks of switching.c lie in here too */
#define PERMANENT_BASE 0x3e8000000000ull
#define SCRATCH_BASE 0x3ec000000000ull
#define AREA (8ull << 30)

RT_STATE static uint64_t mapped, permanent, scratch, scratch_used;

static void* take(uint64_t address, uint64_t size) {
  const long at = RT_SYS6(SYS_mmap, address, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  RT_CHECK(at == (long)address);
  return (void*)(uintptr_t)address;
}

void* rt_map(size_t size) {
  size = (size + 4095) & ~(size_t)4095;
  const uint64_t at = OWN_BASE + __atomic_fetch_add(&mapped, size, __ATOMIC_RELAXED);
  return take(at, size);
}

bool rt_owns(uint64_t address) {
  return address >= OWN_BASE && address < OWN_END;
}

void* rt_permanent(size_t size) {
  if (permanent == 0) take(PERMANENT_BASE, AREA);
  void* at = (void*)(uintptr_t)(PERMANENT_BASE + permanent);
  permanent += (size + 79) & ~(size_t)63;
  return at;
}

bool rt_is_permanent(const void* at) {
  return (uint64_t)(uintptr_t)at - PERMANENT_BASE < AREA;
}

void* rt_scratch(size_t size) {
  if (scratch_used == 0) {
    if (scratch == 0) take(SCRATCH_BASE, AREA);
    scratch_used = 64;
  }
  uint8_t* at = (uint8_t*)(uintptr_t)(SCRATCH_BASE + scratch_used);
  scratch_used += (size + 15) & ~(size_t)15;
  RT_CHECK(scratch_used < AREA);
  if ((uint64_t)(uintptr_t)at - SCRATCH_BASE < scratch) memset(at, 0, size); /* an earlier execution was here */
  return at;
}

void rt_scratch_begin_execution(void) {
  if (scratch_used > scratch) scratch = scratch_used;
  scratch_used = scratch == 0 ? 0 : 64;
}
