/* For tests: the ids of all executed blocks, in a file beside the log.
 *
 * The file grows by pieces that are written full of 0xffffffff before they are mapped: what was not reached
 * says so, also after a kill. A block stands in it or does not: signals wait meanwhile.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/record/runtime.h"

static long map_piece(struct rt_log* log, uint64_t size) {
  char path[RT_PATH_SIZE];
  rt_log_path(log, ".blocks", path);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  uint8_t padding[HEDDLE_RECORD_PAGE];
  memset(padding, 0xff, sizeof padding);
  long result = 0;
  for (uint64_t done = 0; done < size && result >= 0; done += sizeof padding)
    result = RT_SYS4(SYS_pwrite64, fd, padding, sizeof padding, log->block_file_end + done);
  if (result >= 0)
    result = RT_SYS6(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, log->block_file_end);
  RT_SYS1(SYS_close, fd);
  return result;
}

void rt_close_blocks(struct rt_log* log) {
  if (log->block_end == NULL) return;
  RT_SYS2(SYS_munmap, (char*)log->block_end - log->block_size, log->block_size);
  log->block = log->block_end = NULL;
}

/* False: there is no place. A test that loses blocks must notice, so it is the end of the log too. */
static bool next_piece(struct rt_log* log) {
  if (log->sink) return false;
  const uint64_t mask = rt_block_signals();
  rt_close_blocks(log);
  if (log->block_size < (1 << 20))
    log->block_size = log->block_size == 0 ? RT_FIRST_CHUNK : log->block_size * 2;
  const long mapped = map_piece(log, log->block_size);
  const bool there = mapped >= 0 || mapped < -4095;
  if (there) {
    log->block = (uint32_t*)mapped;
    log->block_end = log->block + log->block_size / 4;
    log->block_file_end += log->block_size;
  }
  rt_restore_signals(mask);
  return there;
}

static void append(struct rt_log* log, uint32_t number) {
  if (log->block == log->block_end && !next_piece(log)) return;
  *(volatile uint32_t*)log->block = number;
  RT_ORDER();
  ++log->block;
}

void heddle_record_block(uint32_t block) {
  if (!rt.blocks) rt.blocks = true;
  struct rt_log* const log = rt_begin_entry();
  append(log, block);
  rt_end_entry(log);
}

void rt_mark_lost(struct rt_log* log) {
  if (rt.blocks) append(log, HEDDLE_RECORD_BLOCK_LOST);
}
