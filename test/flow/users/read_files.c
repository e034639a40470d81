// Large reads of files that are there before, and what threads then do to these: rewrite them in place, truncate,
// remove and rename them, read on through a descriptor that they share. Run it in a folder with files data0 to data5 of
// 200,000 bytes or more that were not changed lately: makes them itself if they are missing, and is content then.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static unsigned sums[8], racy;
static int shared_file;
static unsigned sum_of(int fd, size_t piece) {
  unsigned char* const buffer = malloc(piece);
  unsigned sum = 0;
  ssize_t got;
  while ((got = read(fd, buffer, piece)) > 0)
    for (ssize_t i = 0; i < got; ++i) racy = sum = sum * 31 + buffer[i];
  free(buffer);
  return sum;
}
static unsigned sum_of_file(const char* name, size_t piece) {
  const int fd = open(name, O_RDONLY);
  if (fd < 0) abort();
  const unsigned sum = sum_of(fd, piece);
  close(fd);
  return sum;
}
static void* work(void* argument) {
  const long id = (long)argument;
  char name[16], other[16], bytes[64];
  snprintf(name, sizeof name, "data%ld", id);
  snprintf(other, sizeof other, "other%ld", id);
  sums[id] = sum_of_file(name, id % 2 == 0 ? 65536 : 100000);
  if (id == 0) {  // in place
    const int fd = open(name, O_RDWR);
    memset(bytes, 'x', sizeof bytes);
    if (pwrite(fd, bytes, sizeof bytes, 1000) != sizeof bytes) abort();
    sums[id] += sum_of(fd, 50000);
    close(fd);
    sums[id] += sum_of_file(name, 65536);
  } else if (id == 1) {
    if (truncate(name, 70000) != 0) abort();
    sums[id] += sum_of_file(name, 65536);
  } else if (id == 2) {
    unlink(name);
  } else if (id == 3) {
    rename(name, other);
    sums[id] += sum_of_file(other, 65536);
  } else if (id == 4) {  // another one in its place
    const int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 4000; ++i)
      if (write(fd, bytes, sizeof bytes) != sizeof bytes) abort();
    close(fd);
    rename(other, name);
    sums[id] += sum_of_file(name, 65536);
  }
  sums[id] += sum_of(shared_file, 20000);
  return NULL;
}
int main(void) {
  for (int i = 0; i < 6; ++i) {
    char name[16];
    snprintf(name, sizeof name, "data%d", i);
    if (access(name, R_OK) == 0) continue;
    FILE* const file = fopen(name, "w");
    for (unsigned j = 0; j < 60000; ++j) fprintf(file, "%u ", j * 7 + (unsigned)i);
    fclose(file);
  }
  shared_file = open("data5", O_RDONLY);
  pthread_t threads[5];
  for (long i = 0; i < 5; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 5; ++i) pthread_join(threads[i], NULL);
  unsigned all = 0;
  for (int i = 0; i < 5; ++i) all = all * 31 + sums[i];
  printf("%u %u\n", all, racy);
  return 0;
}
