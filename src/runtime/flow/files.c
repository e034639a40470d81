/* Files that the program reads. Large pieces of a file that does not change are not copied into the log, only
 * named: which file, and where in it. heddle keeps the file itself with the recording, once the run has ended
 * and only if the recording is kept (driver/read_files.h).
 *
 * A file does not change if it was last changed (its ctime) before the process began, and stays so until it is
 * kept. What the process itself does to it is known here: a file that it has open for writing is copied into
 * the log as it is read; and before it opens, truncates, removes or renames one that has been named, the file
 * is kept at once. What other processes do is found out when the file is to be kept. Only file systems of this
 * machine tell when files change. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "runtime/flow/flow.h"

#define LARGE (16ull << 10) /* so much is named */

static bool failed(long result) {
  return result < 0 && result > -4096;
}

/* ---- sets of files. Never less than before; full ones are said to have everything. */
#define FILES 4096
struct file_set {
  uint64_t keys[FILES]; /* 0: none */
  uint32_t count;
};
static struct file_set named, written;

static uint64_t key_of(const struct stat* file) {
  const uint64_t mixed = ((uint64_t)file->st_ino + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)file->st_dev << 40;
  return mixed | 1;
}

static bool has(const struct file_set* set, uint64_t key) {
  if (LOAD(&set->count) > FILES / 2) return true;
  for (uint64_t i = key % FILES;; i = (i + 1) % FILES) {
    const uint64_t there = LOAD(&set->keys[i]);
    if (there == key || there == 0) return there == key;
  }
}

static void add(struct file_set* set, uint64_t key) {
  if (LOAD(&set->count) > FILES / 2) return;
  for (uint64_t i = key % FILES;; i = (i + 1) % FILES) {
    uint64_t there = 0;
    if (__atomic_compare_exchange_n(&set->keys[i], &there, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      __atomic_fetch_add(&set->count, 1, __ATOMIC_RELAXED);
      return;
    }
    if (there == key) return;
  }
}

/* ---- names */
static char* put_number(char* to, uint64_t value) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + value % 10);
  while ((value /= 10) != 0);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  return to;
}

/* "inputs/DEVICE-INODE" in a folder. */
static bool kept_name(const char* folder, uint64_t device, uint64_t inode, char path[RT_PATH_SIZE]) {
  if (strlen(folder) + 64 > RT_PATH_SIZE) return false;
  strcpy(path, folder);
  strcat(path, "/inputs/");
  char* to = put_number(path + strlen(path), device);
  *to++ = '-';
  put_number(to, inode);
  return true;
}

static uint64_t name_of(long fd, char* path, uint64_t room) {
  char link[40] = "/proc/self/fd/";
  put_number(link + strlen(link), (uint64_t)fd);
  const long length = RT_SYS3(SYS_readlink, link, path, room);
  return failed(length) || (uint64_t)length >= room ? 0 : (uint64_t)length;
}

/* ---- what may be named */
static struct timespec started;

void rt_fl_files_init(void) {
  RT_SYS2(SYS_clock_gettime, CLOCK_REALTIME_COARSE, &started); /* as the kernel marks files */
  for (long fd = 0; fd < 64; ++fd) {
    struct stat file;
    const long flags = RT_SYS2(SYS_fcntl, fd, F_GETFL);
    if (!failed(flags) && (flags & O_ACCMODE) != O_RDONLY && RT_SYS2(SYS_fstat, fd, &file) == 0)
      add(&written, key_of(&file));
  }
}

static bool is_local(long fd, uint64_t device) {
  static RT_TLS uint64_t known;
  if (known == device + 1) return true;
  struct statfs system;
  if (failed(RT_SYS2(SYS_fstatfs, fd, &system))) return false;
  static const uint32_t kinds[] = {0xef53 /* ext */,
                                   0x58465342 /* xfs */,
                                   0x9123683e /* btrfs */,
                                   0x01021994 /* tmpfs */,
                                   0x794c7630 /* overlay */,
                                   0xf2f52010 /* f2fs */,
                                   0x73717368 /* squashfs */};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i)
    if ((uint32_t)system.f_type == kinds[i]) known = device + 1;
  return known == device + 1;
}

static bool is_unchanged(const struct stat* file) {
  return file->st_ctim.tv_sec < started.tv_sec ||
         (file->st_ctim.tv_sec == started.tv_sec && file->st_ctim.tv_nsec < started.tv_nsec);
}

static bool names_lie; /* not those that heddle itself would find the files by */

static bool may_be_named(long fd, struct stat* file) {
  if (LOAD(&names_lie)) return false;
  const long flags = RT_SYS2(SYS_fcntl, fd, F_GETFL);
  return !failed(flags) && (flags & O_ACCMODE) == O_RDONLY && RT_SYS2(SYS_fstat, fd, file) == 0 &&
         S_ISREG(file->st_mode) && file->st_size > 0 && file->st_nlink > 0 && is_unchanged(file) &&
         is_local(fd, file->st_dev) && !has(&written, key_of(file));
}

/* What was read is there: threads that share a descriptor may have moved on in between. */
static bool is_at(long fd, uint64_t offset, const uint8_t* bytes, uint64_t size) {
  uint8_t there[64];
  const uint64_t from = size - sizeof there;
  return RT_SYS4(SYS_pread64, fd, there, sizeof there, offset + from) == sizeof there &&
         memcmp(there, bytes + from, sizeof there) == 0;
}

bool rt_fl_reads_at_once(const long a[6]) {
  struct stat file;
  return (uint64_t)a[2] >= LARGE && RT_SYS2(SYS_fstat, a[0], &file) == 0 && S_ISREG(file.st_mode) &&
         is_local(a[0], file.st_dev);
}

uint64_t rt_fl_position(long number, const long a[6]) {
  if ((uint64_t)a[2] < LARGE) return 0;
  return number == SYS_pread64 ? (uint64_t)a[3] : (uint64_t)RT_SYS3(SYS_lseek, a[0], 0, SEEK_CUR);
}

bool rt_fl_name_read(long number, const long a[6], uint64_t position, const void* bytes, long result) {
  struct stat file;
  if (result < (long)LARGE || rt_fl.baseline != HEDDLE_FLOW_itself || !may_be_named(a[0], &file)) return false;
  if (number == SYS_read && RT_SYS3(SYS_lseek, a[0], 0, SEEK_CUR) != (long)position + result) return false;
  if (!is_at(a[0], position, bytes, (uint64_t)result)) return false;
  static RT_TLS char path[RT_PATH_SIZE];
  static RT_TLS uint64_t path_of, length;
  if (path_of != key_of(&file)) {
    length = name_of(a[0], path, sizeof path);
    path_of = key_of(&file);
  }
  add(&named, key_of(&file));
  if (length == 0 || has(&written, key_of(&file))) return false;
  const struct heddle_flow_read read = {.device = file.st_dev,
                                        .inode = file.st_ino,
                                        .size = (uint64_t)file.st_size,
                                        .seconds = file.st_mtim.tv_sec,
                                        .nanoseconds = file.st_mtim.tv_nsec,
                                        .offset = position};
  rt_fl_note_parts(HEDDLE_FLOW_read_file, result, &read, sizeof read, length);
  rt_fl_append(path, length);
  rt_fl_commit();
  return true;
}

/* ---- before a file that was named is changed */
static void keep(long from, const struct stat* file) {
  char path[RT_PATH_SIZE], part[RT_PATH_SIZE];
  if (!kept_name(rt.folder, file->st_dev, file->st_ino, path)) return;
  strcpy(part, path);
  strcat(part, ".part");
  const long to = RT_SYS4(SYS_openat, AT_FDCWD, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (failed(to))
    return; /* another thread is at it, or there is no room: then replays say that it is missing */
  uint8_t* const bytes = rt_map_memory(1 << 20);
  long size = bytes == NULL ? -1 : 1, offset = 0;
  while (size > 0) {
    size = RT_SYS4(SYS_pread64, from, bytes, 1 << 20, offset);
    if (size > 0 && RT_SYS3(SYS_write, to, bytes, size) != size) size = -1;
    offset += size;
  }
  if (bytes != NULL) RT_SYS2(SYS_munmap, bytes, 1 << 20);
  RT_SYS1(SYS_close, to);
  if (size == 0) RT_SYS2(SYS_rename, part, path);
}

static void keep_if_named(long folder, const char* path) {
  struct stat file;
  if (path == NULL || RT_SYS4(SYS_newfstatat, folder, path, &file, 0) != 0 || !S_ISREG(file.st_mode)) return;
  if (!has(&named, key_of(&file)) || !is_unchanged(&file)) return;
  const long fd = RT_SYS4(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(fd)) return;
  keep(fd, &file);
  RT_SYS1(SYS_close, fd);
}

static long flags_of(long number, const long a[6]) {
  switch (number) {
    case SYS_open:
      return a[1];
    case SYS_openat:
      return a[2];
    case SYS_openat2:
      return (long)((const struct open_how*)a[2])->flags;
    default:
      return O_WRONLY;
  }
}

void rt_fl_before_change(long number, const long a[6]) {
  switch (number) {
    case SYS_open:
    case SYS_creat:
    case SYS_truncate:
    case SYS_unlink:
      if ((flags_of(number, a) & (O_ACCMODE | O_TRUNC)) != O_RDONLY) keep_if_named(AT_FDCWD, (const char*)a[0]);
      break;
    case SYS_openat:
    case SYS_openat2:
    case SYS_unlinkat:
      if ((flags_of(number, a) & (O_ACCMODE | O_TRUNC)) != O_RDONLY) keep_if_named(a[0], (const char*)a[1]);
      break;
    case SYS_rename:
      keep_if_named(AT_FDCWD, (const char*)a[0]);
      keep_if_named(AT_FDCWD, (const char*)a[1]);
      break;
    case SYS_renameat:
    case SYS_renameat2:
      keep_if_named(a[0], (const char*)a[1]);
      keep_if_named(a[2], (const char*)a[3]);
      break;
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_unshare:
    case SYS_setns:
    case SYS_mount:
    case SYS_umount2:
      STORE(&names_lie, true);
      break;
    default:
      break;
  }
}

void rt_fl_after_open(long number, const long a[6], long result) {
  const bool opens = number == SYS_open || number == SYS_openat || number == SYS_openat2 || number == SYS_creat;
  struct stat file;
  if (!opens || failed(result) || (flags_of(number, a) & O_ACCMODE) == O_RDONLY) return;
  if (RT_SYS2(SYS_fstat, result, &file) == 0 && S_ISREG(file.st_mode)) add(&written, key_of(&file));
}

/* ---- replay */
static long open_kept(const struct heddle_flow_read* read, const char* name, uint64_t length) {
  char path[RT_PATH_SIZE], folder[RT_PATH_SIZE];
  if (strlen(rt.folder) + 16 > sizeof folder || length >= sizeof path) return -ENAMETOOLONG;
  strcpy(folder, rt.folder);
  strcat(folder, "/recorded");
  if (kept_name(folder, read->device, read->inode, path)) {
    const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (!failed(fd)) return fd;
  }
  memcpy(path, name, length);
  path[length] = 0;
  return RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0); /* heddle has seen that it is the same */
}

long rt_fl_read_again(void* to) {
  const uint8_t* bytes;
  uint64_t size;
  struct heddle_flow_read read;
  const long result = (long)rt_fl_peek(HEDDLE_FLOW_read_file, &bytes, &size);
  if (size < sizeof read) rt_fl_diverged("a file that was read has no name", sizeof read, (int64_t)size);
  memcpy(&read, bytes, sizeof read);
  const long fd = open_kept(&read, (const char*)bytes + sizeof read, size - sizeof read);
  const bool within = rt_fl_local->open; /* the event of a library call, such as fread: it is not over yet */
  rt_fl_begin_write(to, (uint64_t)result);
  const long again = failed(fd) ? fd : RT_SYS4(SYS_pread64, fd, to, result, read.offset);
  if (!within) rt_fl_end_event();
  if (again != result) rt_fl_diverged("a file that was read is not there any more", result, again);
  RT_SYS1(SYS_close, fd);
  return (long)rt_fl_given(HEDDLE_FLOW_read_file, &bytes, &size);
}
