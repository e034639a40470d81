// Stacks that overflow again and again: the handler, on a stack of its own, jumps back. Then children by posix_spawn and vfork.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Thread_local sigjmp_buf back;
static volatile int enough;

static void on_fault(int number) {
  (void)number;
  siglongjmp(back, 1);
}

__attribute__((noinline)) static int dive(int depth) {
  volatile char room[2048];
  memset((void*)room, depth, sizeof room);
  if (enough) return 0;
  return dive(depth + 1) + room[depth & 1023];
}

static void* run(void* argument) {
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  for (volatile int i = 0; i < 3; ++i)
    if (sigsetjmp(back, 1) == 0) dive(0);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, NULL);
  free(stack.ss_sp);
  pid_t child;
  char* arguments[] = {"true", NULL};
  if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0) waitpid(child, NULL, 0);
  child = vfork();
  if (child == 0) {
    execl("/bin/true", "true", (char*)NULL);
    _exit(1);
  }
  waitpid(child, NULL, 0);
  return argument;
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_fault;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
