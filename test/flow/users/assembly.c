// Inline assembly that updates memory which other code accesses without: a lock, a counter, a flag that is exchanged.
#include <pthread.h>
#include <stdio.h>
static int lock_, taken, total;
static volatile int flag;
static long counter;
static int compare_and_exchange(int* at, int from, int to) {
  int out;
  __asm__ __volatile__("lock; cmpxchg %2, %1" : "=a"(out), "+m"(*(volatile int*)at) : "r"(to), "0"(from) : "memory");
  return out;
}
static long add(long* at, long value) {
  __asm__ __volatile__("lock; xaddq %0, (%1)" : "+r"(value) : "r"(at) : "memory");
  return value;
}
static int exchange(volatile int* at, int value) {
  __asm__ __volatile__("xchgl %0, %1" : "+r"(value), "+m"(*at) : : "memory");
  return value;
}
static void* work(void* argument) {
  const int id = (int)(long)argument;
  for (int i = 0; i < 300; ++i) {
    while (compare_and_exchange(&lock_, 0, id) != 0)
      while (*(volatile int*)&lock_ != 0) __asm__ __volatile__("pause" ::: "memory");
    taken = taken * 3 + id;
    *(volatile int*)&lock_ = 0;
    total += (int)add(&counter, id);
    flag = id;
    total ^= exchange(&flag, i);
    total += (int)counter;
  }
  return argument;
}
int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%d %ld %d\n", taken, counter, total);
  return 0;
}
