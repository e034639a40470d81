/* Touching freed blocks, freeing twice, freeing what is no block: recognised and reported; names of blocks. */
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "runtime/control/heap.h"

static _Noreturn void fail(enum heddle_outcome outcome, const void* at, const struct heap_block* block,
                           const char* what) {
  char text[HEDDLE_CONTROL_TEXT];
  snprintf(text, sizeof text, "%s at offset %llu of a freed block (number %u of its thread)", what,
           (unsigned long long)((uint64_t)(uintptr_t)at - heap_start(block)), block->number);
  rt_fail_at(outcome, at, block->freed_thread, block->freed_site, text);
}

/* The first freed byte in [at, end], or 0. */
static uint64_t freed_small(uint64_t at, uint64_t end) {
  const uint8_t *first = heap_shadow(at), *last = heap_shadow(end);
  for (const uint8_t* shadow = first; shadow <= last; ++shadow)
    if ((*shadow & SHADOW_FREED) != 0)
      return shadow == first ? at : RT_HEAP_BASE + ((uint64_t)shadow - HEAP_SHADOW) * HEAP_GRANULE;
  return 0;
}

static uint64_t freed_large(uint64_t at, uint64_t end) {
  while (at <= end) {
    const struct heap_block* block = heap_find(at);
    if (block == NULL) return 0;
    if (block->freed) return at;
    at = heap_start(block) + heap_capacity(block);
  }
  return 0;
}

/* What lies between blocks or was never handed out is not ours to judge. */
void rt_heap_check_slow(const void* at, uint64_t size, uint32_t site) {
  const uint64_t address = (uint64_t)(uintptr_t)at;
  if (size == 0 || size > RT_HEAP_SIZE || address >= HEAP_OWN) return;
  const uint64_t end = address + size - 1;
  const uint64_t freed = address < HEAP_LARGE ? freed_small(address, end) : freed_large(address, end);
  if (RT_LIKELY(freed == 0)) return;
  rt.current->op.site = site;
  fail(HEDDLE_OUTCOME_use_after_free, (const void*)freed, heap_find(freed), "access");
}

struct heap_block* heap_checked(const void* p, const char* function) {
  const uint64_t address = (uint64_t)(uintptr_t)p;
  struct heap_block* block = heap_find(address);
  const bool starts_here = block != NULL && heap_start(block) == address;
  if (RT_LIKELY(starts_here && !block->freed)) return block;
  if (!rt.active) return NULL;
  rt.current->op.site = heddle_control_site;
  char text[HEDDLE_CONTROL_TEXT];
  if (starts_here) fail(HEDDLE_OUTCOME_double_free, p, block, function);
  snprintf(text, sizeof text, "%s of an address that is not the start of a heap block", function);
  rt_fail_at(HEDDLE_OUTCOME_invalid_free, p, HEDDLE_NO_SITE, HEDDLE_NO_SITE, text);
}

bool rt_heap_place(const void* at, struct heddle_place* place) {
  const struct heap_block* block = heap_find((uint64_t)(uintptr_t)at);
  if (block == NULL) return false;
  *place = (struct heddle_place){.kind = HEDDLE_PLACE_heap,
                                 .thread = block->thread,
                                 .index = block->number,
                                 .offset = (uint64_t)(uintptr_t)at - heap_start(block)};
  return true;
}

/* ---- the C library's code */
RT_STATE static struct {
  uint64_t from, to;
} libraries[2];
RT_STATE static bool libraries_known;

static int note_library(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size;
  (void)unused;
  const char* slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;
  if (slash == NULL) return 0;
  const bool libc = strncmp(slash, "/libc.so.", 9) == 0, loader = strncmp(slash, "/ld-linux", 9) == 0;
  if (!libc && !loader) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0) continue;
    libraries[libc].from = info->dlpi_addr + header->p_vaddr;
    libraries[libc].to = libraries[libc].from + header->p_memsz;
  }
  return 0;
}

bool heap_in_c_library(const void* code) {
  const uint64_t at = (uint64_t)(uintptr_t)code;
  return at - libraries[0].from < libraries[0].to - libraries[0].from ||
         at - libraries[1].from < libraries[1].to - libraries[1].from;
}

void rt_heap_begin_execution(void) {
  if (libraries_known) return;
  dl_iterate_phdr(note_library, NULL);
  libraries_known = true;
}
