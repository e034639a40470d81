/* Runtime of the variant "count": how many functions of the program each thread entered.
 *
 * It shows the way of a variant with as little as possible, and is the pattern for the others.
 *
 * Ground rules (all runtimes): C only, no C++ runtime library; no allocation through the program's malloc;
 * errno is left as it was; hooks call nothing that takes a lock. A thread counts in memory of its own that
 * stays after its end, so that the last word can be said by whoever ends the process. A forked child goes on
 * from its parent's counts.
 *
 * Output: one line per thread in order of first entry, to the file named by HEDDLE_COUNT_FILE, else to standard
 * error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/hooks.h"

struct counter {
  struct counter* next;
  uint64_t entries;
};

static _Thread_local struct counter* mine __attribute__((tls_model("initial-exec")));
static _Atomic(struct counter*) newest;

static struct counter* new_counter(void) {
  const int saved = errno;
  struct counter* c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  if (c == MAP_FAILED) return NULL;
  c->next = atomic_load(&newest);
  while (!atomic_compare_exchange_weak(&newest, &c->next, c)) {
  }
  return c;
}

void heddle_count_enter(uint32_t function) {
  (void)function;
  if (mine == NULL && (mine = new_counter()) == NULL) return;
  ++mine->entries;
}

/* The list is newest first; recursion depth is the number of threads, so walk by index instead. */
static void print_counts(int fd) {
  unsigned threads = 0;
  for (struct counter* c = atomic_load(&newest); c != NULL; c = c->next) ++threads;
  for (unsigned thread = 0; thread < threads; ++thread) {
    struct counter* c = atomic_load(&newest);
    for (unsigned skip = threads - 1 - thread; skip > 0; --skip) c = c->next;
    char line[96];
    const int n = snprintf(line, sizeof line, "heddle count: thread %u entered %llu function%s\n", thread,
                           (unsigned long long)c->entries, c->entries == 1 ? "" : "s");
    if (write(fd, line, (size_t)n) != n) return;
  }
}

__attribute__((destructor)) static void finish(void) {
  const char* file = getenv("HEDDLE_COUNT_FILE");
  const int fd = file != NULL ? open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : STDERR_FILENO;
  if (fd < 0) return;
  print_counts(fd);
  if (fd != STDERR_FILENO) close(fd);
}
