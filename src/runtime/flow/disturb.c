/* record --chaos: threads rest at random (record/chaos.c) where they come to the runtime: behind
 * synchronisation and before accesses to memory that is not their own. While many disturbances are drawn the
 * accesses to their own come here too. A thread that rests has said so: nobody waits for it. */
#include "runtime/flow/words.h"

#define DENSE 12 /* places to the next disturbance */

void rt_fl_rest_at(uint32_t site) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  if (rt_fl.mode != FL_RECORD || !rt_fl_active() || rt_fl_local->open) return;
  if (heddle_record_state.chaos > 1) {
    --heddle_record_state.chaos;
  } else {
    const enum heddle_flow_state state = self->status & 3;
    if (state == HEDDLE_FLOW_direct) set_state(HEDDLE_FLOW_waiting); /* counted, and not yet made */
    rt_fl_rest(true);
    rt_disturb(rt_self, (const void*)(uintptr_t)site);
    rt_fl_rest(false);
    set_state(state);
  }
  if (heddle_record_state.chaos <= DENSE) self->tag = ~0ull;
}
