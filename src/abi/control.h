/* The memory that heddle and the control runtime share: what to do, what happened (decision D9).
 *
 * heddle makes a memory file, maps it, and starts the variant with its descriptor in HEDDLE_CONTROL. The
 * runtime stops before main() and serves requests:
 *
 *   heddle:  fills `plan` and the steps, sets `request` to a new number, wakes it (futex)
 *   runtime: performs up to plan.runs executions with seeds plan.seed, plan.seed + 1, ..., stops at the first
 * one that ends otherwise than `passed`, fills `result`, sets `answer` to the number of the request, wakes it
 *
 * A run of renewal `fork` that follows a schedule may leave snapshots: copies of its process that stand at a
 * decision point and serve requests too, from there. The last digit (base 16) of `request` says who is asked.
 *
 * All arrays lie behind the block at the offsets in `layout`, whose numbers heddle chooses. Everything the
 * runtime writes here was written by a process that may have gone wild: heddle checks indexes and counts before
 * it uses them. A C header without includes but for the integer types: anything may use it.
 */
#ifndef HEDDLE_ABI_CONTROL_H
#define HEDDLE_ABI_CONTROL_H

#include <stdint.h>

#define HEDDLE_CONTROL_FORMAT 4
#define HEDDLE_CONTROL_VARIABLE "HEDDLE_CONTROL" /* decimal file descriptor of the memory file */
#define HEDDLE_CONTROL_MAX_THREADS 65535         /* threads of one execution, ended ones included */
#define HEDDLE_CONTROL_MAX_STACK 64              /* frames kept of a failure's stack */
#define HEDDLE_CONTROL_MARKED 2                  /* events whose stacks can be asked for */
#define HEDDLE_CONTROL_HELD 16                   /* places where threads can be held */
#define HEDDLE_CONTROL_SNAPSHOTS 16 /* processes that may serve requests; 0 is the one that was started */
#define HEDDLE_CONTROL_TEXT 512     /* bytes of a message, with its terminating zero */
#define HEDDLE_NO_SITE 0xffffffffu  /* a place outside the program's own code */

/* Small blocks of the heap, for those who look at the memory of a run: a block has a record in front, which
 * says how many granules of 16 bytes it has. */
#define HEDDLE_HEAP_BASE 0x600000000000ull
#define HEDDLE_HEAP_SMALL_END 0x608000000000ull
#define HEDDLE_HEAP_GRANULES_BEFORE 16 /* where that 32-bit number is, in bytes before the block */
#define HEDDLE_HEAP_GRANULE 16

enum heddle_memory_model { HEDDLE_MODEL_sc, HEDDLE_MODEL_tso, HEDDLE_MODEL_pso };

enum heddle_strategy {
  HEDDLE_STRATEGY_nonpreemptive, /* a thread runs until it blocks, ends or gives way; then the next in order of
                                    creation */
  HEDDLE_STRATEGY_random,        /* every choice uniform */
  HEDDLE_STRATEGY_pct,  /* random priorities, `depth` - 1 change points (Burckhardt et al., ASPLOS 2010) */
  HEDDLE_STRATEGY_pos,  /* random priority per event, drawn anew after a race (Yuan et al., CAV 2018) */
  HEDDLE_STRATEGY_hold, /* threads that come to some places of the code wait there until nobody else can go on
                         */
};

/* Strategy "nonpreemptive": who goes on when a thread cannot. */
enum heddle_successor {
  HEDDLE_SUCCESSOR_elder,     /* the next in order of creation */
  HEDDLE_SUCCESSOR_younger,   /* the next in the opposite order */
  HEDDLE_SUCCESSOR_preempted, /* who was preempted last, if anybody was, also before the process ends; otherwise
                                 as the first */
};

/* What becomes of given steps that cannot be followed. */
enum heddle_lenience {
  HEDDLE_LENIENT_never,     /* the run diverges */
  HEDDLE_LENIENT_leave_out, /* for schedules that were changed */
  HEDDLE_LENIENT_put_off,   /* runs only: until the other steps have had their turn, again and again */
};

enum heddle_substrate { HEDDLE_SUBSTRATE_fibres, HEDDLE_SUBSTRATE_threads };

/* How an execution gets a fresh state. */
enum heddle_renewal {
  HEDDLE_RENEWAL_reset, /* memory is put back in place; needs fibres */
  HEDDLE_RENEWAL_fork,  /* a child process per execution */
  HEDDLE_RENEWAL_once,  /* this process, which ends with the execution; plan.runs is 1 */
};

/* ---- schedules: steps in and out. Threads are indexes into the table of threads (order of creation). */
enum heddle_step_kind {
  HEDDLE_STEP_run,
  HEDDLE_STEP_flush,
  HEDDLE_STEP_wake,
  HEDDLE_STEP_timeout,
  /* Given only, by who knows the program's own events but not what libraries add to them: `site`, `target` and
   * `count` name an event, the count-th of its kind that the thread performs there. What is done is written
   * down as steps of the kinds above. */
  HEDDLE_STEP_run_to,   /* the thread runs until it has performed that event */
  HEDDLE_STEP_flush_to, /* that store becomes visible, after those that must before it */
};
/* What a step of those kinds waits for. A library call is one event that reads and writes. */
enum heddle_step_target {
  HEDDLE_TARGET_read,
  HEDDLE_TARGET_write,
  HEDDLE_TARGET_update,
  HEDDLE_TARGET_fence,
  HEDDLE_TARGET_sync,
  HEDDLE_TARGET_timeout, /* a sync that ends by its time */
  HEDDLE_TARGET_begin,   /* of the thread; no site */
  HEDDLE_TARGET_end,
};
enum heddle_step_end { HEDDLE_END_preempted, HEDDLE_END_blocked, HEDDLE_END_exited, HEDDLE_END_yielded };

/* Which memory a flush under PSO speaks of: schedule/location.h. */
enum heddle_place_kind {
  HEDDLE_PLACE_none,
  HEDDLE_PLACE_address, /* offset: the address */
  HEDDLE_PLACE_program, /* offset: from where the executable is loaded (global variables) */
  HEDDLE_PLACE_heap,    /* thread, index: the block */
  HEDDLE_PLACE_map,     /* thread, index: the mapping */
  HEDDLE_PLACE_tls,     /* thread; offset: from the thread pointer, wraps */
};
struct heddle_place {
  uint32_t kind;
  uint32_t thread;
  uint64_t index;
  uint64_t offset;
};

struct heddle_step {
  uint8_t kind;
  union {
    uint8_t end;
    uint8_t target; /* run_to, flush_to */
  };
  uint16_t thread;
  uint32_t site;             /* out: where the thread stood before the step */
  uint64_t count;            /* run: events; flush: stores */
  uint64_t values;           /* out: hash of the values of this step's events */
  struct heddle_place place; /* flush under PSO */
  uint64_t address;          /* out: flush: of the first store */
};

/* ---- threads */
struct heddle_thread_entry {
  uint32_t creator; /* index; its own for the main thread */
  uint32_t child;   /* how many threads its creator had created before it */
  uint64_t start;   /* address of the start function in the variant */
  uint32_t site;    /* where it was created */
  uint32_t unused;
  uint64_t argument; /* of the start function */
  uint64_t calls;    /* of a std::thread: the function that its state names; 0: none is known */
};

/* ---- events, kept when plan.keep_events is set */
enum heddle_event_kind {
  HEDDLE_EVENT_read,
  HEDDLE_EVENT_write,
  HEDDLE_EVENT_update,
  HEDDLE_EVENT_fence,
  HEDDLE_EVENT_call,      /* a library function that touches shared memory; the end of a heap block */
  HEDDLE_EVENT_data,      /* no event: behind one that moves more than a word, the words that it moved */
  HEDDLE_EVENT_sync = 16, /* + enum heddle_sync_kind */
};
enum heddle_order { /* numbered as in C11 <stdatomic.h>, plain accesses behind */
                    HEDDLE_ORDER_relaxed,
                    HEDDLE_ORDER_consume,
                    HEDDLE_ORDER_acquire,
                    HEDDLE_ORDER_release,
                    HEDDLE_ORDER_acq_rel,
                    HEDDLE_ORDER_seq_cst,
                    HEDDLE_ORDER_plain
};
enum heddle_call_order { /* in the place of the order */
                         HEDDLE_CALL_reads,
                         HEDDLE_CALL_writes,
                         HEDDLE_CALL_object, /* and more, which only the library knows */
                         HEDDLE_CALL_frees,  /* a block of the heap, a mapping */
};
struct heddle_event {
  uint32_t site;
  uint16_t thread;
  uint8_t kind;
  uint8_t order : 7;   /* of data: 0 it was read, 1 it was written */
  uint8_t drained : 1; /* since the thread's event before, all its stores became visible: it was in code that is
                          not under control. Under TSO and PSO; also told where nothing was buffered */
  uint64_t address;    /* of the access; of the synchronisation object */
  uint64_t size;
  uint64_t value;  /* up to 8 bytes as a number, else their hash; update: before; synchronisation: of mutexes
                      and read-write locks the kind, of semaphores and barriers the count, when it is done */
  uint64_t after;  /* update: after; write: what was in memory before; synchronisation: result */
  uint64_t second; /* synchronisation: address of the second object; of who joins, the thread */
};

/* ---- where threads went: variant "follow", when plan.keep_moves is set */
enum heddle_move_kind {
  HEDDLE_MOVE_block,  /* id: the block that the thread enters */
  HEDDLE_MOVE_return, /* id: the function that it leaves */
  HEDDLE_MOVE_event,  /* id: the site of the event that it performs next; the events are numbered by these moves
                       */
};
struct heddle_move {
  uint32_t id;
  uint16_t thread;
  uint16_t kind;
};

/* ---- failures */
enum heddle_outcome {
  HEDDLE_OUTCOME_passed,
  HEDDLE_OUTCOME_assertion, /* text: the condition */
  HEDDLE_OUTCOME_abort,
  HEDDLE_OUTCOME_exception,      /* text: type and what() */
  HEDDLE_OUTCOME_signal,         /* number, address */
  HEDDLE_OUTCOME_deadlock,       /* waits */
  HEDDLE_OUTCOME_lost_wakeup,    /* waits */
  HEDDLE_OUTCOME_use_after_free, /* address, freed_site, freed_thread */
  HEDDLE_OUTCOME_double_free,
  HEDDLE_OUTCOME_invalid_free,
  HEDDLE_OUTCOME_exit_code, /* number: a code that plan.failing_codes names */
  HEDDLE_OUTCOME_livelock,
  HEDDLE_OUTCOME_first_not_a_failure,
  HEDDLE_OUTCOME_diverged = HEDDLE_OUTCOME_first_not_a_failure, /* text; step, event: where */
  HEDDLE_OUTCOME_limit,                                         /* plan.max_events */
  HEDDLE_OUTCOME_uncontrolled,   /* waits in a call that is not under control; text: its name */
  HEDDLE_OUTCOME_not_resettable, /* renewal by reset met a system call that reaches outside; number, text */
  HEDDLE_OUTCOME_unsupported,    /* text: what */
  HEDDLE_OUTCOME_internal,       /* text: our own bug */
  HEDDLE_OUTCOME_stopped,        /* at plan.stop_at_move; the process stands there until it is killed */
};

struct heddle_wait { /* one per thread that waits, when everything stands still */
  uint32_t thread;
  uint32_t kind; /* enum heddle_sync_kind */
  uint64_t object;
  uint32_t holder; /* thread, or HEDDLE_NO_SITE */
  uint32_t site;
};

struct heddle_stack {
  uint32_t size;
  uint32_t unused;
  uint64_t frames[HEDDLE_CONTROL_MAX_STACK]; /* code addresses, innermost first */
};

struct heddle_result {
  uint32_t outcome;
  uint32_t thread; /* that failed */
  uint32_t site;
  uint32_t stack_size;
  int64_t number;
  uint64_t address;
  uint32_t other_thread; /* use after free, double free: who freed it before */
  uint32_t other_site;
  uint64_t seed; /* of the execution that this is about: the last one performed */
  uint64_t executions;
  uint64_t events;       /* of that execution, as the rest */
  uint64_t total_events; /* of all executions of the request */
  uint64_t values;       /* hash of the values at all events */
  uint64_t steps;
  uint64_t step; /* diverged: step of the given schedule, and event of the run */
  uint32_t threads;
  uint32_t waits;
  uint64_t kept_events;
  uint64_t pending_events; /* behind those: what each thread that is left would do next */
  uint64_t moves;          /* of the run; more than the capacity: the rest was not kept */
  int32_t exit_code;       /* of the program, when it ended by itself */
  uint32_t steps_truncated;
  uint64_t preemptions;
  uint64_t load_base;      /* of the executable: addresses of code minus this are its own */
  uint64_t processor_time; /* nanoseconds that the execution took of the process that performed it */
  uint64_t fork_time;      /* nanoseconds that the last copy of the process took; 0: there was none */
  uint64_t stack[HEDDLE_CONTROL_MAX_STACK];          /* code addresses, innermost first */
  struct heddle_stack marked[HEDDLE_CONTROL_MARKED]; /* of plan.marked */
  char text[HEDDLE_CONTROL_TEXT];
};

struct heddle_plan {
  uint32_t strategy;
  uint32_t memory_model;
  uint32_t substrate;
  uint32_t renewal;
  uint64_t seed;
  uint64_t runs;
  uint32_t depth; /* pct */
  uint32_t keep_events;
  uint32_t spurious_wakeups; /* strategies may wake waiting threads */
  uint32_t break_at_switch;  /* for debuggers: call heddle_control_at_switch() before each step */
  uint64_t expected_events;  /* pct: length of a run; 0: learned from the runs before */
  uint64_t max_events;       /* of one execution */
  uint64_t livelock_bound;   /* events without any change by threads that spin, or a run fifty times
                                that long and a hundred times longer than all that passed; 0: none */
  uint64_t failing_codes[4]; /* bit set of exit codes that are failures */
  uint64_t steps;            /* given schedule */
  uint32_t guided;           /* the schedule has steps run_to or flush_to */
  uint32_t prefix;           /* after its end the strategy goes on; otherwise the end is the end of the run */
  uint32_t full_flushes;     /* flushes with a place: what has to come before goes before; none where nothing is
                                buffered for it */
  uint32_t lenient;          /* enum heddle_lenience */
  uint32_t buffer_limit;     /* stores per thread that may be buffered; 0: 64 */
  uint32_t keep_moves;
  uint64_t marked[HEDDLE_CONTROL_MARKED]; /* the stacks of these events, from 1, are wanted; 0: none. With
                                             keep_events */
  /* Snapshots that the run may leave, by bits: renewal `fork`, fibres, a given schedule (not by names), and
   * no step of it left out until there. The next one is due so many events and so much processor time
   * (nanoseconds) behind the last. */
  uint32_t snapshots;
  uint32_t awaited_writes; /* with `awaited`, below; here since plans are compared, and have no gaps */
  uint64_t snapshot_events, snapshot_time;
  uint64_t known_length; /* events of the longest run that is known to have passed, for snapshots: they cannot
                            learn it */
  /* Strategy "nonpreemptive": who is about to wait at one of these places, or could go on there, goes on only
   * when nobody else can. */
  uint32_t held_count, held[HEDDLE_CONTROL_HELD];
  uint32_t successor; /* enum heddle_successor */
  /* Strategy "nonpreemptive": thread `delayed` (its index, and one; 0: none) goes on only when nobody else can,
   * until thread `awaited` (its index) has performed an event at this address, behind so many events of all;
   * with awaited_writes, one that writes there. */
  uint32_t delayed, awaited;
  uint64_t awaited_address, awaited_behind;
  uint64_t stop_at_move; /* before this move, from 1, the process stands still; renewal `once` only. 0: never */
};

/* Where a snapshot stands: so many of the given steps were begun, of the last of them `count` is done. */
struct heddle_snapshot {
  uint64_t steps, count;
  uint64_t events;
  uint32_t
      request; /* that it was taken for: numbers are used again, and the one before may not have ended yet */
  uint32_t unused;
};

struct heddle_control_layout {
  uint64_t size; /* of the whole memory file */
  uint64_t steps_in, steps_in_capacity;
  uint64_t threads_in,
      threads_in_count; /* struct heddle_thread_entry: creator and child of those in steps_in */
  uint64_t steps_out, steps_out_capacity;
  uint64_t threads, threads_capacity;
  uint64_t waits, waits_capacity;
  uint64_t events, events_capacity;
  uint64_t moves, moves_capacity;
};

struct heddle_control_block {
  char magic[8]; /* "HEDCTRL" */
  uint32_t format;
  uint32_t request;        /* futex */
  uint32_t answer;         /* futex */
  uint32_t quit;           /* heddle wants no more executions: looked at between them */
  uint64_t progress;       /* executions performed so far for this request; for watching */
  uint64_t event_progress; /* events of the running execution, written now and then */
  uint32_t running_site;   /* a possibly blocking call outside control that is under way: its site and name; */
  uint32_t running_call;   /* 1 while it lasts */
  char running_name[64];
  uint32_t snapshots_kept;    /* heddle, before a request: bits; the others end */
  uint32_t snapshots_taken;   /* by the run of this request */
  uint32_t snapshots_refused; /* 1: the program has something that a copy of the process would share */
  uint32_t unused;
  struct heddle_snapshot snapshots[HEDDLE_CONTROL_SNAPSHOTS];
  uint64_t exit_codes[256]; /* of this request's executions that passed: how many ended with which code */
  struct heddle_control_layout layout;
  struct heddle_plan plan;
  struct heddle_result result;
};

#endif
