/* How threads take words of the shadow from each other (src/runtime/flow: words.h, shadow.c, sections.c,
 * locks.c), step by step, for `heddle check --memory-model tso`. An owner makes one access, its event 1;
 * another thread takes two words over and accesses them, at its event 1. Wrong: that the two access at once, or
 * one behind the other without an edge; that somebody comes behind an event that has not happened.
 *
 * CASE: what the two do. BROKEN: without a step that the protocol needs; it must fail then. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define load(at) atomic_load_explicit(at, memory_order_acquire)
#define store(at, value) atomic_store_explicit(at, value, memory_order_release)
#ifndef BROKEN
#define BROKEN 0
#endif

/* words: 10 + s is guarded by section s of the owner */
enum {
  NOTHING,
  CONTENDED,
  LOCKED_BY_OWNER,
  LOCKED,
  HELD,
  TAKEN,
  GUARDED = 10,
  OLD = GUARDED + 4,
  NEW = GUARDED + 5
};
enum { NOBODY, OWNER, OTHER };
static atomic_int words[2], guard, status, released; /* status: 1: an access is under way, 2: event 1 is done */
static atomic_int settles, takes_many;
static atomic_int holder, broken, owner_held;
static atomic_int owner_wrote[2], other_wrote[2];

/* membarrier(): between any two steps the owner may be made to pass a fence. */
static atomic_int wanted, passed;
static void step(void) {
  const int number = load(&wanted);
  if (number == load(&passed)) return;
  atomic_thread_fence(memory_order_seq_cst);
  store(&passed, number);
}
static void barrier(void) {
  const int number = load(&wanted) + 1;
  atomic_exchange(&wanted, number);
  while (load(&passed) < number) {
  }
}

/* ---- the owner */
static void write_as_owner(int i) {
  assert(load(&other_wrote[i]) == 0); /* it has no edge */
  store(&owner_wrote[i], 1);
}

/* Its access, if the word says that it may. */
static int look_and_access(int i, int mine) {
  store(&status, 1);
  step();
  const int is_mine = load(&words[i]) == mine;
  step();
  if (is_mine) write_as_owner(i);
  step();
  store(&status, is_mine ? 2 : 0);
  step();
  return is_mine;
}

/* The words from one on, by plain stores. */
static void settle(int at, int from, int to) {
  if (BROKEN == 1)
    store(&settles, 1);
  else
    atomic_exchange(&settles, 1);
  step();
  if (load(&takes_many) == 0) {
    const int first = load(&words[at]), second = load(&words[1]);
    step();
    if (first == from && second == from) {
      store(&words[at], to);
      store(&words[1], to);
    }
  }
  step();
  store(&settles, 0);
  step();
}

/* ---- the other thread */
static void access_both(int edge, int from) {
  for (int i = from; i < 2; ++i) {
    if (load(&owner_wrote[i]) != 0) assert(edge >= 1);
    store(&other_wrote[i], 1);
  }
}

static int last_done(void) {
  while (load(&status) == 1) {
  }
  return load(&status) / 2;
}

/* stays() */
static int stays(int i, int before) {
  const int who = before == HELD ? load(&holder) : OWNER;
  if (BROKEN != 2 && who == OWNER)
    while (load(&settles) != 0) {
    }
  return load(&words[i]) == LOCKED;
}

static int lock_word(int i) {
  for (;;) {
    int before = load(&words[i]);
    if (before == LOCKED_BY_OWNER) continue;
    if (atomic_compare_exchange_strong(&words[i], &before, LOCKED) && stays(i, before)) return before;
  }
}

/* Both by plain stores, or none. */
static int lock_many(int* before) {
  int nobody = NOBODY, done = 0;
  if (!atomic_compare_exchange_strong(&takes_many, &nobody, OTHER)) return 0;
  before[0] = load(&words[0]);
  before[1] = load(&words[1]);
  int may = before[0] >= GUARDED && before[1] >= GUARDED && load(&settles) == 0;
  if (BROKEN != 3 && may) may = load(&words[0]) == before[0] && load(&words[1]) == before[1];
  if (may) {
    store(&words[0], LOCKED);
    store(&words[1], LOCKED);
    done = 2;
  }
  if (BROKEN == 4)
    store(&takes_many, NOBODY);
  else
    atomic_exchange(&takes_many, NOBODY);
  return done;
}

/* The second word by a plain store, if it is like the first, which is locked and was so before. */
static int lock_alike(int before) {
  int nobody = NOBODY, done = 0;
  if (BROKEN != 11 && !atomic_compare_exchange_strong(&takes_many, &nobody, OTHER)) return 0;
  const int may = before >= GUARDED && (BROKEN == 12 || load(&settles) == 0);
  if (may && load(&words[1]) == before) {
    store(&words[1], LOCKED);
    done = 1;
  }
  atomic_exchange(&takes_many, NOBODY);
  return done;
}

/* The words are locked, and were of this section. */
static int edge_from(int section) {
  if (load(&guard) != section) return load(&released);
  if (BROKEN != 5) barrier();
  return last_done();
}

#if CASE == 1 /* the owner changes its words to those of its section, the other one locks both, at once or one \
                 by one */
static void begin(void) {
  words[0] = words[1] = OLD;
  guard = NEW;
}
static void own(void) {
  settle(0, OLD, NEW);
  if (look_and_access(0, NEW)) {
    store(&released, 1);
    store(&guard, NOTHING);
  }
}
static void take(void) {
  int before[2];
  int done = lock_many(before);
  for (; done < 2; ++done) before[done] = lock_word(done);
  const int first = edge_from(before[0]), second = edge_from(before[1]);
  access_both(first > second ? first : second, 0);
  store(&words[0], TAKEN);
  store(&words[1], TAKEN);
}

#elif CASE == \
    2 /* the owner goes on with its section; the other one takes a word of it in short (take_guarded) */
static void begin(void) {
  words[1] = OLD;
  guard = NOTHING;
}
static void own(void) {
  atomic_exchange(&guard, OLD);
  step();
  if (look_and_access(1, OLD)) return;
  for (;;) { /* it takes the word back */
    int before = load(&words[1]);
    step();
    if (before == LOCKED || !atomic_compare_exchange_strong(&words[1], &before, LOCKED_BY_OWNER)) continue;
    if (before == CONTENDED)
      assert(load(&other_wrote[1]) == 1); /* an edge from its event, which is to be over */
    store(&words[1], OLD);
    break;
  }
}
static void take(void) {
  const int before = lock_word(1);
  if (load(&guard) == OLD) { /* not over: the long way */
    store(&words[1], before);
    return;
  }
  const int inside = load(&guard) == OLD, edge = inside ? last_done() : load(&released);
  if (inside && BROKEN != 6) {
    store(&words[1], before);
    return;
  }
  store(&words[1], inside ? CONTENDED : TAKEN);
  access_both(edge, 1);
}

#elif CASE == \
    3 /* the owner holds a lock and changes words of it to its own; another one has got that lock meanwhile */
static void begin(void) {
  words[0] = words[1] = HELD;
  guard = NEW;
  holder = OWNER;
  owner_held = HELD;
}
static void own(void) {
  if (load(&owner_held) != HELD) return;
  step();
  settle(0, HELD, NEW);
  look_and_access(0, NEW);
}
static void take(void) {
  if (BROKEN == 7) {
    atomic_exchange(&holder, OTHER);
  } else {
    int nobody = NOBODY;
    atomic_compare_exchange_strong(&holder, &nobody, OTHER);
  }
  atomic_exchange(&broken, 1);
  store(&owner_held, NOTHING);
  barrier();
  last_done();
  const int before = lock_word(0);
  const int edge = before == HELD ? last_done() : edge_from(before);
  if (load(&owner_wrote[0]) != 0) assert(edge >= 1);
  store(&other_wrote[0], 1);
  store(&words[0], TAKEN);
}

#elif CASE == 4 /* the owner goes on with its section; the other one locks both words at once, and looks \
                   whether it has */
static void begin(void) {
  words[0] = words[1] = OLD;
}
static void own(void) {
  atomic_exchange(&guard, OLD);
  step();
  if (!look_and_access(0, OLD)) return;
  store(&released, 1);
  store(&guard, NOTHING);
}
static void take(void) {
  int before[2];
  if (lock_many(before) == 0) return;
  access_both(edge_from(OLD), 0);
  store(&words[0], TAKEN);
  store(&words[1], TAKEN);
}

#elif CASE == 5 /* the owner locks both words one after the other, the other one at once, if it can */
static atomic_int inside;
static void begin(void) {
  words[0] = words[1] = OLD;
}
static void access_alone(int unlocked) {
  assert(atomic_exchange(&inside, 1) == 0);
  store(&inside, 0);
  store(&words[0], unlocked);
  store(&words[1], unlocked);
}
static void own(void) {
  for (int i = 0; i < 2; ++i)
    for (;;) {
      int before = load(&words[i]);
      if (before == LOCKED || !atomic_compare_exchange_strong(&words[i], &before, LOCKED_BY_OWNER)) continue;
      while (BROKEN != 8 && load(&takes_many) != NOBODY) {
      }
      if (load(&words[i]) == LOCKED_BY_OWNER) break;
    }
  access_alone(TAKEN);
}
static void take(void) {
  int before[2];
  for (int done = lock_many(before); done < 2; ++done) before[done] = lock_word(done);
  access_alone(TAKEN);
}

#elif CASE == 6 /* the owner takes a lock and accesses what is held; the other one has no lock */
static void begin(void) {
  words[1] = HELD;
}
static void own(void) {
  int nobody = NOBODY;
  if (BROKEN == 9)
    store(&holder, OWNER);
  else
    atomic_compare_exchange_strong(&holder, &nobody, OWNER);
  step();
  if (look_and_access(1, HELD)) store(&released, 1);
  store(&holder, NOBODY);
}
static void take(void) {
  lock_word(1);
  if (load(&holder) == OWNER) barrier();
  const int inside = load(&holder) == OWNER ? last_done() : 0, last = load(&released);
  access_both(inside > last ? inside : last, 1);
  store(&words[1], TAKEN);
}

#elif CASE == 8 /* the owner changes the second word to its section's, the other one comes to the first and \
                   takes its neighbour too, if it is alike */
static void begin(void) {
  words[0] = words[1] = OLD;
  guard = NEW;
}
static void own(void) {
  settle(1, OLD, NEW);
  if (look_and_access(1, NEW)) {
    store(&released, 1);
    store(&guard, NOTHING);
  }
}
static void take(void) {
  const int before = lock_word(0), both = lock_alike(before);
  const int edge = edge_from(before);
  if (both) access_both(edge, 1);
  if (both) store(&words[1], TAKEN);
  store(&words[0], TAKEN);
}

#elif CASE == \
    7 /* a third thread was there before; the other one takes the word over, unlocks it and accesses it */
static atomic_int other_status;
static void begin(void) {
  words[1] = OLD;
}
static void own(void) {
  for (;;) {
    int before = load(&words[1]);
    if (before == LOCKED || !atomic_compare_exchange_strong(&words[1], &before, LOCKED_BY_OWNER)) continue;
    if (before == TAKEN) {
      while (load(&other_status) == 1) {
      }
      assert(load(&other_status) == 2); /* or it is not behind the third thread */
    }
    store(&owner_wrote[1], 1);
    store(&words[1], CONTENDED);
    return;
  }
}
static void take(void) {
  store(&other_status, BROKEN == 10 ? 0 : 1);
  const int before = lock_word(1);
  store(&words[1], before == CONTENDED ? CONTENDED : TAKEN);
  if (before == CONTENDED) return;
  store(&other_status, 1);
  store(&other_wrote[1], 1);
  store(&other_status, 2);
}
#endif

static void* owner(void* unused) {
  own();
  atomic_thread_fence(memory_order_seq_cst);
  store(&passed, 9); /* it will see whatever is locked: it looks at nothing more */
  return unused;
}
static void* other(void* unused) {
  take();
  return unused;
}

int main(void) {
  begin();
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, owner, NULL);
  pthread_create(&threads[1], NULL, other, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; ++i) assert(words[i] != LOCKED && words[i] != LOCKED_BY_OWNER);
  return 0;
}
