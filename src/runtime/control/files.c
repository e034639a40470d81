/* Waiting for descriptors: read, recv, accept, write, send, poll, select, epoll.
 *
 * A call that would wait for a pipe, socket, terminal or the like becomes an event that is ready when poll()
 * says so; meanwhile other threads run, and may be those at the other end of the pipe. Then the system call is
 * made, which does not wait any more. Time-outs are virtual (clock.c). Regular files never wait: calls on them
 * go through, as does what is written to standard output and error, which heddle reads.
 *
 * Left to the system: connecting, which rarely waits; MSG_WAITALL; what the C library writes for itself. heddle
 * names such a call when it does wait. What the C library reads for itself: streams.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define SECOND 1000000000ull
#define FOREVER UINT64_MAX

/* What a thread waits for; on its stack while it does (op.second). */
struct file_wait {
  uint64_t bytes; /* to be read from a channel or written to it */
  const struct pollfd* files;
  uint64_t count;
  bool interrupted; /* a signal handler ran while everything waited */
  uint64_t asked;   /* in vain, at this event */
  uint64_t change;  /* and after so many changes */
};

/* Asking the system at every decision would take most of the time. The answer changes when the program does
 * something to a descriptor (here), which is seen at once, or by what happens elsewhere, which is seen after
 * some events or when nothing else can go on. */
#define BELIEVED 32 /* events */
RT_STATE static uint64_t changes;

static long with_errno(long result) {
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}

/* ---- waiting */
static bool any_ready(const struct file_wait* wait) {
  struct pollfd copy[64]; /* the kernel writes into it, and the program's own must stay as it is */
  for (uint64_t at = 0; at < wait->count; at += 64) {
    const uint64_t count = wait->count - at < 64 ? wait->count - at : 64;
    memcpy(copy, wait->files + at, count * sizeof copy[0]);
    if (RT_SYS3(SYS_poll, copy, count, 0) > 0) return true;
  }
  return false;
}

static bool ask(struct file_wait* wait) {
  if (any_ready(wait)) return true;
  wait->asked = rt.events;
  wait->change = changes;
  return false;
}

static bool may_go_on(const struct rt_thread* thread) {
  struct file_wait* wait = (struct file_wait*)thread->op.second;
  if (thread->timed_out || wait->interrupted || rt_signal_pending(thread) || rt_cancel_pending(thread))
    return true;
  if (!rt.following && wait->change == changes && rt.events - wait->asked < BELIEVED) return false;
  return ask(wait);
}

bool rt_waits_for_files(const struct rt_thread* thread) {
  return thread->op.ready == may_go_on;
}

/* Waits for one of these files for up to so many nanoseconds; 0: does not wait, but others may run. False: a
 * signal ended the wait. */
static bool wait_for_event(enum heddle_sync_kind kind, const void* name, const struct pollfd* files,
                           uint64_t count, uint64_t nanoseconds, enum heddle_event_part part, uint64_t bytes) {
  struct rt_thread* self = rt.current;
  rt_cancellation_point(self);
  heddle_control_blocking_done(); /* others run meanwhile: they are not in this call */
  struct file_wait wait = {.bytes = bytes, .files = files, .count = count, .change = UINT64_MAX};
  self = rt_sync(kind, name);
  self->op.size = part;
  if (nanoseconds > 0) {
    self->op.second = &wait;
    self->op.ready = may_go_on;
    self->op.timed = nanoseconds != FOREVER;
    if (self->op.timed) self->op.deadline = rt_clock(CLOCK_MONOTONIC) + nanoseconds;
  }
  rt_perform(self);
  self->op.second = NULL; /* `wait` ends with this function */
  self->op.ready = NULL;
  rt_cancellation_point(self);
  return nanoseconds == 0 || self->timed_out || any_ready(&wait);
}

/* The name of the event is the first descriptor. */
static bool wait_for(const struct pollfd* files, uint64_t count, uint64_t nanoseconds) {
  const void* name = (const void*)(uintptr_t)(count > 0 ? (unsigned)files[0].fd : 0);
  return wait_for_event(HEDDLE_SYNC_file_wait, name, files, count, nanoseconds, HEDDLE_PART_none, 0);
}

/* Results of the outside world are values of the event: a replay that gets others has diverged. */
static long finish(long result) {
  struct rt_thread* self = rt.current;
  ++changes;
  rt_result(self, (int)result);
  if (result == -EAGAIN) rt_unchanged(self);
  return with_errno(result);
}

bool rt_file_may_wait(int file) {
  struct stat status;
  return RT_SYS2(SYS_fstat, file, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) &&
         !S_ISBLK(status.st_mode);
}

static bool is_nonblocking(int file) {
  const long flags = RT_SYS2(SYS_fcntl, file, F_GETFL);
  return flags >= 0 && (flags & O_NONBLOCK) != 0;
}

static bool may_try_again(void) {
  const bool again = rt_signals_restart(rt.current);
  rt_deliver_signals(rt.current);
  return again;
}

bool rt_before_process_call(const struct pollfd* files, uint64_t count, bool dont_wait) {
  while (
      !wait_for_event(HEDDLE_SYNC_attribute, NULL, files, count, dont_wait ? 0 : FOREVER, HEDDLE_PART_none, 0))
    if (!may_try_again()) return false;
  return true;
}

/* Before a call that reads from a descriptor (POLLIN) or writes to it (POLLOUT). False: it was interrupted. */
static bool before_call(int file, short events, bool dont_wait) {
  const struct pollfd files = {.fd = file, .events = events};
  while (!wait_for(&files, 1, dont_wait || is_nonblocking(file) ? 0 : FOREVER))
    if (!may_try_again()) return false;
  return true;
}

/* The same for a channel of the program's own. */
static bool before_channel(const void* channel, int file, short events, enum heddle_event_part part,
                           size_t size) {
  const struct pollfd files = {.fd = file, .events = events};
  while (!wait_for_event(HEDDLE_SYNC_file_wait, channel, &files, 1, FOREVER, part, size))
    if (!may_try_again()) return false;
  return true;
}

bool rt_before_file_call(int file, short events) {
  return before_call(file, events, false);
}

void rt_finish_file_call(long result) {
  const int before = errno;
  finish(result);
  errno = before;
}

#define READING(file, dont_wait, call)                                           \
  do {                                                                           \
    if (!rt.active || !rt_file_may_wait(file)) return with_errno(call);          \
    return before_call(file, POLLIN, dont_wait) ? finish(call) : finish(-EINTR); \
  } while (0)

/* ---- reading */
ssize_t read(int file, void* buffer, size_t size) {
  const void* channel = rt_channel(file, HEDDLE_END_reads);
  if (channel != NULL) {
    if (!before_channel(channel, file, POLLIN, HEDDLE_PART_channel_read, size)) return finish(-EINTR);
    const long result = RT_SYS3(SYS_read, file, buffer, size);
    if (result > 0) rt_keep_data(rt.current, buffer, (uint64_t)result, true);
    return finish(result);
  }
  READING(file, false, RT_SYS3(SYS_read, file, buffer, size));
}

ssize_t readv(int file, const struct iovec* parts, int count) {
  READING(file, false, RT_SYS3(SYS_readv, file, parts, count));
}

int eventfd_read(int file, eventfd_t* value) {
  return read(file, value, sizeof *value) == (ssize_t)sizeof *value ? 0 : -1;
}

ssize_t recv(int file, void* buffer, size_t size, int flags) {
  READING(file, (flags & MSG_DONTWAIT) != 0, RT_SYS6(SYS_recvfrom, file, buffer, size, flags, 0, 0));
}

ssize_t recvfrom(int file, void* restrict buffer, size_t size, int flags, __SOCKADDR_ARG address,
                 socklen_t* restrict length) {
  READING(file, (flags & MSG_DONTWAIT) != 0,
          RT_SYS6(SYS_recvfrom, file, buffer, size, flags, address.__sockaddr__, length));
}

ssize_t recvmsg(int file, struct msghdr* message, int flags) {
  READING(file, (flags & MSG_DONTWAIT) != 0, RT_SYS3(SYS_recvmsg, file, message, flags));
}

int accept4(int file, __SOCKADDR_ARG address, socklen_t* restrict length, int flags) {
  READING(file, false, (int)RT_SYS4(SYS_accept4, file, address.__sockaddr__, length, flags));
}

int accept(int file, __SOCKADDR_ARG address, socklen_t* restrict length) {
  return accept4(file, address, length, 0);
}

/* What programs built with _FORTIFY_SOURCE call instead. */
_Noreturn void __chk_fail(void);

ssize_t __read_chk(int file, void* buffer, size_t size, size_t room) {
  if (size > room) __chk_fail();
  return read(file, buffer, size);
}

ssize_t __recv_chk(int file, void* buffer, size_t size, size_t room, int flags) {
  if (size > room) __chk_fail();
  return recv(file, buffer, size, flags);
}

ssize_t __recvfrom_chk(int file, void* buffer, size_t size, size_t room, int flags, __SOCKADDR_ARG address,
                       socklen_t* length) {
  if (size > room) __chk_fail();
  return recvfrom(file, buffer, size, flags, address, length);
}

/* ---- writing */
static bool never_waits(int file) {
  return !rt.active || (file >= 0 && file <= STDERR_FILENO) || !rt_file_may_wait(file);
}

#define WRITING(file, dont_wait, call)                                            \
  do {                                                                            \
    if (never_waits(file)) return with_errno(call);                               \
    return before_call(file, POLLOUT, dont_wait) ? finish(call) : finish(-EINTR); \
  } while (0)

/* What may be larger than the room there is goes piece by piece, as long as there is room, until all is
 * written. A pipe that has room takes PIPE_BUF bytes without waiting. */
enum pieces { AT_ONCE, FOR_STREAM, FOR_PIPE };

static enum pieces pieces_for(int file, size_t size) {
  int type = 0;
  socklen_t length = sizeof type;
  struct stat status;
  if (never_waits(file) || is_nonblocking(file)) return AT_ONCE;
  if (RT_SYS6(SYS_getsockopt, file, SOL_SOCKET, SO_TYPE, &type, &length, 0) == 0)
    return type == SOCK_STREAM ? FOR_STREAM : AT_ONCE;
  const bool pipe = RT_SYS2(SYS_fstat, file, &status) == 0 && S_ISFIFO(status.st_mode);
  return pipe && size > PIPE_BUF ? FOR_PIPE : AT_ONCE;
}

static long write_piece(int file, const uint8_t* from, size_t size, enum pieces pieces, int flags) {
  if (pieces == FOR_STREAM) return RT_SYS6(SYS_sendto, file, from, size, flags | MSG_DONTWAIT, 0, 0);
  return RT_SYS3(SYS_write, file, from, size < PIPE_BUF ? size : PIPE_BUF);
}

static ssize_t write_all(int file, const uint8_t* from, size_t size, enum pieces pieces, int flags) {
  size_t done = 0;
  long result = 0;
  do {
    result =
        before_call(file, POLLOUT, false) ? write_piece(file, from + done, size - done, pieces, flags) : -EINTR;
    finish(result);
    if (result > 0) done += (size_t)result;
  } while (done < size && (result > 0 || result == -EAGAIN));
  return done > 0 ? (ssize_t)done : with_errno(result);
}

static ssize_t write_parts(int file, const struct iovec* parts, size_t count, enum pieces pieces, int flags) {
  ssize_t done = 0;
  for (size_t i = 0; i < count; ++i) {
    if (parts[i].iov_len == 0) continue;
    const ssize_t part = write_all(file, parts[i].iov_base, parts[i].iov_len, pieces, flags);
    if (part < 0) return done > 0 ? done : part;
    done += part;
    if ((size_t)part < parts[i].iov_len) break;
  }
  return done;
}

static size_t size_of(const struct iovec* parts, size_t count) {
  size_t size = 0;
  for (size_t i = 0; i < count; ++i) size += parts[i].iov_len;
  return size;
}

ssize_t write(int file, const void* buffer, size_t size) {
  const void* channel = size <= PIPE_BUF ? rt_channel(file, HEDDLE_END_writes) : NULL;
  if (channel != NULL) {
    if (!before_channel(channel, file, POLLOUT, HEDDLE_PART_channel_write, size)) return finish(-EINTR);
    const long result = RT_SYS3(SYS_write, file, buffer, size);
    if (result > 0) rt_keep_data(rt.current, buffer, (uint64_t)result, false);
    return finish(result);
  }
  const enum pieces pieces = pieces_for(file, size);
  if (pieces != AT_ONCE) return write_all(file, buffer, size, pieces, 0);
  WRITING(file, false, RT_SYS3(SYS_write, file, buffer, size));
}

int eventfd_write(int file, eventfd_t value) {
  return write(file, &value, sizeof value) == (ssize_t)sizeof value ? 0 : -1;
}

ssize_t writev(int file, const struct iovec* parts, int count) {
  if (count > 0) {
    const enum pieces pieces = pieces_for(file, size_of(parts, (size_t)count));
    if (pieces != AT_ONCE) return write_parts(file, parts, (size_t)count, pieces, 0);
  }
  WRITING(file, false, RT_SYS3(SYS_writev, file, parts, count));
}

/* With other flags, or something beside the bytes, the call is left as it is. */
static bool is_plain(int flags) {
  return (flags & ~MSG_NOSIGNAL) == 0;
}

ssize_t sendto(int file, const void* buffer, size_t size, int flags, __CONST_SOCKADDR_ARG address,
               socklen_t length) {
  if (is_plain(flags) && pieces_for(file, size) == FOR_STREAM)
    return write_all(file, buffer, size, FOR_STREAM, flags);
  WRITING(file, (flags & MSG_DONTWAIT) != 0,
          RT_SYS6(SYS_sendto, file, buffer, size, flags, address.__sockaddr__, length));
}

ssize_t send(int file, const void* buffer, size_t size, int flags) {
  const __CONST_SOCKADDR_ARG nobody = {.__sockaddr__ = NULL};
  return sendto(file, buffer, size, flags, nobody, 0);
}

ssize_t sendmsg(int file, const struct msghdr* message, int flags) {
  if (is_plain(flags) && message->msg_controllen == 0 && pieces_for(file, 0) == FOR_STREAM)
    return write_parts(file, message->msg_iov, message->msg_iovlen, FOR_STREAM, flags);
  WRITING(file, (flags & MSG_DONTWAIT) != 0, RT_SYS3(SYS_sendmsg, file, message, flags));
}

/* ---- waiting for several: afterwards the system is asked without a time-out */
static uint64_t nanoseconds_of(const struct timespec* time) {
  return time == NULL ? FOREVER : (uint64_t)time->tv_sec * SECOND + (uint64_t)time->tv_nsec;
}

static uint64_t nanoseconds_of_ms(int milliseconds) {
  return milliseconds < 0 ? FOREVER : (uint64_t)milliseconds * 1000000;
}

/* A call that asked in vain, without waiting, has changed nothing. */
static int finish_several(long result, uint64_t nanoseconds) {
  struct rt_thread* self = rt.current;
  rt_result(self, (int)result);
  if (result == 0 && nanoseconds == 0) rt_unchanged(self);
  return (int)with_errno(result);
}

static const struct timespec at_once;

int ppoll(struct pollfd* files, nfds_t count, const struct timespec* time, const sigset_t* mask) {
  if (time != NULL && (!rt_valid_timespec(time) || time->tv_sec < 0)) {
    errno = EINVAL;
    return -1;
  }
  if (!rt.active) {
    struct timespec copy = time != NULL ? *time : at_once; /* the kernel writes into it */
    return (int)with_errno(RT_SYS6(SYS_ppoll, files, count, time != NULL ? &copy : NULL, mask, _NSIG / 8, 0));
  }
  const uint64_t nanoseconds = nanoseconds_of(time);
  if (!wait_for(files, count, nanoseconds)) return finish_several(-EINTR, nanoseconds);
  struct timespec now = at_once;
  return finish_several(RT_SYS6(SYS_ppoll, files, count, &now, mask, _NSIG / 8, 0), nanoseconds);
}

int poll(struct pollfd* files, nfds_t count, int milliseconds) {
  if (milliseconds < 0) return ppoll(files, count, NULL, NULL);
  const struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000L};
  return ppoll(files, count, &time, NULL);
}

int __poll_chk(struct pollfd* files, nfds_t count, int milliseconds, size_t room) {
  if (room / sizeof *files < count) __chk_fail();
  return poll(files, count, milliseconds);
}

int __ppoll_chk(struct pollfd* files, nfds_t count, const struct timespec* time, const sigset_t* mask,
                size_t room) {
  if (room / sizeof *files < count) __chk_fail();
  return ppoll(files, count, time, mask);
}

static bool has(const fd_set* set, int file) {
  return set != NULL && FD_ISSET(file, set);
}

static long ask_select(int limit, fd_set* reads, fd_set* writes, fd_set* others, struct timespec* time,
                       const sigset_t* mask) {
  const struct {
    const sigset_t* mask;
    size_t size;
  } with_mask = {.mask = mask, .size = _NSIG / 8};
  return RT_SYS6(SYS_pselect6, limit, reads, writes, others, time, &with_mask);
}

int pselect(int limit, fd_set* restrict reads, fd_set* restrict writes, fd_set* restrict others,
            const struct timespec* restrict time, const sigset_t* restrict mask) {
  if (time != NULL && (!rt_valid_timespec(time) || time->tv_sec < 0)) {
    errno = EINVAL;
    return -1;
  }
  struct timespec copy = time != NULL ? *time : at_once;
  if (!rt.active || limit < 0 || limit > FD_SETSIZE)
    return (int)with_errno(ask_select(limit, reads, writes, others, time != NULL ? &copy : NULL, mask));
  struct pollfd files[FD_SETSIZE];
  uint64_t count = 0;
  for (int file = 0; file < limit; ++file) {
    const int events =
        (has(reads, file) ? POLLIN : 0) | (has(writes, file) ? POLLOUT : 0) | (has(others, file) ? POLLPRI : 0);
    if (events != 0) files[count++] = (struct pollfd){.fd = file, .events = (short)events};
  }
  const uint64_t nanoseconds = nanoseconds_of(time);
  if (!wait_for(files, count, nanoseconds)) return finish_several(-EINTR, nanoseconds);
  struct timespec now = at_once;
  return finish_several(ask_select(limit, reads, writes, others, &now, mask), nanoseconds);
}

/* As Linux does, the time left is written back: all or nothing of it. */
int select(int limit, fd_set* restrict reads, fd_set* restrict writes, fd_set* restrict others,
           struct timeval* restrict time) {
  if (time == NULL) return pselect(limit, reads, writes, others, NULL, NULL);
  if (time->tv_sec < 0 || time->tv_usec < 0) {
    errno = EINVAL;
    return -1;
  }
  const struct timespec exact = {.tv_sec = time->tv_sec + time->tv_usec / 1000000,
                                 .tv_nsec = time->tv_usec % 1000000 * 1000};
  const int result = pselect(limit, reads, writes, others, &exact, NULL);
  if (result == 0) *time = (struct timeval){0};
  return result;
}

static int wait_epoll(int file, struct epoll_event* events, int limit, uint64_t nanoseconds,
                      const sigset_t* mask) {
  const struct pollfd files = {.fd = file, .events = POLLIN};
  if (!wait_for(&files, 1, nanoseconds)) return finish_several(-EINTR, nanoseconds);
  return finish_several(RT_SYS6(SYS_epoll_pwait, file, events, limit, 0, mask, _NSIG / 8), nanoseconds);
}

int epoll_pwait(int file, struct epoll_event* events, int limit, int milliseconds, const sigset_t* mask) {
  if (!rt.active)
    return (int)with_errno(RT_SYS6(SYS_epoll_pwait, file, events, limit, milliseconds, mask, _NSIG / 8));
  return wait_epoll(file, events, limit, nanoseconds_of_ms(milliseconds), mask);
}

int epoll_wait(int file, struct epoll_event* events, int limit, int milliseconds) {
  return epoll_pwait(file, events, limit, milliseconds, NULL);
}

int epoll_pwait2(int file, struct epoll_event* events, int limit, const struct timespec* time,
                 const sigset_t* mask) {
  if (!rt.active) return (int)with_errno(RT_SYS6(SYS_epoll_pwait2, file, events, limit, time, mask, _NSIG / 8));
  return wait_epoll(file, events, limit, nanoseconds_of(time), mask);
}

/* ---- when everything waits: the other end may be outside of the program */
#define MAX_FILES 4096
#define ON_THE_WAY 50 /* milliseconds: what was sent over a loopback connection may arrive a little later */
RT_STATE static struct pollfd all_files[MAX_FILES];

static struct file_wait* wait_of(const struct rt_thread* thread) {
  return rt_waits_for_files(thread) ? (struct file_wait*)thread->op.second : NULL;
}

static bool waits_inside(const struct file_wait* wait) {
  for (uint64_t file = 0; file < wait->count; ++file)
    if (!rt_peer_is_inside(wait->files[file].fd, wait->files[file].events)) return false;
  return true;
}

bool rt_waits_inside(const struct rt_thread* thread) {
  const struct file_wait* wait = wait_of(thread);
  return wait != NULL && waits_inside(wait);
}

bool rt_wait_for_files(const struct rt_thread* only, int milliseconds) {
  uint64_t count = 0;
  bool inside = true;
  const struct rt_thread* first = NULL;
  for (uint32_t i = 0; i < rt.live_count; ++i) {
    const struct rt_thread* thread = &rt.threads[rt.live[i]];
    const struct file_wait* wait = wait_of(thread);
    if (wait == NULL || (only != NULL && thread != only)) continue;
    if (first == NULL) first = thread;
    inside = inside && waits_inside(wait);
    for (uint64_t file = 0; file < wait->count && count < MAX_FILES; ++file)
      all_files[count++] = wait->files[file];
  }
  if (count == 0) return false;
  heddle_control_blocking(first->op.site, "poll");
  if (inside && (milliseconds < 0 || milliseconds > ON_THE_WAY)) milliseconds = ON_THE_WAY;
  rt_unseen_loop_came();
  const long ready = RT_SYS3(SYS_poll, all_files, count, milliseconds);
  heddle_control_blocking_done();
  ++changes;
  if (ready == -EINTR && !rt_unseen_loop_came())
    wait_of(first)->interrupted = true; /* its handler may have changed what the program waits for */
  return ready != 0;
}
