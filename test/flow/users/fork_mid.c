// Children that are forked while threads are in loops of accesses; they go through the same memory.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int table[128];
static volatile int stop_, racy;
static void* work(void* a) {
  int id = (int)(long)a;
  long sum = 0;
  for (int i = 0; !stop_; i++) {
    table[(i + id) & 127] += i;
    sum += table[(i * 5) & 127];
  }
  return (void*)sum;
}
static void* forker(void* a) {
  (void)a;
  for (int i = 0; i < 8; i++) {
    pid_t p = fork();
    if (p == 0) {
      int s = 0;
      for (int k = 0; k < 20000; k++) {
        table[k & 127] += k;
        s += table[(k * 3) & 127];
      }
      _exit(s & 7);
    }
    int st;
    waitpid(p, &st, 0);
    racy += WEXITSTATUS(st);
    for (int k = 0; k < 128; k++) table[k] ^= racy;
  }
  return 0;
}
int main(void) {
  pthread_t t[3], f[2];
  for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, work, (void*)i);
  for (int i = 0; i < 2; i++) pthread_create(&f[i], 0, forker, 0);
  for (int i = 0; i < 2; i++) pthread_join(f[i], 0);
  stop_ = 1;
  long s = 0;
  for (int i = 0; i < 3; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
  }
  printf("%ld %d\n", s, racy);
  return 0;
}
