/* The table of system.h. */
#include "runtime/flow/system.h"

#include <stddef.h>
#include <sys/syscall.h>

#define BYTES(argument, n) {FL_BYTES, argument, 0, false, n}
#define ALWAYS(argument, n) {FL_BYTES, argument, 0, true, n}
#define RESULT(argument, n) {FL_RESULT, argument, 0, false, n}
#define COUNT(argument, other, n) {FL_COUNT, argument, other, false, n}
#define BEHIND(argument, other) {FL_BEHIND, argument, other, false, 1}

static const struct {
  uint16_t number;
  struct rt_fl_part parts[FL_PARTS];
} table[] = {
    {SYS_read, {RESULT(1, 1)}},
    {SYS_pread64, {RESULT(1, 1)}},
    {SYS_readv, {{FL_VECTOR, 1, 2, false, 1}}},
    {SYS_preadv, {{FL_VECTOR, 1, 2, false, 1}}},
    {SYS_preadv2, {{FL_VECTOR, 1, 2, false, 1}}},
    {SYS_recvfrom, {RESULT(1, 1), BEHIND(4, 5), BYTES(5, 4)}},
    {SYS_recvmsg, {{FL_MESSAGE, 1, 0, false, 1}}},
    {SYS_stat, {BYTES(1, 144)}},
    {SYS_lstat, {BYTES(1, 144)}},
    {SYS_fstat, {BYTES(1, 144)}},
    {SYS_newfstatat, {BYTES(2, 144)}},
    {SYS_statx, {BYTES(4, 256)}},
    {SYS_statfs, {BYTES(1, 120)}},
    {SYS_fstatfs, {BYTES(1, 120)}},
    {SYS_poll, {COUNT(0, 1, 8)}},
    {SYS_ppoll, {COUNT(0, 1, 8)}},
    {SYS_select, {BYTES(1, 128), BYTES(2, 128), BYTES(3, 128), BYTES(4, 16)}},
    {SYS_pselect6, {BYTES(1, 128), BYTES(2, 128), BYTES(3, 128)}},
    {SYS_epoll_wait, {RESULT(1, 12)}},
    {SYS_epoll_pwait, {RESULT(1, 12)}},
    {SYS_epoll_pwait2, {RESULT(1, 12)}},
    {SYS_accept, {BEHIND(1, 2), BYTES(2, 4)}},
    {SYS_accept4, {BEHIND(1, 2), BYTES(2, 4)}},
    {SYS_getsockname, {BEHIND(1, 2), BYTES(2, 4)}},
    {SYS_getpeername, {BEHIND(1, 2), BYTES(2, 4)}},
    {SYS_getsockopt, {BEHIND(3, 4), BYTES(4, 4)}},
    {SYS_pipe, {BYTES(0, 8)}},
    {SYS_pipe2, {BYTES(0, 8)}},
    {SYS_socketpair, {BYTES(3, 8)}},
    {SYS_ioctl, {{FL_IOCTL, 2, 1, false, 1}}},
    {SYS_getcwd, {RESULT(0, 1)}},
    {SYS_readlink, {RESULT(1, 1)}},
    {SYS_readlinkat, {RESULT(2, 1)}},
    {SYS_uname, {BYTES(0, 390)}},
    {SYS_getdents64, {RESULT(1, 1)}},
    {SYS_gettimeofday, {BYTES(0, 16)}},
    {SYS_time, {BYTES(0, 8)}},
    {SYS_clock_gettime, {BYTES(1, 16)}},
    {SYS_clock_getres, {BYTES(1, 16)}},
    {SYS_times, {BYTES(0, 32)}},
    {SYS_getrusage, {BYTES(1, 144)}},
    {SYS_sysinfo, {BYTES(0, 112)}},
    {SYS_getrlimit, {BYTES(1, 16)}},
    {SYS_prlimit64, {BYTES(3, 16)}},
    {SYS_nanosleep, {ALWAYS(1, 16)}},
    {SYS_clock_nanosleep, {ALWAYS(3, 16)}},
    {SYS_getrandom, {RESULT(0, 1)}},
    {SYS_wait4, {BYTES(1, 4), BYTES(3, 144)}},
    {SYS_waitid, {BYTES(2, 128)}},
    {SYS_sched_getaffinity, {RESULT(2, 1)}},
    {SYS_sched_getparam, {BYTES(1, 4)}},
    {SYS_timerfd_gettime, {BYTES(1, 32)}},
    {SYS_timerfd_settime, {BYTES(3, 32)}},
    {SYS_timer_create, {BYTES(2, 4)}},
    {SYS_timer_gettime, {BYTES(1, 32)}},
    {SYS_timer_settime, {BYTES(3, 32)}},
    {SYS_getitimer, {BYTES(1, 32)}},
    {SYS_setitimer, {BYTES(2, 32)}},
    {SYS_sendfile, {BYTES(2, 8)}},
    {SYS_rt_sigtimedwait, {BYTES(1, 128)}},
    {SYS_rt_sigpending, {BYTES(0, 8)}},
    {SYS_getresuid, {BYTES(0, 4), BYTES(1, 4), BYTES(2, 4)}},
    {SYS_getresgid, {BYTES(0, 4), BYTES(1, 4), BYTES(2, 4)}},
    {SYS_getgroups, {RESULT(1, 4)}},
    {SYS_getcpu, {BYTES(0, 4), BYTES(1, 4)}},
    {SYS_shmctl, {BYTES(2, 112)}},
    {SYS_fgetxattr, {RESULT(2, 1)}},
    {SYS_getxattr, {RESULT(2, 1)}},
    {SYS_lgetxattr, {RESULT(2, 1)}},
    {SYS_listxattr, {RESULT(1, 1)}},
    {SYS_llistxattr, {RESULT(1, 1)}},
    {SYS_flistxattr, {RESULT(1, 1)}},
    {SYS_splice, {BYTES(1, 8), BYTES(3, 8)}},
    {SYS_copy_file_range, {BYTES(1, 8), BYTES(3, 8)}},
    {SYS_mq_timedreceive, {RESULT(1, 1), BYTES(3, 4)}},
    {SYS_sched_rr_get_interval, {BYTES(1, 16)}},
};

const struct rt_fl_part* rt_fl_parts_of(long number) {
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i)
    if (table[i].number == number) return table[i].parts;
  return NULL;
}

const uint16_t rt_fl_own_business[] = {SYS_futex,
                                       SYS_rt_sigprocmask,
                                       SYS_sched_yield,
                                       SYS_munmap,
                                       SYS_mprotect,
                                       SYS_madvise,
                                       SYS_brk,
                                       SYS_rt_sigaction,
                                       SYS_rt_sigreturn,
                                       SYS_clone,
                                       SYS_clone3,
                                       SYS_fork,
                                       SYS_vfork,
                                       SYS_exit,
                                       SYS_sigaltstack,
                                       SYS_arch_prctl,
                                       SYS_prctl,
                                       SYS_rseq,
                                       SYS_set_tid_address,
                                       SYS_set_robust_list,
                                       SYS_membarrier,
                                       SYS_mlock,
                                       SYS_munlock,
                                       SYS_mincore,
                                       SYS_msync,
                                       SYS_seccomp,
                                       SYS_execve,
                                       SYS_get_robust_list,
                                       SYS_getpid,
                                       SYS_gettid,
                                       SYS_tgkill,
                                       SYS_restart_syscall,
                                       SYS_sched_setaffinity,
                                       SYS_sched_setscheduler};
const unsigned rt_fl_own_business_count = sizeof rt_fl_own_business / sizeof rt_fl_own_business[0];

bool rt_fl_is_own_business(long number) {
  for (unsigned i = 0; i < rt_fl_own_business_count; ++i)
    if (rt_fl_own_business[i] == number) return true;
  return false;
}
