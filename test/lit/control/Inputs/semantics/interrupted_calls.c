// Calls that wait go on after a handler with SA_RESTART, and end with EINTR after one without.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];
static _Atomic int signals;

static void count(int number) {
  (void)number;
  ++signals;
}

static void* read_byte(void* interrupted) {
  char byte = 0;
  errno = 0;
  const long result = read(ends[0], &byte, 1);
  *(int*)interrupted = result == -1 && errno == EINTR;
  assert(*(int*)interrupted || (result == 1 && byte == 'x'));
  return NULL;
}

static int read_interrupted(int flags) {
  int interrupted = 2;
  pthread_t reader;
  struct sigaction action = {.sa_handler = count, .sa_flags = flags};
  assert(sigaction(SIGUSR1, &action, NULL) == 0);
  assert(pthread_create(&reader, NULL, read_byte, &interrupted) == 0);
  pthread_kill(reader, SIGUSR1);
  assert(write(ends[1], "x", 1) == 1);
  pthread_join(reader, NULL);
  if (interrupted) {  // the byte is still there
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
  }
  return interrupted;
}

int main(void) {
  assert(pipe(ends) == 0);
  assert(read_interrupted(SA_RESTART) == 0);
  read_interrupted(0);
  return 0;
}
