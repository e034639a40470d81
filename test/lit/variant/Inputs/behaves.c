#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;
static _Thread_local int steps;

__attribute__((noinline)) static void step(long n) {
  pthread_mutex_lock(&lock);
  total += n;
  pthread_mutex_unlock(&lock);
  ++steps;
}

static void* work(void* arg) {
  for (int i = 0; i < 100; ++i) step((long)arg);
  return (void*)(long)steps;
}

__attribute__((constructor)) static void early(void) { total = 1000; }
static void late(void) { puts("late"); }

int main(int argc, char** argv) {
  atexit(late);
  for (int i = 1; i < argc; ++i) printf("%d: %s\n", i, argv[i]);
  char line[100];
  if (fgets(line, sizeof line, stdin)) printf("in: %s", line);
  printf("X=%s\n", getenv("X") ? getenv("X") : "");
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  long all = 0;
  for (int i = 0; i < 3; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    all += (long)result;
  }
  printf("%ld %ld\n", total, all);
  return 7;
}
