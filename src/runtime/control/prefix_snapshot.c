/* Snapshots of the prefix that several runs have in common: a copy of the process (fork) that stands at a
 * decision point of a given schedule. It serves requests as the process before main() does: each run is a copy
 * of the copy, which goes on from there with the further steps of its own schedule.
 *
 * All threads are fibres of one kernel thread, so the copy has them all; the kernel threads that their
 * thread-local storage was made for sleep for good and are not missed. Memory is the process's own, but for the
 * control block: what the run has written there so far is kept beside, and put back for each run. Of open files
 * the position is put back. What else a copy would share with the others (pipes, sockets, files that are
 * written, shared memory, children) makes snapshots refused, and heddle goes back to runs from the start.
 *
 * The system call itself makes the copies: the C library's fork() would declare the other threads dead.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "runtime/control/control.h"
#include "runtime/control/server.h"

#define CLOCK_LOOKS 500000 /* processor cycles between looks at the clock */
#define MAX_FILES 256

struct open_file {
  int file;
  int64_t position;
};

/* What the run has written into the control block. */
struct written {
  struct heddle_result result;
  uint64_t steps, threads, events; /* in bytes, in this order behind it */
};

RT_STATE static uint64_t last_events, last_time; /* of the last snapshot, or of the beginning */
RT_STATE static uint64_t before;    /* processor time of the processes that brought this one to its snapshot */
RT_STATE static uint64_t last_look; /* at the clock */
RT_STATE static uint64_t fork_time;
RT_STATE static struct open_file files[MAX_FILES];
RT_STATE static uint32_t file_count;
RT_STATE static char text[1 << 16];

uint64_t rt_processor_time(void) {
  struct timespec now;
  RT_SYS2(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

void rt_snapshots_begin_execution(void) {
  rt.begun = last_time = rt_processor_time();
  before = 0;
  last_events = last_look = 0;
}

/* The longer a prefix is, the further apart: few snapshots are enough to save most of it. */
bool rt_snapshot_due(void) {
  if (rt.events - last_events < rt.plan.snapshot_events) return false;
  if (rt.plan.snapshot_time == 0) return true;
  const uint64_t look = __builtin_ia32_rdtsc();
  if (look - last_look < CLOCK_LOOKS) return false;
  last_look = look;
  const uint64_t now = rt_processor_time(), passed = now - last_time;
  return passed >= rt.plan.snapshot_time && 2 * passed >= now - rt.begun + before;
}

/* ---- what a copy of the process would share */
static bool take_file(int file) {
  struct stat status;
  if (RT_SYS2(SYS_fstat, file, &status) != 0) return true; /* the folder itself */
  if (S_ISCHR(status.st_mode)) return file <= 2 || major(status.st_rdev) == 1 /* /dev/null and the like */;
  if (file == 1 || file == 2) return true; /* heddle's */
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return false;
  if ((RT_SYS2(SYS_fcntl, file, F_GETFL) & O_ACCMODE) != O_RDONLY || file_count == MAX_FILES) return false;
  files[file_count++] = (struct open_file){.file = file, .position = RT_SYS3(SYS_lseek, file, 0, SEEK_CUR)};
  return true;
}

static bool files_can_be_shared(void) {
  struct entry { /* struct linux_dirent64 */
    uint64_t inode, offset;
    uint16_t size;
    uint8_t type;
    char name[];
  };
  const long folder = RT_SYS4(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return false;
  bool fine = true;
  file_count = 0;
  for (long got; fine && (got = RT_SYS3(SYS_getdents64, folder, text, sizeof text)) > 0;)
    for (long at = 0; fine && at < got;) {
      const struct entry* entry = (const struct entry*)(text + at);
      at += entry->size;
      if (entry->name[0] == '.') continue;
      int file = 0;
      for (const char* digit = entry->name; *digit != 0; ++digit) file = file * 10 + (*digit - '0');
      if (file != folder) fine = take_file(file);
    }
  RT_SYS1(SYS_close, folder);
  return fine;
}

/* "address-address rw-s ...": writable, and shared. */
static bool is_shared_memory(const char* line) {
  uint64_t address = 0;
  for (; *line != '-'; ++line)
    address = address * 16 + (uint64_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
  const char* permissions = strchr(line, ' ');
  return permissions != NULL && permissions[2] == 'w' && permissions[4] == 's' && address != RT_BLOCK_ADDRESS;
}

static bool memory_is_own(void) {
  const long maps = RT_SYS4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (maps < 0) return false;
  bool own = true;
  size_t used = 0;
  for (long got; own && (got = RT_SYS3(SYS_read, maps, text + used, sizeof text - 1 - used)) > 0;) {
    used += (size_t)got;
    text[used] = 0;
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = 0;
      if (is_shared_memory(line)) own = false;
    }
    used -= (size_t)(line - text);
    memmove(text, line, used);
  }
  RT_SYS1(SYS_close, maps);
  return own;
}

/* ---- the control block */
static char* in_block(uint64_t offset) {
  return (char*)rt.block + offset;
}

static struct written* keep_written(uint64_t* size) {
  const struct heddle_result* result = &rt.block->result;
  const uint64_t threads =
      rt.thread_count < rt.block->layout.threads_capacity ? rt.thread_count : rt.block->layout.threads_capacity;
  const struct written sizes = {.result = *result,
                                .steps = result->steps * sizeof(struct heddle_step),
                                .threads = threads * sizeof(struct heddle_thread_entry),
                                .events = result->kept_events * sizeof(struct heddle_event)};
  *size = sizeof sizes + sizes.steps + sizes.threads + sizes.events;
  struct written* kept = rt_map(*size);
  *kept = sizes;
  char* to = (char*)(kept + 1);
  memcpy(to, in_block(rt.block->layout.steps_out), sizes.steps);
  memcpy(to + sizes.steps, in_block(rt.block->layout.threads), sizes.threads);
  memcpy(to + sizes.steps + sizes.threads, in_block(rt.block->layout.events), sizes.events);
  return kept;
}

static void put_back(const struct written* kept) {
  const char* from = (const char*)(kept + 1);
  memcpy(in_block(rt.block->layout.steps_out), from, kept->steps);
  memcpy(in_block(rt.block->layout.threads), from + kept->steps, kept->threads);
  rt.block->result = kept->result;
  if (rt.plan.keep_events)
    memcpy(in_block(rt.block->layout.events), from + kept->steps + kept->threads, kept->events);
  else
    rt.block->result.kept_events = 0;
  rt.block->result.executions = rt.block->result.total_events = 0;
  rt.block->running_call = 0;
  for (uint32_t i = 0; i < file_count; ++i)
    if (files[i].position >= 0) RT_SYS3(SYS_lseek, files[i].file, files[i].position, SEEK_SET);
}

/* ---- copies of the process */
static void end_with(long parent) {
  RT_SYS2(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL);
  if (RT_SYS0(SYS_getppid) != parent) RT_SYS1(SYS_exit_group, 0); /* it ended before the line above */
}

static long copy_process(uint64_t flags) {
  const uint64_t begin = rt_processor_time();
  const long child = rt_system_call(SYS_clone, (long)flags, 0, 0, 0, 0, 0);
  if (child > 0) fork_time = rt_processor_time() - begin;
  return child;
}

/* Whether heddle wants it no longer, or has given its number to another one. */
static bool is_given_up(uint32_t number, uint32_t made_for) {
  return (rt.block->snapshots_kept >> number & 1) == 0 || rt.block->snapshots[number].request != made_for;
}

/* Returns in the copies that perform runs. `made_for`: the request whose run left this copy. */
static void serve_from_here(uint32_t number, uint32_t made_for, uint64_t prefix_time,
                            const struct written* kept) {
  const long self = RT_SYS0(SYS_getpid);
  uint32_t seen = made_for;
  for (;;) {
    rt_wait_while(&rt.block->request, seen);
    const uint32_t request = __atomic_load_n(&rt.block->request, __ATOMIC_ACQUIRE);
    if (request == seen) continue;
    seen = request;
    if (is_given_up(number, made_for)) RT_SYS1(SYS_exit_group, 0);
    if (request % HEDDLE_CONTROL_SNAPSHOTS != number) continue;
    rt_begin_request();
    rt_clear_result();
    const long child = copy_process(SIGCHLD);
    if (child == 0) {
      end_with(self);
      put_back(kept);
      rt.begun = last_time = 0;
      before = prefix_time;
      last_events = rt.events;
      last_look = 0;
      rt.block->result.outcome = HEDDLE_OUTCOME_internal;
      rt.block->result.fork_time = fork_time;
      return;
    }
    rt_await_execution(child, (int)-child);
    rt_count_execution();
    rt_answer();
  }
}

bool rt_leave_snapshot(uint64_t steps, uint64_t count) {
  const uint32_t number = (uint32_t)__builtin_ctz(rt.plan.snapshots);
  if (rt_had_children() || !files_can_be_shared() || !memory_is_own()) {
    rt.plan.snapshots = 0;
    rt.block->snapshots_refused = 1;
    return false;
  }
  uint64_t size;
  struct written* kept = keep_written(&size);
  const uint64_t prefix_time = before + rt_processor_time() - rt.begun;
  const long parent = RT_SYS0(SYS_getppid);
  const uint32_t request = rt.block->request;
  /* A brother of this process: it outlives it, and ends with who serves the request. */
  const long copy = copy_process(CLONE_PARENT);
  if (copy == 0) {
    end_with(parent);
    serve_from_here(number, request, prefix_time, kept);
    return true;
  }
  RT_SYS2(SYS_munmap, kept, (size + 4095) & ~4095ull);
  if (copy < 0) {
    rt.plan.snapshots = 0;
    rt.block->snapshots_refused = 1;
    return false;
  }
  rt.block->snapshots[number] =
      (struct heddle_snapshot){.steps = steps, .count = count, .events = rt.events, .request = request};
  rt.block->snapshots_taken |= 1u << number;
  rt.block->result.fork_time = fork_time;
  rt.plan.snapshots &= ~(1u << number);
  last_events = rt.events;
  last_time = rt_processor_time();
  return false;
}
