/* Memory as it was before main(), for the next execution in the same process.
 *
 * The snapshot holds every private writable mapping of the process: variables of the executable and of its
 * libraries, the C library's own state, the part of the main stack above main(), the thread-local storage of
 * the main thread. What the runtime owns is left out; the heap looks after itself (heap.c), stacks of threads
 * too (switching.c). Copying some fifty pages takes less time than finding out which of them changed.
 *
 * That memory is all that must be put back is made sure by a filter for system calls: anything that reaches
 * beyond the process or its memory ends the execution as "not resettable", and heddle goes over to a process
 * per execution.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>

#include "runtime/control/control.h"

struct region {
  uint8_t* from;
  uint64_t size;
  uint8_t* copy;
};
#define MAX_REGIONS 512
RT_STATE static struct region regions[MAX_REGIONS];
RT_STATE static uint32_t region_count;
RT_STATE static uint8_t* before; /* all regions, while a lasting change is under way */
RT_STATE static uint64_t total_size;
RT_STATE static uint8_t* stack_from; /* the main stack below this is free */
RT_STATE static char single_threaded;

extern uint8_t __start_heddle_rt[], __stop_heddle_rt[];

static void add_region(uint8_t* from, uint8_t* to) {
  if (from >= to) return;
  if (region_count == MAX_REGIONS) rt_unsupported("too many mappings to reset");
  regions[region_count++] = (struct region){.from = from, .size = (uint64_t)(to - from)};
  total_size += (uint64_t)(to - from);
}

/* Without the scheduler's own variables. */
static void add_mapping(uint8_t* from, uint8_t* to) {
  if (from <= __start_heddle_rt && __stop_heddle_rt <= to) {
    add_region(from, __start_heddle_rt);
    add_region(__stop_heddle_rt, to);
  } else {
    add_region(from, to);
  }
}

static bool is_heap(uint64_t address) {
  return address - RT_HEAP_BASE < RT_HEAP_SIZE + RT_HEAP_SIZE / 8;
}

static void take_line(char* line) {
  unsigned long from, to, inode;
  char permissions[8];
  int path = 0;
  if (sscanf(line, "%lx-%lx %7s %*s %*s %lu %n", &from, &to, permissions, &inode, &path) < 4) return;
  if (permissions[1] != 'w' || permissions[3] != 'p' || rt_owns(from) || is_heap(from)) return;
  if (strstr(line + path, "[stack]") != NULL) from = (uint64_t)(uintptr_t)stack_from;
  add_mapping((uint8_t*)(uintptr_t)from, (uint8_t*)(uintptr_t)to);
}

/* Reads /proc/self/maps without allocating. */
static void find_regions(void) {
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) rt_unsupported("cannot read /proc/self/maps");
  static RT_STATE char text[1 << 16];
  size_t used = 0;
  for (;;) {
    const long got = RT_SYS3(SYS_read, fd, text + used, sizeof text - 1 - used);
    if (got <= 0) break;
    used += (size_t)got;
    text[used] = 0;
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = 0;
      take_line(line);
    }
    used -= (size_t)(line - text);
    memmove(text, line, used);
  }
  RT_SYS1(SYS_close, fd);
}

void rt_snapshot(void* main_stack_pointer) {
  rt.internal = true;
  stack_from = main_stack_pointer;
  single_threaded = __libc_single_threaded;
  region_count = 0;
  total_size = 0;
  find_regions();
  for (uint32_t i = 0; i < region_count; ++i) {
    regions[i].copy = rt_map(regions[i].size);
    memcpy(regions[i].copy, regions[i].from, regions[i].size);
  }
  rt_heap_snapshot();
  rt.internal = false;
}

#define CLEARED_STACK 65536ul      /* by hand; what is below goes back to the system */
#define LARGEST_STACK (64ul << 20) /* of the main thread, as far as it is looked after here */

void rt_clear_main_stack(uint8_t* pointer) {
  memset(pointer - CLEARED_STACK, 0, CLEARED_STACK);
  const uintptr_t rest = ((uintptr_t)pointer - CLEARED_STACK) & ~(uintptr_t)4095;
  memset((void*)rest, 0, (uintptr_t)pointer - CLEARED_STACK - rest);
  RT_SYS3(SYS_madvise, rest - LARGEST_STACK, LARGEST_STACK, MADV_DONTNEED);
}

void rt_reset(void) {
  for (uint32_t i = 0; i < region_count; ++i) memcpy(regions[i].from, regions[i].copy, regions[i].size);
  rt_heap_reset();
  rt_slots_reset();
  __libc_single_threaded = single_threaded; /* pthreads that are left are no threads of the program */
  rt_handlers_reset();
}

void rt_lasting_change_begin(void) {
  if (region_count == 0) return;
  if (before == NULL) before = rt_map(total_size);
  uint64_t at = 0;
  for (uint32_t i = 0; i < region_count; at += regions[i++].size)
    memcpy(before + at, regions[i].from, regions[i].size);
}

void rt_lasting_change_end(void) {
  uint64_t at = 0;
  for (uint32_t i = 0; i < region_count; at += regions[i++].size)
    for (uint64_t byte = 0; byte < regions[i].size; ++byte)
      if (before[at + byte] != regions[i].from[byte]) regions[i].copy[byte] = regions[i].from[byte];
}

/* ---- system calls that keep to the process */
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define NUMBER offsetof(struct seccomp_data, nr)
#define ARGUMENT(n) offsetof(struct seccomp_data, args[n])
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define TRAP BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)
#define ALLOW_IF(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), ALLOW
/* Allowed when the low word of an argument is one of these; trapped otherwise. */
#define ALLOW_WHEN_BELOW(n, argument, limit)                              \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 4), LOAD(ARGUMENT(argument)), \
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, limit, 1, 0), ALLOW, TRAP
#define ALLOW_WHEN_SET(n, argument, bits)                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 4), LOAD(ARGUMENT(argument)), \
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1), ALLOW, TRAP
#define ALLOW_WHEN_EQUAL(n, argument, value)                              \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 4), LOAD(ARGUMENT(argument)), \
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1), ALLOW, TRAP

static void on_system_call(int number, siginfo_t* information, void* context) {
  (void)number, (void)context;
  if (!rt.active) return;
  rt.block->result.number = information->si_syscall;
  rt_fail(HEDDLE_OUTCOME_not_resettable, "");
}

void rt_trap_system_calls(void) {
  rt_own_handler(SIGSYS, on_system_call);
  struct sock_filter filter[] = {
      LOAD(NUMBER), ALLOW_IF(SYS_futex), ALLOW_IF(SYS_rt_sigprocmask), ALLOW_IF(SYS_rt_sigreturn),
      ALLOW_IF(SYS_rt_sigaction), ALLOW_IF(SYS_sigaltstack), ALLOW_IF(SYS_mmap), ALLOW_IF(SYS_munmap),
      ALLOW_IF(SYS_mprotect), ALLOW_IF(SYS_madvise), ALLOW_IF(SYS_exit_group), ALLOW_IF(SYS_exit),
      ALLOW_IF(SYS_getpid), ALLOW_IF(SYS_gettid), ALLOW_IF(SYS_arch_prctl), ALLOW_IF(SYS_set_robust_list),
      ALLOW_IF(SYS_rseq), ALLOW_IF(SYS_tgkill), ALLOW_IF(SYS_sched_getaffinity), ALLOW_IF(SYS_sched_yield),
      ALLOW_IF(SYS_clock_gettime), ALLOW_IF(SYS_getuid), ALLOW_IF(SYS_geteuid), ALLOW_IF(SYS_prlimit64),
      ALLOW_IF(SYS_membarrier), ALLOW_IF(SYS_sysinfo), ALLOW_IF(SYS_uname),
      ALLOW_WHEN_BELOW(SYS_write, 0, 3), /* standard output and error: heddle discards or shows them */
      ALLOW_WHEN_BELOW(SYS_writev, 0, 3), ALLOW_WHEN_BELOW(SYS_fstat, 0, 3),
      ALLOW_WHEN_BELOW(SYS_newfstatat, 0, 3), ALLOW_WHEN_EQUAL(SYS_ioctl, 1, TCGETS), /* is it a terminal? */
      ALLOW_WHEN_SET(SYS_clone, 0, CLONE_THREAD),
      /* glibc then uses clone(), whose flags the filter can see. */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS), TRAP};
  const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  RT_SYS6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
  if (RT_SYS6(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0, 0) != 0)
    rt_unsupported("this system has no filter for system calls (seccomp)");
}
