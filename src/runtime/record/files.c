/* Bytes out of ordinary files are kept by reference: the file's number, offset, count.
 *
 * Only of files that are open for reading only and have a name, and only after a look at both ends of the range
 * in the file: another thread may have moved the descriptor meanwhile. heddle copies the files after the run. A
 * log remembers the numbers of the files it met last; two logs may give one file two numbers. Numbers come from
 * an atomic counter: these are calls that read 16 KiB or more, and the kernel locked the file for each of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/record/runtime.h"

#define PROBE 64
#define LARGEST_NAMED (16 << 20) /* of files that are named when they are opened */
#define NO_FILE UINT32_MAX

/* Is what is in memory what the file has at `offset`? */
static bool same(int fd, const void* at, uint64_t offset) {
  uint8_t bytes[PROBE];
  return RT_SYS4(SYS_pread64, fd, bytes, PROBE, offset) == PROBE && memcmp(bytes, at, PROBE) == 0;
}

/* Into the table of the process file; written with a system call, which answers when the disk is full. The
 * path, by which an entry counts as filled in, comes last. */
static bool write_entry(uint32_t number, const struct heddle_record_file* entry) {
  char path[RT_PATH_SIZE];
  const size_t length = strnlen(rt.folder, sizeof rt.folder);
  if (length + sizeof "/process" > sizeof path) return false;
  memcpy(path, rt.folder, length);
  memcpy(path + length, "/process", sizeof "/process");
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  const uint64_t place = HEDDLE_RECORD_FILES_OFFSET + (uint64_t)number * sizeof *entry;
  const size_t rest = sizeof entry->path;
  const bool done = rt_allocate((int)fd, place, sizeof *entry) == 0 &&
                    RT_SYS4(SYS_pwrite64, fd, (const char*)entry + rest, sizeof *entry - rest, place + rest) ==
                        (long)(sizeof *entry - rest) &&
                    RT_SYS4(SYS_pwrite64, fd, entry->path, rest, place) == (long)rest;
  RT_SYS1(SYS_close, fd);
  return done;
}

static uint32_t new_file(int fd, const struct stat* status) {
  struct heddle_record_file entry = {.device = status->st_dev,
                                     .inode = status->st_ino,
                                     .size = (uint64_t)status->st_size,
                                     .modified_s = status->st_mtim.tv_sec,
                                     .modified_ns = status->st_mtim.tv_nsec};
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = RT_SYS4(SYS_readlinkat, AT_FDCWD, link, entry.path, sizeof entry.path);
  if (length <= 0 || length >= (long)sizeof entry.path || entry.path[0] != '/') return NO_FILE;
  if (strncmp(entry.path, "/proc/", 6) == 0 || strncmp(entry.path, "/sys/", 5) == 0) return NO_FILE;
  if (rt.process->files >= HEDDLE_RECORD_MAX_FILES) return NO_FILE;
  const uint32_t number = __atomic_fetch_add(&rt.process->files, 1, __ATOMIC_RELAXED);
  return number < HEDDLE_RECORD_MAX_FILES && write_entry(number, &entry) ? number : NO_FILE;
}

static uint32_t number_of(struct rt_log* log, int fd, const struct stat* status) {
  struct rt_known_file* const known = &log->files[status->st_ino % RT_FILES_KNOWN];
  if (known->used && known->inode == status->st_ino && known->device == status->st_dev &&
      known->size == (uint64_t)status->st_size && known->modified_s == status->st_mtim.tv_sec &&
      known->modified_ns == status->st_mtim.tv_nsec)
    return known->number;
  const uint32_t number = new_file(fd, status);
  if (number == NO_FILE) return number;
  rt_begin_entry();
  *known = (struct rt_known_file){.device = status->st_dev,
                                  .inode = status->st_ino,
                                  .modified_s = status->st_mtim.tv_sec,
                                  .modified_ns = status->st_mtim.tv_nsec,
                                  .size = (uint64_t)status->st_size,
                                  .number = number,
                                  .used = true};
  rt_end_entry(log);
  return number;
}

static bool only_read(int fd, struct stat* status) {
  if (RT_SYS2(SYS_fstat, fd, status) != 0 || !S_ISREG(status->st_mode) || status->st_nlink == 0) return false;
  const long flags = RT_SYS2(SYS_fcntl, fd, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY;
}

void rt_note_file(int fd) {
  struct stat status;
  if (only_read(fd, &status) && status.st_size <= LARGEST_NAMED) number_of(rt_now, fd, &status);
}

/* Where the range begins in its file. Of a stream without ftello(), which takes the stream's lock: what was
 * read but not handed out stands in its buffer. */
static int64_t begin_of(uint32_t source_kind, int fd, const FILE* stream, uint64_t size, int64_t offset) {
  if (source_kind == HEDDLE_SOURCE_offset) return offset;
  const int64_t position = RT_SYS3(SYS_lseek, fd, 0, SEEK_CUR);
  if (position < 0) return -1;
  const int64_t ahead = stream != NULL ? stream->_IO_read_end - stream->_IO_read_ptr : 0;
  return position - ahead - (int64_t)size;
}

uint64_t rt_size_in_file(int fd, int64_t offset, uint64_t size) {
  struct stat status;
  if (fd < 0) return 0;
  if (RT_SYS2(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode)) return size;
  if (offset < 0 || offset >= status.st_size) return 0;
  const uint64_t there = (uint64_t)(status.st_size - offset);
  return size < there ? size : there;
}

bool rt_by_reference(const void* at, uint64_t size, uint32_t source_kind, uint64_t source, int64_t offset) {
  if (source_kind == HEDDLE_SOURCE_unknown || rt.process == NULL || rt.forked) return false;
  const FILE* const stream = source_kind == HEDDLE_SOURCE_stream ? (const FILE*)(uintptr_t)source : NULL;
  const int fd = stream != NULL ? stream->_fileno : (int)source;
  struct stat status;
  if (!only_read(fd, &status)) return false;
  const int64_t begin = begin_of(source_kind, fd, stream, size, offset);
  if (begin < 0 || (uint64_t)begin + size > (uint64_t)status.st_size) return false;
  if (!same(fd, at, (uint64_t)begin) ||
      !same(fd, (const char*)at + size - PROBE, (uint64_t)begin + size - PROBE))
    return false;
  const uint32_t number = number_of(rt_now, fd, &status);
  if (number == NO_FILE) return false;
  uint8_t* to = rt_room();
  *to++ = HEDDLE_RECORD_file_bytes;
  to = rt_varint(to, number);
  to = rt_varint(to, (uint64_t)begin);
  rt_written(rt_varint(to, size));
  return true;
}
