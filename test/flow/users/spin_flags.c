// Threads that wait for each other by flags in loops, of all kinds.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
enum { N = 4, ROUNDS = 150 };
static volatile int turn;
static _Atomic int go[N];
static int data[64];
static volatile int stop;
static int polled;
static volatile long spins;
static void* work(void* a) {
  int id = (int)(long)a;
  long sum = 0;
  for (int r = 0; r < ROUNDS; r++) {
    int n = 0;
    while (turn != id) {
      sum += data[(n++) & 63];
      if (stop) return (void*)sum;
      if ((n & 1023) == 0) sched_yield();
    }
    for (int i = 0; i < 64; i++) data[i] += id + i;
    turn = (id + 1) % N;
    int k = 0;
    while (atomic_load_explicit(&go[id], memory_order_relaxed) < r) {
      if (++k > 50) break;
    }
    atomic_store(&go[(id + 1) % N], r);
    do {
      spins++;
    } while ((++n & 7) != 0 && !stop);
  }
  return (void*)sum;
}
static void* poll(void* a) {
  long c = 0;
  while (!stop) {
    c += data[c & 63] + polled;
  }
  polled++;
  return (void*)c;
}
int main(void) {
  pthread_t t[N], p;
  pthread_create(&p, 0, poll, 0);
  for (long i = 0; i < N; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < N; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  stop = 1;
  void* r;
  pthread_join(p, &r);
  printf("%ld %ld %d\n", s, spins, data[5]);
  return 0;
}
