// A program that calls the record runtime's hooks as instrumented code would, and notes in files of its own
// what record_check.py is to find in the recording.
//
// usage: record_hooks SCENARIO [NUMBER]; HEDDLE_RECORD_FOLDER as for a recorded program, RECORD_NOTES: folder
// for the notes.
//
// Notes of a log: "p BITS VALUE" for bits of the path, "d WHAT ..." for what the data stream must hold next.
// What a thread does follows from its name, so the notes of a run that came to its end also hold for one that
// was killed.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "abi/record.h"
#include "abi/sync_kind.h"

extern _Thread_local struct heddle_record_state heddle_record_state __attribute__((tls_model("initial-exec")));

static _Thread_local FILE* notes;
static _Thread_local uint64_t random_state;

static uint64_t next_random(void) {
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static uint64_t below(uint64_t limit) {
  return next_random() % limit;
}

static FILE* open_notes(const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("RECORD_NOTES"), name);
  FILE* const file = fopen(path, "w");
  if (file == NULL) {
    perror(path);
    _exit(1);
  }
  return file;
}

static void note(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(notes, format, arguments);
  va_end(arguments);
}

// ---- what instrumented code does inline (abi/record.h)
static void bits(unsigned count, uint64_t value) {
  struct heddle_record_state* const state = &heddle_record_state;
  note("p %u %llx\n", count, (unsigned long long)value);
  if (*state->word >> (64 - count) != 0) heddle_record_next_word();
  *(volatile uint64_t*)state->word = *state->word << count | value;
}

static void bare(uint64_t value, unsigned bytes) {
  struct heddle_record_state* const state = &heddle_record_state;
  note("d bare %u %llx\n", bytes, (unsigned long long)value);
  if (state->data->used > state->data_limit) heddle_record_next_data();
  memcpy((char*)state->data + state->data->used, &value, bytes);
  *(volatile uint64_t*)&state->data->used += bytes;
}

// ---- hooks, noted before the call: after a kill the recording has a prefix of the notes
static void enter(uint32_t function) {
  heddle_record_state.called =
      heddle_record_state.word != NULL && (function & 1) != 0;  // a thread has no log at first
  note(heddle_record_state.called ? "d enter %u\n" : "d outside %u\n", function);
  heddle_record_enter(function);
}

static void sync_call(uint32_t kind, bool releases, unsigned objects, uint64_t a, uint64_t b, uint64_t c) {
  const uint64_t all[] = {a, b, c};
  note("d sync %u %u %s", kind, objects, releases ? "releases" : "waits");
  for (unsigned i = 0; i < objects; ++i) note(" %llx", (unsigned long long)all[i]);
  note("\n");
  heddle_record_sync(kind, (void*)(uintptr_t)a, (void*)(uintptr_t)b, (void*)(uintptr_t)c);
}

static void returned(uint64_t result, unsigned bytes, uint32_t flags, int error) {
  static const uint64_t masks[] = {0, 0xff, 0xffff, 0, 0xffffffff, 0, 0, 0, ~0ull};
  result &= masks[bytes];
  note("d returned %u %llx %u %d\n", bytes, (unsigned long long)result, flags, error);
  errno = error;
  heddle_record_returned(result, bytes, flags);
  if (errno != error) {
    fprintf(stderr, "a hook changed errno\n");
    _exit(1);
  }
}

static void note_hex(const void* at, size_t size) {
  note("d bytes ");
  for (size_t i = 0; i < size; ++i) note("%02x", ((const unsigned char*)at)[i]);
  note("\n");
}

static void range(const void* at, size_t size) {
  note_hex(at, size);
  heddle_record_range(at, size, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_unknown, 0, 0);
}

static void some_step(void) {
  static const unsigned sizes[] = {0, 1, 2, 4, 8};
  static unsigned char bytes[70000];
  switch (below(24)) {
    case 0:
      enter((uint32_t)below(below(2) == 0 ? 100 : 1 << 20));
      break;
    case 1:
      sync_call(HEDDLE_SYNC_mutex_lock, false, 1, 0x7f0000001000 + below(300) * 8, 0, 0);
      break;
    case 2:
      sync_call(HEDDLE_SYNC_cond_wait, false, 2, 0x7f0000001000 + below(300) * 8, 0x1000 + below(10) * 2040, 0);
      break;
    case 3:
      sync_call(HEDDLE_SYNC_thread_create, true, 3, below(3), next_random(), 0x5000);
      break;
    case 4:
      returned(below(2) == 0 ? 0 : next_random(), sizes[below(5)], (uint32_t)below(4), (int)below(3));
      break;
    case 5:
      note("d foreign %llx\n", 0x400000ull + random_state % 16);
      heddle_record_foreign((void*)(uintptr_t)(0x400000ull + random_state % 16));
      break;
    case 6: {
      const uint32_t invoke = (uint32_t)below(1000);
      note("d landed %u\n", invoke);
      heddle_record_landed(invoke);
      break;
    }
    case 7: {
      const size_t size = below(40) == 0 ? below(sizeof bytes) : below(100);
      unsigned char mine[100];
      for (size_t i = 0; i < sizeof mine; ++i) mine[i] = (unsigned char)next_random();
      range(size > sizeof mine ? bytes : mine, size);
      break;
    }
    case 8:
    case 9:
      bare(next_random(), sizes[1 + below(4)]);
      break;
    case 10:  // a loop that goes the same way for a while
      for (uint64_t round = below(2000), b = 1 + below(9), v = below(1u << b); round > 0; --round)
        bits((unsigned)b, v);
      break;
    default:
      for (int i = 0; i < 20; ++i) {
        const unsigned b = below(10) == 0 ? 1 + (unsigned)below(63) : 1 + (unsigned)below(4);
        bits(b, next_random() & ((1ull << b) - 1));
      }
  }
}

static void begin_notes(const char* name) {
  notes = open_notes(name);
  random_state = 0;
  for (const char* at = name; *at != 0; ++at) random_state = random_state * 31 + (unsigned char)*at;
}

static void end_notes(void) {
  note("end\n");
  fclose(notes);
}

// ---- scenarios
struct work {
  char name[64];
  unsigned steps;
};

static void* worker(void* argument) {
  const struct work* const work = argument;
  begin_notes(work->name);
  enter(7);
  for (unsigned i = 0; i < work->steps; ++i) some_step();
  end_notes();
  return NULL;
}

static void mixed(unsigned steps) {
  enum { THREADS = 4 };
  pthread_t handles[THREADS];
  struct work work[THREADS];
  for (unsigned i = 0; i < THREADS; ++i) {
    snprintf(work[i].name, sizeof work[i].name, "0.%u", i + 1);
    work[i].steps = steps;
    note("d child %u\n", i + 1);
    pthread_create(&handles[i], NULL, worker, &work[i]);
  }
  for (unsigned i = 0; i < steps; ++i) some_step();
  for (unsigned i = 0; i < THREADS; ++i) pthread_join(handles[i], NULL);
}

// Threads one after the other, and many at a time.
static void crowd(unsigned count) {
  static struct work work[4096];
  static pthread_t handles[4096];
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 17);
  for (unsigned i = 0; i < count; ++i) {
    snprintf(work[i].name, sizeof work[i].name, "0.%u", i + 1);
    work[i].steps = 3;
    note("d child %u\n", i + 1);
    if (pthread_create(&handles[i], &attributes, worker, &work[i]) != 0) {
      perror("pthread_create");
      _exit(1);
    }
    if (i % 2 == 0) pthread_join(handles[i], NULL);
  }
  for (unsigned i = 1; i < count; i += 2) pthread_join(handles[i], NULL);
}

static int c11_worker(void* argument) {
  worker(argument);
  return 41;
}

static void c11(void) {
  struct work work = {"0.1", 10};
  thrd_t handle;
  int result = 0;
  note("d child 1\n");
  if (thrd_create(&handle, c11_worker, &work) != thrd_success || thrd_join(handle, &result) != thrd_success ||
      result != 41)
    _exit(1);
  // One that cannot be made.
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1ull << 46);
  pthread_t none;
  note("d child 2\nd child 0\n");
  if (pthread_create(&none, &attributes, worker, &work) == 0) _exit(1);
}

// Handlers, one inside the other, and one that is left by siglongjmp.
static FILE* level_notes[3];
static sigjmp_buf back;
static uint64_t mark;
static int handled;

static void end_level(int level) {
  fprintf(level_notes[level], "end\n");
  fclose(level_notes[level]);
}

static void handler(int number) {
  FILE* const below_notes = notes;
  const int level = number == SIGUSR1 ? 1 : 2;
  notes = level_notes[level];
  note("d signal %d\n", number);
  enter(100 + (uint32_t)level);
  for (int i = 0; i < 50; ++i) some_step();
  if (number == SIGUSR1 && handled % 3 == 0) raise(SIGUSR2);
  ++handled;
  if (number == SIGUSR1 && handled % 5 == 0) {
    notes = below_notes;
    siglongjmp(back, handled);
  }
  note("d signal_end\n");
  notes = below_notes;
}

static void signals(unsigned rounds) {
  level_notes[1] = open_notes("0@1");
  level_notes[2] = open_notes("0@2");
  struct sigaction action = {.sa_handler = handler};
  struct sigaction old;
  sigaction(SIGUSR1, &action, NULL);
  if (signal(SIGUSR2, handler) != SIG_DFL) _exit(1);
  sigaction(SIGUSR1, NULL, &old);
  if (old.sa_handler != handler || (old.sa_flags & SA_SIGINFO) != 0) _exit(1);
  if (signal(SIGSEGV, SIG_DFL) != SIG_DFL) _exit(1);
  volatile unsigned round = 0;
  volatile uint32_t returns = 0;
  heddle_record_twice_begin(&mark);
  const int result = sigsetjmp(back, 1);
  note("d twice 9 %u %d\n", returns, result);
  heddle_record_twice(&mark, 9, (uint32_t)result);
  returns = returns + 1;
  while (round < rounds) {
    round = round + 1;
    some_step();
    raise(SIGUSR1);
  }
  end_level(1);
  end_level(2);
}

// Signals at any instruction of the hooks.
static volatile sig_atomic_t ticks;
static void tick(int number) {
  (void)number;
  FILE* const below_notes = notes;
  notes = level_notes[1];
  note("d signal %d\n", SIGALRM);
  bits(17, (uint64_t)ticks);
  bare((uint64_t)ticks, 4);
  ++ticks;
  note("d signal_end\n");
  notes = below_notes;
}

static void interrupted(unsigned wanted) {
  level_notes[1] = open_notes("0@1");
  static char buffer[1 << 16];  // notes of the handler must not need what it interrupted
  setvbuf(level_notes[1], buffer, _IOFBF, sizeof buffer);
  signal(SIGALRM, tick);
  const pid_t parent = getpid();
  pid_t const child = fork();
  if (child == 0) {
    for (;;) {
      usleep(150);
      if (kill(parent, SIGALRM) != 0) _exit(0);
    }
  }
  while ((unsigned)ticks < wanted) some_step();
  signal(SIGALRM, SIG_IGN);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  end_level(1);
}

// Handlers that interrupt each other at any instruction, one for certain: on a busy machine the others may come
// only while none runs. Which level they run at is not known here, so they write the same and no notes.
static void tock(int number) {
  heddle_record_enter(5);
  if (number == SIGALRM) raise(SIGWINCH);
  heddle_record_landed(6);
  ++ticks;
}

static void nested(unsigned wanted) {
  signal(SIGALRM, tock);
  signal(SIGUSR1, tock);
  signal(SIGUSR2, tock);
  signal(SIGWINCH, tock);
  const pid_t parent = getpid();
  pid_t const child = fork();
  if (child == 0) {
    for (;;)
      if (kill(parent, SIGALRM) != 0 || kill(parent, SIGUSR1) != 0 || kill(parent, SIGUSR2) != 0) _exit(0);
  }
  while ((unsigned)ticks < wanted) some_step();
  signal(SIGALRM, SIG_IGN);
  signal(SIGUSR1, SIG_IGN);
  signal(SIGUSR2, SIG_IGN);
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

static void forked(void) {
  for (int i = 0; i < 100; ++i) some_step();
  fflush(notes);
  for (int child = 0; child < 3; ++child) {
    const pid_t process = fork();
    if (process == 0) {
      notes = fopen("/dev/null", "w");
      for (int i = 0; i < 20000; ++i) some_step();
      struct work work = {".child", 10};
      pthread_t handle;
      pthread_create(&handle, NULL, worker, &work);
      pthread_join(handle, NULL);
      if (child == 0) abort();
      _exit(5);
    }
    for (int i = 0; i < 200; ++i) some_step();
    int status;
    waitpid(process, &status, 0);
    if (child == 0 ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT : WEXITSTATUS(status) != 5) _exit(1);
  }
}

static void scanned(void) {
  int n = 0, consumed = 0;
  long l = 0;
  signed char small = 0;
  char word[20], set[20], three[3];
  double d = 0;
  float f = 0;
  const char* const format = "%d %ld %hhd %19s %lf %f %*d %2[ab]]] %3c%n %d";
  const char* const text = "5 -7 3 hello 2.5 1.5 99 ab]xyz w";
  const int converted = sscanf(text, format, &n, &l, &small, word, &d, &f, set, three, &consumed, &n);
  (void)converted;
  int never = 1;
  void* const pointers[] = {&n, &l, &small, word, &d, &f, set, three, &consumed, &never};
  note_hex(&n, 4);
  note_hex(&l, 8);
  note_hex(&small, 1);
  note_hex(word, strlen(word) + 1);
  note_hex(&d, 8);
  note_hex(&f, 4);
  note_hex(set, 3);
  // "]]" after the set does not match "]x": the rest was not converted
  note_hex(NULL, 0);
  note_hex(NULL, 0);
  note_hex(NULL, 0);
  heddle_record_scanned("%d %ld %hhd %19s %lf %f %*d %2[ab]]] %3c%n %d", 10, pointers, 7);
  void* const swapped[] = {&l, &n};
  note_hex(&l, 8);
  note_hex(&n, 4);
  heddle_record_scanned("%2$d %1$ld", 2, swapped, 2);
  wchar_t wide[] = L"abc";
  void* const others[] = {three, wide, &consumed};
  note_hex(three, 3);
  note_hex(wide, sizeof wide);
  note_hex(&consumed, 4);
  heddle_record_scanned("%3c %ls%%%n", 3, others, 2);
}

static void ranges(void) {
  char text[64] = "some text";
  note_hex(text, 10);
  heddle_record_range(text, sizeof text, HEDDLE_RANGE_string, 0, 0, 0);
  note_hex(text, 4);
  heddle_record_range(text, 4, HEDDLE_RANGE_string, 0, 0, 0);
  note_hex(NULL, 0);
  heddle_record_range(NULL, 100, HEDDLE_RANGE_bytes, 0, 0, 0);
  wchar_t wide[8] = L"wide";
  note_hex(wide, 20);
  heddle_record_range(wide, sizeof wide, HEDDLE_RANGE_wide_string, 0, 0, 0);
  const uint32_t size = 6;
  note_hex(text, size);
  heddle_record_range(text, (uint64_t)(uintptr_t)&size, HEDDLE_RANGE_pointee, 0, 0, 0);
  note_hex(text, 0);
  heddle_record_range(text, 0, HEDDLE_RANGE_pointee, 0, 0, 0);
  struct iovec parts[2] = {{text, 5}, {text + 20, 10}};
  note("d bytes ");
  for (int i = 0; i < 5; ++i) note("%02x", text[i]);
  for (int i = 0; i < 3; ++i) note("%02x", text[20 + i]);
  note("\n");
  heddle_record_range(parts, 2ull << 48 | 8, HEDDLE_RANGE_iovec, 0, 0, 0);
  // A file: by reference from 16 KiB on.
  static char large[60000];
  FILE* const file = fopen(getenv("RECORD_INPUT"), "r");
  if (file == NULL || fread(large, 1, 20000, file) != 20000) _exit(1);
  note("d file 0 0 20000\n");
  heddle_record_range(large, 20000, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_stream, (uint64_t)(uintptr_t)file, 0);
  if (fread(large, 1, 17001, file) != 17001) _exit(1);
  note("d file 0 20000 17001\n");
  heddle_record_range(large, 17001, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_stream, (uint64_t)(uintptr_t)file, 0);
  fclose(file);
  const int fd = open(getenv("RECORD_INPUT"), O_RDONLY);
  if (read(fd, large, 100) != 100 || read(fd, large, 16384) != 16384) _exit(1);
  note("d file 0 100 16384\n");
  heddle_record_range(large, 16384, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_descriptor, (uint64_t)fd, 0);
  if (pread(fd, large, 50000, 7) != 50000) _exit(1);
  note("d file 0 7 50000\n");
  heddle_record_range(large, 50000, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_offset, (uint64_t)fd, 7);
  lseek(fd, 3, SEEK_SET);  // somebody moved the descriptor meanwhile
  note_hex(large, 16384);
  heddle_record_range(large, 16384, HEDDLE_RANGE_bytes, HEDDLE_SOURCE_descriptor, (uint64_t)fd, 0);
  close(fd);
}

// Blocks: so many that the file grows.
static void* blocks(void* argument) {
  const unsigned count = *(const unsigned*)argument;
  heddle_record_enter(1);
  for (uint32_t i = 0; i < count; ++i) heddle_record_block(i * 3);
  return NULL;
}

static void* overflow(void* argument) {
  if (argument == NULL) return NULL;
  volatile char frame[4096];
  frame[0] = *(char*)argument;
  return (char*)overflow((void*)(uintptr_t)&frame[0]) + frame[0];
}

static void* failing_thread(void* argument) {
  const char* const how = argument;
  begin_notes("0.1");
  enter(3);
  for (int i = 0; i < 200; ++i) some_step();
  end_notes();
  if (strcmp(how, "null") == 0) *(volatile int*)(uintptr_t)0x18 = 1;
  if (strcmp(how, "assert") == 0) __assert_fail("x == 2", "file.c", 12, "failing");
  if (strcmp(how, "abort") == 0) abort();
  if (strcmp(how, "trap") == 0) __builtin_debugtrap();
  if (strcmp(how, "overflow") == 0) {
    char c = 0;
    overflow(&c);
  }
  return NULL;
}

static void failing(const char* how) {
  pthread_t handle;
  note("d child 1\n");
  end_notes();
  pthread_create(&handle, NULL, failing_thread, (void*)(uintptr_t)how);
  pthread_join(handle, NULL);
  _exit(1);
}

static void* last_thread(void* argument) {
  pthread_join(*(pthread_t*)argument, NULL);
  worker(&(struct work){"0.1", 20});
  return NULL;
}

static void at_exit(void) {
  // Runs in the last thread, behind its end.
  heddle_record_enter(1234);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const char* const scenario = argv[1];
  const unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  begin_notes("0");
  enter(1);
  if (strcmp(scenario, "mixed") == 0)
    mixed(number);
  else if (strcmp(scenario, "crowd") == 0)
    crowd(number);
  else if (strcmp(scenario, "c11") == 0)
    c11();
  else if (strcmp(scenario, "signals") == 0)
    signals(number);
  else if (strcmp(scenario, "interrupted") == 0)
    interrupted(number);
  else if (strcmp(scenario, "nested") == 0)
    nested(number);
  else if (strcmp(scenario, "blocks") == 0) {
    pthread_t handle;
    unsigned count = number;
    note("d child 1\n");
    pthread_create(&handle, NULL, blocks, &count);
    pthread_join(handle, NULL);
    heddle_record_block(77);
  } else if (strcmp(scenario, "forked") == 0)
    forked();
  else if (strcmp(scenario, "ranges") == 0) {
    ranges();
    scanned();
  } else if (strcmp(scenario, "failing") == 0 && argc > 2)
    failing(argv[2]);
  else if (strcmp(scenario, "last") == 0) {
    static pthread_t self;
    pthread_t handle;
    self = pthread_self();
    atexit(at_exit);
    note("d child 1\n");
    end_notes();
    pthread_create(&handle, NULL, last_thread, &self);
    pthread_exit(NULL);
  } else
    return 2;
  end_notes();
  return 0;
}
