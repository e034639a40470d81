/* Loops in libraries that wait for another thread.
 *
 * Libraries that heddle does not see run between two events. One that waits in a loop of its own (libomp does,
 * for tasks that other threads have begun) would do so for ever, since nobody else runs. So a timer looks every
 * few milliseconds of processor time. When the thread has been in a library all the time, without an event, and
 * others could go on, it gets an event there: others run, and it is not asked again for some events, ever more
 * of them.
 *
 * A loop that waits comes to the same event in every run, but a computation would be interrupted somewhere.
 * What libraries for threads do is taken for a loop soon, other libraries get a second, those of the system
 * never are. The signal comes on the stack of its thread, which may be switched away from inside of the
 * handler.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/control/control.h"
#include "runtime/control/switching.h"

#define INTERVAL 4000000 /* nanoseconds of processor time; the kernel's tick may make it more */
#define PATIENCE 250     /* intervals, for libraries that may compute */
#define LONGEST 64       /* events for which a loop is not asked again */

enum kind { OF_SYSTEM, FOR_THREADS, OTHER };

RT_STATE static long armed_process;
RT_STATE static int (*send)(pthread_t, int);
RT_STATE static bool came; /* since somebody asked */
RT_STATE static uint64_t looked_at, intervals;
RT_STATE static const struct rt_thread* looked_thread;

static bool begins_with_any(const char* name, const char* const* words) {
  for (; *words != NULL; ++words)
    if (strncmp(name, *words, strlen(*words)) == 0) return true;
  return false;
}

static enum kind kind_of(const char* path) {
  static const char* const system[] = {"libc.so",    "ld-linux", "libm.so",  "libstdc++.so", "libgcc_s.so",
                                       "libpthread", "libdl.so", "librt.so", "linux-vdso",   NULL};
  static const char* const threads[] = {"libomp.so", "libomp-", "libiomp5.so", "libgomp.so", "libtbb.so", NULL};
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  if (*name == '\0' || begins_with_any(name, system)) return OF_SYSTEM; /* the executable has no name */
  return begins_with_any(name, threads) ? FOR_THREADS : OTHER;
}

static int is_unseen(struct dl_phdr_info* library, size_t size, void* unused) {
  (void)size, (void)unused;
  return kind_of(library->dlpi_name) != OF_SYSTEM;
}

static enum kind code_at(uint64_t address) {
  struct dl_find_object found; /* the one such function that handlers may call */
  if (_dl_find_object((void*)(uintptr_t)address, &found) != 0) return OF_SYSTEM; /* NOLINT */
  return kind_of(found.dlfo_link_map->l_name);
}

bool rt_unseen_loop_came(void) {
  const bool result = came;
  came = false;
  return result;
}

/* ---- the event */
static bool may_be_asked(const struct rt_thread* thread) {
  return rt.events >= thread->loop_until;
}

bool rt_is_in_unseen_loop(const struct rt_thread* thread) {
  return thread->op.ready == may_be_asked;
}

bool rt_release_unseen_loop(struct rt_thread* thread) {
  if (!rt_is_in_unseen_loop(thread)) return false;
  thread->loop_until = 0;
  return true;
}

bool rt_release_unseen_loops(void) {
  bool any = false;
  for (uint32_t i = 0; i < rt.live_count; ++i) any |= rt_release_unseen_loop(&rt.threads[rt.live[i]]);
  return any;
}

static bool others_can_go_on(const struct rt_thread* self) {
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    const struct rt_thread* thread = &rt.threads[rt.live[i]];
    if (thread != self && (rt_enabled(thread) || rt_is_in_unseen_loop(thread))) return true;
  }
  return false;
}

static void give_way(struct rt_thread* self) {
  const struct rt_op op = self->op;
  const bool again = self->loop_event == self->events; /* nothing else meanwhile */
  self->loops = again ? self->loops + 1 : 0;
  rt_sync(HEDDLE_SYNC_yield, NULL);
  self->loop_until = rt.events + (self->loops < 6 ? 2u << self->loops : LONGEST);
  self->op.ready = may_be_asked;
  ++rt.loop_events;
  rt_perform(self);
  rt_yielded(self);
  rt_result(self, 0);
  self->loop_event = self->events;
  self->op = op;
}

static void on_interval(int number, siginfo_t* information, void* context) {
  (void)information;
  came = true;
  if (!rt.active || rt.forked || rt.internal) return;
  struct rt_thread* self = rt.current;
  if (rt_thread_pointer() != self->slot->thread_pointer) { /* real threads: the kernel may ask any of them */
    if (rt.plan.substrate == HEDDLE_SUBSTRATE_threads) send(rt_handle(self), number);
    return;
  }
  const enum kind kind = code_at((uint64_t)((const ucontext_t*)context)->uc_mcontext.gregs[REG_RIP]);
  if (kind == OF_SYSTEM || looked_at != rt.events || looked_thread != self) intervals = 0;
  looked_at = rt.events;
  looked_thread = self;
  if (kind == OF_SYSTEM || ++intervals < (kind == FOR_THREADS ? 2 : PATIENCE) || !others_can_go_on(self))
    return;
  intervals = 0;
  const int error = errno;
  give_way(self);
  errno = error;
}

/* A process made by fork() has no timers. */
void rt_watch_unseen_loops(void) {
  const long process = RT_SYS0(SYS_getpid);
  if (armed_process == process || dl_iterate_phdr(is_unseen, NULL) == 0) return;
  armed_process = process;
  send = (int (*)(pthread_t, int))rt_real("pthread_kill");
  rt_own_handler(RT_LOOP_SIGNAL, on_interval);
  struct {
    int value[2], signal, how, thread;
    char rest[64];
  } event = {.signal = RT_LOOP_SIGNAL, .how = SIGEV_SIGNAL}; /* the kernel's struct sigevent */
  int timer;
  const struct itimerspec every = {.it_interval.tv_nsec = INTERVAL, .it_value.tv_nsec = INTERVAL};
  if (RT_SYS3(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &timer) == 0)
    RT_SYS4(SYS_timer_settime, timer, 0, &every, NULL);
}
