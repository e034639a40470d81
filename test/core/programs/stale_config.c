// A reader keeps the size of a configuration and uses it with the one that a writer has put in its place.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct config {
  int size;
  int* table;
};
static struct config* current;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sums[4];
static struct config* make(int n) {
  struct config* c = malloc(sizeof *c);
  c->size = n;
  c->table = calloc(n, sizeof(int));
  for (int i = 0; i < n; ++i) c->table[i] = i;
  return c;
}
static void* reader(void* arg) {
  long id = (long)arg;
  for (int r = 0; r < 3; ++r) {
    pthread_mutex_lock(&lock);
    struct config* c = current;
    int n = c->size;
    pthread_mutex_unlock(&lock);
    long s = 0;
    pthread_mutex_lock(&lock);
    if (current->size < n) abort();
    for (int i = 0; i < n; ++i) s += current->table[i];
    pthread_mutex_unlock(&lock);
    sums[id] += s;
  }
  return 0;
}
static void* writer(void* arg) {
  (void)arg;
  for (int n = 8; n > 2; n -= 3) {
    struct config* c = make(n);
    pthread_mutex_lock(&lock);
    struct config* old = current;
    current = c;
    pthread_mutex_unlock(&lock);
    free(old->table);
    free(old);
  }
  return 0;
}
int main(void) {
  current = make(10);
  pthread_t t[4];
  for (long i = 0; i < 3; ++i) pthread_create(&t[i], 0, reader, (void*)i);
  pthread_create(&t[3], 0, writer, 0);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
  printf("%ld\n", sums[0]);
  return 0;
}
