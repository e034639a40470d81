// Threads that end out of a signal handler, wherever it found them: cancelled, or by pthread_exit, or by a jump to an earlier place. Much of
// their time they are in the hooks of recording: allocations, calls that leave the program, locks, values of shared loads, path words that
// end. Destructors and cleanup functions of the interrupted frames run code of the program.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static pthread_mutex_t mutexes[300];
static int* table[64];
static volatile int shared;
static thread_local sigjmp_buf back;
static thread_local volatile int way = 0;    // 0: handlers come back, 1: cancelled, 2: pthread_exit, 3: jump
static thread_local volatile int patience = 0;  // handlers that come back before

static int step(int n) { return n % 3 == 1 ? n / 3 : n + 1; }
static int (*const steps[])(int) = {step, [](int n) { return n ^ 5; }, abs, [](int n) { return n & 2 ? step(n) : -n; }};

__attribute__((noinline)) static int busy(int round) {
  int sum = 0;
  char text[64];
  for (int i = 0; i < 40; ++i) {
    sum += *table[(round + i) % 64] & 1 ? i : -i;
    int* const fresh = static_cast<int*>(malloc(16 + i));
    fresh[0] = sum;
    if (fresh[0] % 3 == 0) sum += static_cast<int>(getppid() & 1);
    free(fresh);
    pthread_mutex_t* const mutex = &mutexes[(round * 7 + i * 31) % 300];
    if (pthread_mutex_trylock(mutex) == 0) pthread_mutex_unlock(mutex);
    if (close(-1 - i % 2) != 0 && errno == EBADF) ++sum;
    if (i % 4 == 0 && access("", F_OK) != 0 && errno == ENOENT) sum ^= 3;
    snprintf(text, sizeof text, "%d %d", sum, i);
    sum += text[1] == '1' ? 2 : 1;
    sum = steps[(sum ^ i) & 3](sum);
  }
  return sum;
}

struct Guard {
  explicit Guard(int at) : place(at) {}
  ~Guard() noexcept(false) {  // a thread may end in the middle of it
    for (int i = 0; i <= place; ++i)
      if ((i + shared) & 1) shared = shared + step(*table[i % 64]);
    free(malloc(8));
    shared = shared + steps[place & 3](place);
  }
  int place;
};

static void cleaned(void* value) {
  for (int i = 0; i < *static_cast<int*>(value); ++i)
    if (*table[i] & 1) shared = shared + 1;
}

static void on_signal(int) {
  Guard guard(1);
  if (shared % 5 == 2) shared = shared + busy(shared) % 2;
  if (way == 0 || patience-- > 0) return;
  const int now = way;
  way = 0;  // what cleans up is not interrupted like this once more
  switch (now) {
    case 1:
      int before;
      pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
      pthread_testcancel();
      break;
    case 2:
      pthread_exit(nullptr);
    default:
      siglongjmp(back, 1);
  }
}

__attribute__((noinline)) static void deep(int depth) {
  Guard guard(depth);
  if (depth > 0) {
    deep(depth - 1);
    shared = shared + 1;
    return;
  }
  for (int round = 0; ; ++round) {
    Guard inner(round & 1);
    shared = shared + busy(round) % 2;
  }
}

static void* run(void* argument) {
  const long number = reinterpret_cast<long>(argument);
  int before, here = 5;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  patience = static_cast<int>(number % 7);
  volatile int jumps = 0;
  pthread_cleanup_push(cleaned, &here);
  if (number % 3 == 2) {
    if (sigsetjmp(back, 1) != 0) jumps = jumps + 1;
    way = jumps < 20 ? 3 : 1;
    if (jumps > 20) way = 2;
  } else {
    way = number % 3 == 0 ? 1 : 2;
  }
  deep(static_cast<int>(number % 4));
  pthread_cleanup_pop(1);
  return nullptr;
}

int main() {
  for (pthread_mutex_t& each : mutexes) pthread_mutex_init(&each, nullptr);
  for (int i = 0; i < 64; ++i) table[i] = new int(i * 7 + 1);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  for (long round = 0; round < 12; ++round) {
    pthread_t threads[3];
    for (long i = 0; i < 3; ++i) pthread_create(&threads[i], nullptr, run, reinterpret_cast<void*>(round * 3 + i));
    for (int i = 0; i < 3; ++i) {
      // Whether it is still there is known only when it is joined.
      pthread_cancel(threads[i]);
      struct timespec limit;
      do {
        pthread_kill(threads[i], SIGUSR1);
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec += 20000 + 1000 * (shared & 31);
        if (limit.tv_nsec >= 1000000000) limit.tv_nsec -= 1000000000, ++limit.tv_sec;
      } while (pthread_timedjoin_np(threads[i], nullptr, &limit) != 0);
    }
  }
  std::puts("done");
  return 0;
}
