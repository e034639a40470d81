/* Slices: threads that race for the same memory, access by access, take turns.
 *
 * Where granules change hands with nearly every access, locking each is dear, for the threads as for the caches
 * of the processors. A thread that meets many such granules in a short time asks the one that uses them to rest
 * for a slice of time. It takes them over then without a barrier, owns them, and goes on undisturbed until it
 * is asked itself. The one that is asked notices at its next access, since no granule seems to be its own.
 * Nobody waits for an answer for long, and nobody rests longer than a slice.
 *
 * Not under a lock: others may wait for that. And where a slice was of no use (threads that hand one value to
 * and fro wait for each other in earnest) the thread does without for some time, twice as long each time. */
#include <time.h>

#include "runtime/flow/words.h"

#define MANY 32       /* granules met */
#define SOON 1500000  /* in so many ticks of the processor's clock; in virtual machines barriers are slow */
#define PATIENCE 5000 /* looks whether the other one rests */
#define USEFUL 8      /* granules taken in a slice */
#define LONGEST_PAUSE (1u << 20)
#define SLICE_NS 100000

/* Whether granules change hands so fast that it pays to take turns. */
static bool is_dense(struct rt_fl_slice* slice) {
  if (slice->pause != 0) {
    --slice->pause;
    return false;
  }
  if (++slice->met % MANY != 0) return slice->dense;
  const uint64_t now = __builtin_ia32_rdtsc();
  slice->dense = now - slice->since < SOON;
  slice->since = now;
  return slice->dense;
}

/* Unless the slice before was of no use. */
static bool may_ask(struct rt_fl_slice* slice) {
  const bool useful = slice->asked && slice->taken >= USEFUL, useless = slice->asked && !useful;
  slice->asked = !useless;
  slice->taken = 0;
  if (useful || slice->longest_pause == 0) slice->longest_pause = MANY;
  if (useless) {
    slice->longest_pause = slice->longest_pause >= LONGEST_PAUSE ? LONGEST_PAUSE : 2 * slice->longest_pause;
    slice->pause = slice->longest_pause;
    slice->dense = false;
    return false;
  }
  return true;
}

static void ask(uint32_t slot) {
  struct rt_fl_shared* const other = &rt_fl.threads[slot];
  STORE(&other->asked, 1);
  STORE(&other->head->tag, ~0ull);
  for (uint32_t i = 0; i < PATIENCE && rt_fl_is_awake(slot); ++i) __builtin_ia32_pause();
  STORE(&other->asked, 0);
}

void rt_fl_meet(uint64_t word) {
  struct rt_fl_local* const local = rt_fl_local;
  const bool used = kind_of(word) == HEDDLE_FLOW_contended ||
                    (kind_of(word) == HEDDLE_FLOW_owned && hands_of(word) >= OFTEN - 1);
  if (!used || slot_of(word) == local->slot || local->locks != 0) return;
  struct rt_fl_slice* const slice = &local->slice;
  if (!is_dense(slice)) return;
  if (rt_fl_is_awake(slot_of(word)) && may_ask(slice)) ask(slot_of(word));
  if (!rt_fl_is_awake(slot_of(word))) ++slice->taken;
}

void rt_fl_give_way(void) {
  struct rt_fl_local* const local = rt_fl_local;
  if (rt_fl.mode != FL_RECORD || heddle_flow_self->tag == local->tag) return;
  heddle_flow_self->tag = local->tag;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  if (local->held_signals != 0) heddle_flow_self->tag = ~0ull; /* a handler has come, and wants the same */
  if (!LOAD(&rt_fl.threads[local->slot].asked) || local->locks != 0 || local->open) return;
  set_state(HEDDLE_FLOW_waiting);
  rt_fl_rest(true);
  const struct timespec slice = {0, SLICE_NS};
  RT_SYS2(SYS_nanosleep, &slice, NULL);
  rt_fl_rest(false);
  set_state(HEDDLE_FLOW_direct);
}
