/* memcpy, memmove and memset whose addresses and sizes come from memory that others write. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

static char source[24] = "abcdefghijklmnopqrstuvw";
static char target[24];
static char filled[24];
static size_t size = 4, start = 2;

static void* change(void* unused) {
  (void)unused;
  size = 7;
  start = 5;
  source[3] = 'X';
  return 0;
}

static void* copy(void* unused) {
  (void)unused;
  const size_t count = size, from = start;
  memcpy(target, source, count);
  memmove(target + from, source, 8);
  memset(filled + from, 'z', 3);
  memset(filled, 'y', count);
  return target[1] == 'b' && filled[0] == 'y' ? target : 0;
}

int main(void) {
  pthread_t a, b;
  void* result;
  pthread_create(&a, 0, change, 0);
  pthread_create(&b, 0, copy, 0);
  pthread_join(a, 0);
  pthread_join(b, &result);
  assert(result == target);
  assert(target[0] == 'a' && (filled[3] == 'y' || filled[3] == 'z'));
  return 0;
}
