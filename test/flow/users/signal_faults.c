// Faults that handlers jump out of, in several threads that race, beside timers.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static __thread sigjmp_buf back;
static __thread int faults;
static int* volatile bad;
static const int constant[4] = {1, 2, 3, 4};
static int total, ticks;
static int counts[4 * 16];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void on_fault(int s, siginfo_t* i, void* c) {
  (void)s;
  (void)c;
  if (i->si_addr != NULL) ++total;
  ++faults;
  siglongjmp(back, 1);
}
static void on_tick(int s) {
  (void)s;
  __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
}
// Many accesses, in a loop, before the one that faults.
static int numbers[64];
static int sum_until_fault(int n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += numbers[k] += k;
  return sum + *bad;
}
static void* work(void* a) {
  long id = (long)a;
  char buffer[64] = "some text that is copied";
  for (int i = 0; i < 40; ++i) {
    if (sigsetjmp(back, 1) == 0) {
      switch ((i + id) % 5) {
        case 0:
          *bad = i;
          break;
        case 1:
          total += *bad;
          break;
        case 2:
          ((volatile int*)constant)[i % 4] = i;
          break;
        case 3:
          total += sum_until_fault(i);
          break;
        default:
          memcpy((char*)bad, buffer, sizeof buffer);
      }
    }
    total += i;  // races
    pthread_mutex_lock(&m);
    counts[id * 16] += 1;
    pthread_mutex_unlock(&m);
  }
  return (void*)(long)faults;
}
int main(void) {
  struct sigaction f = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
  struct sigaction t = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
  sigfillset(&t.sa_mask);
  sigaction(SIGSEGV, &f, NULL);
  sigaction(SIGALRM, &t, NULL);
  struct itimerval it = {{0, 300}, {0, 300}};
  setitimer(ITIMER_REAL, &it, NULL);
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  long all = 0;
  for (int i = 0; i < 4; ++i) {
    void* n;
    pthread_join(threads[i], &n);
    all += (long)n;
  }
  memset(&it, 0, sizeof it);
  setitimer(ITIMER_REAL, &it, NULL);
  printf("faults %ld counts %d %d %d %d total %d ticks %d\n", all, counts[0], counts[16], counts[32], counts[48], total > 0,
         ticks >= 0);
  return all != 160;
}
