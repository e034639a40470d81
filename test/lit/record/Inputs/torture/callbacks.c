// Foreign code calls the program: qsort, bsearch, twalk, ftw, pthread_once, atexit, thread-specific destructors, fopencookie, a
// comparison that sorts by itself; pointers that lead outside and inside in turn.
#define _GNU_SOURCE
#include <ftw.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile int shared;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static int by_value(const void* left, const void* right) {
  const int l = *(const int*)left, r = *(const int*)right;
  if (l == r) return 0;
  return l < r ? -1 : 1;
}
static int by_sorted(const void* left, const void* right) {
  int copy[4] = {*(const int*)left, *(const int*)right, 3, 1};
  qsort(copy, 4, sizeof copy[0], by_value);
  if (copy[0] & 1) shared = shared + 1;
  return by_value(left, right);
}
static void visit(const void* node, VISIT order, int depth) {
  if (order == leaf || (order == postorder && depth % 2)) shared = shared + **(int* const*)node;
}
static int file_seen(const char* path, const struct stat* status, int kind) {
  (void)status;
  if (kind == FTW_D) return 0;
  return path[0] == 'x';
}
static ssize_t swallow(void* cookie, const char* text, size_t size) {
  (void)cookie;
  for (size_t i = 0; i < size; ++i) if (text[i] == '7') shared = shared + 1;
  return (ssize_t)size;
}
static void set_up(void) {
  for (int i = 0; i < 5; ++i) shared = shared + i;
}
static void destroyed(void* value) {
  int* rounds = value;
  if (--*rounds > 0) pthread_setspecific(key, value);
  else free(value);
}
static void first_end(void) { if (shared & 1) shared = 2; }
static void second_end(void) { for (int i = 0; i < 3; ++i) shared = shared + i; }

typedef int Number(int);
static int half(int n) { return n / 2; }
Number* volatile numbers[3] = {abs, half, abs};

static void* run(void* argument) {
  int values[50], *found;
  void* root = NULL;
  pthread_once(&once, set_up);
  for (int i = 0; i < 50; ++i) values[i] = i * 37 % 50;
  qsort(values, 50, sizeof values[0], argument ? by_value : by_sorted);
  for (int i = 0; i < 60; i += 7) {
    found = bsearch(&i, values, 50, sizeof values[0], by_value);
    if (found == NULL) shared = shared + 1;
  }
  for (int i = 0; i < 20; ++i) tsearch(&values[i * 7 % 20], &root, by_value);
  twalk(root, visit);
  while (root != NULL) tdelete(*(int**)root, &root, by_value);
  int* rounds = malloc(sizeof *rounds);
  *rounds = 3;
  pthread_setspecific(key, rounds);
  for (int i = 0; i < 9; ++i) shared = shared + numbers[i % 3](-i);
  FILE* stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = swallow});
  fprintf(stream, "%d and %d", 177, shared);
  fclose(stream);
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  atexit(first_end);
  atexit(second_end);
  pthread_key_create(&key, destroyed);
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, (void*)(i % 2));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  ftw(".", file_seen, 4);
  puts("done");
  return 0;
}
