/* The server for fetch: gives out ranges of one file, each connection at a limited rate, as servers on a
 * network do.
 *
 *   serve FILE BYTES_PER_SECOND      0: as fast as it can
 *
 * Ends when its standard input does; in any case after five minutes. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>

#include "loopback.h"

#define PIECE (64 * 1024)

static int file;
static long file_size, rate;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void* serve(void* argument) {
  const int s = (int)(long)argument;
  limit_waiting(s);
  char buffer[2048];
  size_t head;
  long from = 0, last = file_size - 1;
  if (receive_head(s, buffer, sizeof buffer, &head) == 0) exit(1);
  const int whole = strncmp(buffer, "HEAD ", 5) == 0;
  const char* range = strstr(buffer, "Range: bytes=");
  if (!whole && (range == NULL || sscanf(range, "Range: bytes=%ld-%ld", &from, &last) != 2)) exit(1);
  char answer[160];
  send_all(s, answer,
           (size_t)snprintf(answer, sizeof answer,
                            "HTTP/1.1 206 Partial Content\r\nContent-Length: %ld\r\n\r\n", last - from + 1));
  const double start = now();
  for (long at = from; !whole && at <= last;) {
    const double early = rate == 0 ? 0 : (double)(at - from) / (double)rate - (now() - start);
    if (early > 0) usleep((useconds_t)(early * 1e6));
    off_t offset = at;
    const ssize_t sent = sendfile(s, file, &offset, (size_t)(last + 1 - at < PIECE ? last + 1 - at : PIECE));
    if (sent <= 0) fail("sendfile");
    at += sent;
  }
  close(s);
  return NULL;
}

static void* wait_for_end(void* nothing) {
  (void)nothing;
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  alarm(300);
  file = open(argv[1], O_RDONLY);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) fail(argv[1]);
  file_size = status.st_size;
  rate = atol(argv[2]);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_end, NULL);
  const int listener = listen_loopback();
  for (;;) {
    const int s = accept(listener, NULL, NULL);
    if (s < 0) fail("accept");
    pthread_create(&thread, NULL, serve, (void*)(long)s);
    pthread_detach(thread);
  }
}
