// Random sequences of synchronisation calls, performed by the control runtime's functions and by glibc's: the
// answers must be the same. And random waits and wake-ups against a slow and simple account of who may go on.
//
// Linked with the runtime's synchronisation files, whose functions have libc's names; glibc's own are found
// with dlsym(). In place of the scheduler stands a mock: the thread that a call is made for is rt.current, and
// what would have to wait does not (WOULD_WAIT). On the other side each thread is a real one that performs what
// it is told.
//
// usage: sync_oracle ROUNDS [SEED]
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/sync.h"
#include "runtime/control/waiters.h"

enum { THREADS = 3, WOULD_WAIT = -1000, STEPS = 60 };

static uint64_t random_state;
static uint32_t pick(uint32_t limit) {
  return (uint32_t)(rt_next_random(&random_state) % limit);
}

static const char* family;
static char trail[65536];  // calls of the current sequence
static void note(const char* format, ...) {
  const size_t length = strlen(trail);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(trail + length, sizeof trail - length, format, arguments);
  va_end(arguments);
}

static _Noreturn void wrong(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", family);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n%s\n", trail);
  _exit(1);
}

// ---- the mock
struct rt_globals rt;
static jmp_buf waited;
static struct rt_thread threads[1 << 16];
static uint16_t live[1 << 16];

struct rt_thread* rt_sync(enum heddle_sync_kind kind, const void* object) {
  rt.current->op = (struct rt_op){.kind = (uint16_t)(HEDDLE_EVENT_sync + kind), .object = object};
  rt.current->timed_out = rt.current->woken = false;
  return rt.current;
}
bool rt_enabled(const struct rt_thread* thread) {
  return thread->op.ready == NULL || thread->op.ready(thread);
}
void rt_perform(struct rt_thread* self) {
  if (!rt_enabled(self) && self->op.timed) self->timed_out = true;
  if (!rt_enabled(self)) longjmp(waited, 1);
}
int rt_result(struct rt_thread* self, int result) {
  (void)self;
  return result;
}
void rt_unchanged(struct rt_thread* self) {
  (void)self;
}
void rt_note_lost_signal(const void* object) {
  (void)object;
}
void rt_cancellation_point(struct rt_thread* self) {
  (void)self;
}
bool rt_cancel_pending(const struct rt_thread* thread) {
  return thread->cancel_requested;
}
void rt_changed(const void* at, uint64_t size) {
  (void)at, (void)size;
}
uint64_t rt_clock(clockid_t clock) {
  (void)clock;
  return 0;
}
uint64_t rt_deadline(clockid_t clock, const struct timespec* time) {
  (void)clock, (void)time;
  return 0;
}
bool rt_valid_timespec(const struct timespec* t) {
  return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}
void rt_heap_check_slow(const void* at, uint64_t size, uint32_t site) {
  (void)at, (void)size, (void)site;
}
void* rt_scratch(size_t size) {
  return calloc(1, size);
}
long rt_system_call(long number, long a, long b, long c, long d, long e, long f) {
  (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  return -ENOSYS;
}
_Noreturn void rt_fail(enum heddle_outcome outcome, const char* text) {
  wrong("outcome %d: %s", (int)outcome, text);
}
_Noreturn void rt_bug(const char* text) {
  wrong("bug: %s", text);
}
_Noreturn void rt_unsupported(const char* format, ...) {
  wrong("unsupported: %s", format);
}

static void on_alarm(int number) {
  (void)number;
  wrong("a call of glibc's waits");
}

static struct rt_thread* new_thread(void) {
  struct rt_thread* thread = &threads[rt.thread_count];
  memset(thread, 0, sizeof *thread);
  thread->index = rt.thread_count++;
  thread->state = RT_ALIVE;
  rt.live[rt.live_count++] = (uint16_t)thread->index;
  return thread;
}

static void begin(void) {
  trail[0] = 0;
  rt = (struct rt_globals){.active = true, .threads = threads, .live = live};
}

// ---- calls: what to do, to which object, for whom
// clang-format off
enum call {
  MUTEX_INIT, MUTEX_DESTROY, MUTEX_LOCK, MUTEX_TRYLOCK, MUTEX_TIMEDLOCK, MUTEX_CLOCKLOCK, MUTEX_UNLOCK,
  MUTEX_CONSISTENT, COND_TIMEDWAIT, COND_CLOCKWAIT, COND_SIGNAL, COND_BROADCAST, COND_CALLS,
  RDLOCK = COND_CALLS, WRLOCK, TRYRDLOCK, TRYWRLOCK, TIMEDRDLOCK, TIMEDWRLOCK, CLOCKRDLOCK, CLOCKWRLOCK, RWUNLOCK,
  RW_CALLS,
  SEM_INIT = RW_CALLS, SEM_WAIT, SEM_TRYWAIT, SEM_TIMEDWAIT, SEM_CLOCKWAIT, SEM_POST, SEM_GETVALUE, SEM_CALLS,
  SPIN_LOCK = SEM_CALLS, SPIN_TRYLOCK, SPIN_UNLOCK, SPIN_CALLS,
  BARRIER_INIT = SPIN_CALLS, BARRIER_WAIT, BARRIER_DESTROY, BARRIER_CALLS,
  KEY_CREATE = BARRIER_CALLS, KEY_DELETE, KEY_GET, KEY_SET, KEY_CALLS,
  ONCE = KEY_CALLS, FUTEX, FUTEX_CALLS, THREAD_END = FUTEX_CALLS,
};
static const char* const names[] = {
  "mutex_init", "mutex_destroy", "mutex_lock", "mutex_trylock", "mutex_timedlock", "mutex_clocklock", "mutex_unlock",
  "mutex_consistent", "cond_timedwait", "cond_clockwait", "cond_signal", "cond_broadcast",
  "rdlock", "wrlock", "tryrdlock", "trywrlock", "timedrdlock", "timedwrlock", "clockrdlock", "clockwrlock",
  "rwunlock",
  "sem_init", "sem_wait", "sem_trywait", "sem_timedwait", "sem_clockwait", "sem_post", "sem_getvalue",
  "spin_lock", "spin_trylock", "spin_unlock",
  "barrier_init", "barrier_wait", "barrier_destroy",
  "key_create", "key_delete", "key_get", "key_set",
  "once", "futex", "end of the thread"};
// clang-format on

// One for the model, one for glibc.
struct objects {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  pthread_rwlock_t rwlock;
  sem_t semaphore;
  pthread_spinlock_t spin;
  pthread_barrier_t barrier;
  pthread_once_t once;
  uint32_t word;
  int inits;
};
static struct objects model_objects, real_objects;

struct request {
  enum call call;
  struct timespec time;
  clockid_t clock;
  uint64_t value;  // count, key, data, futex operation
  uint32_t second, third;
  const pthread_mutexattr_t* attributes;
};

// clang-format off
#define FUNCTIONS(X) \
  X(pthread_mutex_init) X(pthread_mutex_destroy) X(pthread_mutex_lock) X(pthread_mutex_trylock) \
  X(pthread_mutex_timedlock) X(pthread_mutex_clocklock) X(pthread_mutex_unlock) X(pthread_mutex_consistent) \
  X(pthread_cond_init) X(pthread_cond_timedwait) X(pthread_cond_clockwait) X(pthread_cond_signal) \
  X(pthread_cond_broadcast) X(pthread_rwlock_init) X(pthread_rwlock_rdlock) X(pthread_rwlock_wrlock) \
  X(pthread_rwlock_tryrdlock) X(pthread_rwlock_trywrlock) X(pthread_rwlock_timedrdlock) \
  X(pthread_rwlock_timedwrlock) X(pthread_rwlock_clockrdlock) X(pthread_rwlock_clockwrlock) \
  X(pthread_rwlock_unlock) X(sem_init) X(sem_wait) X(sem_trywait) X(sem_timedwait) X(sem_clockwait) \
  X(sem_post) X(sem_getvalue) X(pthread_spin_init) X(pthread_spin_lock) X(pthread_spin_trylock) \
  X(pthread_spin_unlock) X(pthread_barrier_init) X(pthread_barrier_wait) X(pthread_barrier_destroy) \
  X(pthread_key_create) X(pthread_key_delete) X(pthread_getspecific) X(pthread_setspecific) X(pthread_once) \
  X(syscall)
// clang-format on

struct functions {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
};
static struct functions model, real;

static void find_functions(void) {
#define FIND(function)                                   \
  model.function = &function;                            \
  *(void**)&real.function = dlsym(RTLD_NEXT, #function); \
  if (real.function == NULL || real.function == model.function) wrong("no " #function " of libc");
  FUNCTIONS(FIND)
}

static __thread struct objects* initialised;
static void initialise(void) {
  ++initialised->inits;
}

// Errors of functions that set errno are negative.
static int64_t with_errno(long result) {
  return result == -1 ? -errno : result;
}

static pthread_key_t last_key;

static int64_t perform(const struct functions* f, struct objects* o, const struct request* r) {
  int value = 0;
  // clang-format off
  switch (r->call) {
    case MUTEX_INIT: return f->pthread_mutex_init(&o->mutex, r->attributes);
    case MUTEX_DESTROY: return f->pthread_mutex_destroy(&o->mutex);
    case MUTEX_LOCK: return f->pthread_mutex_lock(&o->mutex);
    case MUTEX_TRYLOCK: return f->pthread_mutex_trylock(&o->mutex);
    case MUTEX_TIMEDLOCK: return f->pthread_mutex_timedlock(&o->mutex, &r->time);
    case MUTEX_CLOCKLOCK: return f->pthread_mutex_clocklock(&o->mutex, r->clock, &r->time);
    case MUTEX_UNLOCK: return f->pthread_mutex_unlock(&o->mutex);
    case MUTEX_CONSISTENT: return f->pthread_mutex_consistent(&o->mutex);
    case COND_TIMEDWAIT: return f->pthread_cond_timedwait(&o->condition, &o->mutex, &r->time);
    case COND_CLOCKWAIT: return f->pthread_cond_clockwait(&o->condition, &o->mutex, r->clock, &r->time);
    case COND_SIGNAL: return f->pthread_cond_signal(&o->condition);
    case COND_BROADCAST: return f->pthread_cond_broadcast(&o->condition);
    case RDLOCK: return f->pthread_rwlock_rdlock(&o->rwlock);
    case WRLOCK: return f->pthread_rwlock_wrlock(&o->rwlock);
    case TRYRDLOCK: return f->pthread_rwlock_tryrdlock(&o->rwlock);
    case TRYWRLOCK: return f->pthread_rwlock_trywrlock(&o->rwlock);
    case TIMEDRDLOCK: return f->pthread_rwlock_timedrdlock(&o->rwlock, &r->time);
    case TIMEDWRLOCK: return f->pthread_rwlock_timedwrlock(&o->rwlock, &r->time);
    case CLOCKRDLOCK: return f->pthread_rwlock_clockrdlock(&o->rwlock, r->clock, &r->time);
    case CLOCKWRLOCK: return f->pthread_rwlock_clockwrlock(&o->rwlock, r->clock, &r->time);
    case RWUNLOCK: return f->pthread_rwlock_unlock(&o->rwlock);
    case SEM_INIT: return with_errno(f->sem_init(&o->semaphore, 0, (unsigned)r->value));
    case SEM_WAIT: return with_errno(f->sem_wait(&o->semaphore));
    case SEM_TRYWAIT: return with_errno(f->sem_trywait(&o->semaphore));
    case SEM_TIMEDWAIT: return with_errno(f->sem_timedwait(&o->semaphore, &r->time));
    case SEM_CLOCKWAIT: return with_errno(f->sem_clockwait(&o->semaphore, r->clock, &r->time));
    case SEM_POST: return with_errno(f->sem_post(&o->semaphore));
    case SEM_GETVALUE: return f->sem_getvalue(&o->semaphore, &value) == 0 ? value : -1;
    case SPIN_LOCK: return f->pthread_spin_lock(&o->spin);
    case SPIN_TRYLOCK: return f->pthread_spin_trylock(&o->spin);
    case SPIN_UNLOCK: return f->pthread_spin_unlock(&o->spin);
    case BARRIER_INIT: return f->pthread_barrier_init(&o->barrier, NULL, (unsigned)r->value);
    case BARRIER_WAIT: return f->pthread_barrier_wait(&o->barrier);
    case BARRIER_DESTROY: return f->pthread_barrier_destroy(&o->barrier);
    case KEY_CREATE: value = f->pthread_key_create(&last_key, NULL); return value != 0 ? -value : (int64_t)last_key;
    case KEY_DELETE: return f->pthread_key_delete((pthread_key_t)r->value);
    case KEY_GET: return (int64_t)(intptr_t)f->pthread_getspecific((pthread_key_t)r->value);
    case KEY_SET: return f->pthread_setspecific((pthread_key_t)r->value, (void*)(uintptr_t)r->second);
    case ONCE: initialised = o; f->pthread_once(&o->once, initialise); return o->inits;
    case FUTEX: return with_errno(f->syscall(SYS_futex, (char*)&o->word + (r->value >> 32), (int)r->value, r->second,
                                   &r->time, &o->word, r->third));
    default: return 0;
  }
  // clang-format on
}

// Whether the call would wait on the real side is asked with its timed relative.
static int64_t perform_real(const struct request* r, bool waits) {
  if (!waits) return perform(&real, &real_objects, r);
  struct request timed = *r;
  timed.time = (struct timespec){.tv_sec = 1};
  switch (r->call) {
    case MUTEX_LOCK:
      timed.call = MUTEX_TIMEDLOCK;
      break;
    case RDLOCK:
      timed.call = TIMEDRDLOCK;
      break;
    case WRLOCK:
      timed.call = TIMEDWRLOCK;
      break;
    case SEM_WAIT:
      timed.call = SEM_TIMEDWAIT;
      break;
    default:
      return WOULD_WAIT;
  }
  const int64_t answer = perform(&real, &real_objects, &timed);
  return answer == ETIMEDOUT || answer == -ETIMEDOUT ? WOULD_WAIT : answer;
}

// ---- real threads
struct worker {
  pthread_t handle;
  int orders[2], answers[2];
  struct rt_thread* thread;  // the same in the model
};
struct order {
  struct request request;
  bool waits;
};
static struct worker workers[THREADS];

static void* work(void* argument) {
  struct worker* worker = argument;
  struct order order;
  while (read(worker->orders[0], &order, sizeof order) == (ssize_t)sizeof order &&
         order.request.call != THREAD_END) {
    const int64_t answer = perform_real(&order.request, order.waits);
    if (write(worker->answers[1], &answer, sizeof answer) != (ssize_t)sizeof answer) break;
  }
  return NULL;
}

static void start_worker(struct worker* worker) {
  worker->thread = new_thread();
  if (pthread_create(&worker->handle, NULL, work, worker) != 0) wrong("no thread");
}

static int64_t ask(struct worker* worker, const struct request* request, bool waits) {
  const struct order order = {.request = *request, .waits = waits};
  int64_t answer = 0;
  if (write(worker->orders[1], &order, sizeof order) != (ssize_t)sizeof order) wrong("pipe");
  if (request->call == THREAD_END) {
    pthread_join(worker->handle, NULL);
    return 0;
  }
  if (read(worker->answers[0], &answer, sizeof answer) != (ssize_t)sizeof answer) wrong("pipe");
  return answer;
}

// ---- comparing
static int64_t compare(uint32_t who, const struct request* r) {
  struct worker* worker = &workers[who];
  note("%u: %s", who, names[r->call]);
  if (r->call == THREAD_END) {
    worker->thread->state = RT_FINISHED;
    ask(worker, r, false);
    start_worker(worker);
    note("\n");
    return 0;
  }
  rt.current = worker->thread;
  volatile int64_t expected = WOULD_WAIT;
  const struct objects before = model_objects;
  if (setjmp(waited) == 0)
    expected = perform(&model, &model_objects, r);
  else
    model_objects = before;  // as if it had not been called
  note(" {%ld %ld, clock %d, %llu %u %u} -> %ld\n", (long)r->time.tv_sec, r->time.tv_nsec, (int)r->clock,
       (unsigned long long)r->value, r->second, r->third, (long)expected);
  const int64_t answer = ask(worker, r, expected == WOULD_WAIT);
  if (answer != expected) wrong("glibc answers %ld", (long)answer);
  return answer;
}

static struct timespec any_time(void) {
  static const long seconds[] = {0, 1, 3, -1};  // none still to come: clocks may begin with the machine
  static const long parts[] = {0, 999999999, 1000000000, -1, 5};
  return (struct timespec){.tv_sec = seconds[pick(4)], .tv_nsec = parts[pick(5)]};
}

static clockid_t any_clock(void) {
  static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID};
  return clocks[pick(3)];
}

static struct request any_request(uint32_t from, uint32_t to) {
  return (struct request){
      .call = (enum call)(from + pick(to - from)), .time = any_time(), .clock = any_clock()};
}

static void begin_sequence(const char* name) {
  family = name;
  for (uint32_t i = 0; i < THREADS; ++i)
    if (workers[i].handle != 0) ask(&workers[i], &(struct request){.call = THREAD_END}, false);
  begin();
  memset(&model_objects, 0, sizeof model_objects);
  memset(&real_objects, 0, sizeof real_objects);
  for (uint32_t i = 0; i < THREADS; ++i) start_worker(&workers[i]);
}

static void mutexes(void) {
  begin_sequence("mutexes");
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                              PTHREAD_MUTEX_ADAPTIVE_NP};
  const int type = types[pick(4)], robust = (int)pick(2), inherit = (int)pick(2);
  pthread_mutexattr_settype(&attributes, type);
  pthread_mutexattr_setrobust(&attributes, robust ? PTHREAD_MUTEX_ROBUST : PTHREAD_MUTEX_STALLED);
  pthread_mutexattr_setprotocol(&attributes, inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
  pthread_mutexattr_setpshared(&attributes, pick(2) ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE);
  note("type %d, robust %d, inherit %d\n", type, robust, inherit);
  const struct request init = {.call = MUTEX_INIT, .attributes = &attributes};
  compare(0, &init);
  bool destroyed = false;
  for (int i = 0; i < STEPS; ++i) {
    struct request r = any_request(MUTEX_DESTROY, COND_CALLS);
    if (r.call == MUTEX_DESTROY && pick(4) != 0) continue;
    if (robust && pick(12) == 0) r.call = THREAD_END;
    // The kernel itself looks at the times of these, and is more strict.
    if (inherit) r.time = (struct timespec){.tv_sec = 1};
    const uint32_t who = pick(THREADS);
    // Only who holds a mutex may say so.
    if (r.call == MUTEX_CONSISTENT && rt_mutex_holder(&model_objects.mutex) != workers[who].thread) continue;
    const int64_t answer = compare(who, &r);
    if (r.call == MUTEX_TRYLOCK && answer == ENOTRECOVERABLE) break;  // glibc leaves it locked then
    if (r.call == MUTEX_DESTROY && answer == 0) destroyed = true;
    if (destroyed && pick(3) == 0) {
      compare(0, &init);
      destroyed = false;
    }
  }
  pthread_mutexattr_destroy(&attributes);
}

static void rwlocks(void) {
  begin_sequence("read-write locks");
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  pthread_rwlockattr_setkind_np(&attributes, (int)pick(3));
  model.pthread_rwlock_init(&model_objects.rwlock, (rt.current = workers[0].thread, &attributes));
  real.pthread_rwlock_init(&real_objects.rwlock, &attributes);
  uint32_t holds[THREADS] = {0};
  for (int i = 0; i < STEPS; ++i) {
    const struct request r = any_request(RDLOCK, RW_CALLS);
    const uint32_t who = pick(THREADS);
    if (r.call == RWUNLOCK && holds[who] == 0) continue;
    const int64_t answer = compare(who, &r);
    if (r.call == RWUNLOCK)
      --holds[who];
    else if (answer == 0)
      ++holds[who];
  }
}

static void semaphores(void) {
  begin_sequence("semaphores");
  static const unsigned values[] = {0, 1, 2, SEM_VALUE_MAX - 1, SEM_VALUE_MAX, SEM_VALUE_MAX + 1u, UINT_MAX};
  compare(0, &(struct request){.call = SEM_INIT, .value = 1});
  for (int i = 0; i < STEPS; ++i) {
    struct request r = any_request(SEM_INIT, SEM_CALLS);
    if (r.call == SEM_INIT && pick(3) != 0) continue;
    r.value = values[pick(7)];
    compare(pick(THREADS), &r);
  }
}

static void spins(void) {
  begin_sequence("spin locks");
  rt.current = workers[0].thread;
  model.pthread_spin_init(&model_objects.spin, 0);
  real.pthread_spin_init(&real_objects.spin, 0);
  for (int i = 0; i < STEPS; ++i) {
    const struct request r = any_request(SPIN_LOCK, SPIN_CALLS);
    compare(pick(THREADS), &r);
  }
}

static void barriers(void) {
  begin_sequence("barriers");
  static const unsigned counts[] = {1, 0, UINT_MAX / 2, UINT_MAX / 2 + 1, UINT_MAX};
  for (int i = 0; i < STEPS / 6; ++i) {
    const struct request init = {.call = BARRIER_INIT, .value = counts[pick(5)]};
    const int64_t answer = compare(0, &init);
    if (answer != 0) continue;
    if (init.value == 1) compare(pick(THREADS), &(struct request){.call = BARRIER_WAIT});
    compare(0, &(struct request){.call = BARRIER_DESTROY});
  }
}

// The keys that glibc has given away before stay out of it: all are made first, and deleted.
static void keys(void) {
  begin_sequence("keys");
  for (int i = 0; i < STEPS * 4; ++i) {
    struct request r = any_request(KEY_CREATE, KEY_CALLS);
    r.value = pick(16) == 0 ? 1000 + pick(100) : pick(6);
    r.second = pick(3);
    compare(pick(THREADS), &r);
  }
  const int most = pick(8) == 0 ? PTHREAD_KEYS_MAX + 2 : 0;
  for (int i = 0; i < most; ++i) compare(0, &(struct request){.call = KEY_CREATE});
  for (uint64_t key = 0; key < PTHREAD_KEYS_MAX; ++key)
    compare(1, &(struct request){.call = KEY_DELETE, .value = key});
}

static void once(void) {
  begin_sequence("once");
  for (int i = 0; i < 4; ++i) compare(pick(THREADS), &(struct request){.call = ONCE});
}

static void futexes(void) {
  begin_sequence("futexes");
  static const int operations[] = {FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE, FUTEX_WAKE_BITSET};
  for (int i = 0; i < STEPS; ++i) {
    struct request r = any_request(FUTEX, FUTEX_CALLS);
    uint32_t operation = (uint32_t)operations[pick(4)];
    if (pick(2) == 0) operation |= FUTEX_PRIVATE_FLAG;
    if (pick(3) == 0) operation |= FUTEX_CLOCK_REALTIME;
    r.value = operation | (uint64_t)(pick(8) == 0) << 32;  // an odd address
    r.second = pick(2);
    r.third = pick(3);
    if (r.time.tv_sec > 0) r.time.tv_sec = 0;  // times may be relative: no long waits
    if (r.time.tv_nsec == 999999999) r.time.tv_nsec = 5;
    compare(pick(THREADS), &r);
  }
}

// ---- who may be woken, by trying all
enum { WAITERS = 6, SIGNALS = 16 };
struct account {
  uint32_t waiting;           // set of threads
  uint32_t signals[SIGNALS];  // for each that was not used yet: who waited when it was sent
  uint32_t count;
};

// Can each of the signals from `from` on go to a thread of its own among `waiting`?
static bool all_served(const struct account* a, uint32_t from, uint32_t waiting) {
  if (from == a->count) return true;
  for (uint32_t i = 0; i < WAITERS; ++i)
    if ((a->signals[from] & waiting) >> i & 1)
      if (all_served(a, from + 1, waiting & ~(1u << i))) return true;
  return false;
}

// A thread that goes on uses up the signal that the fewest others could use.
static uint32_t signal_for(const struct account* a, uint32_t who) {
  uint32_t best = SIGNALS;
  for (uint32_t i = 0; i < a->count; ++i) {
    if ((a->signals[i] & a->waiting) >> who % 32 & 1)
      if (best == SIGNALS || __builtin_popcount(a->signals[i]) < __builtin_popcount(a->signals[best])) best = i;
  }
  return best;
}

static void forget(struct account* a, uint32_t signal) {
  a->signals[signal] = a->signals[--a->count];
}

static bool never_ready(const struct rt_thread* thread) {
  (void)thread;
  return false;
}

static void check_account(const struct account* a) {
  for (uint32_t i = 0; i < WAITERS; ++i) {
    if ((a->waiting >> i & 1) == 0 || threads[i].timed_out) continue;
    const bool may = signal_for(a, i) != SIGNALS, must = !all_served(a, 0, a->waiting & ~(1u << i));
    if (rt_is_awake(&threads[i]) != may) wrong("thread %u may%s go on", i, may ? "" : " not");
    if (threads[i].signalled && !must) wrong("thread %u is not sure to go on", i);
  }
}

// `exact`: only those run out of time that are not sure to be woken, as if the runtime were told at once.
static void wake_ups(bool exact) {
  static int object;
  family = "wake-ups";
  begin();
  for (uint32_t i = 0; i < WAITERS; ++i) new_thread();
  struct account a = {0};
  uint64_t sent = 0, used = 0;
  for (int i = 0; i < STEPS; ++i) {
    const uint32_t who = pick(WAITERS);
    struct rt_thread* thread = rt.current = &threads[who];
    const bool waits = a.waiting >> who & 1;
    uint32_t present = 0;
    for (uint32_t j = 0; j < WAITERS; ++j) present |= threads[j].timed_out ? 0 : a.waiting & 1u << j;
    switch (pick(5)) {
      case 0:
      case 1:
        if (waits) break;
        note("%u waits\n", who);
        rt_sync(HEDDLE_SYNC_cond_wait, &object);
        rt_start_waiting(thread);
        rt_sync(HEDDLE_SYNC_cond_wait, &object);
        thread->op.timed = true;
        thread->op.ready = never_ready;
        a.waiting |= 1u << who;
        break;
      case 2: {
        const uint64_t count = pick(4) == 0 ? UINT64_MAX : 1 + pick(2), woken = rt_wake(&object, count);
        note("wake %d: %d\n", (int)count, (int)woken);
        sent += woken;
        if (!exact) break;
        uint64_t expected = 0;
        for (; expected < count; ++expected) {
          a.signals[a.count++] = present;
          if (all_served(&a, 0, present)) continue;
          --a.count;
          break;
        }
        if (woken != expected) wrong("%d waiters are to be woken", (int)expected);
        break;
      }
      case 3:
        if (!waits || !thread->op.timed || thread->timed_out) break;
        if (exact && !all_served(&a, 0, present & ~(1u << who))) break;
        note("%u runs out of time\n", who);
        thread->timed_out = true;
        for (uint32_t j = 0; j < a.count; ++j) a.signals[j] &= ~(1u << who);
        break;
      default: {
        if (!waits || !rt_is_awake(thread)) break;
        const bool out = thread->timed_out;
        const bool woken = rt_stop_waiting(thread);
        note("%u goes on%s\n", who, woken ? ", was woken" : "");
        used += woken;
        if (exact && woken == out) wrong("it was%s", out ? " not" : "");
        if (exact && !out) forget(&a, signal_for(&a, who));
        a.waiting &= ~(1u << who);
        for (uint32_t j = 0; j < a.count; ++j) a.signals[j] &= a.waiting;
        thread->timed_out = false;
      }
    }
    if (exact) check_account(&a);
  }
  // Whatever was sent wakes somebody.
  for (bool any = true; any;) {
    any = false;
    for (uint32_t i = 0; i < WAITERS; ++i) {
      if ((a.waiting >> i & 1) == 0 || !rt_is_awake(&threads[i])) continue;
      any = true;
      a.waiting &= ~(1u << i);
      used += rt_stop_waiting(&threads[i]);
    }
  }
  if (sent != used) wrong("%d wake-ups, %d woken", (int)sent, (int)used);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  family = "start";
  find_functions();
  signal(SIGALRM, on_alarm);
  for (uint32_t i = 0; i < THREADS; ++i)
    if (pipe(workers[i].orders) != 0 || pipe(workers[i].answers) != 0) wrong("no pipe");
  static void (*const families[])(void) = {mutexes, rwlocks, semaphores, spins, barriers, keys, once, futexes};
  for (int i = 0; i < rounds; ++i) {
    random_state = seed + (uint64_t)i;
    alarm(30);
    for (size_t j = 0; j < sizeof families / sizeof families[0]; ++j) families[j]();
    for (int j = 0; j < 100; ++j) wake_ups(j % 2 == 0);
  }
  printf("%d rounds: all alike\n", rounds);
  return 0;
}
