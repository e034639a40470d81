/* The heap from inside: arenas, blocks, shadow (heap.c), shared with allocation.c, heap_report.c, heap_reset.c.
 *
 * Where a block lies depends only on what its thread has allocated before (and, once the quarantine of the
 * arena is full, on what was freed), never on the interleaving: each thread has an arena of its own, in which
 * it takes the next free address. Only who outgrows its arena goes to one that all share.
 *
 *   RT_HEAP_BASE    small blocks of arena 0 | of 1..63 | shared rest | of 64...
 *   + 512 GiB       large blocks of arena 0 | of 1..63 | shared rest
 *   + 1016 GiB      the heap's own state: arenas, records of large blocks, what reset goes back to
 *   + RT_HEAP_SIZE  shadow: a byte for each granule of 16 bytes of small blocks
 *
 * A small block has its record directly in front, a large one in a table: one slot per 64 KiB of addresses,
 * which is enough since no large block is smaller. All of it is one mapping without reserved memory, so that
 * what is not touched costs nothing.
 *
 * Freed blocks rest (quarantine): they keep their addresses and are recognised, until so many came behind them
 * that the bound is reached; then the oldest may be handed out again.
 */
#ifndef HEDDLE_RUNTIME_HEAP_H
#define HEDDLE_RUNTIME_HEAP_H

#include "runtime/control/control.h"

#define HEAP_GIB (1ull << 30)
#define HEAP_GRANULE 16ull
#define HEAP_PAGE 4096ull
#define HEAP_SLOT (64ull << 10) /* the smallest large block */
#define HEAP_LARGEST (32 * HEAP_GIB)
#define HEAP_LARGE (RT_HEAP_BASE + 512 * HEAP_GIB)
#define HEAP_OWN (RT_HEAP_BASE + 1016 * HEAP_GIB)
#define HEAP_SHADOW (RT_HEAP_BASE + RT_HEAP_SIZE)
#define HEAP_SLOTS ((HEAP_OWN - HEAP_LARGE) / HEAP_SLOT)

enum {
  HEAP_ROOMY = 64,                          /* arenas below this are large */
  HEAP_SHARED = HEDDLE_CONTROL_MAX_THREADS, /* arena of those whose own is used up */
  HEAP_ARENAS,
  HEAP_CLASSES = 64 + 26 * 8, /* of sizes */
};

/* What a program that writes a few bytes too far hits first is what matters least. */
struct heap_block {
  uint32_t freed_site;
  uint16_t freed_thread;
  uint16_t unused;
  struct heap_block* next; /* in a queue */
  uint32_t granules;
  uint32_t number; /* which allocation of its thread */
  uint16_t thread;
  uint16_t freed;
  uint32_t arena;
};
_Static_assert(sizeof(struct heap_block) == 32, "keeps the block behind it aligned");
_Static_assert(offsetof(struct heap_block, granules) == 32 - HEDDLE_HEAP_GRANULES_BEFORE &&
                   HEAP_GRANULE == HEDDLE_HEAP_GRANULE && RT_HEAP_BASE == HEDDLE_HEAP_BASE &&
                   HEAP_LARGE == HEDDLE_HEAP_SMALL_END,
               "as the abi says");

struct heap_large {
  struct heap_block block;
  uint64_t start; /* 0: no block starts in this slot */
};

struct heap_queue {
  struct heap_block *first, *last;
};

struct heap_extent {
  uint64_t next, usable, end;
};

struct heap_arena {
  struct heap_extent small, large;
  struct heap_queue resting_small, resting_large;
  uint64_t resting_small_bytes, resting_large_bytes;
  uint32_t blocks;                      /* numbers given to this thread's blocks */
  struct heap_queue idle[HEAP_CLASSES]; /* may be handed out again */
};

/* A part of memory as it was when the snapshot was taken; copy null: reset by the kernel (a private file
 * mapping). */
struct heap_saved {
  uint64_t start, size;
  void* copy;
};

struct heap_state {
  uint32_t threads;       /* arenas of threads in use: the highest index + 1 */
  uint32_t saved_threads; /* ... at the snapshot */
  uint32_t saved_count;
  uint64_t copies; /* next free address for copies */
  bool commits;    /* strict overcommit: memory is made accessible step by step */
  struct heap_arena arenas[HEAP_ARENAS];
};
#define HEAP_STATE ((struct heap_state*)HEAP_OWN)
#define HEAP_RECORDS ((struct heap_large*)(HEAP_OWN + 1 * HEAP_GIB)) /* per slot */
#define HEAP_COVER \
  ((uint32_t*)(HEAP_OWN + 2 * HEAP_GIB)) /* per slot: 1 + slot of the block its start lies in */
#define HEAP_SAVED_ARENAS ((struct heap_arena*)(HEAP_OWN + 3 * HEAP_GIB))
#define HEAP_SAVED ((struct heap_saved*)(HEAP_OWN + 4 * HEAP_GIB))
#define HEAP_COPIES (HEAP_OWN + 5 * HEAP_GIB)
#define HEAP_MAPPINGS (HEAP_OWN + 7 * HEAP_GIB) /* mappings.c */
_Static_assert(sizeof(struct heap_state) < HEAP_GIB, "arenas end before the records");

/* Shadow of a granule: 0 outside of blocks, SHADOW_START for the first of a block; the i-th holds SHADOW_INSIDE
 * + log2(i), so that the start is found in a logarithmic number of steps back. */
enum { SHADOW_START = 1, SHADOW_INSIDE = 2, SHADOW_FREED = 0x80 };
static inline uint8_t* heap_shadow(uint64_t at) {
  return (uint8_t*)(HEAP_SHADOW + (at - RT_HEAP_BASE) / HEAP_GRANULE);
}

static inline bool heap_is_large(const struct heap_block* block) {
  return (uint64_t)(uintptr_t)block >= HEAP_OWN;
}
static inline uint64_t heap_start(const struct heap_block* block) {
  return heap_is_large(block) ? ((const struct heap_large*)block)->start : (uint64_t)(uintptr_t)(block + 1);
}
static inline uint64_t heap_capacity(const struct heap_block* block) {
  return block->granules * HEAP_GRANULE;
}

/* heap.c */
void heap_prepare(void);                  /* may be called at any time, also before any constructor */
uint64_t heap_small_base(uint32_t arena); /* where the arena's extents begin */
uint64_t heap_large_base(uint32_t arena);
/* A block of at least this size, not yet zeroed when `reused` is set; null: no room. */
struct heap_block* heap_take(uint64_t size, uint64_t alignment, bool* reused);
struct heap_block* heap_find(uint64_t at); /* the block, live or freed, that holds this address, or null */
void heap_release(struct heap_block* block);

/* heap_report.c: the live block that starts at `p`; null: there is none, and control is not active yet. */
struct heap_block* heap_checked(const void* p, const char* function);
/* Is this address in the C library? What it does must not be interrupted: it may hold locks of its own. */
bool heap_in_c_library(const void* code);

/* mappings.c: part of the heap's snapshot and reset */
void heap_mappings_snapshot(void);
void heap_mappings_reset(void); /* unmaps what was mapped since */

#endif
