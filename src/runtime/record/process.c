/* The process as a whole: its file, the moment it began and ended, forks.
 *
 * heddle makes the file and writes the options into it before the start. Without a folder nothing is recorded
 * and the program runs as it would, its hooks writing into memory that nobody reads.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "runtime/load_base.h"
#include "runtime/record/runtime.h"

struct rt_globals rt;

_Static_assert(sizeof(struct heddle_record_process) <= HEDDLE_RECORD_FILES_OFFSET, "room for the process");
_Static_assert(sizeof(struct heddle_record_file) == 4096, "files stand in pages");

void* rt_real(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

_Noreturn void rt_refuse(const char* why) {
  if (rt.process != NULL) {
    strncpy(rt.process->refused, why, sizeof rt.process->refused - 1);
  } else {
    RT_SYS3(SYS_write, 2, "heddle: ", 8);
    RT_SYS3(SYS_write, 2, why, strlen(why));
    RT_SYS3(SYS_write, 2, "\n", 1);
  }
  for (;;) RT_SYS1(SYS_exit_group, 70);
}

_Noreturn void rt_no_memory(void) {
  rt_refuse("there is no memory for recording");
}

void* rt_map_memory(size_t size) {
  const long at =
      RT_SYS6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at < 0 && at > -4096 ? NULL : (void*)at;
}

static uint64_t now_ns(void) {
  struct timespec now = {0, 0};
  RT_SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* ---- the beginning */
static bool find_folder(void) {
  const char* folder = getenv(HEDDLE_RECORD_FOLDER);
  if (folder == NULL || folder[0] == 0) return false;
  size_t used = 0;
  if (folder[0] != '/') { /* the program may change its folder */
    const long length = RT_SYS2(SYS_getcwd, rt.folder, sizeof rt.folder);
    if (length <= 0) return false;
    used = (size_t)length;
    rt.folder[used - 1] = '/';
  }
  if (used + strlen(folder) + 300 > sizeof rt.folder) return false; /* names of logs follow */
  strcpy(rt.folder + used, folder);
  return true;
}

static struct heddle_record_process* map_process(void) {
  char path[RT_PATH_SIZE];
  strcpy(path, rt.folder);
  strcat(path, "/process");
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return NULL;
  long at = rt_allocate((int)fd, 0, HEDDLE_RECORD_FILES_OFFSET);
  if (at == 0)
    at = RT_SYS6(SYS_mmap, NULL, HEDDLE_RECORD_FILES_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  RT_SYS1(SYS_close, fd);
  return at < 0 && at > -4096 ? NULL : (struct heddle_record_process*)at;
}

static void begin_process(void) {
  struct heddle_record_process* const process = find_folder() ? map_process() : NULL;
  if (process == NULL || process->begin_tsc != 0) return; /* else: a program that a recorded one started */
  rt.clock = (process->options & HEDDLE_RECORD_OPTION_CLOCK) != 0;
  rt.sync_order = rt.clock && (process->options & HEDDLE_RECORD_OPTION_SYNC_ORDER) != 0;
  rt.chaos = (process->options & HEDDLE_RECORD_OPTION_CHAOS) != 0;
  rt.no_inputs = (process->options & HEDDLE_RECORD_OPTION_NO_INPUTS) != 0;
  rt.pso = (process->options & HEDDLE_RECORD_OPTION_PSO) != 0;
  rt.buffered = rt.pso || (process->options & HEDDLE_RECORD_OPTION_TSO) != 0;
  rt.keep = process->keep;
  rt.chaos_seed = process->chaos_seed;
  process->format = HEDDLE_RECORD_FORMAT;
  process->pid = (int32_t)RT_SYS0(SYS_getpid);
  process->load_base = rt_load_base();
  process->begin_tsc = rt_tsc();
  process->begin_ns = now_ns();
  RT_ORDER();
  process->magic = HEDDLE_RECORD_PROCESS_MAGIC;
  rt.process = process;
}

/* ---- forks: the child is not recorded. Only the thread that forked lives in it. */
static void in_parent(void) {
  if (rt.process != NULL) __atomic_fetch_add(&rt.process->forks, 1, __ATOMIC_RELAXED);
}

static void in_child(void) {
  if (rt.process == NULL || rt.forked) return;
  rt.forked = true;
  struct heddle_record_process copy = *rt.process;
  const long mapped = RT_SYS6(SYS_mmap, rt.process, HEDDLE_RECORD_FILES_OFFSET, PROT_READ | PROT_WRITE,
                              MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped < 0 && mapped > -4096) rt_no_memory();
  *rt.process = copy;
  if (rt_self == NULL) return;
  rt_cut_off_log(&rt_self->log);
  for (uint32_t level = 1; level <= RT_LEVELS; ++level)
    if (rt_self->handlers[level] != NULL) rt_cut_off_log(rt_self->handlers[level]);
}

/* Runs no handlers of forks. */
pid_t _Fork(void) {
  rt_drain_current();
  const pid_t child = ((pid_t(*)(void))rt_real("_Fork"))();
  if (child == 0) in_child();
  if (child > 0) in_parent();
  return child;
}

/* ---- once. Usually the constructor below is first; a library's constructor may have made threads before. */
static void init(void) {
  const uint64_t mask = rt_block_signals();
  const int saved = errno;
  begin_process();
  rt_threads_init();
  rt_failure_init();
  pthread_atfork(rt_drain_current, in_parent, in_child);
  errno = saved;
  rt_restore_signals(mask);
}

void rt_init(void) {
  enum { NOT_YET, NOW, DONE };
  static _Atomic int state;
  if (RT_LIKELY(state == DONE)) return;
  int expected = NOT_YET;
  if (__atomic_compare_exchange_n((int*)&state, &expected, NOW, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    init();
    state = DONE;
  }
  while (state != DONE) RT_SYS0(SYS_sched_yield);
}

/* With the arguments of main, as the C library does it. */
__attribute__((constructor(101))) static void begin(int count, char** arguments) {
  rt_init();
  if (rt.process == NULL || count < 1) return;
  rt.process->arguments = (uint64_t)(uintptr_t)arguments;
  rt.process->argument_text = (uint64_t)(uintptr_t)arguments[0];
}

/* Behind the exit handlers of the program and its static objects. */
__attribute__((destructor)) static void end(void) {
  if (rt_now != NULL) rt_end_buffer(rt_now);
  if (rt.process == NULL || rt.forked) return;
  rt_chaos_end();
  rt_let_fail();
  rt.process->end_tsc = rt_tsc();
  rt.process->end_ns = now_ns();
}
