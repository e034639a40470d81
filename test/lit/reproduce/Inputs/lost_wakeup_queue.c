/* A queue whose producer signals only if it sees that somebody waits, without the lock: a consumer that is
 * about to wait is missed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct queue {
  int items[16];
  int head, tail;
  int waiting;
  pthread_mutex_t m;
  pthread_cond_t c;
} q = {.m = PTHREAD_MUTEX_INITIALIZER, .c = PTHREAD_COND_INITIALIZER};
static void put(int v) {
  pthread_mutex_lock(&q.m);
  q.items[q.tail++ % 16] = v;
  pthread_mutex_unlock(&q.m);
  if (q.waiting) pthread_cond_signal(&q.c);
}
static int get(void) {
  pthread_mutex_lock(&q.m);
  int empty = q.head == q.tail;
  pthread_mutex_unlock(&q.m);
  if (empty) {
    pthread_mutex_lock(&q.m);
    q.waiting = 1;
    pthread_cond_wait(&q.c, &q.m);
    q.waiting = 0;
    pthread_mutex_unlock(&q.m);
  }
  pthread_mutex_lock(&q.m);
  int v = q.items[q.head++ % 16];
  pthread_mutex_unlock(&q.m);
  return v;
}
static void* consumer(void* a) {
  long sum = 0;
  for (int i = 0; i < 10; ++i) sum += get();
  printf("%ld\n", sum);
  return a;
}
static void* producer(void* a) {
  for (int i = 0; i < 10; ++i) put(i);
  return a;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, consumer, 0);
  pthread_create(&b, 0, producer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
