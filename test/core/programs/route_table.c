// Routes are read without a lock; who changes them makes a copy, publishes it, and frees the old one when every
// reader has been outside once. Readers say that they are inside by a counter per thread, odd while inside. The
// writer waits for each in turn, but takes a counter that has only moved on as well: a reader that left and
// came in again may have the old table if he had read the pointer before he said so.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
enum { kReaders = 3, kRoutes = 6, kLookups = 4 };
struct table {
  int count;
  int* hops;
};
static _Atomic(struct table*) current;
static atomic_uint inside[kReaders];
static struct table* make_table(int base) {
  struct table* t = malloc(sizeof *t);
  t->count = kRoutes;
  t->hops = malloc(kRoutes * sizeof *t->hops);
  for (int i = 0; i < kRoutes; ++i) t->hops[i] = base + i;
  return t;
}
static void free_table(struct table* t) {
  free(t->hops);
  t->hops = NULL;
  t->count = 0;
  free(t);
}
static void synchronize(void) {
  for (int i = 0; i < kReaders; ++i) {
    unsigned seen = atomic_load(&inside[i]);
    if (seen % 2 == 0) continue;
    while (atomic_load(&inside[i]) == seen) sched_yield();
  }
}
static int lookup(int reader, int route) {
#ifdef FIXED
  atomic_fetch_add(&inside[reader], 1);
  struct table* t = atomic_load(&current);
#else
  struct table* t = atomic_load(&current);
  atomic_fetch_add(&inside[reader], 1);
#endif
  int hop = t->hops[route % kRoutes];
  atomic_fetch_add(&inside[reader], 1);
  return hop;
}
static void* reader(void* arg) {
  int id = (int)(long)arg;
  long sum = 0;
  for (int i = 0; i < kLookups; ++i) sum += lookup(id, id + i);
  return (void*)sum;
}
static void* writer(void* arg) {
  (void)arg;
  for (int i = 1; i <= 2; ++i) {
    struct table* old = atomic_load(&current);
    struct table* made = make_table(i * 100);
    atomic_store(&current, made);
    synchronize();
    free_table(old);
  }
  return NULL;
}
int main(void) {
  atomic_store(&current, make_table(0));
  pthread_t t[kReaders], w;
  for (long i = 0; i < kReaders; ++i) pthread_create(&t[i], NULL, reader, (void*)i);
  pthread_create(&w, NULL, writer, NULL);
  for (int i = 0; i < kReaders; ++i) pthread_join(t[i], NULL);
  pthread_join(w, NULL);
  free_table(atomic_load(&current));
  return 0;
}
