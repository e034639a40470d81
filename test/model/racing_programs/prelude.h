/* What all racing programs share: types, and functions that are called with pointers to anything. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef union Mixed {
  uint64_t whole;
  uint32_t words[2];
  uint16_t halves[4];
  uint8_t bytes[8];
  float single;
} Mixed;

typedef struct Node {
  unsigned n;
  unsigned char bytes[4];
  unsigned short half;
  unsigned low : 3, middle : 9, high : 20;
  struct Node *next;
  double weight;
  Mixed mixed;
} Node;

typedef struct Large {
  unsigned values[6];
  double real;
} Large;

typedef unsigned Action(unsigned *place, unsigned x, int fuel);

#define NOINLINE __attribute__((noinline))

/* Floats become integers only where that is defined. */
static inline unsigned whole(double real) { return real > 0.0 && real < 4e9 ? (unsigned)real : 7u; }

static NOINLINE unsigned total(const unsigned *values, unsigned count) {
  unsigned sum = 0;
  for (unsigned i = 0; i < count; ++i) sum += values[i];
  return sum;
}
static NOINLINE void add_to(unsigned *place, unsigned x) { *place += x; }
static NOINLINE void touch(Node *node, unsigned x) {
  if (x & 1) node->n += x;
  else node->bytes[x & 3] ^= (unsigned char)x;
}
static NOINLINE unsigned depth_of(const Node *node, int fuel) {
  if (!node || fuel <= 0) return 0;
  return 1 + node->n % 3 + depth_of(node->next, fuel - 1);
}
static NOINLINE unsigned among(unsigned count, ...) {
  va_list list;
  unsigned sum = 0;
  va_start(list, count);
  for (unsigned i = 0; i < count; ++i) sum = sum * 3 + va_arg(list, unsigned);
  va_end(list);
  return sum;
}
static NOINLINE Large changed(Large large, unsigned x) {
  large.values[x % 6] += x;
  large.real = large.real * 0.5 + x;
  return large;
}
static NOINLINE void exchange(unsigned char *to, unsigned char *from, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    unsigned char kept = to[i];
    to[i] = from[i];
    from[i] = kept;
  }
}
