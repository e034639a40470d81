// Two threads put a job back into the list of waiting jobs unless it is there already. A third one then adds up
// the list, recursively.
//
// The bug: "is it there already" and "insert" are two critical sections. Inserted twice, the job is its own
// successor, and the recursion over the list has no end: the stack overflows.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread looks before the other one inserts (in both directions)
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct job {
  struct job* next;
  int waiting;
  int cost;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct job other = {NULL, 1, 5};
struct job job = {NULL, 0, 7};
struct job* jobs = &other;

static void insert_locked(struct job* j) {
  j->next = jobs;
  jobs = j;
  j->waiting = 1;  // [B]
}

static void* put_back(void* arg) {
  struct job* j = arg;
  pthread_mutex_lock(&lock);
  const int there = j->waiting;  // [A]
#ifndef FIXED
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
#endif
  if (!there) insert_locked(j);
  pthread_mutex_unlock(&lock);
  return NULL;
}

static int cost(const struct job* j) {
  volatile char frame[256];  // what a real function would keep on its stack
  if (j == NULL) return 0;
  frame[0] = (char)j->cost;
  const int rest = cost(j->next);
  return frame[0] + rest;
}

static void* add_up(void* total) {
  *(int*)total = cost(jobs);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, put_back, &job);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  int total = 0;
  pthread_t adder;
  pthread_create(&adder, NULL, add_up, &total);
  pthread_join(adder, NULL);
  assert(total == 12);
  return 0;
}
