// Calls of the library that sometimes touch no memory at all: controlled runs have no event for those, so none may be counted here.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static unsigned char bytes[8], others[8];
static unsigned result;

static void* work(void* argument) {
  const size_t step = (size_t)argument;
  for (size_t i = 0; i < 9; ++i) {
    const size_t size = i * step % 4;
    result += (unsigned)memcmp(bytes, others, size) >> 31;
    memmove(bytes + 4, others, size);
    memset(others + size, (int)i, size / 2);
    if (memchr(bytes, 3, size)) ++result;
    free(size == 0 ? NULL : malloc(size));
    bytes[i % 8] = (unsigned char)(others[size] + i);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  for (size_t i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  for (size_t i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  return result > 1000;
}
