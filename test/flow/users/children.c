// Processes that a program starts: fork, exec, vfork, system, popen; handlers of forks.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int counter;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int prepared, in_parent;
static void prepare(void) {
  ++prepared;
}
static void parent(void) {
  ++in_parent;
}
static void* work(void* a) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&m);
    ++counter;
    pthread_mutex_unlock(&m);
  }
  return a;
}
int main(void) {
  pthread_atfork(prepare, parent, NULL);
  pthread_t t;
  pthread_create(&t, NULL, work, NULL);
  int p[2];
  pipe(p);
  pid_t c = fork();
  if (c == 0) {
    char b[20];
    snprintf(b, 20, "child %d", counter >= 0);
    write(p[1], b, strlen(b));
    _exit(3);
  }
  close(p[1]);
  char b[20] = {0};
  int n = read(p[0], b, 19);
  int st;
  pid_t w = waitpid(c, &st, 0);
  printf("%d %s %d %d %d\n", n, b, w == c, WEXITSTATUS(st), prepared + in_parent);
  c = fork();
  if (c == 0) {
    execlp("sh", "sh", "-c", "exit 5", (char*)NULL);
    _exit(9);
  }
  waitpid(c, &st, 0);
  printf("exec %d\n", WEXITSTATUS(st));
  c = vfork();
  if (c == 0) {
    execlp("true", "true", (char*)NULL);
    _exit(9);
  }
  waitpid(c, &st, 0);
  printf("vfork %d\n", WEXITSTATUS(st));
  printf("system %d\n", WEXITSTATUS(system("exit 7")));
  FILE* f = popen("echo hello from the shell", "r");
  char l[100] = "";
  if (f) {
    fgets(l, 100, f);
    printf("popen %s", l);
    printf("pclose %d\n", pclose(f));
  }
  pthread_join(t, NULL);
  printf("%d\n", counter);
  return 0;
}
