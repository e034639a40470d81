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

static uint64_t owned_word(void) {
  return HEDDLE_FLOW_WORD(HEDDLE_FLOW_owned, rt_fl_local->slot, 0, 0);
}

/* Locks that a library takes inside an event have no events: what they guard is that event's. */
static bool is_recorded(void) {
  return rt_fl_active() && rt_fl.sequences && rt_fl.mode == FL_RECORD && !rt_fl_local->open;
}

void rt_fl_begin_section(const void* lock) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!is_recorded()) return;
  rt_fl_begin_hold(lock);
  if (local->locks++ != 0) return;
  const uint64_t at = (uint64_t)(uintptr_t)lock, word = has_shadow(at) ? LOAD(word_of(at)) : 0;
  if (kind_of(word) == HEDDLE_FLOW_guarded && slot_of(word) == local->slot) {
    local->section = number_of(word);
    __atomic_exchange_n(&heddle_flow_self->guard, guard_of(local), __ATOMIC_SEQ_CST);
  } else {
    local->section = ++local->sections;
    STORE(&heddle_flow_self->guard, guard_of(local));
  }
}

void rt_fl_end_section(const void* lock) {
  struct rt_fl_local* const local = rt_fl_local;
  if (!is_recorded()) return;
  rt_fl_end_hold(lock);
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
      return is_held(word); /* who else held the lock did so before */
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

/* ---- many words at once, by fours and plain stores: an atomic operation for each pair would cost more than
 * all else that is done with a block. Who does so says it first, with a fence: a thread that it changes its own
 * words, and one at a time that it locks those of others, not while these change them. Whoever changes one of
 * these words meanwhile, by an atomic operation, looks for that behind it, waits, and looks whether the word is
 * still as it was made (stays() in words.h). Untouched words are left out, and so are locked ones. */
#define SOME 8

/* Up to the first four that are not all the thread's. */
static uint64_t* settle_fours(uint64_t wanted, uint64_t* word, const uint64_t* last) {
  const uint64_t whose =
      HEDDLE_FLOW_WORD(3, HEDDLE_FLOW_SLOTS - 1, 0, 0); /* owned and guarded differ in bit 2 */
  _Static_assert((HEDDLE_FLOW_owned & 3) == 1 && (HEDDLE_FLOW_guarded & 3) == 1, "kinds of one's own");
  const uint64_t mine = owned_word(), held = heddle_flow_self->held;
  uint32_t* const settles = &rt_fl.threads[rt_fl_local->slot].settles;
  __atomic_exchange_n(settles, 1, __ATOMIC_SEQ_CST);
  if (LOAD(&rt_fl.takes_many) != 0) last = word;
  for (; last - word >= 4; word += 4) {
    rt_fl_words* const at = (rt_fl_words*)word;
    const rt_fl_words now = *at;
    if (__builtin_reduce_or((now ^ mine) & whose) != 0 && __builtin_reduce_or((now ^ held) & ~HANDS) != 0)
      break;
    *at = (now & HANDS) | wanted;
  }
  STORE(settles, 0);
  return word;
}

/* Whether nobody but us changes words like this one by plain stores, and it is not locked. */
static bool may_lock(uint64_t word) {
  const uint64_t kind = kind_of(word);
  if (kind == HEDDLE_FLOW_untouched || kind == HEDDLE_FLOW_locked) return false;
  const uint32_t owner = kind == HEDDLE_FLOW_held ? rt_fl_holder_of(word) : slot_of(word);
  return owner == rt_fl_local->slot || LOAD(&rt_fl.threads[owner].settles) == 0;
}

/* `alike`: one that may. What its owner has made of a word before it could see us is to be seen too. */
static bool may_lock_four(const uint64_t* word, const rt_fl_words* four, uint64_t* alike) {
  const rt_fl_words now = *four;
  bool new = false;
  for (uint32_t i = 0; i < 4; ++i) {
    if (is_like(now[i], *alike)) continue;
    if (!may_lock(now[i])) return false;
    *alike = now[i];
    new = true;
  }
  for (uint32_t i = 0; i < 4 && new; ++i)
    if (LOAD(&word[i]) != now[i]) return false;
  return true;
}

static bool begin_to_take(void) {
  uint32_t nobody = 0;
  return !is_alone() && rt_fl.sequences &&
         __atomic_compare_exchange_n(&rt_fl.takes_many, &nobody, rt_fl_local->slot + 1, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED);
}

static void end_taking(void) { /* and who holds what is looked at behind it */
  __atomic_exchange_n(&rt_fl.takes_many, 0, __ATOMIC_SEQ_CST);
}

uint64_t rt_fl_lock_many(uint64_t* word, uint64_t count, uint64_t* before) {
  if (count < SOME || !begin_to_take()) return 0;
  const uint64_t locked = my_word(HEDDLE_FLOW_locked, 0, 0);
  uint64_t done = 0, alike = ~0ull; /* like none */
  for (; count - done >= 4; done += 4) {
    rt_fl_words* const at = (rt_fl_words*)&word[done];
    const rt_fl_words now = *at;
    if (!may_lock_four(&word[done], &now, &alike)) break;
    *(rt_fl_words*)&before[done] = now;
    *at = (rt_fl_words){locked, locked, locked, locked};
  }
  end_taking();
  return done;
}

uint64_t rt_fl_lock_alike(uint64_t* word, int64_t step, uint64_t count, uint64_t like) {
  if (count < SOME || !begin_to_take()) return 0;
  const uint64_t locked = my_word(HEDDLE_FLOW_locked, 0, 0);
  uint64_t done = 0;
  if (may_lock(like))
    for (; count - done >= 4; done += 4) {
      rt_fl_words* const at = (rt_fl_words*)(step > 0 ? word + done : word - done - 3);
      const rt_fl_words now = *at;
      if (__builtin_reduce_or(now ^ like) != 0) { /* in the same hands, but oftener or not so often */
        if (!is_alike(now[0], like) || __builtin_reduce_or(now ^ now[0]) != 0) break;
        like = now[0];
      }
      *at = (now & HANDS) | locked;
    }
  end_taking();
  return done;
}

/* Those that began before now. Its own are over. */
void rt_fl_wait_for_stores(uint32_t slot) {
  if (slot != rt_fl_local->slot)
    for (uint32_t tries = 0; LOAD(&rt_fl.threads[slot].settles) != 0; ++tries) relax(tries);
  const uint32_t taker = LOAD(&rt_fl.takes_many);
  if (taker != 0 && taker != rt_fl_local->slot + 1)
    for (uint32_t tries = 0; LOAD(&rt_fl.takes_many) == taker; ++tries) relax(tries);
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
    const bool fours = last - word >= SOME && kind_of(first) != HEDDLE_FLOW_untouched;
    uint64_t* const rest = fours ? settle_fours(wanted, word, last) : word;
    if (rest != word) {
      word = rest;
      continue;
    }
    const bool two = last - word > 1 && is_even(word);
    const uint64_t second = two ? LOAD(&word[1]) : 0;
    if (two && is_own(second, local->slot)) {
      const uint64_t made = with_hands_of(wanted, first), made_second = with_hands_of(wanted, second);
      if (!exchange_two(word, first, second, made, made_second) || !stays(word, first, made) ||
          !stays(&word[1], second, made_second))
        return false;
      word += 2;
    } else {
      const uint64_t made = with_hands_of(wanted, first);
      if (!exchange(word, first, made) || !stays(word, first, made)) return false;
      ++word;
    }
  }
  return true;
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
  if (!is_recorded() || is_alone()) return;
  const uint64_t wanted = in_section() && size < LARGE ? guard_of(rt_fl_local) : owned_word();
  if (!is_like(LOAD(word_of(begin)), wanted))
    settle_as(wanted, begin, begin + size); /* they are mostly alike */
}
