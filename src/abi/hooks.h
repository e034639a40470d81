/* Functions that instrumented code calls and runtimes define: the one place where passes and runtimes meet.
 * A pass looks a hook up by name, so each name stands here once, beside its signature for the runtime.
 *
 * `site` is always the id of the instruction in the canonical program (Program::id_of). */
#ifndef HEDDLE_ABI_HOOKS_H
#define HEDDLE_ABI_HOOKS_H

#include <stdint.h>

/* What the program's object in a variant calls its source: local symbols under this name are the program's. */
#define HEDDLE_VARIANT_SOURCE "heddle-variant"

/* The function of the model of std::thread in which its threads begin. */
#define HEDDLE_THREAD_STATE "heddle_run_state"

/* Variant "count": called first in every function of the program, with the function's id. */
#define HEDDLE_HOOK_COUNT_ENTER "heddle_count_enter"

/* Variant "control". The program's main is renamed; the runtime has the real one. */
#define HEDDLE_CONTROL_MAIN "heddle_program_main"

/* Before an access: a decision point. The answer is where the access is to go instead: to the same address, or
 * to memory of the runtime that stands for it (a store buffer). Between the answer and the access, and between
 * the access and the next hook, no other thread runs. `order` is an enum heddle_order (abi/control.h). */
#define HEDDLE_HOOK_READ "heddle_control_read"
#define HEDDLE_HOOK_WRITE "heddle_control_write"
#define HEDDLE_HOOK_ATOMIC_READ "heddle_control_atomic_read"
#define HEDDLE_HOOK_ATOMIC_WRITE "heddle_control_atomic_write"
/* Read-modify-writes and compare-exchanges happen in place. */
#define HEDDLE_HOOK_UPDATE "heddle_control_update"
#define HEDDLE_HOOK_FENCE "heddle_control_fence"
/* Accesses that cannot be redirected (masked vectors, processor-specific intrinsics) happen in place; `writes`
 * is 0 or 1. */
#define HEDDLE_HOOK_IN_PLACE "heddle_control_in_place"
/* Before a call of a library function that touches possibly shared memory: one event. The ranges are given by
 * as many heddle_control_range calls directly before it (they are no decision points). A size of
 * HEDDLE_SIZE_STRING means up to the terminating zero byte (at most `limit` bytes), HEDDLE_SIZE_OBJECT an
 * amount only the library knows. */
#define HEDDLE_HOOK_RANGE "heddle_control_range"
#define HEDDLE_HOOK_CALL "heddle_control_call"
#define HEDDLE_SIZE_STRING 0xffffffffffffffffull
#define HEDDLE_SIZE_WIDE_STRING 0xfffffffffffffffeull
#define HEDDLE_SIZE_OBJECT 0xfffffffffffffffdull
/* Around a call that may wait for something outside the program; `name` is a C string. */
#define HEDDLE_HOOK_BLOCKING "heddle_control_blocking"
#define HEDDLE_HOOK_BLOCKING_DONE "heddle_control_blocking_done"
/* Inline assembly that may touch memory: a decision point, buffered stores become visible first. */
#define HEDDLE_HOOK_ASSEMBLY "heddle_control_assembly"
/* The same where it only loads this: a loop around it may be one that waits. */
#define HEDDLE_HOOK_ASSEMBLY_LOAD "heddle_control_assembly_load"
/* Before an access to memory that no other thread can reach, but that other code of the program accesses by the
 * hooks above (Access::lent): buffered stores of this thread to it are carried out. Nobody can tell. */
#define HEDDLE_HOOK_OWN "heddle_control_own"
/* Where frames of the stack end: before a return (`limit`: where the return address is), and after control came
 * back by an exception or longjmp (`limit` null: the stack pointer of the caller). Buffered stores of this
 * thread to its stack below that are forgotten: the memory will soon be something else. The others
 * become visible when the return goes to code that heddle does not see. */
#define HEDDLE_HOOK_FRAME_END "heddle_control_frame_end"
/* Before a call of code that heddle does not see and that may read anything: buffered stores become visible. No
 * decision point. `target` is what is called; nothing happens when that is code of the program. */
#define HEDDLE_HOOK_LEAVE "heddle_control_leave"
/* In place of what the processor says on its own (instrument/machine_values.h): nanoseconds, a random number. */
#define HEDDLE_HOOK_CLOCK "heddle_control_clock"
#define HEDDLE_HOOK_CHANCE "heddle_control_chance"
/* Variant "follow": control, and where threads go. A block is entered (`block`: its id), a function left by a
 * return. */
#define HEDDLE_HOOK_MOVE_BLOCK "heddle_control_move_block"
#define HEDDLE_HOOK_MOVE_RETURN "heddle_control_move_return"
/* A thread-local variable (initial-exec) that is set before every call that leaves the program, so that what
 * the runtime catches inside a library has a place in the program. */
#define HEDDLE_CONTROL_SITE "heddle_control_site"

#ifdef __cplusplus
extern "C" {
#endif

void heddle_count_enter(uint32_t function);

void* heddle_control_read(const void* at, uint64_t size, uint32_t site);
void* heddle_control_write(void* at, uint64_t size, uint32_t site);
void* heddle_control_atomic_read(const void* at, uint64_t size, uint32_t site, uint32_t order);
void* heddle_control_atomic_write(void* at, uint64_t size, uint32_t site, uint32_t order);
void* heddle_control_update(void* at, uint64_t size, uint32_t site, uint32_t order);
void heddle_control_fence(uint32_t site, uint32_t order);
void heddle_control_in_place(const void* at, uint64_t size, uint32_t site, uint32_t writes);
void heddle_control_range(const void* at, uint64_t size, uint64_t limit, uint32_t writes);
void heddle_control_call(uint32_t site);
void heddle_control_blocking(uint32_t site, const char* name);
void heddle_control_blocking_done(void);
void heddle_control_assembly(uint32_t site);
void heddle_control_assembly_load(const void* at, uint64_t size, uint32_t site);
void heddle_control_own(const void* at, uint64_t size);
void heddle_control_leave(const void* target);
uint64_t heddle_control_clock(void);
uint64_t heddle_control_chance(void);
void heddle_control_frame_end(const void* limit);
void heddle_control_move_block(uint32_t block);
void heddle_control_move_return(uint32_t function);

#ifdef __cplusplus
}
#endif

#endif
