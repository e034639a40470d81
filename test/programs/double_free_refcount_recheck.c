// A message shared by two owners, freed by the one who gives it back last.
//
// The bug: the count goes down atomically, but whether it has reached zero is looked up afterwards. Both owners
// can see zero, and both free.
//
// HEDDLE-FAILURE: double-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one owner counts down before the other one looks (in both directions)
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

struct message {
  atomic_int owners;
  char* text;
};

static void give_back(struct message* m) {
#ifdef FIXED
  if (atomic_fetch_sub(&m->owners, 1) == 1) free(m->text);
#else
  atomic_fetch_sub(&m->owners, 1);                  // [A]
  if (atomic_load(&m->owners) == 0) free(m->text);  // [B]
#endif
}

static void* owner(void* message) {
  give_back(message);
  return NULL;
}

int main(void) {
  struct message message = {2, malloc(60)};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, owner, &message);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
