// Two accounts, each with its own lock; two transfers in opposite directions.
//
// The bug: each transfer locks its source first. With one transfer from a to b and one from b to a, each can
// hold one lock and wait for the other: a cycle of two.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B each thread takes its first lock before the other one takes its second
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct account {
  pthread_mutex_t lock;
  int balance;
};

struct account a = {PTHREAD_MUTEX_INITIALIZER, 10};
struct account b = {PTHREAD_MUTEX_INITIALIZER, 10};

static void transfer(struct account* from, struct account* to, int amount) {
#ifdef FIXED
  struct account* first = from < to ? from : to;
  struct account* second = from < to ? to : from;
#else
  struct account* first = from;
  struct account* second = to;
#endif
  pthread_mutex_lock(&first->lock);   // [A]
  pthread_mutex_lock(&second->lock);  // [B]
  from->balance -= amount;
  to->balance += amount;
  pthread_mutex_unlock(&second->lock);
  pthread_mutex_unlock(&first->lock);
}

static void* forth(void* arg) {
  (void)arg;
  transfer(&a, &b, 1);
  return NULL;
}

static void* back(void* arg) {
  (void)arg;
  transfer(&b, &a, 2);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, forth, NULL);
  pthread_create(&threads[1], NULL, back, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(a.balance + b.balance == 20);
  return 0;
}
