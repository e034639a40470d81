// What calls of stdio and of the system bring is in the recording to the last byte: whole objects, a part of one more, nothing at the end
// of the file; through the plain functions and through those that check the size of the buffer.
#define _GNU_SOURCE
#if defined(__OPTIMIZE__) && !defined(_FORTIFY_SOURCE)
#define _FORTIFY_SOURCE 2
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[] = "/tmp/heddle-read-in-parts-XXXXXX";
static unsigned sums[2];

static void add(unsigned* sum, const char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (bytes[i] % 3 == 0)
      *sum += (unsigned char)bytes[i];
    else
      *sum = *sum * 5 + 1;
}

static void* by_streams(void* argument) {
  const size_t size = *(const size_t*)argument;
  FILE* file = fopen(name, "r");
  char buffer[64];
  size_t objects;
  do {
    memset(buffer, 7, sizeof buffer);
    objects = fread(buffer, size, sizeof buffer / size, file);
    add(&sums[0], buffer, sizeof buffer);  // also what the call left alone
  } while (objects == sizeof buffer / size);
  fclose(file);
  return NULL;
}

static void* by_descriptor(void* argument) {
  const size_t size = *(const size_t*)argument;
  const int file = open(name, O_RDONLY);
  char buffer[64];
  for (ssize_t got; (got = read(file, buffer, size)) > 0;) add(&sums[1], buffer, (size_t)got);
  for (off_t at = 3; pread(file, buffer, size, at) == (ssize_t)size; at += 50) add(&sums[1], buffer, size);
  close(file);
  return NULL;
}

int main(void) {
  const int file = mkstemp(name);
  for (int i = 0; i < 200; ++i)
    if (dprintf(file, "%d,", i * i % 71) < 0) return 1;
  close(file);
  for (size_t size = 1; size < 30; size += 9) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, by_streams, &size);
    pthread_create(&threads[1], NULL, by_descriptor, &size);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  }
  unlink(name);
  return sums[0] + sums[1] == 0;
}
