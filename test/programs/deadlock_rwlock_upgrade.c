// A table of routes with a generation number. Readers look up a route under the read lock and refresh their
// copy of the table when it is of an older generation. An administrator changes the table once.
//
// The bug: on finding its copy old, lookup() takes the write lock while it still holds the read lock, and waits
// for itself. This happens only when the table changes between the two lookups of the reader.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B the first lookup before the change
// HEDDLE-DECISIVE: B C the change before a later lookup of the same reader
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int generation = 1;
int route = 10;
int refreshes;

struct copy {
  int generation;
  int route;
};

static void refresh(struct copy* copy) {
  copy->generation = generation;  // [A]
  copy->route = route;
}

static int lookup(struct copy* copy) {
  pthread_rwlock_rdlock(&lock);
  if (copy->generation != generation) {  // [C]
#ifdef FIXED
    pthread_rwlock_unlock(&lock);
#endif
    pthread_rwlock_wrlock(&lock);
    ++refreshes;
    refresh(copy);
  }
  const int result = copy->route;
  pthread_rwlock_unlock(&lock);
  return result;
}

static void* reader(void* arg) {
  (void)arg;
  struct copy copy;
  pthread_rwlock_rdlock(&lock);
  refresh(&copy);
  pthread_rwlock_unlock(&lock);
  const int found = lookup(&copy);
  assert(found == 10 || found == 20);
  return NULL;
}

static void* administrator(void* arg) {
  (void)arg;
  pthread_rwlock_wrlock(&lock);
  generation = 2;  // [B]
  route = 20;
  pthread_rwlock_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, reader, NULL);
  pthread_create(&threads[1], NULL, administrator, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(generation == 2);
  return 0;
}
