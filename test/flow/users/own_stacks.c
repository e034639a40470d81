// Threads on stacks that the program brings itself, in blocks of its heap, one after the other on the same stack.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#define SIZE (256 * 1024)
static long shared, racing;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* given) {
  long* const mine = given;
  for (int i = 0; i < 2000; ++i) {
    pthread_mutex_lock(&lock);
    ++shared;
    pthread_mutex_unlock(&lock);
    *mine += ++racing;
  }
  return mine;
}
int main(void) {
  void* stacks[2];
  long counts[2] = {0, 0}, sum = 0;
  for (int i = 0; i < 2; ++i)
    if (posix_memalign(&stacks[i], 4096, SIZE) != 0) return 1;
  for (int round = 0; round < 4; ++round) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
      pthread_attr_t how;
      pthread_attr_init(&how);
      pthread_attr_setstack(&how, stacks[i], SIZE);
      if (pthread_create(&threads[i], &how, work, &counts[i]) != 0) return 1;
      pthread_attr_destroy(&how);
    }
    for (int i = 0; i < 100; ++i) ++racing;
    for (int i = 0; i < 2; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      sum += *(long*)result;
    }
  }
  printf("%ld %ld %ld\n", shared, racing, sum);
  return 0;
}
