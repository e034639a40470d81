/* What is to be added to an address in the executable's file to have it in memory: nothing, if the executable
 * is linked to a fixed place (-no-pie), though it does not begin at 0 then.
 */
#pragma once

#include <elf.h>
#include <stdint.h>

static inline uint64_t rt_load_base(void) {
  extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
  const uint64_t begin = (uint64_t)(uintptr_t)&__ehdr_start;
  const Elf64_Phdr* segment = (const Elf64_Phdr*)(uintptr_t)(begin + __ehdr_start.e_phoff);
  for (unsigned i = 0; i < __ehdr_start.e_phnum; ++i)
    if (segment[i].p_type == PT_LOAD && segment[i].p_offset == 0) return begin - segment[i].p_vaddr;
  return begin;
}
