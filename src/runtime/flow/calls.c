/* Functions of libc that make one system call each, so that they need not trap; functions that ask the time without a
 * system call; masks of signals, which must not hold the trap's. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/flow/flow.h"

static long call(long number, long a, long b, long c, long d, long e, long f) {
  const long arguments[6] = {a, b, c, d, e, f};
  const long result = fl_system_call(number, arguments);
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}
#define CALL3(name, a, b, c) call(SYS_##name, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(name, a, b, c, d) call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL6(name, a, b, c, d, e, f) \
  call(SYS_##name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

ssize_t read(int fd, void* to, size_t size) {
  return CALL3(read, fd, to, size);
}
ssize_t write(int fd, const void* from, size_t size) {
  return CALL3(write, fd, from, size);
}
ssize_t readv(int fd, const struct iovec* vector, int count) {
  return CALL3(readv, fd, vector, count);
}
ssize_t writev(int fd, const struct iovec* vector, int count) {
  return CALL3(writev, fd, vector, count);
}
ssize_t recvfrom(int fd, void* restrict to, size_t size, int flags, struct sockaddr* restrict from,
                 socklen_t* restrict length) {
  return CALL6(recvfrom, fd, to, size, flags, from, length);
}
ssize_t recv(int fd, void* to, size_t size, int flags) {
  return CALL6(recvfrom, fd, to, size, flags, 0, 0);
}
ssize_t sendto(int fd, const void* from, size_t size, int flags, const struct sockaddr* to, socklen_t length) {
  return CALL6(sendto, fd, from, size, flags, to, length);
}
ssize_t send(int fd, const void* from, size_t size, int flags) {
  return CALL6(sendto, fd, from, size, flags, 0, 0);
}
ssize_t recvmsg(int fd, struct msghdr* message, int flags) {
  return CALL3(recvmsg, fd, message, flags);
}
ssize_t sendmsg(int fd, const struct msghdr* message, int flags) {
  return CALL3(sendmsg, fd, message, flags);
}
int poll(struct pollfd* files, nfds_t count, int timeout) {
  return (int)CALL3(poll, files, count, timeout);
}
int epoll_wait(int fd, struct epoll_event* events, int most, int timeout) {
  return (int)CALL4(epoll_wait, fd, events, most, timeout);
}

/* ---- the time */
#define REAL(name, ...)                                           \
  ({                                                              \
    static __typeof__(name)* real_;                               \
    if (real_ == NULL) real_ = (__typeof__(name)*)rt_real(#name); \
    real_(__VA_ARGS__);                                           \
  })

static int given_time(uint32_t number, void* to, uint64_t expected) {
  const uint8_t* bytes;
  uint64_t size;
  const int64_t result = fl_given(number, &bytes, &size);
  if (to != NULL && size == expected) __builtin_memcpy(to, bytes, size);
  if (result >= 0) return (int)result;
  errno = (int)-result;
  return -1;
}

int clock_gettime(clockid_t clock, struct timespec* to) {
  if (fl_active() && fl.mode == FL_REPLAY) return given_time(SYS_clock_gettime, to, sizeof *to);
  const int result = REAL(clock_gettime, clock, to);
  if (fl_active()) fl_note(SYS_clock_gettime, result < 0 ? -errno : result, to, sizeof *to);
  return result;
}

int gettimeofday(struct timeval* restrict to, void* restrict zone) {
  if (fl_active() && fl.mode == FL_REPLAY) return given_time(SYS_gettimeofday, to, sizeof *to);
  const int result = REAL(gettimeofday, to, zone);
  if (fl_active()) fl_note(SYS_gettimeofday, result < 0 ? -errno : result, to, sizeof *to);
  return result;
}

time_t time(time_t* to) {
  struct timeval now = {0, 0};
  gettimeofday(&now, NULL);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

int timespec_get(struct timespec* to, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, to) == 0 ? base : 0;
}

clock_t clock(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (clock_t)(now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC));
}

int sched_getcpu(void) {
  unsigned processor = 0;
  CALL3(getcpu, &processor, 0, 0);
  return (int)processor;
}

/* ---- masks */
int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t without;
  if (set != NULL) {
    without = *set;
    sigdelset(&without, SIGSYS);
  }
  return REAL(pthread_sigmask, how, set != NULL ? &without : NULL, old);
}

int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  const int error = pthread_sigmask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/* ---- any system call; futexes are synchronisation */
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  if (number != SYS_futex || !fl_active()) return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const void* const object = (const void*)a[0];
  fl_object_event(object);
  long result = 0;
  if (fl.mode == FL_RECORD) {
    result = rt_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    fl_object_event(object);
    fl_note(SYS_futex, result, NULL, 0);
  } else {
    const uint8_t* bytes;
    uint64_t size;
    fl_object_event(object);
    result = fl_given(SYS_futex, &bytes, &size);
  }
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}
