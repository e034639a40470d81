// Workers end by pthread_exit, deep inside of functions that they called; main adds up what they give back.
// Additions to the shared total get lost.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int total;
static __thread volatile int busy;
__attribute__((noinline)) static void finish(int* result, int count) {
  *result = count;
  pthread_exit(result);
}
__attribute__((noinline)) static int step(int* result, int left, int count) {
  if (left == 0) finish(result, count);
  const int seen = total;
  for (int i = 0; i < 20; ++i) ++busy;
  total = seen + left;
  return step(result, left - 1, count + left) + 1;
}
static void* work(void* arg) {
  int* result = malloc(sizeof *result);
  step(result, *(int*)arg, 0);
  return NULL;
}
int main(void) {
  int rounds[2] = {6, 7}, sum = 0;
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &rounds[i]);
  for (int i = 0; i < 2; ++i) {
    void* result;
    pthread_join(threads[i], &result);
    sum += *(int*)result;
    free(result);
  }
  assert(sum == total);
  return 0;
}
