/* What test harnesses ask for by <heddle.h>: choices, assumptions, parts without switches.
 *
 * A choice is made step by step: each step is an event after which the choice is taken, unless it was ended "by
 * its time", which means one more. So schedules tell choices as they tell timeouts, and whoever explores timed
 * waits explores choices.
 */
#include "abi/event_part.h"
#include "runtime/control/sync.h"

static struct rt_thread* begin(enum heddle_event_part part) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_attribute, NULL);
  if (self != NULL) self->op.size = part;
  return self;
}

uint32_t heddle_harness_choose(uint32_t count) {
  uint32_t chosen = 0;
  while (rt.active && chosen + 1 < count) {
    struct rt_thread* self = begin(HEDDLE_PART_choice);
    self->op.timed = true;
    self->op.deadline = 0; /* takes no time */
    rt_perform(self);
    const bool more = self->timed_out;
    rt_result(self, more);
    if (!more) break;
    ++chosen;
  }
  return chosen;
}

/* The execution is not one that anybody wants to see: it ends here, and well. */
_Noreturn void heddle_harness_refuse(void) {
  if (!rt.active) rt_unsupported("an assumption does not hold before main()");
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_process_exit, NULL);
  rt_perform(self);
  rt_result(self, 0);
  rt_finish(HEDDLE_OUTCOME_passed);
}

void heddle_harness_atomic_begin(void) {
  struct rt_thread* self = begin(HEDDLE_PART_atomic_begin);
  if (self == NULL) return;
  rt_perform(self);
  rt.alone = self;
  ++self->alone;
  rt_result(self, 0);
}

void heddle_harness_atomic_end(void) {
  struct rt_thread* self = begin(HEDDLE_PART_atomic_end);
  if (self == NULL) return;
  rt_perform(self);
  if (self->alone > 0 && --self->alone == 0) rt.alone = NULL;
  rt_result(self, 0);
}
