// The sum of what standard input holds, by two threads; some of it gets lost.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
static unsigned char data[64];
static long size;
static uint32_t sum;
static void* add(void* arg) {
  const long first = (long)arg;
  for (long i = first; i < size; i += 2) {
    if (data[i] == 'x') continue;
    uint32_t old = sum;
    sum = old + data[i];
  }
  return 0;
}
int main(void) {
  long got;
  while ((got = read(0, data + size, 7)) > 0) size += got;
  uint32_t expected = 0;
  for (long i = 0; i < size; ++i)
    if (data[i] != 'x') expected += data[i];
  pthread_t t[2];
  for (long i = 0; i < 2; ++i) pthread_create(&t[i], 0, add, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  assert(sum == expected);
  return 0;
}
