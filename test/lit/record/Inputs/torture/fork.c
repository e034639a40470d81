// fork without exec, with and without other threads, from another thread, in a signal handler's aftermath, and vfork with exec: the
// parent's logs are those of the parent alone.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

volatile int shared, stop;
__attribute__((noinline)) static int work(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += (i ^ shared) & 1 ? i : -1;
  return sum;
}
static void* busy(void* unused) {
  while (!stop) shared = shared + (work(50) & 3);
  return unused;
}
static void* child_thread(void* unused) {
  work(100);
  return unused;
}
static int in_child(int n) {
  pthread_t thread;
  for (int i = 0; i < n; ++i) work(i);
  if (n & 1 && pthread_create(&thread, NULL, child_thread, NULL) == 0) pthread_join(thread, NULL);
  return work(n) & 1 ? 3 : 4;
}
static int forks(int n) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    if (n & 2) exit(in_child(n));
    _exit(in_child(n));
  }
  work(n);
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
static void* forker(void* unused) {
  (void)unused;
  for (int i = 0; i < 4; ++i) if (forks(i) < 3) shared = -1;
  return NULL;
}
int main(void) {
  pthread_t threads[2];
  int good = 0;
  for (int i = 0; i < 3; ++i) good += forks(i) >= 3;
  pthread_create(&threads[0], NULL, busy, NULL);
  pthread_create(&threads[1], NULL, forker, NULL);
  for (int i = 0; i < 4; ++i) good += forks(i) >= 3;
  pthread_join(threads[1], NULL);
  stop = 1;
  pthread_join(threads[0], NULL);
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  if (system("exit 7") != 7 << 8) good = 0;
  puts(good == 7 && status == 0 ? "done" : "wrong");
  return 0;
}
