// A position of two coordinates is moved by one thread and copied as a whole, with memcpy, by another one.
//
// The bug: the move sets one coordinate after the other, each under the lock, and the copy is made without it.
// Between the two steps, the copy is a position that never was. (memcpy over memory that others access in other
// sizes.)
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the first coordinate is set before the copy
// HEDDLE-DECISIVE: B C the copy is made before the second coordinate is set
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

struct position {
  int x;
  char name[24];
  int y;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct position ship = {1, "ship", 1};

static void* move(void* arg) {
  (void)arg;
  pthread_mutex_lock(&lock);
  ship.x = 2;  // [A]
#ifndef FIXED
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  ship.y = 2;  // [C]
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* draw(void* arg) {
  (void)arg;
  struct position copy;
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  memcpy(&copy, &ship, sizeof copy);  // [B]
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
  assert(copy.x == copy.y);
  assert(strcmp(copy.name, "ship") == 0);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, draw, NULL);
  pthread_create(&threads[1], NULL, move, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
