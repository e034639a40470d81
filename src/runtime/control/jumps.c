/* longjmp and siglongjmp: frames end, and with them buffered stores to them and signal handlers that run in
 * them. The C library jumps, and puts back the kernel's signal mask, which is empty. */
#include <setjmp.h>

#include "runtime/control/control.h"

enum { STACK_POINTER = 6 }; /* in __jmpbuf; encoded by the C library, see PTR_MANGLE there */

static const uint8_t* stack_pointer_in(const struct __jmp_buf_tag* buffer) {
  const uint64_t stored = (uint64_t)buffer->__jmpbuf[STACK_POINTER];
  uint64_t guard;
  __asm__("movq %%fs:0x30, %0" : "=r"(guard));
  return (const uint8_t*)(uintptr_t)((stored >> 17 | stored << 47) ^ guard);
}

static _Noreturn void jump(const char* function, struct __jmp_buf_tag* buffer, int value) {
  void (*real)(struct __jmp_buf_tag*, int) = (void (*)(struct __jmp_buf_tag*, int))rt_real(function);
  if (rt.active) {
    const uint8_t* to = stack_pointer_in(buffer);
    rt_forget_stack(rt.current, to);
    rt_leave_handlers(rt.current, to, buffer->__mask_was_saved);
  }
  real(buffer, value);
  __builtin_unreachable();
}

_Noreturn void longjmp(struct __jmp_buf_tag* buffer, int value) {
  jump("longjmp", buffer, value);
}

_Noreturn void _longjmp(struct __jmp_buf_tag* buffer, int value) {
  jump("_longjmp", buffer, value);
}

_Noreturn void siglongjmp(struct __jmp_buf_tag* buffer, int value) {
  jump("siglongjmp", buffer, value);
}

_Noreturn void __longjmp_chk(struct __jmp_buf_tag* buffer, int value) {
  jump("__longjmp_chk", buffer, value);
}
