/* What the files of the flow runtime share (abi/flow.h says what it is about).
 *
 *   shadow.c    who may access which memory, edges; words.h: what the shadow says
 *   granules.c  accesses inside one granule; events.c: all other events; short_ranges.c: the short way of these
 *   sections.c  what is done under locks; locks.c: what a lock guards; slices.c: threads that race for the same
 *               memory
 *   disturb.c   record --chaos
 *   stream.c    a thread's file
 *   outside.c   results from outside: recorded, and given back in a replay
 *   turns.c     replay: one thread at a time, in the order of the steps; names.c: what these are called
 *   heap.c      malloc and its kin; places.c: where stacks and mappings lie
 *   threads.c   beginning and end of threads and of the process; slots.c: threads that come after each other
 *   handlers.c  handlers of signals
 *   sync.c, once.c   synchronisation functions
 *   system.c, system_calls.c, calls.c   what the kernel answers
 *   files.c, mappings.c   files that are read, and that are mapped
 *   descriptors.c   those of the runtime; streams.c: objects that libraries made; exceptions.c
 *   told.c   what nobody answers: chance; children.c, spawn.c: processes that the program starts
 *
 * Processes, failures and the names of threads are those of the record runtime, which is linked too. Unlike
 * that one, this runtime synchronises: the order of accesses is what it records (D3 holds for path recording
 * only).
 */
#ifndef HEDDLE_RUNTIME_FLOW_H
#define HEDDLE_RUNTIME_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/flow.h"
#include "runtime/record/runtime.h"

#define LOAD(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define STORE(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)

enum rt_fl_mode { FL_OFF, FL_RECORD, FL_REPLAY };

/* An event. */
struct rt_fl_point {
  uint32_t slot;
  uint64_t number; /* 0: none */
};

/* A thread as others see it. */
struct rt_fl_shared {
  struct heddle_flow_thread* head; /* null: no thread has had this slot */
  int32_t tid;
  uint64_t handle;            /* pthread_t */
  const void* starting;       /* struct rt_thread that is to get it */
  struct rt_fl_point creator; /* the event that made it */
  uint64_t last;              /* number of its own last event */
  uint32_t go;                /* replay: a futex */
  void* (*start)(void*);
  int (*start_c11)(void*);
  void* argument;
  uint64_t place;    /* next free byte for mappings */
  uint32_t rests;    /* it accesses nothing until it has said otherwise, with a fence */
  uint32_t asked;    /* to rest for a slice */
  uint32_t settles;  /* it changes words of its own by plain stores (sections.c) */
  uint64_t released; /* number of the event that ended its last section */
  /* slots.c */
  uint32_t state;                   /* enum slot_state */
  bool detached;                    /* nobody will join it */
  struct rt_fl_point freed;         /* the event that joined or detached it */
  struct rt_fl_local *local, *left; /* of a thread that has ended; what is left of the one before */
  uint64_t stack_size;
};

/* A range that the next event touches. */
struct rt_fl_range {
  uint64_t begin, end; /* addresses */
  bool writes;
};
#define FL_RANGES 16

/* Words that were taken over side by side, and how many at most the next time (shadow.c). */
struct rt_fl_run {
  uint64_t *begin, *end;
  uint32_t length;
};
#define FL_RUNS 8
/* How often the thread has met memory that another one is using (slices.c). */
struct rt_fl_slice {
  uint64_t since; /* time stamp */
  uint32_t met, taken;
  uint32_t pause, longest_pause; /* so many more times it takes what it wants at once */
  bool dense, asked;
};
/* A lock, as long as nobody breaks its rules (locks.c). */
struct rt_fl_lock {
  uint64_t object; /* its address */
  uint32_t holder; /* slot + 1 of the thread that holds it, 0: nobody */
  uint32_t broken; /* it was released by a thread that did not hold it, or taken while another one held it */
  uint64_t last;   /* a word: slot and number of the event that released it last */
};
struct rt_fl_hold {
  struct rt_fl_lock* lock;
  uint32_t depth;
};
#define FL_HOLDS 8
#define FL_SIZES 256
struct rt_fl_blocks {
  void** blocks;
  uint32_t count, room;
};
#define FL_OWN_STACK (256 * 1024)

/* A thread as it sees itself. With what comes first the next thread with its slot goes on (slots.c). */
struct rt_fl_local {
  uint32_t slot;
  uint64_t seen[HEDDLE_FLOW_SLOTS]; /* the latest event of each thread that is known to come before */
  void* own_stack;                  /* its upper end: entry.h */
  uint64_t* after;                  /* words for when an event is done */
  uint64_t after_room;
  uint64_t sections; /* how many it has begun */
  /* heap */
  uint64_t heap_next, heap_end;          /* what is left of its part of the heap */
  uint64_t heap_present;                 /* up to where there is memory */
  struct rt_fl_blocks free[2][FL_SIZES]; /* [1]: private ones */

  uint64_t last_edge; /* number of the event of the last edge */
  uint64_t edge_base[HEDDLE_FLOW_SLOTS];
  uint64_t last_version, version_granule, version_base; /* of Stride */
  uint64_t last_outside;
  /* stream */
  uint8_t *window, *next, *end;
  uint64_t window_at;
  int file;
  /* the event under way, if it works under locks */
  struct rt_fl_range ranges[FL_RANGES];
  uint32_t range_count, held_count;
  bool recycles;     /* it makes its words new ones */
  bool open, inside; /* inside: an access that was met while another event is open */
  bool locked;       /* the words of the open event are */
  bool may_wait;     /* what is done in the open event may wait for what is outside the program */
  struct rt_fl_run runs[FL_RUNS];
  uint32_t oldest_run;
  /* sections */
  uint32_t locks;                    /* that it holds */
  uint64_t section;                  /* the one it is in */
  struct rt_fl_hold holds[FL_HOLDS]; /* locks that it holds, the one that it took last at the end */
  uint32_t hold_count;
  struct rt_fl_slice slice;
  /* replay */
  uint64_t remaining, last_event;
  uint64_t turned; /* the last event that has had its turn */
  uint64_t owed;   /* events of a faulting stretch that took none, should it be mended */
  uint64_t fault_hash;
  bool faulted; /* a handler runs because of a fault in a stretch, which may go on */
  bool has_turn, fails;
  const uint8_t *given, *given_end;
  uint64_t given_outside;
  uint32_t made;  /* slot of the thread that it is making */
  uint32_t depth; /* > 0: the runtime itself is at work: nothing is recorded */
  /* handlers of signals */
  uint64_t tag; /* as in heddle_flow_self, where it is another one while signals are held */
  uint64_t place;
  struct rt_fl_handler* handlers; /* that run; the innermost */
  uint32_t held_signals;
  bool waits;
};

struct rt_fl_globals {
  enum rt_fl_mode mode;
  bool sequences, locks;
  bool names; /* they are asked for: a replay */
  enum heddle_flow_baseline baseline;
  uint32_t slots;      /* given out */
  uint32_t takes_many; /* slot + 1 of the thread that locks words of others by plain stores, 0: none */
  struct rt_fl_shared threads[HEDDLE_FLOW_SLOTS];
};
extern struct rt_fl_globals rt_fl;
extern RT_TLS struct heddle_flow_thread* heddle_flow_self;
extern RT_TLS struct rt_fl_local* rt_fl_local;
extern RT_TLS void* rt_fl_stack; /* entry.h */
extern RT_TLS uint32_t heddle_flow_private;
extern struct heddle_flow_thread rt_fl_nobody;

static inline bool rt_fl_active(void) {
  return rt_fl_local != NULL && rt_fl.mode != FL_OFF && rt_fl_local->depth == 0;
}
static inline bool rt_fl_replaying(void) {
  return rt_fl_active() && rt_fl.mode == FL_REPLAY;
}
/* The function of this name that this runtime stands before. */
#define RT_FL_REAL(name, ...)                                     \
  ({                                                              \
    static __typeof__(name)* real_;                               \
    if (real_ == NULL) real_ = (__typeof__(name)*)rt_real(#name); \
    real_(__VA_ARGS__);                                           \
  })
/* Of which nothing is recorded. */
#define RT_FL_APART(call)                          \
  ({                                               \
    if (rt_fl_local != NULL) ++rt_fl_local->depth; \
    const int result_ = (call);                    \
    if (rt_fl_local != NULL) --rt_fl_local->depth; \
    result_;                                       \
  })
static inline uint64_t rt_fl_number(void) {
  return heddle_flow_self->status >> HEDDLE_FLOW_STATE_BITS;
}

/* From here on it has nothing under way: behind a fault, or a hook. */
static inline void rt_fl_settle_status(void) {
  struct heddle_flow_thread* const self = heddle_flow_self;
  const uint64_t state = self->status & 3;
  if (state == HEDDLE_FLOW_unmixed || (state == HEDDLE_FLOW_direct && rt_fl_local->faulted))
    STORE(&self->status, self->status & ~3ull);
  rt_fl_local->faulted = false;
}
static inline uint64_t rt_fl_next_status(enum heddle_flow_state state) {
  return (heddle_flow_self->status & ~3ull) + (1 << HEDDLE_FLOW_STATE_BITS) + state;
}

/* The last event that a thread with this status has performed. */
static inline uint64_t rt_fl_done_of(uint64_t status) {
  const uint64_t state = status & 3;
  return (status >> HEDDLE_FLOW_STATE_BITS) - (state == HEDDLE_FLOW_direct || state == HEDDLE_FLOW_waiting);
}

/* ---- shadow.c */
void rt_fl_shadow_init(void);
/* One event that changes the object; what it is about happens between these. */
void rt_fl_begin_object(const void* object);
void rt_fl_end_event(void);
void rt_fl_object_event(const void* object);
void rt_fl_empty_event(void);
void rt_fl_abandon_event(void); /* it met a fault: it is over */
/* Around a system call: of the event that is open, if it is of a call that may wait. */
struct rt_fl_suspended {
  struct rt_fl_range ranges[FL_RANGES];
  uint32_t count;
};
void rt_fl_suspend_event(struct rt_fl_suspended* event);
void rt_fl_resume_event(const struct rt_fl_suspended* event);
void rt_fl_rest(bool rests);
/* One event that comes after events of other threads. */
void rt_fl_event_after(struct rt_fl_point one, struct rt_fl_point other);
void rt_fl_clear_event(void* at, uint64_t size);
void rt_fl_copy_event(void* to, const void* from, uint64_t size);
/* An event about a block of the heap, which belongs to the thread from then on: all of it, of which so many
 * bytes are accessed. Whether it has begun: then it is to be ended. */
bool rt_fl_begin_block(const void* begin, uint64_t accessed, uint64_t size);
void rt_fl_end_block(bool begun);
void rt_fl_write_event(void* to, const void* from, uint64_t size); /* a copy into memory of the program */
void rt_fl_begin_write(const void* to, uint64_t size); /* an event that writes it, until rt_fl_end_event */
/* The same, if the thread owns all of it. It counts only if it was performed. */
bool rt_fl_begin_own_write(const void* to, uint64_t size);
void rt_fl_end_own_write(bool performed);

/* ---- sections.c */
void rt_fl_begin_section(const void* lock); /* it has been acquired; its event follows */
void rt_fl_end_section(const void* lock);
void rt_fl_settle_block(const void* block, uint64_t size); /* it has been allocated */

/* ---- locks.c */
void rt_fl_begin_hold(const void* lock); /* it has been acquired, for this thread alone; its event follows */
void rt_fl_end_hold(const void* lock);   /* it will be released; its event has come */

/* ---- slices.c */
void rt_fl_give_way(void); /* if others have asked for it; an access has been counted and not yet made */

/* ---- disturb.c */
void rt_fl_rest_at(uint32_t site);
static inline void rt_fl_disturb(uint32_t site) { /* a place where a thread may rest, if that is asked for */
  if (rt.chaos) rt_fl_rest_at(site);
}

/* ---- slots.c */
uint32_t rt_fl_free_slot(void);       /* for a new thread */
void rt_fl_await_slot(uint32_t slot); /* replay: until the thread that had it before is gone */
/* Of a thread that begins: new, or what the one before has left. */
struct rt_fl_local* rt_fl_begin_slot(uint32_t slot);
void rt_fl_end_slot(struct rt_fl_local* local); /* by the thread, behind its last event */
void rt_fl_slot_joined(uint32_t slot);          /* or detached, by the last event of this thread */
void rt_fl_slot_detached(uint32_t slot);
bool rt_fl_is_gone(uint32_t slot); /* the system's thread */

/* ---- descriptors.c */
void rt_fl_descriptors_init(void);
int rt_fl_move_file(long descriptor); /* to where the program's are not; -1: it was none, or there is no room */
bool rt_fl_limits_descriptors(long number, const long a[6]); /* a call about how many there may be */
long rt_fl_limit_descriptors(const long a[6]);
void rt_fl_restore_descriptors(void); /* in a child */

/* ---- stream.c */
void rt_fl_close_stream(struct rt_fl_local* local);
bool rt_fl_open_stream(struct rt_fl_local* local, const struct rt_thread* thread);
void rt_fl_append(const void* data, uint64_t size);
void rt_fl_commit(void);
uint8_t* rt_fl_put(uint8_t* to, uint64_t value);
static inline uint64_t rt_fl_zigzag(int64_t value) {
  return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}
void rt_fl_note_edge(uint32_t slot, uint64_t number);
void rt_fl_note_version(enum heddle_flow_entry kind, uint64_t granule, uint32_t slot, uint64_t number);
void* rt_fl_map_file(const char* name, uint64_t* size); /* of the folder, to read; null if it is not there */

/* ---- outside.c */
void rt_fl_note(uint32_t what, int64_t result, const void* bytes, uint64_t size);
void rt_fl_note_parts(uint32_t what, int64_t result, const void* first, uint64_t size, uint64_t more);
int64_t rt_fl_peek(uint32_t what, const uint8_t** bytes, uint64_t* size);
uint32_t rt_fl_next_what(void); /* 0: nothing more */
/* Gives the next result back; what it is must be as expected. */
int64_t rt_fl_given(uint32_t what, const uint8_t** bytes, uint64_t* size);
/* Whether the next result is of this kind and of the present event, or the one with the number. */
bool rt_fl_next_is(uint32_t what);
bool rt_fl_next_is_at(uint32_t what, uint64_t number);
/* Replay. Whether the present event belongs to the one before, up to a fault; whether this is the fault: then
 * all that the stretch did is that one event. */
bool rt_fl_in_faulting_stretch(void);
bool rt_fl_fault_follows(void); /* the present event ends with one: it will have the number of its stretch */
bool rt_fl_end_faulting_stretch(void);
_Noreturn void rt_fl_diverged(const char* what, int64_t expected, int64_t found);

/* ---- files.c */
void rt_fl_files_init(void);
/* Around a read() or pread(): where it will read, and whether what it read has been written down by naming it.
 */
uint64_t rt_fl_position(long number, const long arguments[6]);
bool rt_fl_reads_at_once(const long arguments[6]); /* much of an ordinary file: it does not wait for long */
bool rt_fl_name_read(long number, const long arguments[6], uint64_t position, const void* bytes, long result);
long rt_fl_read_again(void* to); /* in a replay */
/* Around any other call. */
void rt_fl_before_change(long number, const long arguments[6]);
void rt_fl_after_open(long number, const long arguments[6], long result);

/* ---- turns.c */
void rt_fl_turns_init(void);
void rt_fl_turn(void);      /* an event begins */
void rt_fl_turn_done(void); /* it has been performed */
void rt_fl_thread_over(void);
void rt_fl_wait_for_all(void);
bool rt_fl_given_thread(const char* name, uint32_t* slot, bool* fails, uint64_t* events);

/* ---- names.c: of the event that the thread performs, in a replay */
void rt_fl_names_init(void);
void rt_fl_count_name(uint32_t site, enum heddle_flow_name_kind kind);
static inline void rt_fl_name(uint32_t site, enum heddle_flow_name_kind kind) {
  if (rt_fl.names) rt_fl_count_name(site, kind);
}
void rt_fl_write_name(void);                /* its step is over */
extern RT_TLS uint32_t heddle_control_site; /* of the call that the program makes */

/* ---- places.c */
uint64_t rt_fl_place(uint64_t size); /* addresses for a mapping of this thread */
uint64_t rt_fl_slot_base(uint32_t slot);

/* ---- heap.c */
void rt_fl_heap_begin(struct rt_fl_local* local);

/* ---- handlers.c. Places where handlers of signals run: a replay comes by the same ones. */
void rt_fl_run_due_handlers(void);
static inline void rt_fl_run_handlers(void) {
  if (!rt_fl_active() || rt_fl_local->open) return;
  ++rt_fl_local->place;
  if (rt_fl.mode == FL_REPLAY || rt_fl_local->held_signals != 0) rt_fl_run_due_handlers();
}
/* Around what may wait long: handlers run at once. A replay does not wait: what ran then runs at the beginning.
 */
void rt_fl_begin_wait(void);
void rt_fl_wait_on(void); /* it turns out behind rt_fl_run_handlers that we wait */
void rt_fl_end_wait(void);
bool rt_fl_handlers_due(uint64_t counted); /* before an event; 1: it has been counted */
void rt_fl_handlers_before_event(void);

/* ---- sync.c: a thread may be cancelled in a system call; in a replay it leaves from there */
long rt_fl_call_cancellably(long number, const long a[6], bool is_point);
void rt_fl_end_point(void);
void rt_fl_leave_if_cancelled(void);

/* ---- system.c */
bool rt_fl_has_handler(int number); /* one that a replay runs where it ran, SIGABRT's not */
void rt_fl_system_init(void);
void rt_fl_vdso_init(void); /* the time that libraries ask for (vdso.c) */
long rt_fl_system_call(long number, const long a[6]);
long rt_fl_system_call_at_point(long number, const long a[6]); /* the thread may be cancelled in it */

/* ---- mappings.c */
long rt_fl_mmap(const long a[6]);
long rt_fl_mremap(const long a[6]);
long rt_fl_shmat(const long a[6]);
long rt_fl_shmdt(const long a[6]);
bool rt_fl_writes_mapped(long number, const long a[6]); /* recording: a call that writes into a mapped file */
long rt_fl_write_mapped(long number, const long a[6]);
void rt_fl_given_mapped(void); /* replay: what such a call wrote, if the next one is such */

/* ---- once.c */
void rt_fl_once_init(void);

/* ---- streams.c */
void rt_fl_streams_init(void);

/* ---- children.c */
void rt_fl_children_init(void);
void rt_fl_in_child(void);
#endif
