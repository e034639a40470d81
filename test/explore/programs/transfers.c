/* Money goes between accounts, each with a lock of its own, taken in the order of their numbers. BUG: the giver's first. */
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct account {
  pthread_mutex_t lock;
  long balance;
};
static struct account accounts[2] = {{PTHREAD_MUTEX_INITIALIZER, 100}, {PTHREAD_MUTEX_INITIALIZER, 100}};

static void transfer(int from, int to, long amount) {
#ifdef BUG
  const int first = from, second = to;
#else
  const int first = from < to ? from : to, second = from < to ? to : from;
#endif
  pthread_mutex_lock(&accounts[first].lock);
  pthread_mutex_lock(&accounts[second].lock);
  accounts[from].balance -= amount;
  accounts[to].balance += amount;
  pthread_mutex_unlock(&accounts[second].lock);
  pthread_mutex_unlock(&accounts[first].lock);
}

static void* there(void* unused) {
  transfer(0, 1, 30);
  return unused;
}
static void* back(void* unused) {
  transfer(1, 0, 20);
  return unused;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, there, NULL);
  pthread_create(&threads[1], NULL, back, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(accounts[0].balance == 90 && accounts[1].balance == 110);
  return 0;
}
