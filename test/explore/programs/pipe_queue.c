// Two producers send numbers through a pipe, a consumer adds them up until the pipe is closed. BUG: a number is sent in two parts.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
static int ends[2];
static uint32_t sum;
static void *produce(void *number) {
  uint16_t parts[2] = {(uint16_t)(uintptr_t)number, 1};
#ifdef BUG
  assert(write(ends[1], &parts[0], 2) == 2);
  assert(write(ends[1], &parts[1], 2) == 2);
#else
  assert(write(ends[1], parts, 4) == 4);
#endif
  return NULL;
}
static void *consume(void *unused) {
  uint16_t parts[2];
  ssize_t size;
  while ((size = read(ends[0], parts, 4)) > 0) {
    if (size == 2) size += read(ends[0], &parts[1], 2);
    assert(size == 4 && parts[1] == 1);
    sum += parts[0];
  }
  return unused;
}
int main(void) {
  pthread_t producers[2], consumer;
  assert(pipe(ends) == 0);
  pthread_create(&consumer, NULL, consume, NULL);
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&producers[i], NULL, produce, (void *)(i + 2));
  for (int i = 0; i < 2; ++i) pthread_join(producers[i], NULL);
  close(ends[1]);
  pthread_join(consumer, NULL);
  close(ends[0]);
  assert(sum == 5);
}
