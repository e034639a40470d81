/* What a flow-recorded program, the pass that instruments it and the reader of its recording agree on.
 *
 * Every access that the sharing analysis calls shared, every synchronisation operation and every call into
 * stateful library code is an event; a thread counts its events from 1. What is recorded of the order of events
 * is edges: event n of this thread came after event c of thread s. With the order inside each thread they order
 * all pairs of events that conflict (Light section 4.2: flow dependences and what keeps them from interfering).
 * The order is found with a shadow of the address space: one word for each 8 bytes, its granule.
 *
 * The same executable records and replays, so that code, data, stacks and blocks of the heap have the same
 * addresses in both (addresses are not randomised, and the runtime decides where stacks, blocks and mappings
 * lie).
 *
 * A recording has, beside the files of abi/record.h:
 *   flow                  struct heddle_flow_plan, written by heddle before the start
 *   threads/NAME.flow     struct heddle_flow_thread (one page), then a stream of entries
 *   steps                 of a replay only: struct heddle_flow_schedule, its threads, its steps
 *   recorded              of a replay only: a symbolic link to the recording
 */
#ifndef HEDDLE_ABI_FLOW_H
#define HEDDLE_ABI_FLOW_H

#include <stdint.h>

#define HEDDLE_FLOW_FORMAT 5
#define HEDDLE_FLOW_MAGIC 0x776f6c66656c6468ull       /* "hdleflow" */
#define HEDDLE_FLOW_PLAN_MAGIC 0x6e616c70656c6468ull  /* "hdleplan" */
#define HEDDLE_FLOW_STEPS_MAGIC 0x70657473656c6468ull /* "hdlestep" */
#define HEDDLE_FLOW_PAGE 4096
#define HEDDLE_FLOW_SLOTS 1024
#define HEDDLE_FLOW_NAME 256

/* The word of a granule is at its address with this bit changed, and so many bytes further. Processors look for
 * a line of their first cache by the lower bits of its address (AMD by 28 of them, with a guess; stores by 12):
 * a granule and its word, which are used together, would be each other's worst neighbours. */
#define HEDDLE_FLOW_SHADOW 0x200000000000ull
#define HEDDLE_FLOW_ASIDE 0x55840
/* Stack, mappings and heap of the thread with slot s lie from BASE + s * SLOT on. */
#define HEDDLE_FLOW_BASE 0x100000000000ull
#define HEDDLE_FLOW_SLOT_SIZE (1ull << 34)

/* A word: bits 0-2 the kind, 3-12 a slot, 13-55 a number of an event, 56-63 how often the granule changed
 * hands. An owned granule (no number) is told by one comparison of the lower half of its word. */
enum heddle_flow_kind {
  HEDDLE_FLOW_untouched = 0,
  HEDDLE_FLOW_owned = 1, /* only the thread in `slot` accesses it */
  HEDDLE_FLOW_read = 2,  /* all may read; what was written before was so by event `number` of `slot` */
  HEDDLE_FLOW_contended =
      3, /* last accessed by event `number` of `slot`; accessed by whoever has locked the word */
  HEDDLE_FLOW_locked = 4, /* by the thread in `slot` */
  HEDDLE_FLOW_guarded = 5, /* only the thread in `slot` accesses it, while it is in its section `number` */
  HEDDLE_FLOW_held = 6     /* accessed by whoever holds the lock `number` (runtime/flow/locks.c) */
};
#define HEDDLE_FLOW_SLOT_AT 3
#define HEDDLE_FLOW_NUMBER_AT 13
#define HEDDLE_FLOW_NUMBER_BITS 43
#define HEDDLE_FLOW_HANDS_AT 56
#define HEDDLE_FLOW_WORD(kind, slot, number, hands)                                                           \
  ((uint64_t)(kind) | (uint64_t)(slot) << HEDDLE_FLOW_SLOT_AT | (uint64_t)(number) << HEDDLE_FLOW_NUMBER_AT | \
   (uint64_t)(hands) << HEDDLE_FLOW_HANDS_AT)

/* ---- the first page of a thread's file; instrumented code works on the first four fields through the
 * thread-local pointer heddle_flow_self. Before the first access of a stretch (instrument/flow_accesses.h):
 * status = s + 4 + direct; before the i-th, if it takes a hook: status = s + 4 * i + direct; behind the last,
 * the n-th: status = s + 4 * n, s being what it was. */
#define HEDDLE_FLOW_SELF "heddle_flow_self"
/* Thread-local pointer: the stack that the runtime works on; null while it does (runtime/flow/entry.h). Its name
 * as it is linked (cmake/own_names.cmake). */
#define HEDDLE_FLOW_STACK "__heddle_rt_fl_stack"
/* Thread-local number: 1 while the next block that the thread allocates is for itself alone (runtime/flow/heap.c). */
#define HEDDLE_FLOW_PRIVATE "heddle_flow_private"
#define HEDDLE_FLOW_STATE_BITS 2
/* A section is what a thread does under a lock, from one release to the next (runtime/flow/sections.c). */
enum heddle_flow_state {
  HEDDLE_FLOW_done = 0,    /* all events up to the number are */
  HEDDLE_FLOW_direct = 1,  /* the event with the number, and perhaps others behind it, access granules that the
                            * thread need not lock */
  HEDDLE_FLOW_waiting = 2, /* the event with the number has not been performed, or works under locks */
  HEDDLE_FLOW_unmixed = 3, /* the event with the number is done; what was read lately is not in the hash yet */
};
struct heddle_flow_thread {
  uint64_t status; /* number << 2 | enum heddle_flow_state */
  uint64_t tag;  /* lower half of the word of a granule that this thread owns; ~0: its next access is to take a
                  * hook */
  uint64_t hash; /* of the values that its events read: hash = hash * FACTOR + value for each word */
  const uint64_t*
      seen;      /* by slots: up to which event of each thread all are known to come before; in memory only */
  uint64_t used; /* bytes of the stream */
  uint64_t magic;
  uint32_t format, slot;
  uint32_t ended, stop; /* stop: errno of why the stream ends early */
  uint64_t edges, data; /* entries, so far */
  uint64_t handed_over, barriers;
  uint64_t hooks; /* accesses that took one: what the thread accessed before is over */
  char name[HEDDLE_FLOW_NAME];
  uint64_t guard; /* the word of a granule that is guarded by the section the thread is in, with no hands; ~0:
                     in none */
  uint64_t held;  /* the word of a granule that is accessed under the lock that the thread took last, with no
                     hands; ~0: it holds none */
  uint64_t first; /* events of the threads that had its slot before: its own numbers follow (runtime/flow/slots.c) */
};
/* Odd, so that no single value is lost, and cheap: one instruction that takes one cycle. */
#define HEDDLE_FLOW_FACTOR 9ull

/* ---- the stream. Numbers are LEB128 varints; `signed` ones are zigzag. */
enum heddle_flow_entry {
  HEDDLE_FLOW_edge = 1, /* number of this thread's event - that of the edge before it, slot, number of that
                         * thread's event - the last one of that thread in an edge (signed) */
  HEDDLE_FLOW_outside =
      2, /* a result from outside: number of the last event begun - that of the result before it, what
          * (a system call, or enum heddle_flow_what), result (signed), bytes, that many bytes */
  /* Of Stride only: event - that of the entry of these kinds before it, granule (address / 8, signed difference
   * to the one before), slot and number of the write before it (signed difference to the number before) */
  HEDDLE_FLOW_version = 3, /* a write, or what is ordered like one */
  HEDDLE_FLOW_link = 4,    /* a read of that write */
};
enum heddle_flow_what {
  HEDDLE_FLOW_sync_result = 1000, /* of a synchronisation call, if it is not 0 */
  HEDDLE_FLOW_ran_once,
  HEDDLE_FLOW_cancelled,  /* the thread was cancelled in the wait before it */
  HEDDLE_FLOW_new_thread, /* result: its slot, or -error */
  HEDDLE_FLOW_signal,     /* a handler runs here; result: the signal; bytes: the handler's address, siginfo_t */
  HEDDLE_FLOW_told,       /* a value that was asked of nobody here: chance, time stamps, ids of children */
  HEDDLE_FLOW_mapped,     /* what a call wrote into a mapped file; result: its address; bytes */
  HEDDLE_FLOW_fault, /* a fault that a handler of the program was called for: the event is all that the thread
                      * did since its stretch began (runtime/flow/handlers.c) */
  HEDDLE_FLOW_read_file, /* read() or pread() of a file that does not change; result: bytes that were read;
                          * bytes: struct heddle_flow_read, the file's name */
};

/* Of which file, as it was, and from where in it (runtime/flow/files.c). It is kept with the recording as
 * inputs/DEVICE-INODE. */
struct heddle_flow_read {
  uint64_t device, inode, size;
  int64_t seconds, nanoseconds; /* of its last change */
  uint64_t offset;
};

/* ---- what the runtime is to do. Baselines are other ways of recording, for comparison only. */
enum heddle_flow_baseline {
  HEDDLE_FLOW_itself = 0,
  HEDDLE_FLOW_order =
      1,                  /* LEAP: all accesses to a location in order, each under the location's lock. Instead
                           * of  a vector for each location each thread writes down what came before its access */
  HEDDLE_FLOW_stride = 2, /* Stride: writes of a location in order, under its lock; reads, without it, which
                           * write they saw */
};
struct heddle_flow_plan {
  uint64_t magic;
  uint32_t format;
  uint32_t replay;
  uint32_t sequences, locks; /* optimisations O1, O2 of the paper, 0: off */
  uint32_t baseline;         /* enum heddle_flow_baseline; then both are off */
  uint32_t names;            /* a replay writes struct heddle_flow_name for its steps into the file NAMES */
  uint32_t reserved[8];
};

/* ---- replay */
struct heddle_flow_given_thread {
  char name[HEDDLE_FLOW_NAME];
  uint32_t slot;
  uint32_t fails;  /* waits behind its last event until all others are done, then goes on by itself */
  uint64_t events; /* it stops before the next */
};
struct heddle_flow_step {
  uint32_t slot, reserved;
  uint64_t count;
};
struct heddle_flow_schedule {
  uint64_t magic;
  uint64_t threads, steps;
  uint32_t stops, reserved; /* 1: the process ends when all steps are done */
};
#define HEDDLE_FLOW_NAMES "names"
enum heddle_flow_name_kind {
  HEDDLE_FLOW_name_access,
  HEDDLE_FLOW_name_sync,
  HEDDLE_FLOW_name_begin, /* of the thread */
  HEDDLE_FLOW_name_end
};
struct heddle_flow_name {
  uint32_t slot, site; /* site: instruction of the canonical program */
  uint64_t number;     /* of the event */
  uint64_t occurrence; /* the thread has been there so many times */
  uint32_t kind, reserved;
};
#define HEDDLE_FLOW_EXIT_STOPPED 71 /* exit code: all steps done, as wanted */
#define HEDDLE_FLOW_EXIT_DIVERGED 72

/* ---- hooks. Those that return a value or take one perform the access; `what` is its size, 1, 2, 4 or 8 inside
 * a granule, and from bit 8 on the instruction. */
#define HEDDLE_HOOK_FLOW_LOAD "heddle_flow_load"
#define HEDDLE_HOOK_FLOW_STORE "heddle_flow_store"
/* Around an access to other bytes, which has been counted as a small one is: `what` is their number,
 * WIDE_WRITES if they are written, and from bit 8 on the instruction; then where a copy reads as many from, or
 * null. The event ends in the state unmixed. */
#define HEDDLE_HOOK_FLOW_BEGIN_WIDE "heddle_flow_begin_wide"
#define HEDDLE_HOOK_FLOW_END_PART "heddle_flow_end_part"
#define HEDDLE_FLOW_WIDE_WRITES 0x80
/* Around anything else: ranges first (heddle_control_range), then begin, the access, end. */
#define HEDDLE_HOOK_FLOW_BEGIN "heddle_flow_begin"
#define HEDDLE_HOOK_FLOW_END "heddle_flow_end"
/* One or two ranges and begin in one: `what` says which of them are written (bits 0 and 1). With PLAIN nothing
 * that happens inside can be an event: then the event is direct where the thread owns all of it, and code that
 * finds it so behind the access ends it by itself, as it does with its own. */
#define HEDDLE_HOOK_FLOW_BEGIN_RANGES "heddle_flow_begin_ranges"
#define HEDDLE_FLOW_PLAIN 4
/* The call inside may wait for what is outside the program: while it asks the kernel the event is suspended. */
#define HEDDLE_FLOW_WAITS 8
uint64_t heddle_flow_load(const void* at, uint64_t what);
void heddle_flow_store(void* at, uint64_t what, uint64_t value);
#define HEDDLE_HOOK_FLOW_TOLD "heddle_flow_told" /* in a replay it gives back what was recorded */
uint64_t heddle_flow_told(uint64_t value);
void heddle_flow_begin(void);
void heddle_flow_end(void);
/* Around a call that works on an object of a library's (runtime/flow/streams.c). `frame`: of the function that
 * makes the call, by which one that was left by an exception is told. */
#define HEDDLE_HOOK_FLOW_LOCK "heddle_flow_lock"
#define HEDDLE_HOOK_FLOW_UNLOCK "heddle_flow_unlock"
uint64_t heddle_flow_lock(const void* object, uint64_t frame);
uint64_t heddle_flow_unlock(uint64_t frame);

#endif
