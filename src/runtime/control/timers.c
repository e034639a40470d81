/* Timers that send signals: alarm, setitimer, POSIX timers.
 *
 * Their signals come between any two instructions, at a moment for which schedules have no name, so they never
 * fire under control. That is right for the most frequent use, a watchdog that ends a program which hangs: time
 * is virtual, and heddle finds hangs by itself. A timer whose signal the program handles has a part in what it
 * does; such a program is refused when it sets one, rather than run as something else.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "runtime/control/control.h"

/* As the kernel has it. */
struct kernel_sigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)(void);
  unsigned long mask;
};

static void refuse_if_handled(int signal, const char* function) {
  if (!rt.active) return;
  struct kernel_sigaction action = {0};
  RT_SYS4(SYS_rt_sigaction, signal, 0, &action, sizeof action.mask);
  if (action.handler == SIG_DFL || action.handler == SIG_IGN) return;
  rt_unsupported("%s: a timer with a signal handler; when its signal comes is not part of a schedule",
                 function);
}

static int signal_of(int which) {
  return which == ITIMER_REAL ? SIGALRM : which == ITIMER_VIRTUAL ? SIGVTALRM : SIGPROF;
}

static struct itimerval timers[3]; /* as set last */

int setitimer(__itimer_which_t which, const struct itimerval* restrict value, struct itimerval* restrict old) {
  if ((unsigned)which > ITIMER_PROF) {
    errno = EINVAL;
    return -1;
  }
  if (old != NULL) *old = timers[which];
  if (value == NULL) return 0;
  if (timerisset(&value->it_value)) refuse_if_handled(signal_of((int)which), "setitimer");
  timers[which] = *value;
  return 0;
}

int getitimer(__itimer_which_t which, struct itimerval* value) {
  if ((unsigned)which > ITIMER_PROF) {
    errno = EINVAL;
    return -1;
  }
  *value = timers[which];
  return 0;
}

unsigned alarm(unsigned seconds) {
  if (seconds != 0) refuse_if_handled(SIGALRM, "alarm");
  const unsigned before = (unsigned)timers[ITIMER_REAL].it_value.tv_sec;
  timers[ITIMER_REAL] = (struct itimerval){.it_value = {.tv_sec = seconds}};
  return before;
}

useconds_t ualarm(useconds_t value, useconds_t interval) {
  if (value != 0) refuse_if_handled(SIGALRM, "ualarm");
  const struct timeval before = timers[ITIMER_REAL].it_value;
  timers[ITIMER_REAL] =
      (struct itimerval){.it_value = {.tv_usec = value}, .it_interval = {.tv_usec = interval}};
  return (useconds_t)(before.tv_sec * 1000000 + before.tv_usec);
}

/* A timer that only tells its time does no harm, and nobody looks at one that was never set; so creating is
 * left to the system but for those that start threads outside of control. */
int timer_create(clockid_t clock, struct sigevent* restrict event, timer_t* restrict timer) {
  if (rt.active && event != NULL && event->sigev_notify == SIGEV_THREAD)
    rt_unsupported("timer_create: a timer that starts threads (SIGEV_THREAD)");
  if (rt.active) refuse_if_handled(event != NULL ? event->sigev_signo : SIGALRM, "timer_create");
  int (*create)(clockid_t, struct sigevent*, timer_t*) =
      (int (*)(clockid_t, struct sigevent*, timer_t*))rt_real("timer_create");
  return create(clock, event, timer);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec* restrict value,
                  struct itimerspec* restrict old) {
  (void)timer;
  (void)flags;
  (void)value;
  if (old != NULL) *old = (struct itimerspec){0};
  return 0;
}
