// A process of its own from a thread: the child sees the memory of that moment, and its exit code comes back.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

int value;

static void* forks(void* unused) {
  (void)unused;
  int status;
  value = 3;
  const pid_t child = fork();
  if (child == 0) _exit(value == 3 ? 44 : 1);
  assert(child > 0 && waitpid(child, &status, 0) == child);
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 44);
  return NULL;
}

int main(void) {
  pthread_t thread;
  assert(pthread_create(&thread, NULL, forks, NULL) == 0);
  pthread_join(thread, NULL);
  assert(value == 3);
  return 0;
}
