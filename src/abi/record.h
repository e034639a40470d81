/* What a recorded program, the pass that instruments it and the reader of recordings agree on: the thread's state that
 * instrumented code works on, the hooks it calls, and the files of a recording byte by byte.
 *
 * A recording is a folder:
 *   recording.json        written by heddle: program, identity, command, environment, options, outcome (src/recording)
 *   process               struct heddle_record_process, mapped by the runtime and by heddle
 *   threads/NAME.log      one file per thread; NAME as in schedules ("0", "0.1"). "NAME@1.log": what ran in signal
 *                         handlers of this thread, "@2" in handlers that interrupted those
 *   threads/NAME.blocks   only of the variant for tests that logs every block: u32 block ids, padded with 0xffffffff.
 *                         HEDDLE_RECORD_BLOCK_LOST: here a signal handler came that did not come back
 *   inputs/               copies of the files that were read
 *
 * A log is a struct heddle_record_log (one page), then chunks. A chunk belongs to one of two streams of the thread:
 *
 * - path: 64-bit words. A word holds bits behind a leading 1 (the sentinel), oldest first; 0 is the end of the stream;
 *   the word 1 (no bits), if what follows it is not 0, is followed by a number of repetitions of the word before it.
 *   The last word of the stream may be in the making: it has at most 63 bits, and what it has is complete. It may be 1:
 *   then it is followed by 0 or by the end of the chunk. Repetitions do not go beyond a chunk: the first word of a chunk
 *   is neither a repetition nor repeated from the chunk before.
 * - data: entries, each a tag (enum heddle_record_tag) and its payload, without alignment; and between them bare values
 *   of loads, which have no tag because the reader, following the path, knows where they stand. `used` in the chunk's
 *   head grows after the bytes are there, so what lies below it is complete. No entry is cut by the end of a chunk, but
 *   for the bytes of HEDDLE_RECORD_bytes, which may continue in the next chunks of the stream.
 *
 * Numbers are little-endian; a varint is LEB128 without sign. The two streams need no order between them: who follows
 * the path of the thread consumes both (src/program/record_plan.h says where what stands).
 *
 * Ground rule (D3): nothing here is shared between threads. A thread writes to its own log only. */
#ifndef HEDDLE_ABI_RECORD_H
#define HEDDLE_ABI_RECORD_H

#include <stdint.h>

#define HEDDLE_RECORD_FORMAT 5
#define HEDDLE_RECORD_LOG_MAGIC 0x676f6c656c646468ull       /* "hddlelog" */
#define HEDDLE_RECORD_PROCESS_MAGIC 0x636f7270656c6468ull /* "hdleproc" */
#define HEDDLE_RECORD_CHUNK_MAGIC 0x6b6e6863u           /* "chnk" */
#define HEDDLE_RECORD_PAGE 4096
#define HEDDLE_RECORD_BLOCK_LOST 0xfffffffeu

/* ---- the thread's state: a thread-local variable (initial-exec) of the runtime, which instrumented code uses directly.
 * All fields are 8 bytes. */
#define HEDDLE_RECORD_STATE "heddle_record_state"

struct heddle_record_state {
  /* The path word in the making; points into a chunk. Never null while code of the program runs: it is entered through
   * heddle_record_enter. To add k bits b (k <= 63):
   *   if (*word >> (64 - k) != 0) heddle_record_next_word();
   *   *word = *word << k | b; */
  uint64_t* word;
  /* The number of the path so far in the present segment (segments.h): what is not in the log yet. After a failure
   * heddle reads it out of the stopped process. */
  uint64_t path;
  /* The current data chunk. To append n <= HEDDLE_RECORD_SMALL bytes:
   *   if (data->used > data_limit) heddle_record_next_data();
   *   write at (char*)data + data->used; then data->used += n, as the last store (volatile). */
  struct heddle_record_chunk* data;
  uint64_t data_limit; /* size of the chunk - HEDDLE_RECORD_SMALL */
  uint64_t chaos;      /* events until the next disturbance (record --chaos) */
  uint64_t called;     /* 1: the program is about to enter itself through a pointer (HEDDLE_RECORD_enter) */
};
#define HEDDLE_RECORD_SMALL 64 /* bytes that always fit behind data_limit */

/* ---- chunks */
enum heddle_record_stream { HEDDLE_RECORD_path = 1, HEDDLE_RECORD_data = 2 };

struct heddle_record_chunk {
  uint64_t used;  /* data: bytes from the start of the chunk, this head included. path: the same, of completed words */
  uint32_t magic; /* HEDDLE_RECORD_CHUNK_MAGIC */
  uint32_t stream;
  uint64_t size;      /* bytes, with this head; a multiple of the page */
  uint64_t sequence;  /* from 0, per stream of this log. Chunks stand in any order. The process may die when it has copied a
                       * full one to its place: then two with the same content have the same number */
  uint64_t begin_tsc; /* 0 without clock; `end_tsc` is 0 in the last chunk */
  uint64_t end_tsc;
  uint64_t checksum; /* heddle_record_checksum of what is used of a chunk that is full, or whose thread has ended; else 0 */
  uint64_t reserved;
};
#define HEDDLE_RECORD_CHUNK_HEAD 64

/* Sums, and sums of sums, in eight lanes that do not wait for each other: any one byte that changes, and what
 * changes its place, changes them. Never 0. */
static inline uint64_t heddle_record_checksum(const struct heddle_record_chunk* chunk, const void* content) {
  const unsigned char* from = (const unsigned char*)content;
  uint64_t left = chunk->used - HEDDLE_RECORD_CHUNK_HEAD, sums[8] = {0}, sums_of_sums[8] = {0};
  while (left != 0) {
    uint64_t words[8] = {0};
    const uint64_t part = left < sizeof words ? left : sizeof words;
    if (part == sizeof words) {
      __builtin_memcpy(words, from, sizeof words);
    } else {
      __builtin_memcpy(words, from, part);
    }
    for (int i = 0; i < 8; ++i) {
      sums[i] += words[i];
      sums_of_sums[i] += sums[i];
    }
    from += part;
    left -= part;
  }
  uint64_t result = chunk->used + (chunk->sequence << 32) + chunk->stream;
  for (int i = 0; i < 8; ++i) { /* the shifts: products carry upwards only, so changes of high bits could cancel */
    result = (result ^ sums[i]) * 0x9e3779b97f4a7c15ull;
    result = (result ^ result >> 29 ^ sums_of_sums[i]) * 0xd6e8feb86659fd93ull;
    result ^= result >> 32;
  }
  return result | 1;
}

/* ---- the first page of a log */
enum heddle_record_stop { /* why a log ends early */
  HEDDLE_RECORD_not_stopped = 0,
  HEDDLE_RECORD_disk_full = 1,
  HEDDLE_RECORD_no_memory = 2, /* or no file could be made */
  HEDDLE_RECORD_forked = 3,    /* in the child of a fork: it is not recorded */
};

struct heddle_record_log {
  uint64_t magic;
  uint32_t format;
  uint32_t level; /* 0; 1 and more: signal handlers */
  char name[256]; /* of the thread, with zero at the end */
  int32_t tid;    /* the system's */
  uint32_t stop;  /* enum heddle_record_stop */
  uint64_t begin_tsc; /* also without clock, as the next */
  uint64_t end_tsc;   /* 0: the thread had not ended */
  /* Address in the process of the struct heddle_record_state that holds for this log: the thread's variable, or where its
   * values are kept while a handler with another log runs. */
  uint64_t state;
  uint64_t stack_low, stack_high;
  uint64_t tls; /* thread pointer */
  /* What the state held: filled in by heddle when it looked at the stopped process, and by a thread that may have been
   * cancelled anywhere, at its end. */
  uint32_t looked_at;
  uint32_t sync_order; /* 1: stamps are places in the order of synchronisation calls (HEDDLE_RECORD_OPTION_SYNC_ORDER) */
  uint64_t pending_path, pc;
  /* Over all of the file but this field and what checksums of chunks cover; written by heddle when the recording is
   * complete. 0: it did not come to that. */
  uint64_t seal;
};

/* ---- data entries */
enum heddle_record_tag {
  HEDDLE_RECORD_end = 0, /* never written: what is not there */
  /* A function of the program was entered by the program through a pointer: varint function id. */
  HEDDLE_RECORD_enter = 1,
  /* Control came to a landing pad: varint id of the invoke. */
  HEDDLE_RECORD_landed = 2,
  /* A call that returns twice returned: varint id of the call, varint number of returns so far in this activation
   * (0: the first; not counted beyond 2^19 - 1), and of later ones varint distance in bytes back to the entry of the
   * first, then the result, 4 bytes.
   * The distance is counted in the data stream without chunk heads. */
  HEDDLE_RECORD_twice = 3,
  /* Before a call through a pointer that leads outside: reference of the target. */
  HEDDLE_RECORD_foreign = 4,
  /* Bytes that a call wrote: varint count, the bytes. */
  HEDDLE_RECORD_bytes = 6,
  /* The same, out of a file that is kept apart: varint number of the file (process: files), varint offset, varint
   * count. */
  HEDDLE_RECORD_file_bytes = 7,
  /* A thread is about to be made by this one: varint number k, so its name is NAME.k. Stands before the `returned` of the
   * call, or where no code of the program runs. If it could not be made the number 0 follows, and k is not used again.
   * (Written before, so that a child never runs of which its parent's log knows nothing. A name that would become longer
   * than 200 bytes is not used: such a thread is called as one whose creation was not seen, "0?N".) */
  HEDDLE_RECORD_child = 8,
  /* In logs of handlers: a signal came: varint signal number, u64 pc that it interrupted, then the position of the
   * interrupted log: varint number of path words completed (repeated words counted as often as they came), u64 the word
   * in the making, varint pending path, varint bytes of data stream without chunk heads. */
  HEDDLE_RECORD_signal = 9,
  HEDDLE_RECORD_signal_end = 10, /* the handler came back; missing if it was left by siglongjmp */
  /* A function of the program was entered by code outside: varint function id. Its arguments follow, bare, of which
   * record_plan.h says how many bytes each has. */
  HEDDLE_RECORD_enter_from_outside = 11,
  /* A loud call returned: 16 + the sum of these, then what the plan of the call says (record_plan.h), in that order:
   * errno (varint) if the flag is set, a stamp if the flag is set, the result unless the flag says that it is 0. Without
   * the flag errno, if the call may set it, is what was written last in this log (0 at first). */
  HEDDLE_RECORD_returned = 16,
  HEDDLE_RECORD_returned_errno = 1,
  HEDDLE_RECORD_returned_stamp = 2, /* there is one if the recording has a clock, behind calls of the kinds that do not release */
  HEDDLE_RECORD_returned_zero = 4,
  /* Before a synchronisation call: this + its kind, then a reference for each object the kind has, then, if it releases
   * (abi/sync_kind.h) and the recording has a clock, a stamp. Objects of C++ that hold the real one (std::thread,
   * std::unique_lock) are not named, but the handle or mutex in them. */
  HEDDLE_RECORD_sync = 128,
};
/* A reference names an address that tends to come again: one byte i < 255: the address in place i of a table of 255 that
 * writer and reader keep per log (all 0 at first); 255: u64 address, which goes into place (address >> 3) % 255.
 * A stamp is a varint: time stamp counter minus that of the stamp before it in this log (begin_tsc at first), divided
 * by HEDDLE_RECORD_STAMP_UNIT; the reader multiplies it: what it gets is less than a unit too early. */
#define HEDDLE_RECORD_STAMP_UNIT 32
/* With HEDDLE_RECORD_OPTION_SYNC_ORDER a stamp is a number instead, times the unit: of all stamps of the process, one
 * that was taken later has a greater one. The first of a log counts from 0. One counter for all threads, which each
 * stamp adds to by an atomic operation: the one exception from the ground rule. */

/* ---- the file `process` */
enum heddle_record_failure { /* struct heddle_record_process, failure */
  HEDDLE_RECORD_no_failure = 0,
  HEDDLE_RECORD_signal_failure = 1, /* the process dies of `signal` */
  HEDDLE_RECORD_assert_failure = 2, /* assert(): expression in `text`, "file:line: function" in `text2` */
  HEDDLE_RECORD_exception_failure = 3, /* no handler: type in `text`, what() in `text2` */
};
#define HEDDLE_RECORD_TEXT 1024
#define HEDDLE_RECORD_MAX_FILES 4096

struct heddle_record_process {
  uint64_t magic;
  uint32_t format;
  int32_t pid;
  uint64_t load_base; /* of the executable */
  uint64_t begin_tsc, begin_ns; /* the same moment on both clocks (CLOCK_MONOTONIC) */
  uint64_t end_tsc, end_ns;     /* 0: the process did not come to its end by itself */
  /* Written by heddle before the start. */
  uint64_t options; /* HEDDLE_RECORD_OPTION_* */
  uint64_t keep;    /* bytes of log per thread and stream; 0: all */
  uint64_t chaos_seed;
  /* The failure, written by the thread that fails, which then sets `failed` and waits until heddle has set
   * `failure_seen` (at most some seconds). `failure` none: it is the exit code. */
  uint32_t failed, failure_seen;
  uint32_t failure; /* enum heddle_record_failure */
  int32_t signal, code; /* siginfo */
  int32_t tid;
  char thread[256];
  uint64_t address; /* that was accessed */
  uint64_t pc, sp;
  char text[HEDDLE_RECORD_TEXT], text2[HEDDLE_RECORD_TEXT];
  uint32_t forks; /* children that were not recorded */
  uint32_t files; /* how many of these were given out; may be more than there are. Filled in: where path is not empty */
  uint32_t lost_logs; /* logs that could not be made: no space, no memory */
  uint64_t arguments, argument_text; /* main's argv, and what it begins with: the texts follow one another */
  char refused[256]; /* why the runtime ended the program, which it cannot record; empty: it did not */
};
/* Behind it, at HEDDLE_RECORD_FILES_OFFSET: the files that were read, up to HEDDLE_RECORD_MAX_FILES. */
#define HEDDLE_RECORD_FILES_OFFSET 8192
struct heddle_record_file {
  char path[4000];
  uint64_t device, inode, size;
  int64_t modified_s, modified_ns;
  uint8_t pad[56];
};

#define HEDDLE_RECORD_OPTION_CLOCK 1ull
#define HEDDLE_RECORD_OPTION_CHAOS 2ull
#define HEDDLE_RECORD_OPTION_TSO 4ull
#define HEDDLE_RECORD_OPTION_PSO 8ull
#define HEDDLE_RECORD_OPTION_SYNC_ORDER 32ull /* only with CLOCK */
#define HEDDLE_RECORD_OPTION_NO_INPUTS 16ull /* bytes that calls wrote are not kept: as many zeros stand for them */

/* The folder of the recording is handed to the program in this variable; without it nothing is recorded. Nor is
 * anything if begin_tsc of its file `process` is already set: the variable came from a recorded program, which
 * started this one. */
#define HEDDLE_RECORD_FOLDER "HEDDLE_RECORD_FOLDER"

/* ---- hooks. All keep errno. */
/* The rare ones in the middle of hot code leave all registers alone (LLVM's preserve_all), so that code around them need
 * not save any. */
#ifdef __clang__
#define HEDDLE_PRESERVE_ALL __attribute__((preserve_all))
#else
#define HEDDLE_PRESERVE_ALL
#endif
/* The word in the making has no room: starts the next one. */
#define HEDDLE_HOOK_NEXT_WORD "heddle_record_next_word"
/* The data chunk has less than HEDDLE_RECORD_SMALL bytes left: starts the next one. */
#define HEDDLE_HOOK_NEXT_DATA "heddle_record_next_data"
/* The program is entered from outside or through a pointer; the thread's log is made if it has none. 1: from outside, so
 * the arguments are to be told. */
#define HEDDLE_HOOK_RECORD_ENTER "heddle_record_enter"
#define HEDDLE_HOOK_LANDED "heddle_record_landed"
/* A call that may return twice is about to be made: sets `*mark`, which is in the frame of the caller. Then, at each
 * return of it: the return is logged; `*mark` keeps what the hook needs to tell the first from the others. */
#define HEDDLE_HOOK_TWICE_BEGIN "heddle_record_twice_begin"
#define HEDDLE_HOOK_TWICE "heddle_record_twice"
#define HEDDLE_HOOK_FOREIGN "heddle_record_foreign"
/* Before a synchronisation call. Objects that the kind does not have are null. */
#define HEDDLE_HOOK_SYNC "heddle_record_sync"
/* After a loud call: `result` of `bytes` bytes (0, 1, 2, 4 or 8), the others 0; flags: 1 the call may have set errno, 2 a
 * stamp is due. */
#define HEDDLE_HOOK_RETURNED "heddle_record_returned"
/* After that, for each range that the call wrote (MemoryEffect of the effects table). `how` says what `size` is (enum
 * heddle_record_range), `source_kind` where the bytes came from. A null `at` or a size of 0 writes an empty entry. */
#define HEDDLE_HOOK_RANGE_WRITTEN "heddle_record_range"
/* The same for scanf and its kin: `count` pointers, of which the conversions of `format` say how much is behind each. */
#define HEDDLE_HOOK_SCANNED "heddle_record_scanned"
/* record --chaos: at shared accesses, when state.chaos has come down to 0. */
#define HEDDLE_HOOK_CHAOS "heddle_record_chaos"
/* The number of those places, a uint32_t. */
#define HEDDLE_CHAOS_PLACES "heddle_chaos_places"
/* Tests: a block of the program was entered. */
#define HEDDLE_HOOK_BLOCK "heddle_record_block"

/* Where bytes came from: large ranges out of ordinary files that are open for reading only are kept by reference. */
enum heddle_record_source {
  HEDDLE_SOURCE_unknown = 0,
  HEDDLE_SOURCE_descriptor = 1, /* `source` is a descriptor; the range ends at its present position */
  HEDDLE_SOURCE_offset = 2,     /* the same, but the range begins at `offset` (pread, mmap) */
  HEDDLE_SOURCE_stream = 3,     /* `source` is a FILE*; the range ends at its present position */
};

enum heddle_range_kind {
  HEDDLE_RANGE_bytes = 0,
  HEDDLE_RANGE_string = 1, /* up to and with the terminating zero byte, at most `size` bytes */
  HEDDLE_RANGE_wide_string = 2,
  HEDDLE_RANGE_iovec = 3,   /* at: array of struct iovec; size: (elements << 48) | bytes in all */
  HEDDLE_RANGE_pointee = 4, /* size: address of the 32-bit number of bytes, or null */
};

/* Functions of the program that are reached from outside or through pointers have an entry of their own, in this
 * section, which the linker delimits by __start_ and __stop_ symbols: a pointer into it leads to the program. */
#define HEDDLE_RECORD_ENTRIES "heddle_entries"

#ifdef __cplusplus
extern "C" {
#endif

HEDDLE_PRESERVE_ALL void heddle_record_next_word(void);
HEDDLE_PRESERVE_ALL void heddle_record_next_data(void);
uint32_t heddle_record_enter(uint32_t function);
void heddle_record_landed(uint32_t invoke);
void heddle_record_twice_begin(uint64_t* mark);
void heddle_record_twice(uint64_t* mark, uint32_t call, uint32_t result);
void heddle_record_foreign(const void* target);
void heddle_record_sync(uint32_t kind, const void* object, const void* second, const void* third);
void heddle_record_returned(uint64_t result, uint32_t bytes, uint32_t flags);
void heddle_record_range(const void* at, uint64_t size, uint32_t how, uint32_t source_kind, uint64_t source,
                         int64_t offset);
void heddle_record_scanned(const char* format, uint32_t count, void* const* pointers, int64_t converted);
HEDDLE_PRESERVE_ALL void heddle_record_chaos(void);
void heddle_record_block(uint32_t block);

#ifdef __cplusplus
}
#endif

#endif
