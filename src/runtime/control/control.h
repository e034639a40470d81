/* The control runtime from inside: one thread of the program runs at a time, and at every decision point the
 * scheduler says which (decision D9). Its files:
 *
 *   server.c      before main(): requests of heddle, executions one after the other
 *   scheduler.c   decision points: who goes on; follows schedules, writes down what was done
 *   strategy.c    non-preemptive, random, PCT, POS
 *   switching.c   the two substrates: fibres (stacks and thread pointers swapped by one kernel thread), real
 * threads threads.c     pthread_create, join, exit, cancel ... access.c      hooks of loads and stores; values;
 * spin loops buffers.c     store buffers of TSO and PSO failure.c     how executions end otherwise than well
 *   reset.c       memory as it was before main(); memory.c: the runtime's own
 *   children.c    fork, exec
 *   signals.c     signals between threads, masks, sigwait; handlers.c: handlers; jumps.c: longjmp
 *   heap.h        deterministic addresses, quarantine: heap.c, allocation.c, heap_report.c, heap_reset.c,
 * mappings.c clock.c, sleep.c, timers.c, identity.c, random.c, files.c   virtual time, ids, random numbers,
 * descriptors mutex.c, condition.c, rwlock.c, semaphore.c, once.c, keys.c, futex.c, c11.c   synchronisation;
 * harness.c   what tests ask for by <heddle.h>
 *
 * Ground rules: C, no C++ runtime library; nothing here calls malloc or a function this runtime defines for the
 * program, except on purpose; errno is left as it was by hooks.
 *
 * Which state lives where. State of the program's objects (is this mutex locked?) lives in the objects
 * themselves, and what belongs to the program otherwise (heap) in ordinary variables: both are put back by
 * reset.c. State of the scheduler carries RT_STATE or lies in mapped memory of its own: reset.c leaves it
 * alone, rt_begin_execution() starts it anew.
 */
#ifndef HEDDLE_RUNTIME_CONTROL_H
#define HEDDLE_RUNTIME_CONTROL_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "abi/control.h"
#include "abi/event_part.h"
#include "abi/hooks.h"
#include "abi/sync_kind.h"

#define RT_STATE __attribute__((section("heddle_rt")))
#define RT_LIKELY(x) __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- threads */
struct rt_thread;

/* What a thread is about to do. It may go on when `ready` is null or says so; `ready` is asked at any time, by
 * any thread, and must not change anything. */
struct rt_op {
  uint16_t kind; /* enum heddle_event_kind, or HEDDLE_EVENT_sync + enum heddle_sync_kind */
  uint8_t order; /* enum heddle_order */
  bool timed;    /* may end by its time: a `timeout` step sets timed_out */
  bool spurious; /* may end by a `wake` step, which sets woken */
  uint32_t site;
  const void* object; /* address of the access or of the synchronisation object */
  uint64_t size;
  const void* second; /* condition variables: the mutex */
  uint64_t deadline;  /* timed: virtual nanoseconds */
  bool (*ready)(const struct rt_thread*);
};

enum rt_state { RT_UNUSED, RT_ALIVE, RT_FINISHED };

/* A read since the thread last changed anything: for recognising spin loops. */
struct rt_read {
  const void* at;
  const void* frame;
  uint64_t value;
  uint32_t site;
  uint32_t seen;
};
#define RT_READS 16

struct rt_store;   /* buffers.c */
struct rt_running; /* handlers.c */

struct rt_thread {
  uint32_t index; /* order of creation */
  uint64_t path;  /* of its name: who made it, as which child; 0: main() */
  uint32_t arena; /* of the heap: as far as it goes by the name, so that addresses do not depend on the order */
  uint32_t creator, child, children;
  enum rt_state state;
  struct rt_op op;                  /* pending, or being performed */
  bool timed_out, woken, signalled; /* how a wait may end; cleared by rt_wait */
  bool yielded;                     /* gave way with its last event */
  bool drained;                     /* since its last event, by leaving the program: heddle_event */
  bool detached, joined, cancel_requested, cancelling, unwinding;
  int cancel_state, cancel_type;
  uint64_t events;
  uint64_t tokens, ticket; /* condition.c: see there */
  /* the access performed last: its value is known at the next hook (rt_settle) */
  struct {
    uint8_t kind;
    bool open, buffered;
    const void* at;
    uint64_t address; /* of the access, where `at` is in a buffer */
    uint64_t size;
    uint64_t before;
    uint64_t event;
    uint32_t site;
    const void* frame;
  } last;
  struct rt_read reads[RT_READS];
  uint32_t read_count;
  bool spinning, reads_lost;
  uint32_t idle; /* events while spinning or giving way */
  /* store buffer */
  struct rt_store *oldest, *youngest;
  uint32_t buffered;
  uint64_t barrier; /* PSO: stores from now on wait for those with smaller numbers */
  /* strategies */
  uint64_t priority, flush_priority;
  bool held;             /* strategy hold: its next event is at a held place */
  uint64_t preempted_at; /* after so many events, and one; 0: it was not, or has gone on since */
  /* start, result */
  void* (*start)(void*);
  int (*start_c11)(void*);
  void* argument;
  void* result;
  struct rt_slot* slot;
  void* exit_stack;                                       /* stack pointer in rt_thread_main, for exits */
  void* cleanups;                                         /* threads.c */
  void* destructors;                                      /* threads.c: thread-local objects */
  void* key_values;                                       /* keys.c: allocated with rt_scratch */
  uint64_t pending_signals, signal_mask, awaited_signals; /* signals.c: bit n - 1 is signal n */
  struct rt_running* handlers;                            /* handlers.c: those that run, innermost first */
  int fault;                                              /* handlers.c: the handler of this fault runs */
  const void* fault_address;
  uint64_t drawn;                  /* random numbers, so far: random.c */
  uint32_t alone;                  /* harness.c: how many parts without switches it is in */
  uint64_t slept_from;             /* sleep.c: after so many events */
  uint64_t loop_event, loop_until; /* unseen_loops.c: its last such event; not asked again before so many */
  uint32_t loops;                  /* such events in a row */
  char name[16];
};

struct rt_globals {
  bool active;    /* executing under control; before, every operation succeeds at once */
  bool following; /* a given schedule */
  bool forked;    /* a child of the program: not under control any more */
  bool walking;   /* over the stack after the end: a broken one may make this crash */
  bool internal;  /* the runtime itself calls into libc: memory it takes there is not the program's */
  struct rt_thread* current;
  struct rt_thread* alone;   /* harness.c: as long as it can go on, nobody else does */
  struct rt_thread* threads; /* HEDDLE_CONTROL_MAX_THREADS */
  uint32_t thread_count;     /* created in this execution */
  uint32_t arenas_taken;     /* of those that threads of threads share out: a bit for each */
  uint16_t* live;            /* indexes of those alive, in order of creation */
  uint32_t live_count;
  struct heddle_control_block* block;
  struct heddle_plan plan;
  uint64_t seed; /* of this execution */
  uint64_t random;
  uint64_t events, values, preemptions;
  uint64_t turn_from;   /* events when the running thread had its turn */
  uint64_t loop_events; /* of these, by waiting in a library's loop: no progress (unseen_loops.c) */
  uint64_t quiet;       /* events in a row that changed nothing, by threads that spin */
  uint64_t now;         /* virtual nanoseconds that passed by waiting; see rt_clock() */
  uint64_t base;        /* of the executable (runtime/load_base.h) */
  uint64_t begun;       /* processor time of the process when the execution began */
};
extern struct rt_globals rt;

/* Set before every call that leaves the program's code. */
extern __thread uint32_t heddle_control_site __attribute__((tls_model("initial-exec")));

/* ---- decision points
 *
 * A synchronisation function looks like this:
 *
 *   int pthread_mutex_lock(pthread_mutex_t* m) {
 *     struct rt_thread* self = rt_sync(HEDDLE_SYNC_mutex_lock, m);      // prepares the operation, decides
 * nothing if (!rt.active) ...                                               // single-threaded start: just do
 * it self->op.ready = mutex_is_free; rt_perform(self);                                                 //
 * others may run; then ready() holds
 *     ... change the object ...                                         // nobody else runs until the next
 * decision return rt_result(self, 0);                                        // notes the result as the event's
 * value
 *   }
 *
 * Nothing is done before rt_perform but checks of arguments. */
struct rt_thread* rt_sync(enum heddle_sync_kind kind, const void* object);
/* Decision point; returns when this thread was chosen, its op is ready (or ended by time or a wake-up) and, for
 * synchronisation, its buffered stores are visible. */
void rt_perform(struct rt_thread* self);
/* Behind an event: these bytes of memory were read or written by it. */
void rt_keep_data(const struct rt_thread* self, const void* at, uint64_t size, bool written);
/* Notes the value of a synchronisation event; returns it. */
int rt_result(struct rt_thread* self, int result);
/* The operation changed nothing (a try that failed): repeated, it counts as spinning. To be called instead of
 * nothing, behind rt_perform. */
void rt_unchanged(struct rt_thread* self);
/* The thread gives way (yield, sleep): with the next decision others are preferred. Before rt_perform of what
 * comes next: call it behind rt_perform of the yielding event. */
void rt_yielded(struct rt_thread* self);

/* Threads whose pending operation is of this kind on this object, in order of creation: next one behind `after`
 * (null: from the start). */
struct rt_thread* rt_next_waiter(struct rt_thread* after, enum heddle_sync_kind kind, const void* object);
/* Who holds the lock that this thread waits for, or null: synchronisation files answer for their kinds. */
struct rt_thread* rt_mutex_holder(const void* mutex);
bool rt_mutex_lost(const void* mutex); /* a robust one that its last holder did not repair */
struct rt_thread* rt_rwlock_holder(const void* rwlock);
struct rt_thread* rt_spin_holder(const void* spin);
struct rt_thread* rt_once_holder(const void* once);

/* Cancellation point: acts on a pending request, does not return then. Call at entry of cancellation points;
 * waits that are cancellation points are ready too when rt_cancel_pending(). */
void rt_cancellation_point(struct rt_thread* self);
bool rt_cancel_pending(const struct rt_thread* thread);

/* ---- time (clock.c) */
#define RT_EPOCH 1700000000000000000ull /* CLOCK_REALTIME at the start of an execution */
uint64_t rt_clock(clockid_t clock);     /* nanoseconds */
uint64_t rt_deadline(clockid_t clock, const struct timespec* absolute); /* as op.deadline */
void rt_advance_clock(uint64_t deadline);                               /* a timed wait ended by its time */
bool rt_valid_timespec(const struct timespec* t);

/* ---- failures (failure.c): end the execution, do not return */
_Noreturn void rt_fail(enum heddle_outcome outcome, const char* text);
_Noreturn void rt_fail_at(enum heddle_outcome outcome, const void* address, uint32_t other_thread,
                          uint32_t other_site, const char* text);
_Noreturn void rt_finish(
    enum heddle_outcome outcome); /* result is filled in but for what rt_finish knows itself */
_Noreturn void rt_unsupported(const char* format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void rt_bug(const char* text);
#define RT_CHECK(c) ((c) ? (void)0 : rt_bug(#c))

/* ---- memory of the runtime (memory.c), zeroed, not part of what is reset */
void* rt_map(size_t size); /* pages */
bool rt_owns(uint64_t address);
/* For the rest of the execution. */
void* rt_scratch(size_t size);
void rt_scratch_begin_execution(void);

/* For as long as the process lives: what libc allocates on behalf of the runtime (rt.internal). */
void* rt_permanent(size_t size);
bool rt_is_permanent(const void* at);

/* ---- heap (heap.c) */
void rt_heap_event(void* at, uint64_t size); /* access.c: decision point before a block is freed */
void rt_heap_moved(const void* from, const void* to, uint64_t size); /* access.c: what was in it is there now */
#define RT_HEAP_BASE 0x600000000000ull
#define RT_HEAP_SIZE (1ull << 40)
/* Fails the execution when [at, at + size) touches a freed block. */
void rt_heap_check_slow(const void* at, uint64_t size, uint32_t site);
static inline void rt_heap_check(const void* at, uint64_t size, uint32_t site) {
  if (RT_UNLIKELY((uint64_t)(uintptr_t)at - RT_HEAP_BASE < RT_HEAP_SIZE)) rt_heap_check_slow(at, size, site);
}
bool rt_heap_place(const void* at, struct heddle_place* place); /* names the block that holds it */
void rt_heap_begin_execution(void);                             /* after memory was put back */
void rt_heap_snapshot(void);                                    /* now is what reset goes back to */
void rt_heap_reset(void);

/* ---- mappings (mappings.c) */
bool rt_mapping_place(const void* at, struct heddle_place* place);

/* ---- files (files.c) */
/* Waits in earnest until a descriptor is ready that a thread waits for (null: any thread); -1: for ever. False:
 * nothing became ready, or only threads of this process could make it so. */
bool rt_wait_for_files(const struct rt_thread* only, int milliseconds);
/* Whether reading from this descriptor may wait; waiting until a call that reads (POLLIN) or writes does not
 * (false: a signal came first); and what the call returned: -errno or a result. errno stays as it is. */
bool rt_file_may_wait(int file);
bool rt_before_file_call(int file, short events);
bool rt_waits_for_files(const struct rt_thread* thread);
/* The same for calls that wait for a process, which these descriptors stand for. To who explores, the event
 * orders nothing. */
struct pollfd;
bool rt_before_process_call(const struct pollfd* files, uint64_t count, bool dont_wait);
void rt_finish_file_call(long result);
bool rt_waits_inside(
    const struct rt_thread* thread);            /* for files, and only threads of this process can end it */
bool rt_peer_is_inside(int file, short events); /* peers.c: nobody outside can end a wait for it */

/* ---- the original of a function that this runtime defines */
void* rt_real(const char* name);
/* System calls without errno and without cancellation: the result or -errno. */
long rt_system_call(long number, long a, long b, long c, long d, long e, long f);
#define RT_SYS0(n) rt_system_call(n, 0, 0, 0, 0, 0, 0)
#define RT_SYS1(n, a) rt_system_call(n, (long)(a), 0, 0, 0, 0, 0)
#define RT_SYS2(n, a, b) rt_system_call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RT_SYS3(n, a, b, c) rt_system_call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RT_SYS4(n, a, b, c, d) rt_system_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RT_SYS6(n, a, b, c, d, e, f) \
  rt_system_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* ---- random numbers: splitmix64 */
static inline uint64_t rt_next_random(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}
static inline uint64_t rt_random_below(uint64_t limit) {
  return (uint64_t)(((unsigned __int128)rt_next_random(&rt.random) * limit) >> 64);
}
static inline uint64_t rt_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9fb21c651e98df25ull;
  return hash ^ (hash >> 32);
}

/* ---- between the files of the core */
/* scheduler.c */
void rt_scheduler_init(void);
void rt_begin_execution(void);
void rt_decide(struct rt_thread* self); /* rt_perform for accesses */
void rt_chosen(struct rt_thread* self); /* a thread begins: it performs its first event */
void rt_note_start(struct rt_thread* thread, uint64_t start);
void rt_close_step(
    const struct rt_thread* self); /* says why the run of this thread ends, if it is the last step */
void rt_set_spinning(struct rt_thread* thread, bool spinning);
struct rt_thread* rt_new_thread(struct rt_thread* creator); /* null: too many */
_Noreturn void rt_leave(struct rt_thread* self);            /* the thread is finished */
bool rt_enabled(const struct rt_thread* thread);
void rt_changed(const void* at, uint64_t size); /* memory or an object changed: spinning threads look again */
void rt_value(struct rt_thread* self, uint32_t site, uint64_t value); /* mixes a value into the run's hash */
/* strategy.c */
struct rt_action {
  enum heddle_step_kind kind;
  struct rt_thread* thread;
  struct rt_store* store;
};
void rt_strategy_begin(void);
void rt_strategy_thread(struct rt_thread* thread);
struct rt_action rt_strategy_choose(struct rt_thread* self, const struct rt_action* actions, uint32_t count);
bool rt_strategy_may_end(uint64_t deadline);        /* may a wait until then end while others can run? */
void rt_strategy_performed(struct rt_thread* self); /* self performs its op now */
/* guide.c: events by their names */
void rt_guide_begin_execution(void);
void rt_guide_performed(const struct rt_thread* self); /* its op */
uint64_t rt_guide_count(const struct rt_thread* thread, uint32_t site, enum heddle_step_target target);
/* moves.c */
void rt_note_move(enum heddle_move_kind kind, uint32_t id);
/* access.c */
void rt_settle(struct rt_thread* self); /* the value of the last access is known now */
void rt_access_begin_execution(void);
void rt_keep_event(struct rt_thread* self);                 /* plan.keep_events */
void rt_keep_stack(struct heddle_stack* out);               /* failure.c: of who runs */
void rt_keep_pending(const struct rt_thread* but);          /* at the end: what each thread would do next */
void rt_keep_value(struct rt_thread* self, uint64_t value); /* of the event kept last; `after` of updates */
/* Recognises spin loops; `frame` is the stack pointer: recursion makes progress. */
void rt_note_read(struct rt_thread* self, uint32_t site, const void* at, const void* frame, uint64_t value);
/* buffers.c */
struct rt_store {
  struct rt_store* next;
  uint64_t number, barrier, priority;
  uint8_t* at;
  uint64_t size;
  uint32_t site, class;
  uint64_t occurrence; /* guide.c: how many stores the thread had made at this site */
  uint8_t bytes[];
};
#define RT_LARGEST_STORE 4096 /* larger ones (memcpy) become visible at once */
struct rt_store* rt_buffer_store(struct rt_thread* self, void* at, uint64_t size, uint32_t site, bool release);
void rt_flush_one(struct rt_thread* thread, struct rt_store* store);
void rt_drain(struct rt_thread* thread);
bool rt_may_flush(const struct rt_thread* thread, const struct rt_store* store);
/* PSO: the store itself, or one that has to become visible before it and may. */
struct rt_store* rt_first_to_flush(const struct rt_thread* thread, struct rt_store* wanted);
void rt_flush_overlapping(struct rt_thread* thread, const void* at, uint64_t size); /* of private memory only */
void rt_forget_stack(struct rt_thread* thread, const void* limit); /* stores to frames that have ended */
bool rt_overlaps_buffer(const struct rt_thread* thread, const void* at, uint64_t size);
void* rt_forward(struct rt_thread* self, const void* at, uint64_t size); /* where to read */
void rt_buffers_begin_execution(void);
bool rt_place_of(const void* at, struct heddle_place* place);
bool rt_place_matches(const struct heddle_place* place, const void* at);
/* switching.c */
struct rt_slot* rt_take_slot(uint64_t stack_size, const struct rt_thread* creator); /* of at least this size */
void rt_release_slot(struct rt_slot* slot);
void rt_start_on_slot(struct rt_thread* thread);
void rt_switch(struct rt_thread* from, struct rt_thread* to); /* from == null: never comes back */
const uint8_t* rt_stack_low(const struct rt_thread* thread);
pthread_t rt_handle(const struct rt_thread* thread);
struct rt_thread* rt_thread_of(pthread_t handle);
void rt_slots_begin_execution(struct rt_thread* main_thread);
void rt_slots_reset(void);
/* threads.c */
void rt_thread_main(struct rt_thread* self);     /* body of every thread but the first; ends with rt_leave */
void rt_run_destructors(struct rt_thread* self); /* thread-local objects, then keys */
void rt_run_key_destructors(struct rt_thread* self); /* keys.c */
_Noreturn void rt_exit_thread(struct rt_thread* self, void* result);
/* signals.c */
#define RT_HANG_SIGNAL (SIGRTMAX - 1) /* from heddle: why does nothing happen? */
#define RT_LOOP_SIGNAL (SIGRTMAX - 2) /* unseen_loops.c */
#define RT_CANCEL_SIGNAL (1ull << 31) /* as in the C library: for threads that may be cancelled at any time */
/* Signals arrive from outside between any two instructions. */
static inline void rt_set_pending(struct rt_thread* thread, uint64_t signals) {
  __atomic_fetch_or(&thread->pending_signals, signals, __ATOMIC_RELAXED);
}
static inline void rt_clear_pending(struct rt_thread* thread, uint64_t signals) {
  __atomic_fetch_and(&thread->pending_signals, ~signals, __ATOMIC_RELAXED);
}
static inline bool rt_signal_pending(const struct rt_thread* thread) {
  return (thread->pending_signals & ~thread->signal_mask) != 0;
}
uint64_t rt_signals_in(const sigset_t* set);
void rt_deliver_signals(struct rt_thread* self); /* runs handlers */
extern volatile uint32_t rt_handled_in_child;    /* handlers.c: how often a handler ran in a forked child */
pid_t rt_real_id(pid_t id);                      /* identity.c: for the kernel */
bool rt_had_children(void);
pid_t rt_next_child(void);           /* what the next child will be called; 0: by its real id */
void rt_child_begins(pid_t name);    /* in the child */
pid_t rt_name_child(pid_t id);       /* in its parent: its name */
bool rt_has_children(void);          /* that have not ended */
pid_t rt_child_of(pid_t id);         /* the name of a child; other ids stay as they are */
pid_t rt_child_at(uint32_t number);  /* the real id of a child, in order of creation; 0: no more */
bool rt_send_to_process(int number); /* false: nobody takes it, the default action is to be done */
void rt_signal_arrived(int number, const siginfo_t* information); /* from outside */
bool rt_signals_restart(const struct rt_thread* self);            /* pending ones: all have SA_RESTART */
/* handlers.c */
struct sigaction rt_action_of(int number);
void rt_call_handler(int number, siginfo_t* information);
void rt_leave_handlers(struct rt_thread* self, const void* to, bool restore_mask); /* by a jump to this frame */
void rt_own_handler(int number, void (*handler)(int, siginfo_t*, void*)); /* where the program has none */
bool rt_handles_faults(uintptr_t function); /* does it call the program's handlers of faults? */
int rt_fault_at_hand(void); /* called from the program's handler of a fault: its number, else 0 */
void rt_handlers_reset(void);
/* failure.c */
void rt_failure_init(void);
void rt_failure_thread_init(void); /* alternate stack of a kernel thread */
_Noreturn void rt_standstill(void);
/* channels.c */
const void* rt_channel(int file, enum heddle_channel_end end); /* its name; null: it is none, or not followed */
void rt_forget_channels(void);
/* first_use.c */
void rt_first_uses(void);
/* server.c */
_Noreturn void rt_end_execution(void);
_Noreturn void rt_last_thread_ended(void);
void rt_early_start(void); /* a thread is created before main() */
/* unseen_loops.c */
void rt_watch_unseen_loops(void); /* from now on, in this process */
bool rt_unseen_loop_came(void); /* its signal, since the last question: it may have interrupted a system call */
bool rt_release_unseen_loops(void); /* those that wait may be asked at once; false: there is none */
bool rt_release_unseen_loop(struct rt_thread* thread);
bool rt_is_in_unseen_loop(const struct rt_thread* thread);
/* reset.c */
void rt_snapshot(void* main_stack_pointer);
void rt_reset(void);
/* What the start of the process, or an execution before, left below main(): programs that read it must read the
 * same in every execution. */
void rt_clear_main_stack(uint8_t* pointer);
/* What happens to memory between these two stays: the process has a new kernel thread, whatever comes after. */
void rt_lasting_change_begin(void);
void rt_lasting_change_end(void);
void rt_trap_system_calls(void);

#endif
