// A thousand threads at once, and nested ones.
#include <pthread.h>
#include <stdio.h>

volatile int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER;
static int here;

static int work(int n) {
  int sum = 0;
  for (int i = 0; i < 20; ++i) sum += (i * n ^ shared) & 1 ? i : -1;
  return sum;
}
static void* nested(void* argument) {
  const long depth = (long)argument;
  pthread_t thread;
  if (depth == 0) return NULL;
  shared = shared + work((int)depth);
  if (pthread_create(&thread, NULL, nested, (void*)(depth - 1)) == 0) pthread_join(thread, NULL);
  return NULL;
}
static void* run(void* argument) {
  const long number = (long)argument;
  pthread_mutex_lock(&lock);
  if (++here == 1000) pthread_cond_broadcast(&all_here);
  while (here < 1000) pthread_cond_wait(&all_here, &lock);
  pthread_mutex_unlock(&lock);
  shared = shared + work((int)number);
  return NULL;
}
int main(void) {
  static pthread_t threads[1000];
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (long i = 0; i < 1000; ++i) if (pthread_create(&threads[i], &small, run, (void*)i) != 0) return 1;
  for (int i = 0; i < 1000; ++i) pthread_join(threads[i], NULL);
  nested((void*)8);
  puts("done");
  return 0;
}
