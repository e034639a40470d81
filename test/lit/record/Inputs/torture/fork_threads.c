// fork in several threads at a time; the children run code of the program and end.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int shared;

__attribute__((noinline)) static int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += (i * 7 + shared) % 5 ? i : -1;
  return sum;
}
static void* run(void* argument) {
  const long me = (long)argument;
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      shared = work(1000);
      _exit((int)me);
    }
    int status;
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != me) abort();
    shared = shared + work(100) % 3;
  }
  return NULL;
}
int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
