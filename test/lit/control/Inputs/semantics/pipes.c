// A pipe between two threads: reading waits for what is written, poll tells, the end of file comes when it is
// closed.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

int ends[2];

static void* writer(void* unused) {
  (void)unused;
  for (char c = 'a'; c < 'e'; ++c) assert(write(ends[1], &c, 1) == 1);
  assert(close(ends[1]) == 0);
  return NULL;
}

static void* reader(void* unused) {
  (void)unused;
  struct pollfd wait = {.fd = ends[0], .events = POLLIN};
  char c;
  for (char expected = 'a'; expected < 'e'; ++expected) {
    assert(poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN));
    assert(read(ends[0], &c, 1) == 1 && c == expected);
  }
  assert(read(ends[0], &c, 1) == 0);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  char c;
  assert(pipe(ends) == 0);
  struct pollfd wait = {.fd = ends[0], .events = POLLIN};
  assert(poll(&wait, 1, 0) == 0 && poll(&wait, 1, 1) == 0);
  assert(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  errno = 0;
  assert(read(ends[0], &c, 1) == -1 && errno == EAGAIN);
  assert(fcntl(ends[0], F_SETFL, 0) == 0);
  assert(pthread_create(&threads[0], NULL, reader, NULL) == 0);
  assert(pthread_create(&threads[1], NULL, writer, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(close(ends[0]) == 0);
  return 0;
}
