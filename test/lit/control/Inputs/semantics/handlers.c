// Signal handlers: of faults, in several threads at once; left by siglongjmp; once only; with values that were
// queued.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static char* pages;
static _Atomic int faults, signals, sum;

// Makes the page writable, as garbage collectors do.
static void on_fault(int number, siginfo_t* information, void* context) {
  (void)context;
  assert(number == SIGSEGV);
  char* const at = information->si_addr;
  assert(at >= pages && at < pages + 2 * 4096);
  ++faults;
  assert(mprotect(pages + (at - pages) / 4096 * 4096, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void* write_page(void* page) {
  *(char*)page = 1;
  return NULL;
}

static void* signal_itself(void* unused) {
  assert(raise(SIGUSR1) == 0);
  return unused;
}

static void count(int number) {
  (void)number;
  ++signals;
}

static void add(int number, siginfo_t* information, void* context) {
  (void)number, (void)context;
  sum = sum * 10 + information->si_value.sival_int;
}

static sigjmp_buf back;
static void leave(int number) {
  siglongjmp(back, number);
}

static void handle(int number, void (*handler)(int), int flags) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
  assert(sigaction(number, &action, NULL) == 0);
}

int main(void) {
  pthread_t threads[2];
  struct sigaction action, old;
  const int used[] = {SIGSEGV, SIGFPE, SIGABRT, SIGUSR1, SIGUSR2, SIGRTMIN};
  for (int i = 0; i < 6; ++i)  // nothing is left of an execution before
    assert(sigaction(used[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL);
  pages = mmap(NULL, 2 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  action = (struct sigaction){.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  assert(sigaction(SIGSEGV, &action, NULL) == 0);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, write_page, pages + 4096 * i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(faults == 2 && pages[0] == 1 && pages[4096] == 1);

  // Left by a jump.
  assert(signal(SIGSEGV, leave) != SIG_ERR && signal(SIGFPE, leave) == SIG_DFL);
  int number = sigsetjmp(back, 1);
  if (number == 0) *(volatile char*)8 = 1;
  assert(number == SIGSEGV);
  for (volatile int i = 0; i < 2; ++i) {  // it blocks itself, but is left with the mask of before
    number = sigsetjmp(back, 1);
    if (number == 0) raise(SIGFPE);
    assert(number == SIGFPE);
  }

  // Signals that would end the program, sent by itself.
  assert(signal(SIGABRT, count) == SIG_DFL && raise(SIGABRT) == 0 && signals == 1);
  assert(signal(SIGABRT, SIG_DFL) == count);

  // Once.
  handle(SIGUSR2, count, (int)SA_RESETHAND);
  assert(raise(SIGUSR2) == 0 && signals == 2);
  assert(sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_handler == SIG_DFL);

  // In several threads.
  handle(SIGUSR1, count, 0);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, signal_itself, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(signals == 4);

  // Queued, in order, each of them.
  action = (struct sigaction){.sa_sigaction = add, .sa_flags = SA_SIGINFO};
  assert(sigaction(SIGRTMIN, &action, NULL) == 0);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGRTMIN);
  assert(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
  for (int i = 1; i < 4; ++i) assert(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}) == 0);
  siginfo_t information;
  assert(sigwaitinfo(&set, &information) == SIGRTMIN && information.si_value.sival_int == 1);
  assert(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0 && sum == 23);
  return 0;
}
