// An account whose operations call each other under a recursive mutex. -DBUG: transfers take the two locks in the order of the arguments.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
struct account { pthread_mutex_t lock; int balance, log; };
static struct account a, b;
static void init(struct account* x, int n) {
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&x->lock, &attr);
  pthread_mutexattr_destroy(&attr);
  x->balance = n;
}
static void add(struct account* x, int n) {
  pthread_mutex_lock(&x->lock);
  x->balance += n;
  x->log++;
  pthread_mutex_unlock(&x->lock);
}
static void transfer(struct account* from, struct account* to, int n) {
#ifdef BUG
  struct account *first = from, *second = to;
#else
  struct account *first = from < to ? from : to, *second = from < to ? to : from;
#endif
  pthread_mutex_lock(&first->lock);
  pthread_mutex_lock(&second->lock);
  if (from->balance >= n) { add(from, -n); add(to, n); }
  pthread_mutex_unlock(&second->lock);
  pthread_mutex_unlock(&first->lock);
}
static void* one(void* x) { transfer(&a, &b, 60); return x; }
static void* two(void* x) { transfer(&b, &a, 30); return x; }
int main(void) {
  pthread_t t[3];
  init(&a, 100); init(&b, 20);
  pthread_create(&t[0], 0, one, 0);
  pthread_create(&t[1], 0, two, 0);
  pthread_create(&t[2], 0, one, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  assert(a.balance + b.balance == 120 && a.balance >= 0 && b.balance >= 0);
  pthread_mutex_destroy(&a.lock); pthread_mutex_destroy(&b.lock);
}
