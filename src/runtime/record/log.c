/* Log files: made, grown chunk by chunk, closed; path words.
 *
 * The first chunk of both streams is mapped together with the head of the log: short threads need no more.
 * Later chunks of a stream are all written in the same mapped place, its *desk*, and copied to their place in
 * the file when they are full: new pages of a mapping cost the kernel several times what copying them costs. A
 * process that is killed leaves the chunk on the desk in the file, as all others; for a moment it is there
 * twice.
 *
 * The file is opened for each chunk anew, so that the program's descriptors stay its own. Space of what is
 * mapped is allocated first, so a full disk is an answer of a system call and not a SIGBUS in the program. When
 * a log cannot grow it ends there (`stop`), and the program goes on with memory of its own that takes what
 * nobody will read: a *sink*.
 *
 * With `keep` the places of copies are used again, the oldest first.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/record/runtime.h"

RT_TLS struct heddle_record_state heddle_record_state;
RT_TLS struct rt_thread* rt_self;
RT_TLS struct rt_log* rt_now;

_Static_assert(sizeof(struct heddle_record_chunk) == HEDDLE_RECORD_CHUNK_HEAD, "the head of a chunk");
_Static_assert(sizeof(struct heddle_record_log) <= HEDDLE_RECORD_PAGE, "the head of a log is a page");

/* ---- files */
static char* append(char* to, char* end, const char* text) {
  while (*text != 0 && to < end - 1) *to++ = *text++;
  *to = 0;
  return to;
}

void rt_log_path(const struct rt_log* log, const char* extension, char path[RT_PATH_SIZE]) {
  char* const end = path + RT_PATH_SIZE;
  char* to = append(path, end, rt.folder);
  to = append(to, end, "/threads/");
  to = append(to, end, log->thread->name);
  if (log->level != 0) {
    const char level[] = {'@', (char)('0' + log->level / 10), (char)('0' + log->level % 10), 0};
    const char small[] = {'@', (char)('0' + log->level), 0};
    to = append(to, end, log->level < 10 ? small : level);
  }
  append(to, end, extension);
}

/* Beyond the limit for the size of files a write would send a signal. */
static bool may_grow(uint64_t size) {
  struct rlimit limit;
  return RT_SYS4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || size <= limit.rlim_cur;
}

/* Where the file system cannot allocate, zeros are written. */
long rt_allocate(int fd, uint64_t at, uint64_t size) {
  if (!may_grow(at + size)) return -EFBIG;
  long result;
  do {
    result = RT_SYS4(SYS_fallocate, fd, 0, at, size);
  } while (result == -EINTR);
  if (result != -EOPNOTSUPP && result != -ENOSYS) return result;
  static const uint8_t zeros[HEDDLE_RECORD_PAGE];
  for (uint64_t done = 0; done < size;) {
    const uint64_t part = size - done < sizeof zeros ? size - done : sizeof zeros;
    result = RT_SYS4(SYS_pwrite64, fd, zeros, part, at + done);
    if (result <= 0) return result == 0 ? -ENOSPC : result;
    done += (uint64_t)result;
  }
  return 0;
}

static enum heddle_record_stop stop_reason(long error) {
  return error == -ENOSPC || error == -EDQUOT || error == -EFBIG ? HEDDLE_RECORD_disk_full
                                                                 : HEDDLE_RECORD_no_memory;
}

static bool failed(long result) {
  return result < 0 && result > -4096;
}

static void unmap(void* at, uint64_t size) {
  RT_SYS2(SYS_munmap, at, size);
}

/* ---- chunks */
static struct rt_stream* stream_of(struct rt_log* log, enum heddle_record_stream kind) {
  return kind == HEDDLE_RECORD_path ? &log->path : &log->data;
}

/* A chunk whose memory, if it is of the path, is zero but for its old head. The magic number comes last: without
 * it there is no chunk. */
static void write_head(struct heddle_record_chunk* chunk, enum heddle_record_stream kind, uint64_t size,
                       uint64_t sequence) {
  chunk->used = HEDDLE_RECORD_CHUNK_HEAD;
  chunk->stream = kind;
  chunk->size = size;
  chunk->sequence = sequence;
  chunk->begin_tsc = rt.clock ? rt_tsc() : 0;
  if (kind == HEDDLE_RECORD_path) *(uint64_t*)(chunk + 1) = 1;
  RT_ORDER();
  *(volatile uint32_t*)&chunk->magic = HEDDLE_RECORD_CHUNK_MAGIC;
}

/* The chunk becomes the one that `state` of the log writes to. */
static void use_chunk(struct rt_log* log, struct heddle_record_state* state, enum heddle_record_stream kind,
                      struct heddle_record_chunk* chunk) {
  stream_of(log, kind)->chunk = chunk;
  if (kind == HEDDLE_RECORD_path) {
    log->last_word = 0;
    log->run = NULL;
    log->path_end = (uint64_t*)((char*)chunk + chunk->size);
    state->word = (uint64_t*)(chunk + 1);
  } else {
    state->data = chunk;
    state->data_limit = chunk->size - HEDDLE_RECORD_SMALL;
  }
}

static void finish_chunk(struct heddle_record_chunk* chunk) {
  chunk->end_tsc = rt.clock ? rt_tsc() : 0;
  chunk->checksum = heddle_record_checksum(chunk, chunk + 1);
}

/* Bytes of a chunk behind the first. */
static uint64_t chunk_size(void) {
  uint64_t size = RT_CHUNK;
  while (rt.keep != 0 && size > HEDDLE_RECORD_PAGE && size > rt.keep / 4) size /= 2;
  return size;
}

/* Bytes in two parts. */
static long write_all(int fd, struct iovec* parts, uint64_t at) {
  while (parts[0].iov_len + parts[1].iov_len != 0) {
    const long result = RT_SYS6(SYS_pwritev, fd, parts, 2, at, 0, 0);
    if (result == -EINTR) continue;
    if (result <= 0) return result == 0 ? -ENOSPC : result;
    at += (uint64_t)result;
    uint64_t written = (uint64_t)result;
    for (int i = 0; i < 2; ++i) {
      const uint64_t part = written < parts[i].iov_len ? written : parts[i].iov_len;
      parts[i].iov_base = (char*)parts[i].iov_base + part;
      parts[i].iov_len -= part;
      written -= part;
    }
  }
  return 0;
}

static long write_mark(int fd, uint32_t mark, uint64_t place) {
  struct iovec parts[2] = {{&mark, sizeof mark}, {NULL, 0}};
  return write_all(fd, parts, place + offsetof(struct heddle_record_chunk, magic));
}

/* The mark comes last: a chunk without it is none. But its size is there first, so that readers find the next.
 */
static long write_copy(int fd, const struct heddle_record_chunk* chunk, uint64_t place) {
  struct heddle_record_chunk head = *chunk;
  head.magic = 0;
  struct iovec parts[2] = {{&head, sizeof head}, {(void*)(chunk + 1), chunk->size - sizeof *chunk}};
  const long result = write_all(fd, parts, place);
  return result != 0 ? result : write_mark(fd, HEDDLE_RECORD_CHUNK_MAGIC, place);
}

/* With `keep`: how many copies a stream has. The chunk on the desk and, at the beginning, the first are kept
 * too. */
static uint64_t copies_kept(uint64_t size) {
  return rt.keep / size > 3 ? rt.keep / size - 2 : 1;
}

/* Copies the full chunk on the desk to its place in the file: 0 or -errno. */
static long copy_chunk(struct rt_log* log, struct rt_stream* stream, int fd) {
  const struct heddle_record_chunk* const chunk = stream->chunk;
  uint64_t place = log->file_end;
  if (rt.keep != 0) {
    const uint64_t kept = copies_kept(chunk->size), number = chunk->sequence - 1;
    place = stream->copies + number % kept * chunk->size;
    const long result = number == kept ? write_mark(fd, 0, stream->first) : 0;
    if (result != 0) return result;
  } else if (!may_grow(place + chunk->size)) {
    return -EFBIG;
  }
  const long result = write_copy(fd, chunk, place);
  if (result == 0 && rt.keep == 0) log->file_end += chunk->size;
  return result;
}

/* A place for the chunks behind the first, mapped, or -errno. With `keep` the places of copies lie behind it.
 */
static long make_desk(struct rt_log* log, struct rt_stream* stream, int fd) {
  const uint64_t size = chunk_size(), place = log->file_end;
  long result = rt_allocate(fd, place, size);
  if (result == 0) result = RT_SYS6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, place);
  if (failed(result)) return result;
  log->file_end += size;
  if (rt.keep != 0) {
    stream->copies = log->file_end;
    log->file_end += copies_kept(size) * size;
  }
  return result;
}

/* The stream's chunk is full: the next one, empty, or -errno. */
static long begin_chunk(struct rt_log* log, struct rt_stream* stream, enum heddle_record_stream kind) {
  char path[RT_PATH_SIZE];
  rt_log_path(log, ".log", path);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return fd;
  struct heddle_record_chunk* const old = stream->chunk;
  const uint64_t sequence = old->sequence;
  finish_chunk(old);
  long result;
  if (sequence == 0) {
    result = make_desk(log, stream, (int)fd);
    if (!failed(result)) unmap(old, old->size);
  } else {
    result = copy_chunk(log, stream, (int)fd);
    if (result == 0) {
      *(volatile uint32_t*)&old->magic = 0;
      RT_ORDER();
      if (kind == HEDDLE_RECORD_path) memset(old + 1, 0, old->size - sizeof *old);
      old->end_tsc = old->checksum = 0;
      result = (long)old;
    }
  }
  RT_SYS1(SYS_close, fd);
  if (!failed(result)) write_head((struct heddle_record_chunk*)result, kind, chunk_size(), sequence + 1);
  return result;
}

/* ---- sinks */
static void restart(struct rt_log* log, struct heddle_record_state* state, enum heddle_record_stream kind,
                    struct heddle_record_chunk* chunk, uint64_t size) {
  write_head(chunk, kind, size, 0);
  use_chunk(log, state, kind, chunk);
}

/* At the same addresses: who holds them in registers (instrument/word_registers.h) may go on. */
static void make_private(void* at, uint64_t size, uint64_t kept) {
  uint8_t copy[HEDDLE_RECORD_PAGE];
  memcpy(copy, at, kept);
  const long mapped =
      RT_SYS6(SYS_mmap, at, size, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (failed(mapped)) rt_no_memory();
  memcpy(at, copy, kept);
}

/* The streams go on in private memory: their chunks become sinks. */
static void cut_off_streams(struct rt_log* log, struct heddle_record_state* state) {
  make_private(log->path.chunk, log->path.chunk->size, HEDDLE_RECORD_CHUNK_HEAD);
  make_private(log->data.chunk, log->data.chunk->size, HEDDLE_RECORD_CHUNK_HEAD);
  *state->word = 1;
  log->last_word = 0;
  log->run = NULL;
  log->sink = true;
}

static void use_sinks(struct rt_log* log, struct heddle_record_state* state) {
  log->sink = true;
  restart(log, state, HEDDLE_RECORD_path, (struct heddle_record_chunk*)log->sink_path, RT_FIRST_CHUNK);
  restart(log, state, HEDDLE_RECORD_data, (struct heddle_record_chunk*)log->sink_data, RT_FIRST_CHUNK);
}

static void stop(struct rt_log* log, enum heddle_record_stop reason) {
  log->head->stop = reason;
  finish_chunk(log->path.chunk);
  finish_chunk(log->data.chunk);
  cut_off_streams(log, &heddle_record_state);
}

static void restart_sink(struct rt_log* log, enum heddle_record_stream kind) {
  struct heddle_record_chunk* const chunk = stream_of(log, kind)->chunk;
  restart(log, &heddle_record_state, kind, chunk, chunk->size);
}

/* The current log needs the next chunk of a stream. */
static void next_chunk(struct rt_log* log, enum heddle_record_stream kind) {
  struct rt_stream* const stream = stream_of(log, kind);
  if (log->sink) {
    restart_sink(log, kind);
    return;
  }
  const uint64_t mask = rt_block_signals();
  stream->before += stream->chunk->used - HEDDLE_RECORD_CHUNK_HEAD;
  const long result = begin_chunk(log, stream, kind);
  if (failed(result)) {
    stop(log, stop_reason(result));
    restart_sink(log, kind);
  } else {
    use_chunk(log, &heddle_record_state, kind, (struct heddle_record_chunk*)result);
  }
  rt_restore_signals(mask);
}

/* ---- hooks. Those that leave all registers alone save only what they use themselves, so what they call for a
 * new chunk is such a function too. */
HEDDLE_PRESERVE_ALL __attribute__((noinline)) static void next_path_chunk(void) {
  next_chunk(rt_now, HEDDLE_RECORD_path);
}

HEDDLE_PRESERVE_ALL __attribute__((noinline)) static void send_deferred(void) {
  rt_send_deferred(&rt_now->buffer);
}

HEDDLE_PRESERVE_ALL void heddle_record_next_data(void) {
  next_chunk(rt_now, HEDDLE_RECORD_data);
}

static uint64_t* plain_next(struct rt_log* log, uint64_t* word, uint64_t full) {
  log->last_word = full;
  log->run = NULL;
  if (word + 1 == log->path_end) return NULL;
  word[1] = 1;
  return word + 1;
}

/* Each step of it leaves a readable stream that at most lacks the word which is being completed: the process
 * may be killed anywhere. Signals wait (signals.c). */
HEDDLE_PRESERVE_ALL void heddle_record_next_word(void) {
  struct rt_log* const log = rt_now;
  volatile uint64_t* const word = heddle_record_state.word;
  const uint64_t full = *word;
  log->transit_word = full;
  RT_ORDER();
  log->transit = log->words + 1;
  RT_ORDER();
  uint64_t* next;
  if (full != log->last_word) {
    next = plain_next(log, (uint64_t*)word, full);
  } else if (log->run != NULL) {
    *word = 1;
    ++*(volatile uint64_t*)log->run;
    next = (uint64_t*)word;
  } else if (word + 2 < log->path_end) {
    word[0] = 1;
    word[2] = 1;
    word[1] = 1; /* only now the two words are a repetition */
    log->run = (uint64_t*)word + 1;
    next = (uint64_t*)word + 2;
  } else {
    next = plain_next(log, (uint64_t*)word, full);
  }
  RT_ORDER();
  struct heddle_record_chunk* const chunk = log->path.chunk;
  if (RT_LIKELY(next != NULL)) {
    chunk->used = (uint64_t)((char*)next - (char*)chunk);
    heddle_record_state.word = next;
  } else {
    chunk->used = chunk->size;
    next_path_chunk();
  }
  RT_ORDER();
  ++*(volatile uint64_t*)&log->words;
  RT_ORDER();
  if (!RT_LIKELY(log->buffer.deferred.si_signo == 0)) send_deferred();
}

/* ---- logs */
static uint64_t thread_pointer(void) {
  uint64_t at;
  __asm__("mov %%fs:0, %0" : "=r"(at));
  return at;
}

/* The file with its head and the first chunk of each stream, mapped; or -errno. */
static long map_first(struct rt_log* log) {
  char path[RT_PATH_SIZE];
  rt_log_path(log, ".log", path);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  log->file_end = HEDDLE_RECORD_PAGE + 2 * RT_FIRST_CHUNK;
  long result = rt_allocate((int)fd, 0, log->file_end);
  if (result == 0) result = RT_SYS6(SYS_mmap, NULL, log->file_end, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (failed(result)) RT_SYS3(SYS_unlinkat, AT_FDCWD, path, 0); /* rather none than an empty one */
  RT_SYS1(SYS_close, fd);
  return result;
}

static void first_chunk(struct rt_log* log, enum heddle_record_stream kind, uint64_t place) {
  struct heddle_record_chunk* const chunk = (struct heddle_record_chunk*)((char*)log->head + place);
  write_head(chunk, kind, RT_FIRST_CHUNK, 0);
  use_chunk(log, &log->saved, kind, chunk);
  struct rt_stream* const stream = stream_of(log, kind);
  stream->first = place;
}

void rt_open_log(struct rt_log* log, struct rt_thread* thread, uint32_t level) {
  log->thread = thread;
  log->level = level;
  log->saved.chaos = 1ull << 62;
  rt_begin_buffer(log);
  const bool wanted = rt.process != NULL && !rt.forked && level < RT_LEVELS;
  const long mapped = wanted ? map_first(log) : -ENOENT;
  struct heddle_record_log* const head =
      (struct heddle_record_log*)(failed(mapped) ? (void*)log->sink_head : (void*)mapped);
  log->head = head;
  head->format = HEDDLE_RECORD_FORMAT;
  head->level = level;
  memcpy(head->name, thread->name, sizeof head->name);
  head->tid = thread->tid;
  head->begin_tsc = log->last_stamp = rt_tsc();
  if (rt.sync_order) {
    head->sync_order = 1;
    log->last_stamp = 0;
  }
  head->state = (uint64_t)(uintptr_t)&log->saved;
  head->stack_low = thread->stack_low;
  head->stack_high = thread->stack_high;
  head->tls = thread_pointer();
  if (failed(mapped)) {
    head->stop = stop_reason(mapped);
    if (wanted) __atomic_fetch_add(&rt.process->lost_logs, 1, __ATOMIC_RELAXED); /* as a thread begins */
    use_sinks(log, &log->saved);
    return;
  }
  first_chunk(log, HEDDLE_RECORD_path, HEDDLE_RECORD_PAGE);
  first_chunk(log, HEDDLE_RECORD_data, HEDDLE_RECORD_PAGE + RT_FIRST_CHUNK);
  RT_ORDER();
  *(volatile uint64_t*)&head->magic = HEDDLE_RECORD_LOG_MAGIC;
}

/* The state that a log works with is in one of two places; the log's head says where, for heddle. */
void rt_make_current(struct rt_log* log) {
  struct rt_log* const before = rt_now;
  if (before != NULL) {
    before->saved = heddle_record_state;
    before->head->state = (uint64_t)(uintptr_t)&before->saved;
  }
  RT_ORDER();
  heddle_record_state = log->saved;
  rt_now = log;
  RT_ORDER();
  log->head->state = (uint64_t)(uintptr_t)&heddle_record_state;
}

/* What heddle would find in the state of a thread that was stopped. */
static void keep_state(struct rt_log* log) {
  const struct heddle_record_state* const state = log == rt_now ? &heddle_record_state : &log->saved;
  log->head->pending_path = state->path;
  log->head->looked_at = 1;
}

void rt_close_log(struct rt_log* log) {
  rt_close_blocks(log);
  if (log->cancellable) keep_state(log);
  if (log->sink) {
    if (log->head != (void*)log->sink_head) log->head->end_tsc = rt_tsc();
  } else {
    finish_chunk(log->path.chunk);
    finish_chunk(log->data.chunk);
    RT_ORDER();
    log->head->end_tsc = rt_tsc();
  }
  if ((void*)log->path.chunk != (void*)log->sink_path) {
    unmap(log->path.chunk, log->path.chunk->size);
    unmap(log->data.chunk, log->data.chunk->size);
  }
  if (log->head != (void*)log->sink_head) unmap(log->head, HEDDLE_RECORD_PAGE);
}

/* ---- fork: pages of the parent's files must not be written by the child */
void rt_cut_off_log(struct rt_log* log) {
  if (log->head != (void*)log->sink_head) make_private(log->head, HEDDLE_RECORD_PAGE, sizeof *log->head);
  if (!log->sink) cut_off_streams(log, log == rt_now ? &heddle_record_state : &log->saved);
  rt_close_blocks(log);
  log->head->stop = HEDDLE_RECORD_forked;
}
