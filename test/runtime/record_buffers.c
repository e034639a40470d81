// The store buffers of the record runtime by themselves: litmus tests over its access hooks, with threads that
// really run at the same time, and single threads whose memory must be what plain memory would be.
//
// usage: record_buffers FOLDER MODEL SEED [ROUNDS]; MODEL: sc, tso or pso. FOLDER is made. Prints for each test
// how often the outcome that it looks for came, and ends with 1 if that does not fit the model.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/control.h"
#include "abi/hooks.h"
#include "abi/record.h"
#include "abi/sync_kind.h"

static bool failed;

static void wrong(const char* what) {
  printf("wrong: %s\n", what);
  failed = true;
}

// ---- accesses as instrumented code makes them
static void put(int* at, int value) {
  *(volatile int*)heddle_control_write(at, sizeof *at, 0) = value;
}

static void put_release(int* at, int value) {
  int* const to = heddle_control_atomic_write(at, sizeof *at, 0, HEDDLE_ORDER_release);
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

static void put_seq_cst(int* at, int value) {
  int* const to = heddle_control_atomic_write(at, sizeof *at, 0, HEDDLE_ORDER_seq_cst);
  __atomic_store_n(to, value, __ATOMIC_SEQ_CST);
}

static int get(const int* at) {
  return *(volatile int*)heddle_control_read(at, sizeof *at, 0);
}

static void fence(void) {
  heddle_control_fence(0, HEDDLE_ORDER_seq_cst);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void release_fence(void) {
  heddle_control_fence(0, HEDDLE_ORDER_release);
  __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void swap(int* at, int value) {
  __atomic_exchange_n((int*)heddle_control_update(at, sizeof *at, 0, HEDDLE_ORDER_relaxed), value,
                      __ATOMIC_RELAXED);
}

// ---- litmus tests: each round all threads begin together, then the results are looked at
struct shared {
  _Alignas(128) int x;
  _Alignas(128) int y;
  _Alignas(128) int done;
  int seen[4][2];
};

struct litmus {
  const char* name;
  int threads;
  void (*run)(struct shared* shared, int thread);
  bool (*relaxed)(const struct shared* shared);
  bool under_tso, under_pso;
};

// Store buffering, with different things between the store and the load.
static void sb(struct shared* s, int thread) {
  put(thread == 0 ? &s->x : &s->y, 1);
  s->seen[thread][0] = get(thread == 0 ? &s->y : &s->x);
}

static void sb_fence(struct shared* s, int thread) {
  put(thread == 0 ? &s->x : &s->y, 1);
  fence();
  s->seen[thread][0] = get(thread == 0 ? &s->y : &s->x);
}

static void sb_seq_cst(struct shared* s, int thread) {
  put_seq_cst(thread == 0 ? &s->x : &s->y, 1);
  s->seen[thread][0] = get(thread == 0 ? &s->y : &s->x);
}

static void sb_update(struct shared* s, int thread) {
  swap(thread == 0 ? &s->x : &s->y, 1);
  s->seen[thread][0] = get(thread == 0 ? &s->y : &s->x);
}

static void sb_sync(struct shared* s, int thread) {
  put(thread == 0 ? &s->x : &s->y, 1);
  heddle_record_sync(HEDDLE_SYNC_mutex_lock, s, NULL, NULL);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  s->seen[thread][0] = get(thread == 0 ? &s->y : &s->x);
}

static bool both_zero(const struct shared* s) {
  return s->seen[0][0] == 0 && s->seen[1][0] == 0;
}

// Message passing. The sender then waits and only reads: what it has stored must become visible all the same.
static void receive(struct shared* s) {
  while (get(&s->y) == 0) sched_yield();
  s->seen[1][0] = get(&s->x);
  put_seq_cst(&s->done, 1);
}

static void wait_for_receiver(struct shared* s) {
  for (int i = 1; get(&s->done) == 0; ++i)
    if (i % 10 == 0) sched_yield();
}

static void mp(struct shared* s, int thread) {
  if (thread == 1) return receive(s);
  put(&s->x, 1);
  put(&s->y, 1);
  wait_for_receiver(s);
}

static void mp_release(struct shared* s, int thread) {
  if (thread == 1) return receive(s);
  put(&s->x, 1);
  put_release(&s->y, 1);
  wait_for_receiver(s);
}

static void mp_release_fence(struct shared* s, int thread) {
  if (thread == 1) return receive(s);
  put(&s->x, 1);
  release_fence();
  put(&s->y, 1);
  wait_for_receiver(s);
}

static bool not_received(const struct shared* s) {
  return s->seen[1][0] == 0;
}

// Load buffering.
static void lb(struct shared* s, int thread) {
  s->seen[thread][0] = get(thread == 0 ? &s->x : &s->y);
  put(thread == 0 ? &s->y : &s->x, 1);
}

static bool both_one(const struct shared* s) {
  return s->seen[0][0] == 1 && s->seen[1][0] == 1;
}

// Independent reads of independent writes.
static void iriw(struct shared* s, int thread) {
  switch (thread) {
    case 0:
      put(&s->x, 1);
      break;
    case 1:
      put(&s->y, 1);
      break;
    case 2:
      s->seen[2][0] = get(&s->x);
      s->seen[2][1] = get(&s->y);
      break;
    default:
      s->seen[3][0] = get(&s->y);
      s->seen[3][1] = get(&s->x);
  }
}

static bool different_orders(const struct shared* s) {
  return s->seen[2][0] == 1 && s->seen[2][1] == 0 && s->seen[3][0] == 1 && s->seen[3][1] == 0;
}

// Values of one location come in one order, and a thread sees its own.
static void coherence(struct shared* s, int thread) {
  if (thread == 1) {
    for (int i = 0, last = 0; i < 40; ++i) {
      const int now = get(&s->x);
      if (now < last) s->seen[1][0] = 1;
      last = now;
    }
    return;
  }
  for (int i = 1; i <= 20; ++i) {
    put(&s->x, i);
    put(&s->y, i);
    if (get(&s->x) != i) s->seen[1][0] = 1;
  }
}

static bool went_back(const struct shared* s) {
  return s->seen[1][0] == 1;
}

static const struct litmus tests[] = {
    {"SB", 2, sb, both_zero, true, true},
    {"SB+fences", 2, sb_fence, both_zero, false, false},
    {"SB+seq_cst", 2, sb_seq_cst, both_zero, false, false},
    {"SB+updates", 2, sb_update, both_zero, false, false},
    {"SB+sync", 2, sb_sync, both_zero, false, false},
    {"MP", 2, mp, not_received, false, true},
    {"MP+release", 2, mp_release, not_received, false, false},
    {"MP+release fence", 2, mp_release_fence, not_received, false, false},
    {"LB", 2, lb, both_one, false, false},
    {"IRIW", 4, iriw, different_orders, false, false},
    {"CoRR", 2, coherence, went_back, false, false},
};

struct round {
  const struct litmus* test;
  struct shared shared;
  int rounds;
  int relaxed;
  pthread_barrier_t barrier;
  _Atomic int arrived, finished;
};

struct participant {
  struct round* round;
  int thread;
};

// The kernel's barrier for patience, then a spinning one so that all begin at about the same moment.
static void begin_together(struct round* round, int number) {
  pthread_barrier_wait(&round->barrier);
  ++round->arrived;
  for (int i = 1; round->arrived < number * round->test->threads; ++i)
    if (i % 200 == 0) sched_yield();
}

// A program would go on, with other accesses, while the other threads are not as far yet.
static void go_on(struct round* round, int number) {
  int other = 0;
  ++round->finished;
  for (int i = 1; round->finished < number * round->test->threads; ++i) {
    get(&other);
    if (i % 4 == 0) sched_yield();
  }
}

static void* participate(void* argument) {
  const struct participant* const self = argument;
  struct round* const round = self->round;
  heddle_record_enter(1);
  for (int number = 1; number <= round->rounds; ++number) {
    begin_together(round, number);
    round->test->run(&round->shared, self->thread);
    go_on(round, number);
    heddle_control_leave(NULL);
    pthread_barrier_wait(&round->barrier);
    if (self->thread == 0) {
      if (round->test->relaxed(&round->shared)) ++round->relaxed;
      memset(&round->shared, 0, sizeof round->shared);
    }
  }
  return NULL;
}

static int count_relaxed(const struct litmus* test, int rounds) {
  static struct round round;
  round = (struct round){.test = test, .rounds = rounds};
  pthread_barrier_init(&round.barrier, NULL, (unsigned)test->threads);
  pthread_t handles[4];
  struct participant participants[4];
  for (int i = 0; i < test->threads; ++i) {
    participants[i] = (struct participant){&round, i};
    if (pthread_create(&handles[i], NULL, participate, &participants[i]) != 0) abort();
  }
  for (int i = 0; i < test->threads; ++i) pthread_join(handles[i], NULL);
  pthread_barrier_destroy(&round.barrier);
  return round.relaxed;
}

// ---- one thread: whatever it does, it finds what plain memory would hold
static uint64_t random_state;

static uint64_t below(uint64_t limit) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return (z ^ (z >> 31)) % limit;
}

enum { MEMORY = 320 };
static _Alignas(64) unsigned char memory[MEMORY], oracle[MEMORY];

static void write_both(uint64_t offset, uint64_t size, uint32_t order) {
  unsigned char bytes[128];
  for (uint64_t i = 0; i < size; ++i) bytes[i] = (unsigned char)below(256);
  unsigned char* const at = memory + offset;
  unsigned char* const to = order == HEDDLE_ORDER_plain ? heddle_control_write(at, size, 0)
                                                        : heddle_control_atomic_write(at, size, 0, order);
  if (((uintptr_t)to & 63) != ((uintptr_t)at & 63)) wrong("a store is aligned otherwise");
  memcpy(to, bytes, size);
  memcpy(oracle + offset, bytes, size);
}

static void random_accesses(unsigned count) {
  static const uint64_t sizes[] = {1, 1, 2, 3, 4, 4, 5, 8, 8, 8, 10, 16, 24, 32, 64, 65, 100};
  for (unsigned step = 0; step < count && !failed; ++step) {
    const uint64_t size = sizes[below(sizeof sizes / sizeof sizes[0])];
    const uint64_t offset = below(2) == 0 ? below((MEMORY - 128) / 8) * 8 : below(MEMORY - 128);
    switch (below(40)) {
      case 0:
        heddle_control_update(memory + offset, size, 0, HEDDLE_ORDER_seq_cst);
        memory[offset] += 3;
        oracle[offset] += 3;
        break;
      case 1:
        heddle_control_own(memory + offset, size);
        if (memcmp(memory + offset, oracle + offset, size) != 0) wrong("own memory");
        break;
      case 2:
        heddle_control_fence(0, (uint32_t)below(6));
        break;
      case 3:
        heddle_control_leave(NULL);
        if (memcmp(memory, oracle, MEMORY) != 0) wrong("memory after all is carried out");
        break;
      case 4:
      case 5:
      case 6:
        write_both(offset, 1ull << below(4), (uint32_t)below(6));
        break;
      default:
        if (below(2) == 0) {
          write_both(offset, size, HEDDLE_ORDER_plain);
        } else {
          const unsigned char* const from = heddle_control_read(memory + offset, size, 0);
          if (memcmp(from, oracle + offset, size) != 0) wrong("a load");
          if (((uintptr_t)from & 63) != ((uintptr_t)(memory + offset) & 63))
            wrong("a load is aligned otherwise");
        }
    }
  }
  heddle_control_leave(NULL);
}

// Stores to frames that have ended must not reach those that come after them.
static __attribute__((noinline)) void store_to_frame(int value) {
  int local[16];
  for (int i = 0; i < 16; ++i) put(&local[i], value);
  if (get(&local[3]) != value) wrong("a local variable");
  heddle_control_frame_end((const char*)__builtin_frame_address(0) + 8);
}

static __attribute__((noinline)) void use_frame(void) {
  volatile int local[16];
  for (int i = 0; i < 16; ++i) local[i] = i;
  heddle_control_leave(NULL);
  for (int i = 0; i < 16; ++i)
    if (local[i] != i) wrong("a store to a frame that had ended");
}

static jmp_buf out_of_frame;
static __attribute__((noinline)) void jump_out_of_frame(int value) {
  int local[16];
  for (int i = 0; i < 16; ++i) put(&local[i], value);
  longjmp(out_of_frame, 1);
}

static void frames(void) {
  for (volatile int i = 0; i < 1000; ++i) {
    store_to_frame(i + 1);
    use_frame();
    if (setjmp(out_of_frame) == 0) jump_out_of_frame(i + 1);
    heddle_control_frame_end(NULL);
    use_frame();
  }
}

// A handler sees what its thread has stored, the thread what the handler has stored, in order.
static int first, second, handled, jumped;
static struct {
  long a[4];
} pair, pair_seen;
static volatile sig_atomic_t ticks;
static volatile bool may_jump;
static sigjmp_buf out_of_handler;

static void on_tick(int number) {
  (void)number;
  heddle_record_enter(2);
  const int b = get(&second);
  const int a = get(&first);
  if (a < b || a > b + 1) wrong("a handler sees stores in another order");
  put(&handled, get(&handled) + 1);
  ++ticks;
  if (may_jump && ticks % 7 == 0) {
    may_jump = false;
    put(&jumped, get(&jumped) + 1);
    siglongjmp(out_of_handler, 1);
  }
}

static void interrupted(int wanted) {
  struct sigaction action = {.sa_handler = on_tick};
  sigaction(SIGALRM, &action, NULL);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    for (;;) {
      usleep(40);
      if (kill(parent, SIGALRM) != 0 || getppid() != parent) _exit(0);
    }
  }
  static int jumps;
  uint64_t mark;
  heddle_record_twice_begin(&mark);
  const int result = sigsetjmp(out_of_handler, 1);
  heddle_record_twice(&mark, 3, (uint32_t)result);
  heddle_control_frame_end(NULL);
  if (result != 0) {
    ++jumps;
    if (get(&jumped) != jumps) wrong("a store of a handler that was left by a jump");
  }
  volatile int i = get(&first) > get(&second) ? get(&first) : get(&second);
  if (get(&second) != i) put(&second, i);
  may_jump = true;
  while (ticks < wanted && !failed) {
    i = i + 1;
    put(&first, i);
    put(&second, i);
    if (get(&first) != i || get(&second) != i) wrong("a store was lost to a handler");
    for (int j = 0; j < 4; ++j) pair.a[j] = i;
    memcpy(heddle_control_write(&pair_seen, sizeof pair_seen, 0), &pair, sizeof pair);
    if (memcmp(heddle_control_read(&pair_seen, sizeof pair_seen, 0), &pair, sizeof pair) != 0)
      wrong("a large store was lost to a handler");
  }
  may_jump = false;
  signal(SIGALRM, SIG_IGN);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  if (get(&handled) != ticks) wrong("stores of handlers were lost");
  if (jumps == 0) wrong("no handler was left by a jump");
}

// A thread's stores are there for who joins it, and for its child.
static int given;
static void* give(void* argument) {
  heddle_record_enter(4);
  if (given != *(int*)argument) wrong("a thread does not see what its maker stored");
  put(&given, *(int*)argument + 1);
  return NULL;
}

static void joined(void) {
  for (int i = 0; i < 200; ++i) {
    pthread_t handle;
    put(&given, i);
    pthread_create(&handle, NULL, give, &i);
    pthread_join(handle, NULL);
    if (given != i + 1) wrong("a store of a thread that has ended");
  }
}

// ---- the process file, as heddle writes it, then the program once more under the runtime
static void make_recording(const char* folder, const char* model, uint64_t seed) {
  static struct heddle_record_process process;
  process.options = strcmp(model, "tso") == 0   ? HEDDLE_RECORD_OPTION_TSO
                    : strcmp(model, "pso") == 0 ? HEDDLE_RECORD_OPTION_PSO
                                                : 0;
  process.chaos_seed = seed;
  process.failure_seen = 1;
  char path[4096];
  snprintf(path, sizeof path, "%s/threads", folder);
  if (mkdir(folder, 0700) != 0 || mkdir(path, 0700) != 0) perror(path);
  snprintf(path, sizeof path, "%s/process", folder);
  FILE* const file = fopen(path, "w");
  if (file == NULL || fwrite(&process, sizeof process, 1, file) != 1 || fclose(file) != 0) {
    perror(path);
    exit(1);
  }
  setenv(HEDDLE_RECORD_FOLDER, folder, 1);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  if (getenv(HEDDLE_RECORD_FOLDER) == NULL) {
    make_recording(argv[1], argv[2], strtoull(argv[3], NULL, 10));
    execv("/proc/self/exe", argv);
    perror("execv");
    return 1;
  }
  const bool tso = strcmp(argv[2], "tso") == 0, pso = strcmp(argv[2], "pso") == 0;
  const int rounds = argc > 4 ? atoi(argv[4]) : 2000;
  random_state = strtoull(argv[3], NULL, 10);
  heddle_record_enter(0);
  for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) {
    const struct litmus* const test = &tests[i];
    const bool allowed = (tso && test->under_tso) || (pso && test->under_pso);
    const int relaxed = count_relaxed(test, rounds);
    // Without a model of its own a program may show what the processor does.
    const bool right = allowed ? relaxed >= rounds / 50 : relaxed == 0 || (!tso && !pso && test->under_tso);
    printf("%s: %d of %d%s\n", test->name, relaxed, rounds, right ? "" : ": wrong");
    if (!right) failed = true;
  }
  int direct;
  if (!tso && !pso && heddle_control_write(&direct, sizeof direct, 0) != &direct) wrong("a store was buffered");
  random_accesses(2000000);
  frames();
  joined();
  interrupted(2000);
  printf(failed ? "wrong\n" : "right\n");
  return failed ? 1 : 0;
}
