/* Random numbers that come from the system: a sequence of its own for each thread, the same in every execution.
 *
 * They are input of the program, not of the schedule: two schedules see the same numbers, whatever seed they
 * were found with, and a thread's numbers do not depend on when others draw theirs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "runtime/control/control.h"

/* Values that the kernel draws for each process: the C library protects stacks and stored addresses with them,
 * and they stay behind in memory that programs do not initialise. Before anything is protected, but for a
 * static program's. */
static void fix_guards(void) {
  memset((void*)getauxval(AT_RANDOM), 0x5a, 16);
  if (getauxval(AT_BASE) == 0) return;
  __asm__ volatile("movq %0, %%fs:0x28" ::"r"(0x6865646c65000000ull)); /* the first byte in memory is a zero */
  __asm__ volatile("movq %0, %%fs:0x30" ::"r"(0x6865646c652e7274ull));
}
__attribute__((section(".preinit_array"), used)) static void (*const at_start)(void) = fix_guards;

static uint64_t drawn_before_main;

static uint64_t draw(void) {
  uint64_t* drawn = rt.active ? &rt.current->drawn : &drawn_before_main;
  const uint64_t thread = rt.active ? rt.current->index + 1 : 0;
  uint64_t state = rt_mix(0x6865646c65ull, thread) + (*drawn)++ * 0x9e3779b97f4a7c15ull;
  return rt_next_random(&state);
}

uint64_t heddle_control_chance(void) {
  return draw();
}

static void fill(void* buffer, size_t size) {
  for (uint8_t* to = buffer; size > 0;) {
    const uint64_t word = draw();
    const size_t part = size < sizeof word ? size : sizeof word;
    memcpy(to, &word, part);
    to += part;
    size -= part;
  }
}

ssize_t getrandom(void* buffer, size_t size, unsigned flags) {
  (void)flags;
  fill(buffer, size);
  return (ssize_t)size;
}

int getentropy(void* buffer, size_t size) {
  if (size > 256) {
    errno = EIO;
    return -1;
  }
  fill(buffer, size);
  return 0;
}

uint32_t arc4random(void) {
  return (uint32_t)draw();
}

void arc4random_buf(void* buffer, size_t size) {
  fill(buffer, size);
}

uint32_t arc4random_uniform(uint32_t limit) {
  return (uint32_t)(((draw() >> 32) * limit) >> 32);
}

/* ---- std::random_device of libstdc++, which would ask the processor: constructors, destructor, a number,
 * entropy */
struct random_device;
struct string;

void _ZNSt13random_device7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    struct random_device* self, const struct string* token) {
  (void)self, (void)token;
}

void _ZNSt13random_device7_M_initERKSs(struct random_device* self, const struct string* token) {
  (void)self, (void)token;
}

void _ZNSt13random_device14_M_init_pretr1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE(
    struct random_device* self, const struct string* token) {
  (void)self, (void)token;
}

void _ZNSt13random_device14_M_init_pretr1ERKSs(struct random_device* self, const struct string* token) {
  (void)self, (void)token;
}

void _ZNSt13random_device7_M_finiEv(struct random_device* self) {
  (void)self;
}

unsigned _ZNSt13random_device9_M_getvalEv(struct random_device* self) {
  (void)self;
  return (unsigned)draw();
}

unsigned _ZNSt13random_device16_M_getval_pretr1Ev(struct random_device* self) {
  (void)self;
  return (unsigned)draw();
}

double _ZNKSt13random_device13_M_getentropyEv(const struct random_device* self) {
  (void)self;
  return 32.0;
}
