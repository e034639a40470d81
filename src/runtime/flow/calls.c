/* Functions of libc that make one system call each, so that they need not trap, and that a thread which is
 * cancelled leaves from where a replay can find it; functions that ask the time
 * without a system call; masks of signals, which must not hold the trap's. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/flow/entry.h"
#include "runtime/flow/flow.h"

static long with_errno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = (int)-result;
  return -1;
}
/* From all of these a thread may be cancelled. */
#define CALL6(name, a, b, c, d, e, f)                                                              \
  ({                                                                                               \
    const long arguments_[6] = {(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)}; \
    with_errno(rt_fl_system_call_at_point(SYS_##name, arguments_));                                \
  })
#define CALL3(name, a, b, c) CALL6(name, a, b, c, 0, 0, 0)
#define CALL4(name, a, b, c, d) CALL6(name, a, b, c, d, 0, 0)

RT_FL_ENTRY(read);
ssize_t rt_do_read(int fd, void* to, size_t size);
ssize_t rt_do_read(int fd, void* to, size_t size) {
  return CALL3(read, fd, to, size);
}
RT_FL_ENTRY(write);
ssize_t rt_do_write(int fd, const void* from, size_t size);
ssize_t rt_do_write(int fd, const void* from, size_t size) {
  return CALL3(write, fd, from, size);
}
RT_FL_ENTRY(readv);
ssize_t rt_do_readv(int fd, const struct iovec* vector, int count);
ssize_t rt_do_readv(int fd, const struct iovec* vector, int count) {
  return CALL3(readv, fd, vector, count);
}
RT_FL_ENTRY(writev);
ssize_t rt_do_writev(int fd, const struct iovec* vector, int count);
ssize_t rt_do_writev(int fd, const struct iovec* vector, int count) {
  return CALL3(writev, fd, vector, count);
}
RT_FL_ENTRY(recvfrom);
ssize_t rt_do_recvfrom(int fd, void* restrict to, size_t size, int flags, struct sockaddr* restrict from,
                       socklen_t* restrict length);
ssize_t rt_do_recvfrom(int fd, void* restrict to, size_t size, int flags, struct sockaddr* restrict from,
                       socklen_t* restrict length) {
  return CALL6(recvfrom, fd, to, size, flags, from, length);
}
RT_FL_ENTRY(recv);
ssize_t rt_do_recv(int fd, void* to, size_t size, int flags);
ssize_t rt_do_recv(int fd, void* to, size_t size, int flags) {
  return CALL6(recvfrom, fd, to, size, flags, 0, 0);
}
RT_FL_ENTRY(sendto);
ssize_t rt_do_sendto(int fd, const void* from, size_t size, int flags, const struct sockaddr* to,
                     socklen_t length);
ssize_t rt_do_sendto(int fd, const void* from, size_t size, int flags, const struct sockaddr* to,
                     socklen_t length) {
  return CALL6(sendto, fd, from, size, flags, to, length);
}
RT_FL_ENTRY(send);
ssize_t rt_do_send(int fd, const void* from, size_t size, int flags);
ssize_t rt_do_send(int fd, const void* from, size_t size, int flags) {
  return CALL6(sendto, fd, from, size, flags, 0, 0);
}
RT_FL_ENTRY(recvmsg);
ssize_t rt_do_recvmsg(int fd, struct msghdr* message, int flags);
ssize_t rt_do_recvmsg(int fd, struct msghdr* message, int flags) {
  return CALL3(recvmsg, fd, message, flags);
}
RT_FL_ENTRY(sendmsg);
ssize_t rt_do_sendmsg(int fd, const struct msghdr* message, int flags);
ssize_t rt_do_sendmsg(int fd, const struct msghdr* message, int flags) {
  return CALL3(sendmsg, fd, message, flags);
}
RT_FL_ENTRY(poll);
int rt_do_poll(struct pollfd* files, nfds_t count, int timeout);
int rt_do_poll(struct pollfd* files, nfds_t count, int timeout) {
  return (int)CALL3(poll, files, count, timeout);
}
RT_FL_ENTRY(epoll_wait);
int rt_do_epoll_wait(int fd, struct epoll_event* events, int most, int timeout);
int rt_do_epoll_wait(int fd, struct epoll_event* events, int most, int timeout) {
  return (int)CALL4(epoll_wait, fd, events, most, timeout);
}

RT_FL_ENTRY(accept);
int rt_do_accept(int fd, struct sockaddr* restrict from, socklen_t* restrict length);
int rt_do_accept(int fd, struct sockaddr* restrict from, socklen_t* restrict length) {
  return (int)CALL3(accept, fd, from, length);
}
RT_FL_ENTRY(accept4);
int rt_do_accept4(int fd, struct sockaddr* restrict from, socklen_t* restrict length, int flags);
int rt_do_accept4(int fd, struct sockaddr* restrict from, socklen_t* restrict length, int flags) {
  return (int)CALL4(accept4, fd, from, length, flags);
}
RT_FL_ENTRY(connect);
int rt_do_connect(int fd, const struct sockaddr* to, socklen_t length);
int rt_do_connect(int fd, const struct sockaddr* to, socklen_t length) {
  return (int)CALL3(connect, fd, to, length);
}
RT_FL_ENTRY(select);
int rt_do_select(int count, fd_set* restrict read, fd_set* restrict write, fd_set* restrict other,
                 struct timeval* restrict time);
int rt_do_select(int count, fd_set* restrict read, fd_set* restrict write, fd_set* restrict other,
                 struct timeval* restrict time) {
  return (int)CALL6(select, count, read, write, other, time, 0);
}
RT_FL_ENTRY(pause);
int rt_do_pause(void);
int rt_do_pause(void) {
  return (int)CALL3(pause, 0, 0, 0);
}

/* ---- sleep */
RT_FL_ENTRY(clock_nanosleep);
int rt_do_clock_nanosleep(clockid_t clock, int flags, const struct timespec* time, struct timespec* left);
int rt_do_clock_nanosleep(clockid_t clock, int flags, const struct timespec* time, struct timespec* left) {
  const int before = errno;
  const int error = CALL4(clock_nanosleep, clock, flags, time, left) == 0 ? 0 : errno;
  errno = before;
  return error;
}
RT_FL_ENTRY(nanosleep);
int rt_do_nanosleep(const struct timespec* time, struct timespec* left);
int rt_do_nanosleep(const struct timespec* time, struct timespec* left) {
  return (int)CALL4(clock_nanosleep, CLOCK_REALTIME, 0, time, left);
}
RT_FL_ENTRY(usleep);
int rt_do_usleep(useconds_t time);
int rt_do_usleep(useconds_t time) {
  const struct timespec wanted = {time / 1000000, (long)(time % 1000000) * 1000};
  return nanosleep(&wanted, NULL);
}
RT_FL_ENTRY(sleep);
unsigned rt_do_sleep(unsigned time);
unsigned rt_do_sleep(unsigned time) {
  struct timespec wanted = {time, 0};
  return nanosleep(&wanted, &wanted) == 0 ? 0 : (unsigned)wanted.tv_sec;
}

/* ---- the time */
static int given_time(uint32_t number, void* to, uint64_t expected) {
  const uint8_t* bytes;
  uint64_t size;
  const int64_t result = rt_fl_given(number, &bytes, &size);
  if (to != NULL && size == expected) __builtin_memcpy(to, bytes, size);
  if (result >= 0) return (int)result;
  errno = (int)-result;
  return -1;
}

RT_FL_ENTRY(clock_gettime);
int rt_do_clock_gettime(clockid_t clock, struct timespec* to);
int rt_do_clock_gettime(clockid_t clock, struct timespec* to) {
  if (rt_fl_active() && rt_fl.mode == FL_REPLAY) return given_time(SYS_clock_gettime, to, sizeof *to);
  const int result = RT_FL_APART(RT_FL_REAL(clock_gettime, clock, to)); /* clocks of processor time trap */
  if (rt_fl_active()) rt_fl_note(SYS_clock_gettime, result < 0 ? -errno : result, to, sizeof *to);
  return result;
}

RT_FL_ENTRY(gettimeofday);
int rt_do_gettimeofday(struct timeval* restrict to, void* restrict zone);
int rt_do_gettimeofday(struct timeval* restrict to, void* restrict zone) {
  if (rt_fl_active() && rt_fl.mode == FL_REPLAY) return given_time(SYS_gettimeofday, to, sizeof *to);
  const int result = RT_FL_APART(RT_FL_REAL(gettimeofday, to, zone));
  if (rt_fl_active()) rt_fl_note(SYS_gettimeofday, result < 0 ? -errno : result, to, sizeof *to);
  return result;
}

RT_FL_ENTRY(time);
time_t rt_do_time(time_t* to);
time_t rt_do_time(time_t* to) {
  struct timeval now = {0, 0};
  gettimeofday(&now, NULL);
  if (to != NULL) *to = now.tv_sec;
  return now.tv_sec;
}

RT_FL_ENTRY(timespec_get);
int rt_do_timespec_get(struct timespec* to, int base);
int rt_do_timespec_get(struct timespec* to, int base) {
  return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, to) == 0 ? base : 0;
}

RT_FL_ENTRY(clock);
clock_t rt_do_clock(void);
clock_t rt_do_clock(void) {
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (clock_t)(now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC));
}

RT_FL_ENTRY(sched_getcpu);
int rt_do_sched_getcpu(void);
int rt_do_sched_getcpu(void) {
  unsigned processor = 0;
  const long arguments[6] = {(long)&processor};
  rt_fl_system_call(SYS_getcpu, arguments);
  return (int)processor;
}

/* ---- ids: libc asks the kernel for itself, with all signals blocked, so the system calls do not trap */
static long noted(long number, long a, long b, long c) {
  const uint8_t* bytes;
  uint64_t size;
  if (rt_fl_active() && rt_fl.mode == FL_REPLAY) return rt_fl_given((uint32_t)number, &bytes, &size);
  const long result = rt_system_call(number, a, b, c, 0, 0, 0);
  if (rt_fl_active()) rt_fl_note((uint32_t)number, result, NULL, 0);
  return result;
}
static long id(long number) {
  return noted(number, 0, 0, 0);
}

RT_FL_ENTRY(getpid);
pid_t rt_do_getpid(void);
pid_t rt_do_getpid(void) {
  return (pid_t)id(SYS_getpid);
}
RT_FL_ENTRY(gettid);
pid_t rt_do_gettid(void);
pid_t rt_do_gettid(void) {
  return (pid_t)id(SYS_gettid);
}

/* By id: in a replay threads have others. */
RT_FL_ENTRY(sched_setaffinity);
int rt_do_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* set);
int rt_do_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* set) {
  return (int)with_errno(noted(SYS_sched_setaffinity, thread, (long)size, (long)set));
}
RT_FL_ENTRY(sched_setscheduler);
int rt_do_sched_setscheduler(pid_t thread, int policy, const struct sched_param* parameter);
int rt_do_sched_setscheduler(pid_t thread, int policy, const struct sched_param* parameter) {
  return (int)with_errno(noted(SYS_sched_setscheduler, thread, policy, (long)parameter));
}

/* A signal to another thread comes when its handler runs there (handlers.c), even where that thread is already
 * further than when it was sent; one to itself before this returns. */
#define SEND_TO_ITSELF(name, number, ...)                                          \
  ({                                                                               \
    const bool is_given_ = rt_fl.mode == FL_REPLAY && rt_fl_has_handler(number);   \
    rt_fl_begin_wait();                                                            \
    const int error_ = is_given_ ? 0 : RT_FL_APART(RT_FL_REAL(name, __VA_ARGS__)); \
    rt_fl_end_wait();                                                              \
    rt_fl_run_handlers();                                                          \
    error_;                                                                        \
  })
#define SENDS(name, call, number, parameters, ...)                                               \
  RT_FL_ENTRY(name);                                                                             \
  int rt_do_##name parameters;                                                                   \
  int rt_do_##name parameters {                                                                  \
    if (!rt_fl_active()) return RT_FL_REAL(name, __VA_ARGS__);                                   \
    if (pthread_equal(thread, pthread_self())) return SEND_TO_ITSELF(name, number, __VA_ARGS__); \
    const uint8_t* bytes;                                                                        \
    uint64_t size;                                                                               \
    if (rt_fl.mode == FL_REPLAY) return (int)rt_fl_given(call, &bytes, &size);                   \
    const int result = RT_FL_APART(RT_FL_REAL(name, __VA_ARGS__));                               \
    rt_fl_note(call, result, NULL, 0);                                                           \
    return result;                                                                               \
  }
SENDS(pthread_kill, SYS_tgkill, number, (pthread_t thread, int number), thread, number)
SENDS(pthread_sigqueue, SYS_rt_tgsigqueueinfo, number, (pthread_t thread, int number, const union sigval value),
      thread, number, value)

RT_FL_ENTRY(raise);
int rt_do_raise(int number);
int rt_do_raise(int number) {
  const int error = rt_fl_active() ? SEND_TO_ITSELF(pthread_kill, number, pthread_self(), number)
                                   : RT_FL_REAL(pthread_kill, pthread_self(), number);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/* ---- masks. What was held before it is blocked runs before; what was pending runs behind. */
RT_FL_ENTRY(pthread_sigmask);
int rt_do_pthread_sigmask(int how, const sigset_t* set, sigset_t* old);
int rt_do_pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  sigset_t without;
  if (set != NULL) {
    without = *set;
    sigdelset(&without, SIGSYS);
  }
  rt_fl_begin_wait();
  const int error = RT_FL_REAL(pthread_sigmask, how, set != NULL ? &without : NULL, old);
  rt_fl_end_wait();
  rt_fl_run_handlers();
  return error;
}

RT_FL_ENTRY(sigprocmask);
int rt_do_sigprocmask(int how, const sigset_t* set, sigset_t* old);
int rt_do_sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  const int error = pthread_sigmask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

/* ---- any system call; futexes are synchronisation */
RT_FL_ENTRY(syscall);
long rt_do_syscall(long number, long b, long c, long d, long e, long f, long g);
long rt_do_syscall(long number, long b, long c, long d, long e, long f, long g) {
  const long a[6] = {b, c, d, e, f, g};
  if (number != SYS_futex || !rt_fl_active()) return with_errno(rt_fl_system_call(number, a));
  const void* const object = (const void*)a[0];
  rt_fl_object_event(object);
  long result = 0;
  rt_fl_begin_wait();
  if (rt_fl.mode == FL_RECORD) {
    result = rt_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    rt_fl_end_wait();
    rt_fl_object_event(object);
    rt_fl_note(SYS_futex, result, NULL, 0);
  } else {
    const uint8_t* bytes;
    uint64_t size;
    rt_fl_object_event(object);
    result = rt_fl_given(SYS_futex, &bytes, &size);
  }
  rt_fl_run_handlers();
  if (result >= 0) return result;
  errno = (int)-result;
  return -1;
}
