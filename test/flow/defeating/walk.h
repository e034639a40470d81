// A value decides 64 branches: who looks for an order of the threads has to find one that gives this very value.
#include <sched.h>
#include <stdint.h>

// Two threads go on when both have come so many times: so they do their work at the same time, however long it takes one to begin.
static _Atomic unsigned arrived;

static void meet(unsigned times) {
  ++arrived;
  while (arrived < 2 * times) sched_yield();
}

static volatile unsigned ones, zeros;

static void walk(uint64_t value) {
  for (int i = 0; i < 64; ++i) {
    if ((value >> i & 1) != 0)
      ++ones;
    else
      ++zeros;
  }
}
