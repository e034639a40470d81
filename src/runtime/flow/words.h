/* The words of the shadow (abi/flow.h): what they say, and what the files that change them share. */
#ifndef HEDDLE_RUNTIME_FLOW_WORDS_H
#define HEDDLE_RUNTIME_FLOW_WORDS_H

#include <time.h>

#include "runtime/flow/flow.h"

#define OFTEN 6 /* so many changes of hands make a granule contended */
#define FEW 16
#define HANDS (UINT64_C(0xff) << HEDDLE_FLOW_HANDS_AT)
#define FL_SHADOW_BLOCK (1ull << 20) /* where a word of a shadow is, there is one in all of its block */

static inline uint64_t* word_of(uint64_t address) {
  return (uint64_t*)(((address & ~7ull) ^ HEDDLE_FLOW_SHADOW) + HEDDLE_FLOW_ASIDE);
}
static inline uint64_t kind_of(uint64_t word) {
  return word & ((1u << HEDDLE_FLOW_SLOT_AT) - 1);
}
static inline uint32_t slot_of(uint64_t word) {
  return word >> HEDDLE_FLOW_SLOT_AT & (HEDDLE_FLOW_SLOTS - 1);
}
static inline uint64_t number_of(uint64_t word) {
  return word >> HEDDLE_FLOW_NUMBER_AT & ((1ull << HEDDLE_FLOW_NUMBER_BITS) - 1);
}
static inline uint64_t hands_of(uint64_t word) {
  return word >> HEDDLE_FLOW_HANDS_AT;
}
static inline uint64_t with_hands_of(uint64_t word, uint64_t other) {
  return (word & ~HANDS) | (other & HANDS);
}
static inline bool has_shadow(uint64_t address) {
  const uint64_t top = address >> 40;
  return top < 1 || top - 0x10 < 0x10 || top == 0x55 || top == 0x7f;
}
/* No other thread has been made: nobody else changes words. */
static inline bool is_alone(void) {
  return LOAD(&rt_fl.slots) == 1;
}
static inline bool exchange(uint64_t* word, uint64_t from, uint64_t to) {
  if (is_alone()) {
    STORE(word, to);
    return true;
  }
  return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* The same for two words side by side, at an even address: for the price of one. */
static inline bool exchange_two(uint64_t* words, uint64_t from, uint64_t from_second, uint64_t to,
                                uint64_t to_second) {
  if (is_alone()) {
    STORE(&words[0], to);
    STORE(&words[1], to_second);
    return true;
  }
  bool done;
  __asm__ volatile("lock cmpxchg16b %1"
                   : "=@cce"(done), "+m"(*(unsigned __int128*)words), "+a"(from), "+d"(from_second)
                   : "b"(to), "c"(to_second)
                   : "memory");
  return done;
}
static inline bool is_even(const uint64_t* word) {
  return ((uintptr_t)word & 15) == 0;
}

/* Behind changing a word that said `before` by an atomic operation: whether it is as it was made. Others may be
 * changing words by plain stores (sections.c), and not have seen that; but they had said so before they looked.
 */
void rt_fl_wait_for_stores(uint32_t slot);
uint32_t rt_fl_holder_of(uint64_t word); /* of kind held; this thread itself: nobody else */
static inline bool stays(const uint64_t* word, uint64_t before, uint64_t made) {
  const uint32_t owner = kind_of(before) == HEDDLE_FLOW_held ? rt_fl_holder_of(before) : slot_of(before);
  if (LOAD(&rt_fl.takes_many) != 0 || LOAD(&rt_fl.threads[owner].settles) != 0) rt_fl_wait_for_stores(owner);
  return LOAD(word) == made;
}
static inline bool lock_as(uint64_t* word, uint64_t before, uint64_t locked) {
  return exchange(word, before, locked) && stays(word, before, locked);
}
static inline bool lock_two_as(uint64_t* words, const uint64_t before[2], uint64_t locked, uint64_t second) {
  if (!exchange_two(words, before[0], before[1], locked, second)) return false;
  const bool first_stays = stays(&words[0], before[0], locked),
             second_stays = stays(&words[1], before[1], second);
  if (first_stays && second_stays) return true;
  if (first_stays) STORE(&words[0], before[0]);
  if (second_stays) STORE(&words[1], before[1]);
  return false;
}

static inline void set_state(enum heddle_flow_state state) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  STORE(&self->status, (self->status & ~3ull) | state);
}

/* Between looks whether another thread has gone on. If it has not so soon it is not running: the kernel is
 * given time to let it. */
static inline void relax(uint32_t tries) {
  const struct timespec a_little = {0, 50000};
  if (tries < 200)
    __builtin_ia32_pause();
  else if (tries < 220)
    RT_SYS0(SYS_sched_yield);
  else
    RT_SYS2(SYS_nanosleep, &a_little, NULL);
}

static inline uint64_t my_word(enum heddle_flow_kind kind, uint64_t number, uint64_t hands) {
  return HEDDLE_FLOW_WORD(kind, rt_fl_local->slot, number, hands);
}
static inline bool is_known(uint64_t word) { /* of kind read */
  return rt_fl_local->seen[slot_of(word)] >= number_of(word);
}

static inline uint64_t granule_of(const uint64_t* word) {
  return (((uint64_t)(uintptr_t)word - HEDDLE_FLOW_ASIDE) ^ HEDDLE_FLOW_SHADOW) / 8;
}

static inline bool is_like(uint64_t word, uint64_t other) { /* apart from hands */
  return (word ^ other) << (64 - HEDDLE_FLOW_HANDS_AT) == 0;
}

/* In the same hands, and not yet contended soon. */
static inline bool is_alike(uint64_t word, uint64_t other) {
  return with_hands_of(word, other) == other && hands_of(word) + 1 < OFTEN;
}

/* ---- sections.c */
static inline bool in_section(void) {
  return rt_fl_local->locks != 0 && rt_fl.sequences;
}
static inline bool is_guarded_by(uint64_t word, const struct heddle_flow_thread* thread) {
  return is_like(word, LOAD(&thread->guard));
}

/* The first word that is not like the other. */
typedef uint64_t rt_fl_words __attribute__((vector_size(32), aligned(8), may_alias));
static inline const uint64_t* other_than(const uint64_t* word, const uint64_t* end, uint64_t other) {
  for (; end - word >= 8; word += 8) {
    const rt_fl_words* const at = (const rt_fl_words*)word;
    const rt_fl_words different = (at[0] ^ other) | (at[1] ^ other);
    if (!is_like(__builtin_reduce_or(different), 0)) break;
  }
  while (word != end && is_like(LOAD(word), other)) ++word;
  return word;
}
/* From one address to another, both even granules' or made so: words that are the thread's, but of another
 * section or of none, become as its present section wants them. False: some are not the thread's. */
bool rt_fl_settle(uint64_t begin, uint64_t end);
/* Locks the first of so many words, if they are many, and says what they were. How many. */
uint64_t rt_fl_lock_many(uint64_t* word, uint64_t count, uint64_t* before);
/* Up (step 1) or down (-1) from a word, as long as they are like the other: locked, they have the hands that
 * they had. How many. */
uint64_t rt_fl_lock_alike(uint64_t* word, int64_t step, uint64_t count, uint64_t like);
bool rt_fl_is_own(uint64_t begin, uint64_t end);

/* ---- locks.c */
bool rt_fl_holds(uint64_t word); /* of kind held: whether the thread has that lock */
static inline bool is_held(uint64_t word) {
  return kind_of(word) == HEDDLE_FLOW_held && (is_like(word, heddle_flow_self->held) || rt_fl_holds(word));
}
struct rt_fl_lock* rt_fl_lock_of(uint64_t word);

/* ---- slices.c */
void rt_fl_meet(uint64_t word); /* before it locks a word that says this, to access it by itself */
/* Whether the thread does not wait for its turn in vain: it takes what it meets for itself. */
static inline bool has_slice(void) {
  return rt_fl_local->slice.dense;
}

/* ---- shadow.c */
bool rt_fl_is_awake(uint32_t slot);
uint64_t rt_fl_last_done(struct heddle_flow_thread* other);
void rt_fl_barrier(void);
void rt_fl_after_event(uint32_t slot, uint64_t number);
uint64_t rt_fl_lock_word(uint64_t* word); /* what the word was */
/* Whether others may access what we have locked without looking at the lock; whether a barrier is needed to
 * know. */
bool rt_fl_is_taken_over(uint64_t before, bool writes);
bool rt_fl_needs_barrier(uint64_t before, bool writes);
/* Edges to this event because of a word that is locked now, and what the word is to be behind the event. `few`
 * others are taken over with it. */
uint64_t rt_fl_take(const uint64_t* word, uint64_t before, bool writes, bool few);

/* ---- granules.c */
void rt_fl_handlers_before_access(uint32_t site);

/* May the granule be accessed as it is? With the state direct. What all may read needs no more than an edge. */
static inline bool is_owned(uint64_t word) {
  return (uint32_t)word == (uint32_t)heddle_flow_self->tag || is_guarded_by(word, heddle_flow_self);
}
static inline bool is_mine(uint64_t word, bool writes) {
  if (is_owned(word) || is_held(word)) return true;
  if (writes || kind_of(word) != HEDDLE_FLOW_read) return false;
  if (!is_known(word)) rt_fl_after_event(slot_of(word), number_of(word));
  return true;
}

#endif
