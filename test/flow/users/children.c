// Processes that a program starts: fork, exec, vfork, system, popen, posix_spawn; handlers of forks.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
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
extern char** environ;
// Between two descriptors, with signals as asked for, elsewhere.
static void spawn(char* arguments[]) {
  int in[2], out[2], status;
  pipe(in);
  pipe(out);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  posix_spawnattr_setsigmask(&attributes, &set);
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &set);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  signal(SIGPIPE, SIG_IGN);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, &attributes, arguments, environ);
  close(in[0]);
  close(out[1]);
  write(in[1], "words\n", 6);
  close(in[1]);
  char text[500];
  size_t used = 0;
  for (ssize_t n; (n = read(out[0], text + used, sizeof text - used)) > 0;) used += (size_t)n;
  close(out[0]);
  const int done = waitpid(child, &status, 0) == child;
  printf("spawn %d %d %d\n%.*s", error, done, WEXITSTATUS(status), (int)used, text);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
}
static void spawn_all(void) {
  spawn((char*[]){"sh", "-c", "read x; echo $x in $PWD; echo unseen >&2; ls /proc/self/fd | wc -l", NULL});
  spawn((char*[]){"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", NULL});
  pid_t child;
  printf("%s, ",
         strerror(posix_spawn(&child, "/nonexistent/program", NULL, NULL, (char*[]){"none", NULL}, environ)));
  printf("%s\n", waitpid(-1, NULL, WNOHANG) < 0 ? strerror(errno) : "a child");
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
  spawn_all();
  pthread_join(t, NULL);
  printf("%d\n", counter);
  return 0;
}
