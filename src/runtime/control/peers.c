/* Who is at the other end of a descriptor.
 *
 * When a thread waits for a pipe or socket whose other end this process holds too, only its own threads can end
 * the wait: if none of them goes on, that is a deadlock, and a schedule that runs the thread now has diverged.
 * Waiting in earnest is for what somebody outside may send: also a child, which may hold any end that was open
 * when it was forked.
 *
 * Known hole: an end that was handed to another process (SCM_RIGHTS) counts as held by this process only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/control.h"

#define DESCRIPTORS 1024 /* that are looked at */

static bool option(int file, int name, void* value, socklen_t size) {
  return RT_SYS6(SYS_getsockopt, file, SOL_SOCKET, name, value, &size, 0) == 0;
}

/* A descriptor for the same pipe that does the opposite. */
static bool is_other_end(int candidate, const struct stat* pipe, short events) {
  struct stat status;
  if (RT_SYS2(SYS_fstat, candidate, &status) != 0 || status.st_ino != pipe->st_ino ||
      status.st_dev != pipe->st_dev)
    return false;
  const long mode = RT_SYS2(SYS_fcntl, candidate, F_GETFL) & O_ACCMODE;
  return mode == O_RDWR || mode == ((events & POLLIN) != 0 ? O_WRONLY : O_RDONLY);
}

static bool pipe_is_inside(const struct stat* pipe, short events) {
  for (int candidate = 0; candidate < DESCRIPTORS; ++candidate)
    if (is_other_end(candidate, pipe, events)) return true;
  return false;
}

static bool has_peer_here(int file) {
  struct sockaddr_storage peer = {0}, name;
  socklen_t length = sizeof peer;
  if (RT_SYS3(SYS_getpeername, file, &peer, &length) != 0) return false;
  for (int candidate = 0; candidate < DESCRIPTORS; ++candidate) {
    socklen_t other = sizeof name;
    memset(&name, 0, sizeof name);
    if (candidate != file && RT_SYS3(SYS_getsockname, candidate, &name, &other) == 0 && other == length &&
        memcmp(&name, &peer, length) == 0)
      return true;
  }
  return false;
}

static bool socket_is_inside(int file) {
  int listens = 0, domain = 0;
  struct ucred peer;
  if (!option(file, SO_ACCEPTCONN, &listens, sizeof listens) || listens != 0) return false;
  if (!option(file, SO_DOMAIN, &domain, sizeof domain)) return false;
  if (domain == AF_UNIX)
    return option(file, SO_PEERCRED, &peer, sizeof peer) && peer.pid == RT_SYS0(SYS_getpid);
  return has_peer_here(file);
}

static bool is_event_counter(int file) {
  char path[32] = "/proc/self/fd/", target[64];
  char digits[12];
  size_t count = 0, end = strlen(path);
  for (int rest = file; rest > 0 || count == 0; rest /= 10) digits[count++] = (char)('0' + rest % 10);
  while (count > 0) path[end++] = digits[--count];
  const long length = RT_SYS3(SYS_readlink, path, target, sizeof target);
  static const char name[] = "anon_inode:[eventfd]";
  return length == sizeof name - 1 && memcmp(target, name, sizeof name - 1) == 0;
}

bool rt_peer_is_inside(int file, short events) {
  struct stat status;
  if (file < 0 || RT_SYS2(SYS_fstat, file, &status) != 0) return true; /* nobody will ever end this wait */
  if (rt_has_children()) return false;
  if (S_ISFIFO(status.st_mode)) return pipe_is_inside(&status, events);
  if (S_ISSOCK(status.st_mode)) return socket_is_inside(file);
  return is_event_counter(file);
}
