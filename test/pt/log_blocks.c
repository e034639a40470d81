/* What -fsanitize-coverage=trace-pc-guard calls at each block: the thread's own file in the folder LOG_BLOCKS gets the number of
 * the block. Nothing but stores to a mapped file, so that a crash loses nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 1 << 21 };
static __thread uint32_t *log_begin;
static __thread uint32_t log_count;

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
  static uint32_t count;
  for (uint32_t *guard = start; guard < stop; ++guard)
    if (*guard == 0) *guard = ++count;
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
  if (log_begin == NULL) {
    char name[512];
    snprintf(name, sizeof name, "%s/%ld", getenv("LOG_BLOCKS"), syscall(SYS_gettid));
    const int file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, MOST * sizeof *log_begin) != 0) abort();
    log_begin = mmap(NULL, MOST * sizeof *log_begin, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
  }
  if (log_count < MOST) log_begin[log_count++] = *guard;
}
