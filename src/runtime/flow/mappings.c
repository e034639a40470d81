/* Mappings: performed in a replay too, at the same addresses.
 *
 * Files that are mapped privately are mapped again, by name: most of them are libraries and inputs. Those that
 * are shared with the file (MAP_SHARED) are what databases work on: what they held is written down, and a
 * replay has it in memory of its own. What the program writes into such a file by system calls changes that
 * memory as well: the call is an event then. Each file is known by one mapping of it, the last. */
#include <fcntl.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "runtime/flow/flow.h"

#define KEPT (256ull << 20) /* of larger files what they hold when they are replayed is all there is */

static bool failed(long result) {
  return result < 0 && result > -4096;
}

/* ---- files that are mapped and shared */
struct shared_file {
  uint64_t device, inode;
  uint64_t offset, at, size;
};
#define FILES 64
static struct shared_file files[FILES];
static uint32_t file_count; /* never less than before */
static bool busy;

static void lock(void) {
  while (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE)) RT_SYS0(SYS_sched_yield);
}
static void unlock(void) {
  __atomic_store_n(&busy, false, __ATOMIC_RELEASE);
}

static void keep_file(const struct stat* file, uint64_t offset, uint64_t at, uint64_t size) {
  lock();
  uint32_t i = 0;
  while (i < file_count && (files[i].device != file->st_dev || files[i].inode != file->st_ino)) ++i;
  if (i < FILES) {
    files[i] = (struct shared_file){file->st_dev, file->st_ino, offset, at, size};
    if (i == file_count) __atomic_store_n(&file_count, i + 1, __ATOMIC_RELEASE);
  }
  unlock();
}

static void move_file(uint64_t from, uint64_t to, uint64_t size) {
  lock();
  for (uint32_t i = 0; i < file_count; ++i)
    if (files[i].at == from) files[i].at = to, files[i].size = size;
  unlock();
}

/* ---- mmap */
static void name_of_file(long fd, char path[RT_PATH_SIZE]) {
  char link[40] = "/proc/self/fd/";
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + fd % 10);
  while ((fd /= 10) != 0);
  char* to = link + strlen(link);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  const long length = RT_SYS3(SYS_readlink, link, path, RT_PATH_SIZE - 1);
  path[length > 0 ? length : 0] = 0;
}

static bool is_shared_file(const long a[6]) {
  return (a[3] & MAP_ANONYMOUS) == 0 && a[4] >= 0 && (a[3] & MAP_TYPE) != MAP_PRIVATE &&
         (a[2] & PROT_READ) != 0;
}

/* The name of the file, and whether what it held follows. */
static void note_mmap(const long a[6], long result) {
  char path[RT_PATH_SIZE + 1];
  path[0] = 0;
  if ((a[3] & MAP_ANONYMOUS) == 0 && a[4] >= 0) name_of_file(a[4], path);
  uint64_t length = strlen(path) + 1, held = 0;
  path[length] = 0;
  struct stat file;
  if (is_shared_file(a) && !failed(result) && RT_SYS2(SYS_fstat, a[4], &file) == 0 && S_ISREG(file.st_mode)) {
    const uint64_t offset = (uint64_t)a[5], size = (uint64_t)file.st_size;
    held = size > offset ? size - offset : 0;
    if (held > (uint64_t)a[1]) held = (uint64_t)a[1];
    path[length] = held <= KEPT;
    if (held > KEPT) held = 0;
    keep_file(&file, offset, (uint64_t)result, (uint64_t)a[1]);
  }
  rt_fl_note_parts(SYS_mmap, result, path, length + 1, held);
  if (held != 0) rt_fl_append((const void*)result, held);
  rt_fl_commit();
}

static long record_mmap(const long a[6]) {
  long b[6];
  memcpy(b, a, sizeof b);
  if (a[0] == 0 && (a[3] & MAP_FIXED) == 0) {
    const uint64_t place = rt_fl_place((uint64_t)a[1]);
    if (place != 0) {
      b[0] = (long)place;
      b[3] |= MAP_FIXED;
    }
  }
  const long result = rt_system_call(SYS_mmap, b[0], b[1], b[2], b[3], b[4], b[5]);
  note_mmap(a, result);
  return result;
}

/* Whether the program may write there or not. */
static void write_anyway(uint64_t to, const uint8_t* bytes, uint64_t size) {
  if (size == 0) return;
  const long memory = RT_SYS4(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
  const long done = failed(memory) ? memory : RT_SYS4(SYS_pwrite64, memory, bytes, size, to);
  if (done != (long)size) rt_fl_diverged("what a mapped file held cannot be put there", (int64_t)size, done);
  RT_SYS1(SYS_close, memory);
}

static long replay_mmap(const long a[6]) {
  const uint8_t* bytes;
  uint64_t size;
  const long result = (long)rt_fl_given(SYS_mmap, &bytes, &size);
  if (failed(result)) return result;
  if (a[0] == 0 && (a[3] & MAP_FIXED) == 0) rt_fl_place((uint64_t)a[1]);
  const uint64_t length = strlen((const char*)bytes) + 1;
  const bool is_kept = bytes[length] != 0;
  long fd = -1;
  long flags = (a[3] & ~(MAP_SHARED | MAP_SHARED_VALIDATE)) | MAP_PRIVATE | MAP_FIXED;
  if (bytes[0] != 0 && !is_kept) fd = RT_SYS4(SYS_openat, AT_FDCWD, bytes, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) flags |= MAP_ANONYMOUS;
  const long done = RT_SYS6(SYS_mmap, result, a[1], a[2], flags, fd < 0 ? -1 : fd, fd < 0 ? 0 : a[5]);
  if (fd >= 0) RT_SYS1(SYS_close, fd);
  if (done != result) rt_fl_diverged("a mapping cannot be made where it was", result, done);
  if (is_kept) write_anyway((uint64_t)result, bytes + length + 1, size - length - 1);
  return result;
}

long rt_fl_mmap(const long a[6]) {
  return rt_fl.mode == FL_RECORD ? record_mmap(a) : replay_mmap(a);
}

long rt_fl_mremap(const long a[6]) {
  long b[6];
  memcpy(b, a, sizeof b);
  if ((a[3] & MREMAP_MAYMOVE) != 0 && (a[3] & MREMAP_FIXED) == 0 && a[2] > a[1]) {
    const uint64_t place = rt_fl_place((uint64_t)a[2]);
    if (place != 0) {
      b[3] |= MREMAP_FIXED;
      b[4] = (long)place;
    }
  }
  const long result = rt_system_call(SYS_mremap, b[0], b[1], b[2], b[3], b[4], b[5]);
  if (!failed(result)) move_file((uint64_t)a[0], (uint64_t)result, (uint64_t)a[2]);
  return result;
}

/* ---- segments of memory (shmat): in a replay memory of its own. What a segment held that was there before is
 * written down. */
#define SEGMENTS 64
static struct {
  uint64_t at, size;
} segments[SEGMENTS];

static void keep_segment(uint64_t at, uint64_t size) {
  lock();
  uint32_t i = 0;
  while (i < SEGMENTS && segments[i].at != 0) ++i;
  if (i < SEGMENTS) segments[i].at = at, segments[i].size = size;
  unlock();
}

static void remove_segment(uint64_t at) {
  lock();
  for (uint32_t i = 0; i < SEGMENTS; ++i)
    if (at != 0 && segments[i].at == at) {
      RT_SYS2(SYS_munmap, at, segments[i].size);
      segments[i].at = 0;
    }
  unlock();
}

static long record_shmat(const long a[6]) {
  struct shmid_ds segment;
  uint64_t size = 0;
  long b[6];
  memcpy(b, a, sizeof b);
  if (RT_SYS3(SYS_shmctl, a[0], IPC_STAT, &segment) == 0) size = segment.shm_segsz;
  const uint64_t place = a[1] == 0 && size != 0 ? rt_fl_place(size) : 0;
  if (place != 0) {
    b[1] = (long)place;
    b[2] |= SHM_REMAP;
  }
  const long result = rt_system_call(SYS_shmat, b[0], b[1], b[2], 0, 0, 0);
  const bool is_new = size == 0 || segment.shm_atime == 0;
  const uint64_t held = failed(result) || is_new || size > KEPT ? 0 : size;
  rt_fl_note_parts(SYS_shmat, result, &size, sizeof size, held);
  if (held != 0) rt_fl_append((const void*)result, held);
  rt_fl_commit();
  return result;
}

static long replay_shmat(const long a[6]) {
  const uint8_t* bytes;
  uint64_t length, size;
  const long result = (long)rt_fl_given(SYS_shmat, &bytes, &length);
  memcpy(&size, bytes, sizeof size);
  if (a[1] == 0 && size != 0) rt_fl_place(size);
  if (failed(result)) return result;
  const long access = (a[2] & SHM_RDONLY) != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
  const long done = RT_SYS6(SYS_mmap, result, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (done != result) rt_fl_diverged("a segment of memory cannot be made where it was", result, done);
  write_anyway((uint64_t)result, bytes + sizeof size, length - sizeof size);
  keep_segment((uint64_t)result, size);
  return result;
}

long rt_fl_shmdt(const long a[6]) {
  static const uint8_t no_pieces = 0;
  const uint8_t* bytes;
  uint64_t size;
  if (rt_fl.mode == FL_RECORD) {
    const long result = rt_system_call(SYS_shmdt, a[0], 0, 0, 0, 0, 0);
    rt_fl_note(SYS_shmdt, result, &no_pieces, 1);
    return result;
  }
  remove_segment((uint64_t)a[0]);
  return (long)rt_fl_given(SYS_shmdt, &bytes, &size);
}

long rt_fl_shmat(const long a[6]) {
  return rt_fl.mode == FL_RECORD ? record_shmat(a) : replay_shmat(a);
}

/* ---- calls that write into them */
struct span {
  uint64_t at, size;
};

static uint64_t length_of(long number, const long a[6]) {
  if (number == SYS_write || number == SYS_pwrite64) return (uint64_t)a[2];
  uint64_t length = 0;
  for (long i = 0; i < a[2]; ++i) length += ((const struct iovec*)a[1])[i].iov_len;
  return length;
}

static uint64_t offset_of(long number, const long a[6], const struct stat* file) {
  const bool at_end = (RT_SYS2(SYS_fcntl, a[0], F_GETFL) & O_APPEND) != 0;
  if (at_end) return (uint64_t)file->st_size;
  if (number == SYS_pwrite64 || number == SYS_pwritev) return (uint64_t)a[3];
  return (uint64_t)RT_SYS3(SYS_lseek, a[0], 0, SEEK_CUR);
}

/* Where the call will write in memory; nothing if the file is not mapped there, or no longer: then that memory
 * is not used again (places.c). */
static bool find_span(long number, const long a[6], struct span* out) {
  struct stat file;
  if (RT_SYS2(SYS_fstat, a[0], &file) != 0 || !S_ISREG(file.st_mode)) return false;
  const uint64_t begin = offset_of(number, a, &file), end = begin + length_of(number, a);
  bool found = false;
  lock();
  for (uint32_t i = 0; i < file_count && !found; ++i) {
    const struct shared_file* const each = &files[i];
    if (each->device != file.st_dev || each->inode != file.st_ino) continue;
    const uint64_t from = begin > each->offset ? begin : each->offset;
    const uint64_t to = end < each->offset + each->size ? end : each->offset + each->size;
    if (from >= to) continue;
    *out = (struct span){each->at + (from - each->offset), to - from};
    const uint64_t page = out->at & ~4095ull;
    found = RT_SYS3(SYS_msync, page, out->at + out->size - page, MS_ASYNC) == 0;
  }
  unlock();
  return found;
}

bool rt_fl_writes_mapped(long number, const long a[6]) {
  if (__atomic_load_n(&file_count, __ATOMIC_ACQUIRE) == 0) return false;
  if (number != SYS_write && number != SYS_pwrite64 && number != SYS_writev && number != SYS_pwritev)
    return false;
  struct span span;
  return find_span(number, a, &span);
}

long rt_fl_write_mapped(long number, const long a[6]) {
  struct span span;
  rt_fl_begin_wait(); /* a replay cannot know yet */
  rt_fl_end_wait();
  if (!find_span(number, a, &span)) span = (struct span){0, 0};
  const bool within = rt_fl_local->open; /* the event of a library call, such as fwrite: it is not over yet */
  if (span.size != 0) rt_fl_begin_write((const void*)span.at, span.size);
  const long result = rt_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (span.size != 0) {
    if (!within) rt_fl_end_event();
    if (failed(result)) span.size = 0;
    if (!failed(result) && (uint64_t)result < span.size) span.size = (uint64_t)result;
    rt_fl_note_parts(HEDDLE_FLOW_mapped, (int64_t)span.at, NULL, 0, span.size);
    rt_fl_append((const void*)span.at, span.size);
    rt_fl_commit();
  }
  static const uint8_t no_pieces = 0;
  rt_fl_note((uint32_t)number, result, &no_pieces, 1);
  return result;
}

void rt_fl_given_mapped(void) {
  const bool within = rt_fl_local->open;
  if (!rt_fl_next_is_at(HEDDLE_FLOW_mapped, rt_fl_number() + !within)) return;
  const uint8_t* bytes;
  uint64_t size;
  rt_fl_peek(HEDDLE_FLOW_mapped, &bytes, &size);
  rt_fl_begin_write(bytes, 0);
  const int64_t at = rt_fl_given(HEDDLE_FLOW_mapped, &bytes, &size);
  write_anyway((uint64_t)at, bytes, size);
  if (!within) rt_fl_end_event();
}
