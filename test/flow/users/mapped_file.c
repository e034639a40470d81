/* A file that is mapped and shared, as databases have them: read in one mapping, written by system calls, and through
 * another mapping. Each run leaves it other than it found it. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
static int file;
static const volatile int* pages; /* read only, two pages */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void count(int at) {
  pthread_mutex_lock(&mutex);
  const int next = pages[at] + 1;
  if (next % 2 == 0) {
    assert(pwrite(file, &next, sizeof next, at * (long)sizeof next) == sizeof next);
  } else {
    struct iovec parts[2] = {{(void*)&next, 2}, {(char*)&next + 2, 2}};
    assert(lseek(file, at * (long)sizeof next, SEEK_SET) >= 0 && writev(file, parts, 2) == sizeof next);
  }
  assert(pages[at] == next);
  pthread_mutex_unlock(&mutex);
}

static void* worker(void* unused) {
  for (int i = 0; i < 5; ++i) count(1), count(PAGE / sizeof(int) + 3);
  return unused;
}

int main(void) {
  file = open("mapped.data", O_RDWR | O_CREAT, 0600);
  assert(file >= 0 && ftruncate(file, 2 * PAGE) == 0);
  pages = mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, file, 0);
  assert(pages != MAP_FAILED);
  const int before = pages[1];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d and 10 are %d\n", before, pages[1]);
  assert(pages[1] == before + 10);

  munmap((void*)pages, 2 * PAGE);
  char line[PAGE];
  memset(line, 'x', sizeof line);
  assert(pwrite(file, line, sizeof line, PAGE / 2) == sizeof line); /* no longer mapped */
  int* const written = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert(written != MAP_FAILED && written[1] == before + 10);
  written[1] += 7;
  munmap(written, PAGE);
  close(file);
  return 0;
}
