/* Pipes and event counters (eventfd) that the program makes and uses by itself: their events say what is done
 * to which of them, so that whoever explores all interleavings can foresee it (explore/machine_channels.cpp). A
 * descriptor that was copied, does not wait, or is inherited by a child is used as any other (files.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define FILES 1024
#define FIRST_NAME 4096 /* addresses that no object has */

struct end {
  uint64_t inode;
  uint32_t name; /* 0: no channel is known there */
  uint8_t ends;  /* HEDDLE_END_... */
};
RT_STATE static struct end ends[FILES];

static uint64_t inode_of(int file) {
  struct stat status;
  return RT_SYS2(SYS_fstat, file, &status) == 0 ? status.st_ino : 0;
}

static struct end* end_at(int file) {
  return rt.active && file >= 0 && file < FILES && ends[file].name != 0 ? &ends[file] : NULL;
}

const void* rt_channel(int file, enum heddle_channel_end end) {
  const struct end* known = end_at(file);
  if (known == NULL || (known->ends & end) == 0 || known->inode != inode_of(file)) return NULL;
  const long flags = RT_SYS2(SYS_fcntl, file, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) == 0 ? (const void*)(uintptr_t)known->name : NULL;
}

void rt_forget_channels(void) {
  memset(ends, 0, sizeof ends);
}

static void event(uint32_t name, enum heddle_event_part part, uint64_t second) {
  struct rt_thread* self = rt_sync(HEDDLE_SYNC_file_wait, (const void*)(uintptr_t)name);
  self->op.size = part;
  self->op.second = &second;
  rt_perform(self);
  self->op.second = NULL;
}

static void note(int file, uint32_t name, uint8_t which) {
  if (file < FILES) ends[file] = (struct end){.inode = inode_of(file), .name = name, .ends = which};
}

static void made(uint32_t name, enum heddle_channel_kind kind) {
  event(name, HEDDLE_PART_channel_make, kind);
  rt_result(rt.current, 0);
}

int pipe2(int files[2], int flags) {
  const long result = RT_SYS2(SYS_pipe2, files, flags);
  if (result < 0) {
    errno = (int)-result;
    return -1;
  }
  if (rt.active && (flags & ~O_CLOEXEC) == 0) {
    const uint32_t name = FIRST_NAME + (uint32_t)files[0];
    note(files[0], name, HEDDLE_END_reads);
    note(files[1], name, HEDDLE_END_writes);
    made(name, HEDDLE_CHANNEL_pipe);
  }
  return 0;
}

int pipe(int files[2]) {
  return pipe2(files, 0);
}

int eventfd(unsigned int first, int flags) {
  const long file = RT_SYS2(SYS_eventfd2, first, flags);
  if (file < 0) {
    errno = (int)-file;
    return -1;
  }
  if (rt.active && first == 0 && (flags & ~(EFD_CLOEXEC | EFD_SEMAPHORE)) == 0) {
    const uint32_t name = FIRST_NAME + (uint32_t)file;
    note((int)file, name, HEDDLE_END_reads | HEDDLE_END_writes);
    made(name, (flags & EFD_SEMAPHORE) != 0 ? HEDDLE_CHANNEL_semaphore : HEDDLE_CHANNEL_counter);
  }
  return (int)file;
}

int close(int file) {
  struct end* known = end_at(file);
  const bool tells = known != NULL && known->inode == inode_of(file);
  if (tells) event(known->name, HEDDLE_PART_channel_close, known->ends);
  if (known != NULL) memset(known, 0, sizeof *known);
  const long result = RT_SYS1(SYS_close, file);
  if (tells) rt_result(rt.current, (int)result);
  if (result >= 0) return 0;
  errno = (int)-result;
  return -1;
}

/* What has the descriptor afterwards is another file. */
int dup3(int file, int to, int flags) {
  struct end* known = end_at(to);
  const long result = RT_SYS3(SYS_dup3, file, to, flags);
  if (known != NULL && result >= 0) memset(known, 0, sizeof *known);
  if (result >= 0) return (int)result;
  errno = (int)-result;
  return -1;
}

int dup2(int file, int to) {
  if (file != to) return dup3(file, to, 0);
  const long flags = RT_SYS2(SYS_fcntl, file, F_GETFD);
  if (flags >= 0) return to;
  errno = (int)-flags;
  return -1;
}
