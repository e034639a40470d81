/* Where stacks and mappings of the program lie: in a part of the address space of the thread that makes them,
 * so that the addresses do not depend on what other threads do. */
#include "runtime/flow/flow.h"

#define MAPPINGS (1ull << 30) /* from the beginning of the slot; the heap follows at its half */

uint64_t rt_fl_slot_base(uint32_t slot) {
  return HEDDLE_FLOW_BASE + slot * HEDDLE_FLOW_SLOT_SIZE;
}

uint64_t rt_fl_place(uint64_t size) {
  struct rt_fl_shared* const thread = &rt_fl.threads[rt_fl_local->slot];
  if (thread->place == 0) thread->place = rt_fl_slot_base(rt_fl_local->slot) + MAPPINGS;
  const uint64_t at = thread->place;
  thread->place += ((size + 4095) & ~4095ull) + 4096;
  return thread->place < rt_fl_slot_base(rt_fl_local->slot) + HEDDLE_FLOW_SLOT_SIZE / 2 ? at : 0;
}
