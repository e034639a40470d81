#include <pthread.h>
#include <stdio.h>
static int v[8];
static int lock_;
static void* work(void* a) {
  long id = (long)a;
  int acc = 0;
  for (int i = 0; i < 4000; i++) {
    v[0] += i;
    acc += v[1];
    __asm__ goto("testl $3,%0; jz %l1" ::"r"(i) : "cc" : skip);
    v[2] += v[0];
    if (i % 5 == 0) goto skip;
    acc ^= v[3];
  skip:
    v[1] ^= v[2];
    v[3] = acc + (int)id;
    __asm__ volatile("" ::: "memory");
    if (i % 7 == 0) __asm__ volatile("lock incl %0" : "+m"(lock_));
  }
  return (void*)(long)acc;
}
int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < 3; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld %d %d %d\n", s, v[0], v[1], lock_);
  return 0;
}
