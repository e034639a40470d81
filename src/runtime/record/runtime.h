/* What the files of the record runtime share.
 *
 * Ground rules (D3, and those of all runtimes): a thread writes into its own log and reads nothing that others
 * write; no lock, no atomic read-modify-write and no fence on the recording path. Where threads begin and end,
 * and where files are read, a few atomic counters are used; each says so. C only, nothing from the program's
 * malloc, errno stays as it was. System calls are made directly: libc's functions are cancellation points.
 *
 * A thread has one log for its ordinary code and one for each level of signal handlers (signals.c). Everything
 * that belongs to a log is in its struct rt_log, so that a handler may interrupt any hook at any instruction.
 *
 * Names that begin with rt_ stay inside the executable; all others are seen by libraries
 * (src/build/link_variant).
 */
#ifndef HEDDLE_RUNTIME_RECORD_RUNTIME_H
#define HEDDLE_RUNTIME_RECORD_RUNTIME_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "abi/record.h"
#include "runtime/record/buffers.h"

#define RT_LIKELY(x) __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RT_TLS _Thread_local __attribute__((tls_model("initial-exec")))
/* Stores before it stay before those behind it, as the compiler is concerned. The processor keeps the order of
 * stores by itself, and a killed process leaves its mapped files as after its last instruction. */
#define RT_ORDER() __asm__ volatile("" ::: "memory")

#define RT_FIRST_CHUNK 16384 /* bytes of the first chunk of a stream */
#define RT_CHUNK 65536       /* of all later ones: they stay in the second-level cache */
#define RT_ALTERNATE_STACK 65536
#define RT_LEVELS 15 /* of handlers; what is deeper is not recorded */
#define RT_PATH_SIZE 4096
#define RT_BY_REFERENCE 16384 /* ranges of files from this size on */
#define RT_FILES_KNOWN 64     /* files that a log remembers the number of (files.c) */
#define RT_CANCEL_SIGNAL 32   /* by which libc cancels threads */

/* ---- logs */
struct rt_stream {
  struct heddle_record_chunk* chunk; /* null: the log has none yet */
  uint64_t first;                    /* place of the first chunk in the file */
  uint64_t copies;                   /* with `keep`: where copies of the others are */
  uint64_t before;                   /* bytes in the chunks before, without heads */
};

struct rt_known_file {
  uint64_t device, inode;
  int64_t modified_s, modified_ns;
  uint64_t size;
  uint32_t number;
  bool used;
};

struct rt_log {
  struct heddle_record_state saved; /* while another log of the thread is the current one */
  struct rt_thread* thread;
  struct heddle_record_log* head;
  uint32_t level;
  bool sink;        /* not recorded: what is written goes to memory that is used again and again */
  bool cancellable; /* the thread has chosen when it can be cancelled: it may end in the middle of the program's
                       code */
  uint64_t file_end;
  struct rt_stream path, data;

  /* The path word completed last in this chunk (0: none), where its repetitions are counted, and the chunk's
   * end.
   */
  uint64_t last_word;
  uint64_t* run;
  uint64_t* path_end;
  /* Completed words, repetitions counted. While transit == words + 1, transit_word is being completed. */
  uint64_t words, transit, transit_word;

  uint64_t frame; /* of handlers: where on the stack the one that runs began */
  uint64_t last_stamp;
  int last_errno;
  uint64_t references[255];
  struct rt_known_file files[RT_FILES_KNOWN];

  uint32_t *block, *block_end; /* blocks.c */
  uint64_t block_file_end, block_size;

  struct rt_buffer buffer; /* record --memory-model */

  _Alignas(HEDDLE_RECORD_PAGE) uint8_t sink_head[HEDDLE_RECORD_PAGE];
  uint8_t sink_path[RT_FIRST_CHUNK];
  uint8_t sink_data[RT_FIRST_CHUNK];
};

struct rt_thread {
  _Alignas(
      HEDDLE_RECORD_PAGE) uint8_t guard[HEDDLE_RECORD_PAGE]; /* below the alternate stack: not accessible */
  uint8_t alternate_stack[RT_ALTERNATE_STACK];
  struct rt_log log;                      /* of ordinary code: level 0 */
  struct rt_log* handlers[RT_LEVELS + 1]; /* of handlers, from 1; made when needed */
  char name[256];
  int32_t tid;
  int* errno_at;
  uint32_t children;
  uint64_t stack_low, stack_high;
  /* From the thread that made this one. */
  void* (*start)(void*);
  int (*start_c11)(void*);
  void* argument;
  uint64_t signal_mask;
  /* A failure that is on its way to abort() (failure.c). */
  uint32_t failure;
  char text[HEDDLE_RECORD_TEXT], text2[HEDDLE_RECORD_TEXT];
  /* chaos.c */
  uint64_t random;
  bool dense, moved;
  uint32_t looked_at; /* chaos: places, for whether it is held back there */
  uint64_t home[16];  /* processors that the thread may run on */
};

extern RT_TLS struct heddle_record_state heddle_record_state;
extern RT_TLS struct rt_thread* rt_self; /* null before the thread's first hook */
extern RT_TLS struct rt_log* rt_now;     /* the log that heddle_record_state works on */

/* What holds for the process; written before threads of the program exist. */
struct rt_globals {
  struct heddle_record_process* process; /* null: nothing is recorded */
  char folder[RT_PATH_SIZE];
  bool clock, chaos, no_inputs;
  bool sync_order;    /* stamps are places in the order of synchronisation calls (sync_order.c) */
  bool buffered, pso; /* stores wait in buffers (buffers.c); under PSO, not TSO */
  bool forked;        /* this is the child of a fork */
  bool blocks;        /* every block is logged: the variants for tests */
  uint64_t keep;
  uint64_t chaos_seed;
  uint64_t default_stack_size;
};
extern struct rt_globals rt;

/* process.c: once; whoever comes first. */
void rt_init(void);
void* rt_real(const char* name);
_Noreturn void rt_refuse(const char* why); /* this run cannot be recorded: heddle says why */
_Noreturn void rt_no_memory(void);

/* log.c */
void rt_open_log(struct rt_log* log, struct rt_thread* thread, uint32_t level);
void rt_close_log(struct rt_log* log);
/* In the child of a fork: the log goes on in private memory at the same addresses. */
void rt_cut_off_log(struct rt_log* log);
void rt_make_current(struct rt_log* log); /* with signals blocked */
/* folder/threads/NAME[@LEVEL]extension */
void rt_log_path(const struct rt_log* log, const char* extension, char path[RT_PATH_SIZE]);
/* Makes bytes of the file sure to be there: 0 or -errno. */
long rt_allocate(int fd, uint64_t at, uint64_t size);

/* threads.c */
/* Only other runtimes that use these files have these (runtime/flow): they choose the stack of a thread, and
 * count the live threads down when one ends (true: it is the last, which goes on to run the exit handlers). */
__attribute__((weak)) const pthread_attr_t* rt_choose_stack(struct rt_thread* child,
                                                            const pthread_attr_t* wanted,
                                                            pthread_attr_t* storage);
__attribute__((weak)) bool rt_thread_ends(_Atomic uint32_t* live);
/* Whether it has run the handler of the program itself, or will later. */
__attribute__((weak)) bool rt_hold_signal(int number, const siginfo_t* information,
                                          void (*handler)(int, siginfo_t*, void*), void* context);
/* Around a change of what signals do. */
__attribute__((weak)) void rt_begin_action(void);
__attribute__((weak)) void rt_end_action(void);
/* Called by a thread that has failed, before anybody is told. */
__attribute__((weak)) void rt_hold_failure(int number);
/* Called before the library says why the program ends, and ends it. */
__attribute__((weak)) void rt_before_last_words(void);
void rt_begin_unseen_thread(void);
void rt_threads_init(void);
struct rt_log* rt_handler_log(struct rt_thread* self, uint32_t level);

/* signals.c */
/* libc's handler of a signal of its own is from now on treated as one of the program's. */
void rt_take_over(int number);
/* Code that was left by handlers down to this log's goes on in it; `caller` is the lowest address of the stack
 * that is still in use. */
void rt_return_to(struct rt_log* log, const void* caller);
/* libc's own sigaction. */
int rt_sigaction(int number, const struct sigaction* action, struct sigaction* old);
/* The program's. */
int rt_program_action(int number, const struct sigaction* wanted, struct sigaction* old);

/* failure.c */
void rt_failure_init(void);
void rt_on_failure(int number, siginfo_t* information, void* context);
struct sigaction rt_failure_action(void); /* what takes the place of the default action */
bool rt_is_failure_signal(int number);
void rt_publish_failure(struct rt_thread* self, int number, const siginfo_t* information, const void* context);

/* data.c */
void rt_put_range(const void* at, uint64_t size); /* HEDDLE_RECORD_bytes */
uint64_t rt_string_size(const char* text,
                        uint64_t limit); /* bytes with the terminating zero, at most `limit` */
uint64_t rt_wide_string_size(const wchar_t* text, uint64_t limit);

/* files.c: writes HEDDLE_RECORD_file_bytes if the range can be kept by reference. */
/* How much of a range that begins at `offset` of a file is inside the file: a mapping may go beyond it, where
 * there is nothing to read. Without a file (a mapping of fresh memory) nothing is. */
uint64_t rt_size_in_file(int fd, int64_t offset, uint64_t size);
/* A file that was opened, and may be read, is one of the program's inputs. */
void rt_note_file(int fd);
bool rt_by_reference(const void* at, uint64_t size, uint32_t source_kind, uint64_t source, int64_t offset);

/* sync_order.c */
uint64_t rt_next_in_order(void);

/* chaos.c */
uint64_t rt_next_random(uint64_t* state);
uint64_t rt_thread_seed(const struct rt_thread* thread); /* from the seed of the run and its name */
void rt_chaos_begin(struct rt_thread* self);
void rt_disturb(struct rt_thread* self, const void* place); /* of the code that is disturbed */
void rt_rest(uint64_t* random);                             /* some microseconds */
void rt_chaos_end(void);                                    /* the program has done all but end */
void rt_let_fail(void);                                     /* returns if no other thread is failing */
bool rt_others_live(void);                                  /* threads other than the caller */

/* blocks.c */
void rt_close_blocks(struct rt_log* log);
void rt_mark_lost(struct rt_log* log); /* a handler that interrupted what this log is of will not come back */

/* ---- system calls: the result or -errno */
static inline long rt_system_call(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}
#define RT_SYS0(n) rt_system_call(n, 0, 0, 0, 0, 0, 0)
#define RT_SYS1(n, a) rt_system_call(n, (long)(a), 0, 0, 0, 0, 0)
#define RT_SYS2(n, a, b) rt_system_call(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define RT_SYS3(n, a, b, c) rt_system_call(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RT_SYS4(n, a, b, c, d) rt_system_call(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RT_SYS6(n, a, b, c, d, e, f) \
  rt_system_call(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#ifndef RT_NEVER_BLOCKED
#define RT_NEVER_BLOCKED 0 /* a bit for each signal */
#endif
/* All signals blocked, those of libc's own too: for what a handler or a cancellation must not find half done.
 */
static inline uint64_t rt_block_signals(void) {
  const uint64_t all = ~(uint64_t)RT_NEVER_BLOCKED;
  uint64_t before = 0;
  RT_SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, 8);
  return before;
}
static inline void rt_restore_signals(uint64_t mask) {
  RT_SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
}

void* rt_map_memory(size_t size); /* zeroed; null if there is none */

static inline uint64_t rt_tsc(void) {
  return __builtin_ia32_rdtsc();
}

/* ---- appending to the data stream of the current log. A handler that interrupts a hook may never come back:
 * what a log's own tables (references, errno, stamps) and its stream say together changes between these two,
 * and signals wait meanwhile (signals.c). */
static inline struct rt_log* rt_begin_entry(void) {
  struct rt_log* const log = rt_now;
  rt_begin_work(&log->buffer);
  return log;
}

static inline void rt_end_entry(struct rt_log* log) {
  rt_end_work(&log->buffer);
}

static inline uint8_t* rt_room(void) { /* for HEDDLE_RECORD_SMALL bytes */
  if (RT_UNLIKELY(heddle_record_state.data->used > heddle_record_state.data_limit)) heddle_record_next_data();
  return (uint8_t*)heddle_record_state.data + heddle_record_state.data->used;
}

static inline void rt_written(const uint8_t* end) {
  RT_ORDER();
  *(volatile uint64_t*)&heddle_record_state.data->used = (uint64_t)(end - (uint8_t*)heddle_record_state.data);
}

static inline uint8_t* rt_varint(uint8_t* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *to++ = (uint8_t)value;
  return to;
}

static inline uint8_t* rt_fixed(uint8_t* to, uint64_t value, unsigned bytes) {
  __builtin_memcpy(to, &value, 8); /* there is room, and what is too much is overwritten */
  return to + bytes;
}

/* Position in the data stream, without heads of chunks. */
static inline uint64_t rt_data_position(const struct rt_log* log, const struct heddle_record_state* state) {
  return log->data.before + state->data->used - HEDDLE_RECORD_CHUNK_HEAD;
}

#endif
