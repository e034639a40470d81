/* The two substrates: who executes the threads of the program.
 *
 * A slot is a real pthread with a stack at a fixed address, so that it has everything a C library expects of a
 * thread (thread-local storage, errno, exception state, a pthread_t), and the same addresses in every run.
 *
 *   threads: the slot's kernel thread runs the program's thread; it waits on its `turn` while others run.
 *   fibres:  the slot's kernel thread sleeps for good. One carrier, the kernel thread of main(), runs
 * everything: to switch it takes over the stack pointer and the thread pointer (FS base) of the other slot. For
 * libc the fibre is the slot's thread. A switch costs some ten nanoseconds.
 *
 * Stacks begin at the same address in both substrates: values of pointers to locals agree.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/control/control.h"
#include "runtime/control/switching.h"

#define STACKS_BASE 0x400000000000ull
#define STACK_SPACING (64ull << 20) /* one stack with its guard; pages are taken when touched */
#define USUAL_STACK (8ull << 20)    /* what threads get on Linux; more when they ask for it */
#define GUARD 65536
#define GAP 4096      /* below the frames of the slot's own start: untouched when a thread begins */
#define CLEARED 16384 /* of a used stack, by hand; what is below goes back to the system */
#define MAX_SLOTS 32768
#define OF_MAIN 16u    /* slots for threads that main() makes */
#define OF_OTHERS 111u /* and behind them for those that others make */

RT_STATE static struct rt_slot* slots;
RT_STATE static uint32_t slot_count; /* behind the last that exists */
RT_STATE static bool has_wrfsbase;
RT_STATE static uint8_t* creator_stack; /* where slots are taken */
#define CREATOR_STACK 65536

/* rt_swap(save, load, thread_pointer, wrfsbase): callee-saved registers and floating-point control go to the
 * stack. */
__asm__(
    ".pushsection .text\n"
    ".globl rt_swap\n.hidden rt_swap\n.type rt_swap,@function\n"
    "rt_swap:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  sub $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  mov %rsp, (%rdi)\n  mov %rsi, %rsp\n"
    "  test %ecx, %ecx\n  jz 1f\n"
    "  wrfsbase %rdx\n  jmp 2f\n"
    "1: mov $158, %eax\n  mov $0x1002, %edi\n  mov %rdx, %rsi\n  syscall\n" /* arch_prctl(ARCH_SET_FS) */
    "2: ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  add $8, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
    ".size rt_swap,.-rt_swap\n"
    /* First return of rt_swap on a fresh stack: no frame above, so that unwinding ends here. */
    ".globl rt_first\n.hidden rt_first\n.type rt_first,@function\n"
    "rt_first:\n  .cfi_startproc\n  .cfi_undefined rip\n  xor %ebp, %ebp\n  mov %r12, %rdi\n  call *%r13\n  "
    "ud2\n  .cfi_endproc\n"
    ".size rt_first,.-rt_first\n"
    /* rt_call_on(stack, function, argument, save): calls on another stack, comes back on this one. */
    ".globl rt_call_on\n.hidden rt_call_on\n.type rt_call_on,@function\n"
    "rt_call_on:\n  .cfi_startproc\n  .cfi_undefined rip\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n  sub $8, %rsp\n"
    "  mov %rsp, (%rcx)\n  mov %rdi, %rsp\n  xor %ebp, %ebp\n  mov %rdx, %rdi\n  call *%rsi\n  ud2\n  "
    ".cfi_endproc\n"
    ".size rt_call_on,.-rt_call_on\n"
    /* rt_return_to(saved): makes the rt_call_on that saved this return. */
    ".globl rt_return_to\n.hidden rt_return_to\n.type rt_return_to,@function\n"
    "rt_return_to:\n  mov %rdi, %rsp\n  add $8, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n  ret\n"
    ".size rt_return_to,.-rt_return_to\n"
    ".popsection\n");
void rt_first(void);
void rt_call_on(void* stack, void (*function)(void*), void* argument, void** save);
_Noreturn void rt_return_to(void* saved);

uint64_t rt_thread_pointer(void) {
  uint64_t value;
  __asm__("mov %%fs:0, %0" : "=r"(value));
  return value;
}

void rt_swap_to(void** save, void* load, uint64_t thread_pointer) {
  rt_swap(save, load, thread_pointer, has_wrfsbase);
}

void* rt_fresh_stack(uint8_t* top, void (*function)(void*), void* argument) {
  /* As rt_swap leaves it: control words, r15, r14, r13, r12, rbx, rbp, return address; the stack is aligned as
   * after a call when rt_first begins. */
  uint64_t* sp = (uint64_t*)(((uintptr_t)top & ~(uintptr_t)63) - 64);
  *--sp = (uint64_t)(uintptr_t)rt_first;
  *--sp = 0;
  *--sp = 0;
  *--sp = (uint64_t)(uintptr_t)argument;
  *--sp = (uint64_t)(uintptr_t)function;
  *--sp = 0;
  *--sp = 0;
  --sp;
  uint32_t* control = (uint32_t*)sp;
  control[0] = 0x1f80; /* mxcsr and x87 control word as at the start of a process */
  control[1] = 0x037f;
  return sp;
}

static void wait_for_turn(struct rt_slot* slot) {
  while (__atomic_load_n(&slot->turn, __ATOMIC_ACQUIRE) == 0)
    RT_SYS4(SYS_futex, &slot->turn, FUTEX_WAIT_PRIVATE, 0, 0);
  __atomic_store_n(&slot->turn, 0, __ATOMIC_RELAXED);
}

static void give_turn(struct rt_slot* slot) {
  __atomic_store_n(&slot->turn, 1, __ATOMIC_RELEASE);
  RT_SYS3(SYS_futex, &slot->turn, FUTEX_WAKE_PRIVATE, 1);
}

static void run_thread(void* thread) {
  rt_thread_main(thread);
}

/* Body of the slot's pthread. Under fibres it never gets a turn. */
static void* slot_main(void* argument) {
  struct rt_slot* slot = argument;
  slot->thread_pointer = rt_thread_pointer();
  slot->image_from = __builtin_frame_address(0);
  slot->start = (uint8_t*)(((uintptr_t)slot->image_from - GAP) & ~(uintptr_t)63);
  rt_failure_thread_init();
  __atomic_store_n(&slot->exists, 1, __ATOMIC_RELEASE);
  RT_SYS3(SYS_futex, &slot->exists, FUTEX_WAKE_PRIVATE, 1);
  for (;;) {
    __atomic_store_n(&slot->idle, 1, __ATOMIC_RELEASE);
    RT_SYS3(SYS_futex, &slot->idle, FUTEX_WAKE_PRIVATE, 1);
    wait_for_turn(slot);
    __atomic_store_n(&slot->idle, 0, __ATOMIC_RELAXED);
    rt_call_on(slot->start - 64, run_thread, slot->thread, &slot->loop);
  }
  return NULL;
}

static void create_slot(struct rt_slot* slot) {
  uint8_t* low = (uint8_t*)(uintptr_t)(STACKS_BASE + STACK_SPACING * slot->number);
  const long mapped = RT_SYS6(SYS_mmap, low, STACK_SPACING, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (mapped != (long)(uintptr_t)low) rt_unsupported("no memory for the stack of thread %u", slot->number);
  slot->top = low + STACK_SPACING;
  slot->low = slot->top - USUAL_STACK;
  RT_SYS3(SYS_mprotect, low, slot->low - low, PROT_NONE);
  rt.internal = true;
  rt_lasting_change_begin();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, slot->low, (size_t)(slot->top - slot->low));
  int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) =
      (int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*))rt_real("pthread_create");
  pthread_t handle;
  const int error = create(&handle, &attributes, slot_main, slot);
  pthread_attr_destroy(&attributes);
  if (error == 0)
    while (__atomic_load_n(&slot->exists, __ATOMIC_ACQUIRE) == 0)
      RT_SYS4(SYS_futex, &slot->exists, FUTEX_WAIT_PRIVATE, 0, 0);
  rt_lasting_change_end();
  rt.internal = false;
  if (error != 0) rt_unsupported("the system gives no further thread (%s)", strerror(error));
  slot->image_size = (uint64_t)(slot->top - slot->image_from);
  slot->image = rt_permanent(slot->image_size);
  memcpy(slot->image, slot->image_from, slot->image_size);
}

/* Puts back thread-local storage and clears the stack. A real thread may still be on its way out of it. */
static void renew_slot(struct rt_slot* slot) {
  while (__atomic_load_n(&slot->idle, __ATOMIC_ACQUIRE) == 0)
    RT_SYS4(SYS_futex, &slot->idle, FUTEX_WAIT_PRIVATE, 0, 0);
  memcpy(slot->image_from, slot->image, slot->image_size);
  memset(slot->start - CLEARED, 0, CLEARED);
  uint8_t* rest = (uint8_t*)((uintptr_t)(slot->start - CLEARED) & ~(uintptr_t)4095);
  memset(rest, 0, (size_t)(slot->start - CLEARED - rest));
  RT_SYS3(SYS_madvise, slot->low, rest - slot->low, MADV_DONTNEED);
}

void rt_switching_init(void) {
  has_wrfsbase = (getauxval(AT_HWCAP2) & 2) != 0;
  slots = rt_map(sizeof(struct rt_slot) * MAX_SLOTS);
  creator_stack = rt_map(CREATOR_STACK);
  /* The main stack grows until it meets its limit; nothing of the program lies in this range below it. */
  uint8_t* here = __builtin_frame_address(0);
  slots[0] = (struct rt_slot){.exists = 1, .thread_pointer = rt_thread_pointer(), .low = here - USUAL_STACK};
  slot_count = 1;
}

struct rt_slot* rt_main_slot(void) {
  return &slots[0];
}

static void enlarge_stack(struct rt_slot* slot, uint64_t size) {
  uint8_t* lowest = slot->top - STACK_SPACING + GUARD;
  size = (size + 2 * GUARD) & ~(uint64_t)4095; /* without what the slot itself takes */
  uint8_t* low = size < (uint64_t)(slot->top - lowest) ? slot->top - size : lowest;
  if (low >= slot->low) return;
  RT_SYS3(SYS_mprotect, low, slot->low - low, PROT_READ | PROT_WRITE);
  slot->low = low;
}

struct request {
  uint64_t stack_size;
  uint32_t wanted;
  struct rt_slot* slot;
  void* back;
};

static void take_slot(void* argument) {
  struct request* request = argument;
  uint32_t number = request->wanted;
  while (number < MAX_SLOTS && slots[number].taken) ++number;
  if (number < MAX_SLOTS) {
    struct rt_slot* slot = request->slot = &slots[number];
    if (!slot->exists) {
      if (number >= slot_count) slot_count = number + 1;
      slot->number = number;
      create_slot(slot);
    } else if (slot->used) {
      renew_slot(slot);
    }
    enlarge_stack(slot, request->stack_size);
    slot->taken = slot->used = true;
  }
  rt_return_to(request->back);
}

/* By the name of the thread, if it is free: where its stack lies, which addresses of its variables tell, must not
 * depend on who else made a thread before. */
static uint32_t wanted_slot(const struct rt_thread* creator) {
  if (creator->index == 0) return 1 + creator->children % OF_MAIN;
  return 1 + OF_MAIN + (uint32_t)(rt_mix(creator->path, creator->children + 1) % OF_OTHERS);
}

/* Not on the stack of the program: what is left there must not tell whether the slot was there before. */
struct rt_slot* rt_take_slot(uint64_t stack_size, const struct rt_thread* creator) {
  struct request request = {.stack_size = stack_size, .wanted = wanted_slot(creator)};
  rt_call_on(creator_stack + CREATOR_STACK, take_slot, &request, &request.back);
  return request.slot;
}

void rt_release_slot(struct rt_slot* slot) {
  slot->taken = false;
}

void rt_start_on_slot(struct rt_thread* thread) {
  struct rt_slot* slot = thread->slot;
  slot->thread = thread;
  if (rt.plan.substrate == HEDDLE_SUBSTRATE_fibres)
    slot->stack_pointer = rt_fresh_stack(slot->start, run_thread, thread);
}

void rt_switch(struct rt_thread* from, struct rt_thread* to) {
  if (rt.plan.substrate == HEDDLE_SUBSTRATE_fibres) {
    void* forgotten;
    rt_swap_to(from != NULL ? &from->slot->stack_pointer : &forgotten, to->slot->stack_pointer,
               to->slot->thread_pointer);
    return;
  }
  struct rt_slot* mine = from != NULL ? from->slot : NULL;
  give_turn(to->slot);
  if (mine != NULL) wait_for_turn(mine);
}

void rt_abandon(struct rt_slot* slot) {
  if (rt.plan.substrate == HEDDLE_SUBSTRATE_threads && slot->number != 0) rt_return_to(slot->loop);
  for (;;) RT_SYS0(SYS_pause); /* the main thread is finished, the process is not */
}

const uint8_t* rt_stack_low(const struct rt_thread* thread) {
  return thread->slot->low;
}

pthread_t rt_handle(const struct rt_thread* thread) {
  return (pthread_t)thread->slot->thread_pointer;
}

struct rt_thread* rt_thread_of(pthread_t handle) {
  for (uint32_t i = 0; i < slot_count; ++i)
    if (slots[i].taken && slots[i].thread_pointer == (uint64_t)handle) return slots[i].thread;
  return NULL;
}

void rt_slots_begin_execution(struct rt_thread* main_thread) {
  main_thread->slot = &slots[0];
  slots[0].thread = main_thread;
  slots[0].taken = true;
}

void rt_slots_reset(void) {
  for (uint32_t i = 1; i < slot_count; ++i) {
    if (slots[i].used) renew_slot(&slots[i]);
    slots[i].taken = slots[i].used = false;
  }
}
