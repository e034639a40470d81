/* What functions and instructions say that ask neither the kernel nor other threads: chance, time stamps, ids
 * of children. */
#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

/* The value when recording; the recorded one in a replay. */
RT_FL_ENTRY(heddle_flow_told);
uint64_t rt_do_heddle_flow_told(uint64_t value);
uint64_t rt_do_heddle_flow_told(uint64_t value) {
  if (!rt_fl_active()) return value;
  if (rt_fl.mode == FL_RECORD) {
    rt_fl_note(HEDDLE_FLOW_told, (int64_t)value, NULL, 0);
    return value;
  }
  const uint8_t* bytes;
  uint64_t size;
  return (uint64_t)rt_fl_given(HEDDLE_FLOW_told, &bytes, &size);
}

/* std::random_device asks the processor. */
typedef unsigned get_value(void*);
get_value _ZNSt13random_device9_M_getvalEv;
unsigned _ZNSt13random_device9_M_getvalEv(void* self) {
  static get_value* real;
  if (real == NULL) real = (get_value*)rt_real("_ZNSt13random_device9_M_getvalEv");
  const bool replay = rt_fl_active() && rt_fl.mode == FL_REPLAY;
  return (unsigned)heddle_flow_told(replay ? 0 : real(self));
}
