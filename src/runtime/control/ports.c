/* Ports that the system would choose: bind() to port 0.
 *
 * The system's choice is another one in each run, and programs keep it in memory. Here it is the first free one
 * from a fixed number on, so that runs of a program see the same as long as nobody else takes it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "runtime/control/control.h"

#define FIRST 21000
#define TRIES 1000

/* Where the port stands in an address of the internet; null: another kind of address. */
static in_port_t* port_of(struct sockaddr_storage* address, socklen_t length) {
  if (address->ss_family == AF_INET && length >= sizeof(struct sockaddr_in))
    return &((struct sockaddr_in*)address)->sin_port;
  if (address->ss_family == AF_INET6 && length >= sizeof(struct sockaddr_in6))
    return &((struct sockaddr_in6*)address)->sin6_port;
  return NULL;
}

static long choose_port(int file, struct sockaddr_storage* address, socklen_t length, in_port_t* port) {
  const int on = 1; /* connections of an earlier run linger */
  RT_SYS6(SYS_setsockopt, file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on, 0);
  for (int number = FIRST; number < FIRST + TRIES; ++number) {
    *port = htons((uint16_t)number);
    const long result = RT_SYS3(SYS_bind, file, address, length);
    if (result != -EADDRINUSE) return result;
  }
  *port = 0;
  return RT_SYS3(SYS_bind, file, address, length);
}

int bind(int file, __CONST_SOCKADDR_ARG address, socklen_t length) {
  struct sockaddr_storage copy = {0};
  if (length <= sizeof copy) memcpy(&copy, address.__sockaddr__, length);
  in_port_t* port = rt.active && length <= sizeof copy ? port_of(&copy, length) : NULL;
  const long result = port != NULL && *port == 0 ? choose_port(file, &copy, length, port)
                                                 : RT_SYS3(SYS_bind, file, address.__sockaddr__, length);
  if (result >= 0) return 0;
  errno = (int)-result;
  return -1;
}
