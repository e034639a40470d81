/* Processes that the program starts. A child made by fork() is on its own: it runs without control, and a
 * message says so when it creates threads. Programs that it executes know nothing of heddle. */
#include <unistd.h>

#include "runtime/control/control.h"

pid_t fork(void) {
  pid_t (*real)(void) = (pid_t(*)(void))rt_real("fork");
  if (rt.active) {
    rt_settle(rt.current);
    rt_drain(rt.current); /* the child has no buffers */
  }
  const pid_t child = real();
  if (child == 0) {
    rt.active = false;
    rt.forked = true;
  }
  return child;
}

pid_t vfork(void) {
  return fork();
}
