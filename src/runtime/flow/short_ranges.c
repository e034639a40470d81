/* The hook before copies and comparisons, for few bytes: most calls are about some bytes of a string, which are
 * the thread's own or may be read by all. It is done in no more instructions than it takes; whatever else there
 * is to do is left to rt_fl_begin_ranges (events.c). It uses no stack but for what the call itself leaves
 * there, which a replay leaves too. Its arguments stay as they are until it is sure. */
#include <stddef.h>

#include "runtime/flow/words.h"

#define FEW_BYTES 512
/* A granule of another one is good if it is read, everybody may read it, and what was written there is known to
 * have been so before. */
/* clang-format off */
#define QUICK_RANGE(at, size, writes, all, other) \
  "test " size ", " size "\n"                    \
  "jz " all "f\n"                                \
  "test " at ", " at "\n"                        \
  "jz " all "f\n"                                \
  "mov " at ", %%rax\n"                          \
  "and $-8, %%rax\n"                             \
  "btc %[shadow], %%rax\n"                       \
  "lea -1(" at ", " size "), %%r11\n"            \
  "and $-8, %%r11\n"                             \
  "btc %[shadow], %%r11\n"                       \
  "2: cmp %%r10d, %c[aside](%%rax)\n"            \
  "jne " other "f\n"                             \
  "3: add $8, %%rax\n"                           \
  "cmp %%r11, %%rax\n"                           \
  "jbe 2b\n"                                     \
  "jmp " all "f\n"                               \
  other ": test " writes ", %%r8b\n"             \
  "jnz 9f\n"                                     \
  "mov %c[aside](%%rax), %%r10\n"                \
  "mov %%r10d, %%r11d\n"                         \
  "and $7, %%r11d\n"                             \
  "cmp %[read], %%r11d\n"                        \
  "jne 9f\n"                                     \
  "mov %%r10d, %%r11d\n"                         \
  "shr %[slot_at], %%r11d\n"                     \
  "and %[slots], %%r11d\n"                       \
  "shl $8, %%r10\n"                              \
  "shr %[number_at], %%r10\n"                    \
  "mov %c[seen](%%r9), %%r9\n"                   \
  "cmp %%r10, (%%r9, %%r11, 8)\n"                \
  "mov heddle_flow_self@gottpoff(%%rip), %%r9\n" \
  "mov %%fs:(%%r9), %%r9\n"                      \
  "jb 9f\n"                                      \
  "mov %c[tag](%%r9), %%r10d\n"                  \
  "lea -1(" at ", " size "), %%r11\n"            \
  "and $-8, %%r11\n"                             \
  "btc %[shadow], %%r11\n"                       \
  "jmp 3b\n"                                     \
  all ":\n"
/* clang-format on */
#define SHADOW_BIT 45
_Static_assert(HEDDLE_FLOW_SHADOW == 1ull << SHADOW_BIT, "the bit that words are told by");
__attribute__((naked)) void heddle_flow_begin_ranges(void);
__attribute__((naked)) void heddle_flow_begin_ranges(void) {
  __asm__(
      "test %[plain], %%r8b\n"
      "jz 8f\n"
      "mov rt_fl_local@gottpoff(%%rip), %%rax\n"
      "mov %%fs:(%%rax), %%rax\n"
      "mov heddle_flow_self@gottpoff(%%rip), %%r9\n"
      "mov %%fs:(%%r9), %%r9\n"
      "mov %c[tag](%%r9), %%r10d\n" /* ~0: not recording, or something has to be done first */
      "cmp $-1, %%r10d\n"
      "je 8f\n"
      "cmpl $0, %c[ranges](%%rax)\n"
      "jne 8f\n"
      "cmpb $0, %c[open](%%rax)\n"
      "jne 8f\n"
      "mov %%rsi, %%rax\n"
      "or %%rcx, %%rax\n"
      "cmp %[few], %%rax\n"
      "jae 8f\n"
      "testb $3, (%%r9)\n"
      "jnz 8f\n"
      "addq %[event], (%%r9)\n" /* clang-format off */
      QUICK_RANGE("%%rdi", "%%rsi", "$1", "4", "5")
      QUICK_RANGE("%%rdx", "%%rcx", "$2", "6", "7") /* clang-format on */
      "xorl %%eax, %%eax\n"
      "xorl %%ecx, %%ecx\n"
      "xorl %%edx, %%edx\n"
      "xorl %%esi, %%esi\n"
      "xorl %%edi, %%edi\n"
      "xorl %%r8d, %%r8d\n"
      "xorl %%r9d, %%r9d\n"
      "xorl %%r10d, %%r10d\n"
      "xorl %%r11d, %%r11d\n"
      "ret\n"
      "9: subq %[event], (%%r9)\n"
      "8: jmp rt_fl_begin_ranges\n" ::[plain] "i"(HEDDLE_FLOW_PLAIN),
      [tag] "i"(offsetof(struct heddle_flow_thread, tag)),
      [ranges] "i"(offsetof(struct rt_fl_local, range_count)), [open] "i"(offsetof(struct rt_fl_local, open)),
      [few] "i"(FEW_BYTES), [event] "i"((1 << HEDDLE_FLOW_STATE_BITS) + HEDDLE_FLOW_direct),
      [shadow] "i"(SHADOW_BIT), [aside] "i"(HEDDLE_FLOW_ASIDE), [read] "i"(HEDDLE_FLOW_read),
      [slot_at] "i"(HEDDLE_FLOW_SLOT_AT), [slots] "i"(HEDDLE_FLOW_SLOTS - 1),
      [number_at] "i"(64 - HEDDLE_FLOW_HANDS_AT + HEDDLE_FLOW_NUMBER_AT),
      [seen] "i"(offsetof(struct heddle_flow_thread, seen)));
}
