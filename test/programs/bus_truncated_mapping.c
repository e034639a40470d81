// A reader walks over a mapped file of two pages, a rotation cuts the file to one page.
//
// The bug: the reader learns the size under the lock and reads the mapping after unlocking. A page that is no
// longer backed by the file gives a bus error.
//
// HEDDLE-FAILURE: bus
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the size is read before the file is cut
// HEDDLE-DECISIVE: B C the file is cut before the second page is read
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kPage = 4096 };

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int file;
volatile char* mapping;
size_t size = 2 * kPage;

static void* reader(void* sum) {
  pthread_mutex_lock(&lock);
  const size_t end = size;  // [A]
#ifndef FIXED
  pthread_mutex_unlock(&lock);
#endif
  for (size_t at = 0; at < end; at += kPage) *(int*)sum += mapping[at];  // [C]
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
  return NULL;
}

static void* rotation(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  size = kPage;
  const int failed = ftruncate(file, kPage);  // [B]
  pthread_mutex_unlock(&lock);
  assert(!failed);
  return NULL;
}

int main(void) {
  file = memfd_create("pages", 0);
  assert(file >= 0 && ftruncate(file, 2 * kPage) == 0);
  mapping = mmap(NULL, 2 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert(mapping != MAP_FAILED);
  mapping[0] = 1;
  mapping[kPage] = 2;
  int sum = 0;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reader, &sum);
  pthread_create(&threads[1], NULL, rotation, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(sum == 1 || sum == 3);
  return 0;
}
