/* Segmented downloader, in the shape of aget: asks for the length, then each thread fetches its range over a
 * connection of its own and writes it to its place in the file.
 *
 *   fetch PORT OUTPUT */
#include <fcntl.h>
#include <pthread.h>

#include "loopback.h"

#define SEGMENTS 4
#define BUFFER (32 * 1024)

struct segment {
  long from, to; /* `to` is behind the last byte */
};

static int port, output;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long written;

static void ask(int s, const char* method, long from, long to) {
  char request[160];
  const int size =
      snprintf(request, sizeof request, "%s /data HTTP/1.1\r\nHost: localhost\r\nRange: bytes=%ld-%ld\r\n\r\n",
               method, from, to - 1);
  send_all(s, request, (size_t)size);
}

static long ask_length(void) {
  char buffer[2048];
  size_t head;
  const int s = connect_loopback(port);
  ask(s, "HEAD", 0, 1);
  if (receive_head(s, buffer, sizeof buffer, &head) == 0) exit(1);
  close(s);
  const char* length = strstr(buffer, "Content-Length: ");
  if (length == NULL) exit(1);
  return atol(length + strlen("Content-Length: "));
}

static void* fetch(void* argument) {
  const struct segment* segment = argument;
  const int s = connect_loopback(port);
  ask(s, "GET", segment->from, segment->to);
  char* buffer = malloc(BUFFER);
  if (buffer == NULL) fail("malloc");
  size_t head;
  size_t size = receive_head(s, buffer, BUFFER, &head);
  if (size == 0) exit(1);
  const char* data = buffer + head;
  size -= head;
  for (long at = segment->from;;) {
    if (pwrite(output, data, size, at) != (ssize_t)size) fail("pwrite");
    at += (long)size;
    pthread_mutex_lock(&lock);
    written += (long)size;
    pthread_mutex_unlock(&lock);
    if (at >= segment->to) break;
    const ssize_t got = recv(s, buffer, BUFFER, 0);
    if (got <= 0) fail("recv");
    data = buffer;
    size = (size_t)got;
  }
  free(buffer);
  close(s);
  return NULL;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  port = atoi(argv[1]);
  output = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output < 0) fail(argv[2]);
  const long length = ask_length();
  pthread_t threads[SEGMENTS];
  struct segment segments[SEGMENTS];
  for (int i = 0; i < SEGMENTS; ++i) {
    segments[i] = (struct segment){length * i / SEGMENTS, length * (i + 1) / SEGMENTS};
    pthread_create(&threads[i], NULL, fetch, &segments[i]);
  }
  for (int i = 0; i < SEGMENTS; ++i) pthread_join(threads[i], NULL);
  printf("%ld bytes\n", written);
  return close(output) == 0 && written == length ? 0 : 1;
}
