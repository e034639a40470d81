/* Before main(): takes requests of heddle and performs executions, each from the same state. See abi/control.h.
 *
 * The server has a stack of its own, so that an execution can be given up from anywhere and memory, the main
 * stack included, be put back under it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "runtime/control/server.h"
#include "runtime/control/switching.h"
#include "runtime/load_base.h"

#define SERVER_STACK (256 * 1024)

int heddle_program_main(int argc, char** argv, char** envp);

RT_STATE static struct rt_thread first_thread; /* before executions: static constructors */
RT_STATE static uint8_t* server_stack;
RT_STATE static void* server_pointer; /* stack pointer of the server while an execution runs */
RT_STATE static void* main_pointer;   /* of main() while the server runs */
RT_STATE static bool under_heddle, snapshot_taken;

/* ---- start of the process */
static struct heddle_control_block* map_block(void) {
  const char* text = getenv(HEDDLE_CONTROL_VARIABLE);
  if (text == NULL) return NULL;
  const int fd = atoi(text);
  struct heddle_control_block head;
  if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head || strcmp(head.magic, "HEDCTRL") != 0 ||
      head.format != HEDDLE_CONTROL_FORMAT) {
    fprintf(stderr, "heddle: %s does not name a control block of this version\n", HEDDLE_CONTROL_VARIABLE);
    _exit(3);
  }
  void* block = mmap((void*)RT_BLOCK_ADDRESS, head.layout.size, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (block == MAP_FAILED) {
    fprintf(stderr, "heddle: cannot map the control block: %s\n", strerror(errno));
    _exit(3);
  }
  close(fd);
  unsetenv(HEDDLE_CONTROL_VARIABLE);
  return block;
}

/* A control variant that somebody starts by hand runs once, without preemptions. */
static struct heddle_control_block* own_block(void) {
  enum { kSteps = 1 << 16, kThreads = 4096 };
  struct heddle_control_block* block =
      rt_map(sizeof *block + kSteps * sizeof(struct heddle_step) +
             kThreads * (sizeof(struct heddle_thread_entry) + sizeof(struct heddle_wait)));
  block->layout.steps_out = sizeof *block;
  block->layout.steps_out_capacity = kSteps;
  block->layout.threads = block->layout.steps_out + kSteps * sizeof(struct heddle_step);
  block->layout.threads_capacity = kThreads;
  block->layout.waits = block->layout.threads + kThreads * sizeof(struct heddle_thread_entry);
  block->layout.waits_capacity = kThreads;
  block->plan = (struct heddle_plan){.strategy = HEDDLE_STRATEGY_nonpreemptive,
                                     .substrate = HEDDLE_SUBSTRATE_threads,
                                     .renewal = HEDDLE_RENEWAL_once,
                                     .runs = 1};
  return block;
}

static void initialise(int argc, char** argv, char** envp) {
  (void)argc, (void)argv, (void)envp;
  rt.base = rt_load_base();
  rt.current = &first_thread;
  rt_switching_init();
  rt_scheduler_init();
  first_thread.slot = rt_main_slot();
  rt_register_exit();
  server_stack = rt_map(SERVER_STACK);
}
__attribute__((section(".preinit_array"), used)) static void (*const at_start)(int, char**,
                                                                               char**) = initialise;

/* Until initialise() has run: libc and libstdc++ come first. */
__attribute__((constructor(101))) static void connect(void) {
  rt.block = map_block();
  under_heddle = rt.block != NULL;
  if (!under_heddle) rt.block = own_block();
}

/* ---- requests */
void rt_wait_while(uint32_t* word, uint32_t value) {
  RT_SYS4(SYS_futex, word, FUTEX_WAIT, value, 0);
}

/* Those for snapshots are left to them. */
static void wait_for_request(void) {
  if (!under_heddle) return;
  for (;;) {
    const uint32_t request = __atomic_load_n(&rt.block->request, __ATOMIC_ACQUIRE);
    if (request != rt.block->answer && request % HEDDLE_CONTROL_SNAPSHOTS == 0) return;
    rt_wait_while(&rt.block->request, request);
  }
}

void rt_answer(void) {
  if (!under_heddle) return;
  __atomic_store_n(&rt.block->answer, rt.block->request, __ATOMIC_RELEASE);
  RT_SYS3(SYS_futex, &rt.block->answer, FUTEX_WAKE, 1);
}

void rt_begin_request(void) {
  rt.plan = rt.block->plan;
  memset(&rt.block->result, 0, sizeof rt.block->result);
  memset(rt.block->exit_codes, 0, sizeof rt.block->exit_codes);
  rt.block->progress = 0;
  rt.block->snapshots_taken = rt.block->snapshots_refused = 0;
  if (rt.plan.known_length != 0) rt_strategy_learn(rt.plan.known_length);
  if (rt.plan.renewal != HEDDLE_RENEWAL_fork) rt_watch_unseen_loops();
}

void rt_clear_result(void) {
  struct heddle_result* result = &rt.block->result;
  const uint64_t executions = result->executions, total = result->total_events;
  memset(result, 0, sizeof *result);
  result->executions = executions;
  result->total_events = total;
  result->outcome = HEDDLE_OUTCOME_internal;
  rt.block->running_call = 0;
}

void rt_count_execution(void) {
  struct heddle_result* result = &rt.block->result;
  ++result->executions;
  result->total_events += result->events;
  if (result->outcome == HEDDLE_OUTCOME_passed) ++rt.block->exit_codes[result->exit_code & 255];
  rt.block->progress = result->executions;
}

static void execute(void) {
  rt_clear_result();
  rt_clear_main_stack(main_pointer);
  rt_begin_execution();
  rt_swap_to(&server_pointer, main_pointer, rt_main_slot()->thread_pointer);
}

static void execute_in_child(void) {
  fflush(NULL);
  pid_t (*fork_process)(void) = (pid_t(*)(void))rt_real("fork");
  const pid_t child = fork_process();
  if (child == 0) {
    RT_SYS2(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, 9);
    rt_watch_unseen_loops();
    execute();
  }
  rt_await_execution(child, errno);
}

void rt_await_execution(long child, int error) {
  int status = 0;
  if (child < 0) {
    snprintf(rt.block->result.text, HEDDLE_CONTROL_TEXT, "cannot start a process: %s", strerror(error));
    rt.block->result.outcome = HEDDLE_OUTCOME_unsupported;
    return;
  }
  while (RT_SYS4(SYS_wait4, child, &status, 0, 0) == -EINTR) {
  }
  if (rt.block->result.outcome == HEDDLE_OUTCOME_passed) rt_strategy_learn(rt.block->result.events);
  if (WIFSIGNALED(status)) { /* before it could say anything */
    rt.block->result.outcome = HEDDLE_OUTCOME_signal;
    rt.block->result.number = WTERMSIG(status);
  }
  while (RT_SYS4(SYS_wait4, -1, NULL, WNOHANG, 0) > 0) { /* snapshots that have ended */
  }
}

static void serve_request(void) {
  rt_begin_request();
  const uint64_t runs = rt.plan.renewal == HEDDLE_RENEWAL_once ? 1 : rt.plan.runs;
  for (uint64_t i = 0; i < runs && (i == 0 || !rt.block->quit); ++i) {
    rt.seed = rt.plan.seed + i;
    if (rt.plan.renewal == HEDDLE_RENEWAL_fork) {
      rt_clear_result();
      execute_in_child();
    } else {
      if (rt.plan.renewal == HEDDLE_RENEWAL_reset) {
        if (snapshot_taken) {
          rt_reset();
        } else {
          rt_snapshot(main_pointer);
          rt_trap_system_calls();
          snapshot_taken = true;
        }
      }
      execute();
    }
    rt_count_execution();
    if (rt.block->result.outcome != HEDDLE_OUTCOME_passed) break;
  }
}

static void serve(void* unused) {
  (void)unused;
  for (;;) {
    wait_for_request();
    serve_request();
    rt_answer();
  }
}

_Noreturn void rt_end_execution(void) {
  if (rt.block->result.outcome == HEDDLE_OUTCOME_passed) rt_strategy_learn(rt.events);
  if (rt.plan.renewal == HEDDLE_RENEWAL_reset) {
    void* forgotten;
    rt_swap_to(&forgotten, server_pointer, rt_main_slot()->thread_pointer);
    __builtin_unreachable();
  }
  const struct heddle_result* result = &rt.block->result;
  if (rt.plan.renewal == HEDDLE_RENEWAL_once) {
    rt_count_execution();
    if (!under_heddle && result->outcome != HEDDLE_OUTCOME_passed)
      fprintf(stderr, "heddle: the program failed (%u) %s\n", result->outcome, result->text);
    rt_answer();
  }
  const int code = result->outcome == HEDDLE_OUTCOME_passed ? result->exit_code : 10;
  for (;;) RT_SYS1(SYS_exit_group, rt.plan.renewal == HEDDLE_RENEWAL_once ? code : 0);
}

_Noreturn void rt_stand_still(void) {
  struct heddle_result* result = &rt.block->result;
  result->outcome = HEDDLE_OUTCOME_stopped;
  result->thread = rt.current->index;
  result->site = rt.current->op.site;
  result->events = rt.events;
  result->threads = rt.thread_count;
  result->load_base = rt.base;
  rt_answer();
  for (;;) RT_SYS0(SYS_pause);
}

/* A constructor creates threads: the execution begins here, and cannot be repeated in this process. */
void rt_early_start(void) {
  if (rt.block == NULL) connect();
  rt_failure_init();
  wait_for_request();
  rt_begin_request();
  if (rt.plan.renewal != HEDDLE_RENEWAL_once || rt.plan.substrate != HEDDLE_SUBSTRATE_threads) {
    rt.block->result.outcome = HEDDLE_OUTCOME_unsupported;
    strcpy(rt.block->result.text, "early");
    rt_answer();
    for (;;) RT_SYS1(SYS_exit_group, 0);
  }
  rt.seed = rt.plan.seed;
  rt_clear_result();
  const struct rt_thread before = first_thread;
  rt_begin_execution();
  rt.current->op = before.op;
}

int main(int argc, char** argv, char** envp) {
  if (!rt.active) {
    rt_failure_init();
    rt_first_uses();
    void* server = rt_fresh_stack(server_stack + SERVER_STACK, serve, NULL);
    rt_swap_to(&main_pointer, server, rt_main_slot()->thread_pointer);
  }
  exit(rt_run_main(heddle_program_main, argc, argv, envp));
}

/* ---- small things for all files */
void* rt_real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  RT_CHECK(found != NULL);
  return found;
}

long rt_system_call(long number, long a, long b, long c, long d, long e, long f) {
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
