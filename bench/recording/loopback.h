/* Sockets of the network programs of this folder: loopback only, with time limits, so that no run hangs. */
#ifndef BENCH_LOOPBACK_H
#define BENCH_LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static inline struct sockaddr_in loopback_address(int port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static inline void limit_waiting(int s) {
  const struct timeval limit = {30, 0};
  setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static inline int connect_loopback(int port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) fail("socket");
  limit_waiting(s);
  const struct sockaddr_in address = loopback_address(port);
  if (connect(s, (const struct sockaddr*)&address, sizeof address) != 0) fail("connect");
  return s;
}

/* Listens on a port that the system chooses, and says which on standard output. */
static inline int listen_loopback(void) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (s < 0) fail("socket");
  struct sockaddr_in address = loopback_address(0);
  socklen_t size = sizeof address;
  if (bind(s, (const struct sockaddr*)&address, size) != 0 || listen(s, 64) != 0) fail("listen");
  if (getsockname(s, (struct sockaddr*)&address, &size) != 0) fail("getsockname");
  printf("port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return s;
}

static inline void send_all(int s, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(s, data, size, MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    data += sent;
    size -= (size_t)sent;
  }
}

/* Reads until the empty line behind an HTTP head has come. Returns the bytes in `buffer`, 0 at the end of the
 * connection;
 * `*head` is the length of the head. */
static inline size_t receive_head(int s, char* buffer, size_t room, size_t* head) {
  size_t size = 0;
  while (size + 1 < room) {
    const ssize_t got = recv(s, buffer + size, room - 1 - size, 0);
    if (got < 0) fail("recv");
    if (got == 0) return 0;
    size += (size_t)got;
    buffer[size] = '\0';
    const char* end = strstr(buffer, "\r\n\r\n");
    if (end == NULL) continue;
    *head = (size_t)(end - buffer) + 4;
    return size;
  }
  fputs("head too long\n", stderr);
  exit(1);
}

#endif
