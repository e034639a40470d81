/* Events by their names: which instruction of the program, which kind, how often the thread has come to it.
 *
 * Whoever computes a schedule from a recording knows the program's instructions but not the events of libraries
 * (an allocation inside the C++ library, a lock inside stdio), so the number of events since the start is not
 * known to it; this is.
 */
#include <string.h>

#include "runtime/control/control.h"

#define ENTRIES (1u << 20)
struct counted {
  uint64_t key;
  uint64_t count; /* 0: nothing here */
};
RT_STATE static struct counted* table;
RT_STATE static uint32_t used;

void rt_guide_begin_execution(void) {
  if (table == NULL)
    table = rt_map(sizeof *table * ENTRIES);
  else
    memset(table, 0, sizeof *table * ENTRIES);
  used = 0;
}

static struct counted* find(const struct rt_thread* thread, uint32_t site, enum heddle_step_target target) {
  if (target >= HEDDLE_TARGET_begin) site = HEDDLE_NO_SITE;
  if (target == HEDDLE_TARGET_timeout) target = HEDDLE_TARGET_sync;
  const uint64_t key = ((uint64_t)thread->index << 40) | ((uint64_t)site << 3) | target;
  for (uint64_t at = rt_mix(key, 1) % ENTRIES;; at = (at + 1) % ENTRIES) {
    if (table[at].count != 0 && table[at].key != key) continue;
    table[at].key = key;
    return &table[at];
  }
}

static void count(const struct rt_thread* self, uint32_t site, enum heddle_step_target target) {
  if (++find(self, site, target)->count == 1 && ++used > ENTRIES / 2)
    rt_unsupported("this run has more places of events than a schedule by names can have (%u)", used);
}

uint64_t rt_guide_count(const struct rt_thread* thread, uint32_t site, enum heddle_step_target target) {
  return find(thread, site, target)->count;
}

static enum heddle_step_target target_of(uint16_t kind) {
  switch (kind) {
    case HEDDLE_EVENT_read:
    case HEDDLE_EVENT_call:
      return HEDDLE_TARGET_read;
    case HEDDLE_EVENT_write:
      return HEDDLE_TARGET_write;
    case HEDDLE_EVENT_update:
      return HEDDLE_TARGET_update;
    case HEDDLE_EVENT_fence:
      return HEDDLE_TARGET_fence;
    case HEDDLE_EVENT_sync + HEDDLE_SYNC_thread_begin:
      return HEDDLE_TARGET_begin;
    case HEDDLE_EVENT_sync + HEDDLE_SYNC_thread_end:
      return HEDDLE_TARGET_end;
    default:
      return HEDDLE_TARGET_sync;
  }
}

void rt_guide_performed(const struct rt_thread* self) {
  count(self, self->op.site, target_of(self->op.kind));
  if (self->op.kind == HEDDLE_EVENT_call) count(self, self->op.site, HEDDLE_TARGET_write);
}
