/* Functions that the program and libraries call run on a stack of the runtime's own: what they leave behind on
 * the program's stack would differ between recording and replay, and programs do look at memory that they have
 * not written (copies of structures, of short strings). Not those that call the program back. Nor do they leave
 * anything in registers: an optimiser may take padding, which nobody wrote, from any of them.
 *
 * RT_FL_ENTRY(name) makes the function `name`, which calls rt_do_name on that stack, unless it is in use. Up to
 * seven arguments, the last of them on the stack. */
#ifndef HEDDLE_RUNTIME_FLOW_ENTRY_H
#define HEDDLE_RUNTIME_FLOW_ENTRY_H

/* All that a call may change but the result. */
#define RT_FL_CLEAR     \
  "xorl %ecx, %ecx\n"   \
  "xorl %edx, %edx\n"   \
  "xorl %esi, %esi\n"   \
  "xorl %edi, %edi\n"   \
  "xorl %r8d, %r8d\n"   \
  "xorl %r9d, %r9d\n"   \
  "xorl %r10d, %r10d\n" \
  "xorl %r11d, %r11d\n"

/* A function that keeps all registers but the one of its result, as the hooks for single accesses do: most of
 * these are not called when recording. */
#define RT_FL_KEEPING(name)          \
  __asm__(                           \
      ".text\n"                      \
      ".globl " #name                \
      "\n"                           \
      ".type " #name                 \
      ", @function\n"                \
      ".p2align 4\n" #name           \
      ":\n"                          \
      ".cfi_startproc\n"             \
      "push %rbp\n"                  \
      ".cfi_def_cfa_offset 16\n"     \
      ".cfi_offset %rbp, -16\n"      \
      "mov %rsp, %rbp\n"             \
      ".cfi_def_cfa_register %rbp\n" \
      "push %rcx\n"                  \
      "push %rdx\n"                  \
      "push %rsi\n"                  \
      "push %rdi\n"                  \
      "push %r8\n"                   \
      "push %r9\n"                   \
      "push %r10\n"                  \
      "push %r11\n"                  \
      "call rt_do_" #name            \
      "\n"                           \
      "pop %r11\n"                   \
      "pop %r10\n"                   \
      "pop %r9\n"                    \
      "pop %r8\n"                    \
      "pop %rdi\n"                   \
      "pop %rsi\n"                   \
      "pop %rdx\n"                   \
      "pop %rcx\n"                   \
      "pop %rbp\n"                   \
      ".cfi_def_cfa %rsp, 8\n"       \
      "ret\n"                        \
      ".cfi_endproc\n"               \
      ".size " #name ", . - " #name "\n")

/* In %r11 the stack while it is free. The frame pointer stays on the program's stack, so debuggers and
 * unwinders see through. */
#define RT_FL_ENTRY(name)                      \
  __asm__(                                     \
      ".text\n"                                \
      ".globl " #name                          \
      "\n"                                     \
      ".type " #name                           \
      ", @function\n"                          \
      ".p2align 4\n" #name                     \
      ":\n"                                    \
      ".cfi_startproc\n"                       \
      "push %rbp\n"                            \
      ".cfi_def_cfa_offset 16\n"               \
      ".cfi_offset %rbp, -16\n"                \
      "mov %rsp, %rbp\n"                       \
      ".cfi_def_cfa_register %rbp\n"           \
      "mov rt_fl_stack@gottpoff(%rip), %rax\n" \
      "mov %fs:(%rax), %r11\n"                 \
      "test %r11, %r11\n"                      \
      "jz 1f\n"                                \
      "movq $0, %fs:(%rax)\n"                  \
      "mov %r11, %rsp\n"                       \
      "push %r11\n"                            \
      "push 16(%rbp)\n"                        \
      "call rt_do_" #name                      \
      "\n"                                     \
      "mov 8(%rsp), %r11\n"                    \
      "mov rt_fl_stack@gottpoff(%rip), %rcx\n" \
      "mov %r11, %fs:(%rcx)\n"                 \
      "mov %rbp, %rsp\n"                       \
      "pop %rbp\n" RT_FL_CLEAR                 \
      ".cfi_remember_state\n"                  \
      ".cfi_def_cfa %rsp, 8\n"                 \
      "ret\n"                                  \
      "1:\n"                                   \
      ".cfi_restore_state\n"                   \
      "sub $8, %rsp\n"                         \
      "push 16(%rbp)\n"                        \
      "call rt_do_" #name                      \
      "\n"                                     \
      "mov %rbp, %rsp\n"                       \
      "pop %rbp\n" RT_FL_CLEAR                 \
      ".cfi_def_cfa %rsp, 8\n"                 \
      "ret\n"                                  \
      ".cfi_endproc\n"                         \
      ".size " #name ", . - " #name "\n")

#endif
