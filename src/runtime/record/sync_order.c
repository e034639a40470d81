/* record --sync-order: stamps that say in which order synchronisation calls of all threads came.
 *
 * A stamp stands where those of the clock do (abi/sync_kind.h): behind a call that acquires, so inside of what
 * it locked, and before one that releases, so still inside. One number is taken there from one counter. Of two
 * sections of a lock the later has the greater numbers; and since the numbers of all objects come from the same
 * counter they tell the order of what lies between as well, as clocks do, but exactly: an atomic addition is
 * ordered with all other accesses of its thread, on both sides.
 *
 * A counter for each object would say less and cost more: it has to be found first, and kept as long as the
 * object. The price of the one: each synchronisation call brings the counter's cache line to its core, and
 * orders memory. So this adds synchronisation that the program does not have (D3 does not hold with it):
 * failures that need a store to be late, or two threads very close, may become rarer.
 */
#include "runtime/record/runtime.h"

static _Alignas(64) uint64_t counter;

uint64_t rt_next_in_order(void) {
  return __atomic_add_fetch(&counter, HEDDLE_RECORD_STAMP_UNIT, __ATOMIC_SEQ_CST);
}
