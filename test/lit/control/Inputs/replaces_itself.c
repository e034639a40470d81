// Starts /bin/true: in a child, then in its own place. Before that, what is not there.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  assert(execl("/nonexistent/program", "program", NULL) == -1 && errno == ENOENT);
  int status = -1;
  const pid_t child = fork();
  if (child == 0) execl("/bin/sh", "sh", "-c", "exit $0", "7", NULL);
  assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
  if (argc > 1 && strcmp(argv[1], "daemon") == 0) return daemon(1, 1);
  return execlp("true", "true", NULL);
}
