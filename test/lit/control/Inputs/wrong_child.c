// Two threads start a child each and wait for whichever ends: each may get the other's.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static void* starts(void* unused) {
  (void)unused;
  const pid_t child = fork();
  if (child == 0) _exit(0);
#ifdef FIXED
  assert(waitpid(child, NULL, 0) == child);
#else
  assert(waitpid(-1, NULL, 0) == child);
#endif
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, starts, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
