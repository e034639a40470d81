// A computation in phases, two buffers in turn, and a barrier made by hand between them: who comes last sets
// the count back and says that the next phase begins. Who has counted himself looks at the phase only then, and
// waits for ever if it has begun already.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
enum { kThreads = 4, kCells = 8, kPhases = 4 };
static int buffers[2][kCells];
static atomic_int arrived;
static atomic_int phase_now;
static void barrier(void) {
#ifdef FIXED
  int phase = atomic_load(&phase_now);
  int count = atomic_fetch_add(&arrived, 1) + 1;
#else
  int count = atomic_fetch_add(&arrived, 1) + 1;
  int phase = atomic_load(&phase_now);
#endif
  if (count == kThreads) {
    atomic_store(&arrived, 0);
    atomic_fetch_add(&phase_now, 1);
  } else {
    while (atomic_load(&phase_now) == phase) sched_yield();
  }
}
static void* cells(void* arg) {
  int id = (int)(long)arg;
  for (int phase = 0; phase < kPhases; ++phase) {
    const int* from = buffers[phase % 2];
    int* to = buffers[(phase + 1) % 2];
    for (int c = id * 2; c < id * 2 + 2; ++c) to[c] = from[(c + kCells - 1) % kCells] + from[c] + 1;
    barrier();
  }
  return 0;
}
static void alone(int* result) {
  int a[2][kCells];
  memset(a, 0, sizeof a);
  for (int phase = 0; phase < kPhases; ++phase)
    for (int c = 0; c < kCells; ++c)
      a[(phase + 1) % 2][c] = a[phase % 2][(c + kCells - 1) % kCells] + a[phase % 2][c] + 1;
  memcpy(result, a[kPhases % 2], sizeof a[0]);
}
int main(void) {
  pthread_t t[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&t[i], 0, cells, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(t[i], 0);
  int expected[kCells];
  alone(expected);
  for (int c = 0; c < kCells; ++c) assert(buffers[kPhases % 2][c] == expected[c]);
  return 0;
}
