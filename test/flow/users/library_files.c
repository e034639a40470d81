// Files by way of the C library: what fread reads at once, of a large file, into memory that others may reach, and what fwrite and fflush write into a file that is mapped and shared. The
// system calls are made in the middle of the library call's event, more than one of them, and are no events of their own.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
enum { bytes = 200003, pages = 8192 };
static unsigned char* volatile shared[2];
static unsigned sums[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* work(void* argument) {
  const long id = (long)argument;
  char name[24];
  snprintf(name, sizeof name, "library_file%ld", id);
  FILE* const in = fopen("library_input", "rb");
  if (in == NULL) abort();
  fseek(in, 0, SEEK_END);
  const size_t size = (size_t)ftell(in);
  fseek(in, 0, SEEK_SET);
  unsigned char* const all = malloc(size);
  shared[id] = all;
  if (fread(all, size, 1, in) != 1) abort();
  fclose(in);
  FILE* const out = fopen(name, "w+");
  if (out == NULL || ftruncate(fileno(out), pages) != 0) abort();
  unsigned char* const map = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(out), 0);
  if (map == MAP_FAILED) abort();
  for (int i = 0; i < 3; ++i) fwrite(all + i, 1, 2000, out);
  sums[id] = map[1000];
  fflush(out);
  fputs("more", out);
  fclose(out);
  for (int i = 0; i < pages; ++i) sums[id] = sums[id] * 31 + map[i];
  unlink(name);
  pthread_mutex_lock(&lock);
  for (int other = 0; other < 2; ++other)
    for (size_t i = 0; shared[other] != NULL && i < size; i += 1000) sums[id] += shared[other][i];
  pthread_mutex_unlock(&lock);
  return NULL;
}
int main(void) {
  FILE* const made = fopen("library_input", "r");
  if (made == NULL) {  // the next run reads it
    FILE* const out = fopen("library_input", "w");
    for (int i = 0; i < bytes; ++i) putc(i * i >> 3, out);
    fclose(out);
    return 0;
  }
  fclose(made);
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%u\n", sums[0] ^ sums[1]);
}
