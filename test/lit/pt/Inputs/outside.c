// Ways out of the program's own code and back into it: callbacks, handlers, longjmp, processes of its own, and
// a wait in a library that ends when another thread goes on only.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_spinlock_t spin;
static volatile int count;
static volatile sig_atomic_t signals;
static jmp_buf jump;

static void handler(int number) {
  (void)number;
  ++signals;
}

static void* work(void* unused) {
  pthread_spin_lock(&spin);
  ++count;
  pthread_spin_unlock(&spin);
  char* text = malloc(100);
  sprintf(text, "%d", count);
  free(text);
  return unused;
}

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

int main(void) {
  pthread_spin_init(&spin, 0);
  signal(SIGUSR1, handler);
  pthread_spin_lock(&spin);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, NULL);
  raise(SIGUSR1);
  pthread_spin_unlock(&spin);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  int numbers[20];
  for (int i = 0; i < 20; ++i) numbers[i] = i * 7 % 20;
  qsort(numbers, 20, sizeof *numbers, compare);
  if (setjmp(jump) == 0) longjmp(jump, 1);
  const pid_t child = fork();
  if (child == 0) {
    int sum = 0;
    for (int i = 0; i < 20; ++i) sum += numbers[i];
    _exit(sum == 190 && numbers[3] == 3 ? 3 : 4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const int system_status = system("exit 5");
  cpu_set_t processors;
  sched_getaffinity(0, sizeof processors, &processors);
  printf("count %d, signals %d, child %d, system %d, processors %s\n", count, (int)signals, WEXITSTATUS(status),
         WEXITSTATUS(system_status), CPU_COUNT(&processors) == sysconf(_SC_NPROCESSORS_ONLN) ? "all" : "fewer");
  return 0;
}
