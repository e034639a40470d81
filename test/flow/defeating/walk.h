// A value decides 64 branches: who looks for an order of the threads has to find one that gives this very value.
#include <stdint.h>

static volatile unsigned ones, zeros;

static void walk(uint64_t value) {
  for (int i = 0; i < 64; ++i) {
    if ((value >> i & 1) != 0)
      ++ones;
    else
      ++zeros;
  }
}
