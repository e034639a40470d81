/* Sections: what a thread does under a lock, from one release of a lock to the next.
 *
 * A granule that a thread takes over in a section is guarded: the thread accesses it as if it owned it, as long
 * as it is in that section. Behind the section it has to take the granule again. So who comes next, mostly
 * under the same lock, sees that the section is over: all accesses of a section come before the store that ends
 * it, on x86 for all to see. Neither a barrier nor the other thread is needed, and what a lock guards goes from
 * hand to hand for the price of one atomic operation for each granule and section.
 *
 * Who takes a lock again that nobody had meanwhile goes on with the section of then: the word of the lock tells
 * which one. What it took over in that section is at hand again, unless others came. Whoever comes has locked
 * the word of the granule when it looks which section we are in; we have said which one, with a fence, before
 * we look at words.
 *
 * It is a matter of cost only: a section that is begun or ended too often or not at all, by locks that are
 * unknown here, makes no difference to what is recorded. */
#include "runtime/flow/words.h"

static uint64_t guard_of(const struct rt_fl_local* local) {
  return HEDDLE_FLOW_WORD(HEDDLE_FLOW_guarded, local->slot, local->section, 0);
}

static bool is_recorded(void) {
  return rt_fl_active() && rt_fl.sequences && rt_fl.mode == FL_RECORD;
}

void rt_fl_begin_section(const void* lock) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!is_recorded() || local->locks++ != 0) return;
  const uint64_t at = (uint64_t)(uintptr_t)lock, word = has_shadow(at) ? LOAD(word_of(at)) : 0;
  if (kind_of(word) == HEDDLE_FLOW_guarded && slot_of(word) == local->slot) {
    local->section = number_of(word);
    __atomic_exchange_n(&heddle_flow_self->guard, guard_of(local), __ATOMIC_SEQ_CST);
  } else {
    local->section = ++local->sections;
    STORE(&heddle_flow_self->guard, guard_of(local));
  }
}

void rt_fl_end_section(void) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!is_recorded()) return;
  STORE(&rt_fl.threads[local->slot].released, rt_fl_number());
  if (local->locks != 0) --local->locks;
  if (local->locks != 0) local->section = ++local->sections;
  STORE(&heddle_flow_self->guard, local->locks != 0 ? guard_of(local) : ~0ull);
}

/* ---- what is the thread's, but of another section or of none. No other thread has accessed it meanwhile, so
 * changing its words is no event. */
static bool is_own(uint64_t word, uint32_t slot) {
  switch (kind_of(word)) {
    case HEDDLE_FLOW_untouched:
      return true;
    case HEDDLE_FLOW_owned:
    case HEDDLE_FLOW_guarded:
      return slot_of(word) == slot;
    default:
      return false;
  }
}

bool rt_fl_is_own(uint64_t begin, uint64_t end) {
  const uint64_t* word = word_of(begin);
  const uint64_t* const last = word + (end - begin) / 8;
  while (word != last) {
    const uint64_t first = LOAD(word);
    if (!is_own(first, rt_fl_local->slot)) return false;
    word = other_than(word + 1, last, first);
  }
  return true;
}

static bool settle_as(uint64_t wanted, uint64_t begin, uint64_t end) {
  const struct rt_fl_local* const local = rt_fl_local;
  uint64_t* word = word_of(begin);
  for (uint64_t* const last = word + (end - begin) / 8; word != last;) {
    const uint64_t first = LOAD(word);
    if (is_like(first, wanted)) {
      word = (uint64_t*)other_than(word + 1, last, wanted);
      continue;
    }
    if (!is_own(first, local->slot)) return false;
    const bool two = last - word > 1 && is_even(word);
    const uint64_t second = two ? LOAD(&word[1]) : 0;
    if (two && is_own(second, local->slot)) {
      if (!exchange_two(word, first, second, with_hands_of(wanted, first), with_hands_of(wanted, second)))
        return false;
      word += 2;
    } else {
      if (!exchange(word, first, with_hands_of(wanted, first))) return false;
      ++word;
    }
  }
  return true;
}

static uint64_t owned_word(void) {
  return HEDDLE_FLOW_WORD(HEDDLE_FLOW_owned, rt_fl_local->slot, 0, 0);
}

bool rt_fl_settle(uint64_t begin, uint64_t end) {
  return settle_as(in_section() ? guard_of(rt_fl_local) : owned_word(), begin, end);
}

/* What a thread allocates under a lock it mostly hands over under that lock: guarded from the beginning, nobody
 * needs a barrier to take it. What it allocates elsewhere it owns; large blocks always: a barrier costs no more
 * than to change the words of one, now and when it is used without the lock (in virtual machines some 15 us).
 */
#define LARGE 16384
void rt_fl_settle_block(const void* block, uint64_t size) {
  const uint64_t begin = (uint64_t)(uintptr_t)block;
  if (!is_recorded() || rt_fl_local->open || is_alone()) return;
  const uint64_t wanted = in_section() && size < LARGE ? guard_of(rt_fl_local) : owned_word();
  if (!is_like(LOAD(word_of(begin)), wanted))
    settle_as(wanted, begin, begin + size); /* they are mostly alike */
}
