/* The load for cache: some connections ask for pages, few of them often, and check the answers' length and end.
 *
 *   load PORT REQUESTS     of each connection; afterwards the cache is told to end */
#include <pthread.h>

#include "loopback.h"

#define CONNECTIONS 4
#define PAGES 4096

static int port, requests;

static void get(int s, const char* path) {
  char buffer[16 * 1024];
  size_t head;
  send_all(s, buffer,
           (size_t)snprintf(buffer, sizeof buffer, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
  size_t size = receive_head(s, buffer, sizeof buffer, &head);
  const char* length = size == 0 ? NULL : strstr(buffer, "Content-Length: ");
  if (length == NULL) exit(1);
  const size_t whole = head + (size_t)atol(length + strlen("Content-Length: "));
  if (whole >= sizeof buffer) exit(1);
  while (size < whole) {
    const ssize_t got = recv(s, buffer + size, whole - size, 0);
    if (got <= 0) fail("recv");
    size += (size_t)got;
  }
  if (size != whole || memcmp(buffer + whole - 8, "</html>\n", 8) != 0 ||
      strncmp(buffer + head, "<html><body>", 12) != 0 || strncmp(buffer + head + 12, path, strlen(path)) != 0) {
    fputs("wrong answer\n", stderr);
    exit(1);
  }
}

static void* ask(void* argument) {
  unsigned random = (unsigned)(long)argument;
  const int s = connect_loopback(port);
  for (int i = 0; i < requests; ++i) {
    random = random * 1664525 + 1013904223;
    const unsigned a = random >> 20; /* 0 .. 4095 */
    random = random * 1664525 + 1013904223;
    char path[32];
    snprintf(path, sizeof path, "/page/%u", a * (random >> 20) / PAGES); /* small numbers more often */
    get(s, path);
  }
  close(s);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  alarm(300);
  port = atoi(argv[1]);
  requests = atoi(argv[2]);
  pthread_t threads[CONNECTIONS];
  for (long i = 0; i < CONNECTIONS; ++i) pthread_create(&threads[i], NULL, ask, (void*)(i + 1));
  for (int i = 0; i < CONNECTIONS; ++i) pthread_join(threads[i], NULL);
  const int s = connect_loopback(port);
  send_all(s, "GET /quit HTTP/1.1\r\n\r\n", 22);
  close(s);
  return 0;
}
