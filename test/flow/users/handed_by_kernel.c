// Addresses that the kernel hands on: a thread gets one from a pipe, of a lock in the heap of a thread that began
// after it. A replay gives it back at once, and must not look there before that thread has begun.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct item {
  pthread_mutex_t lock;
  int value;
};
static int ends[2], sum;
static _Atomic int slow;
static void* taker(void* unused) {
  struct item* item;
  for (int i = 0; i < 3; ++i) {
    if (read(ends[0], &item, sizeof item) != sizeof item) abort();
    pthread_mutex_lock(&item->lock);
    sum += item->value;
    pthread_mutex_unlock(&item->lock);
  }
  return unused;
}
static void* giver(void* argument) {
  struct item* const item = malloc(sizeof *item);
  pthread_mutex_init(&item->lock, NULL);
  item->value = (int)(long)argument;
  if (write(ends[1], &item, sizeof item) != sizeof item) abort();
  return NULL;
}
int main(void) {
  pthread_t takes, gives;
  if (pipe(ends) != 0) abort();
  pthread_create(&takes, NULL, taker, NULL);
  for (long i = 1; i <= 3; ++i) {
    for (int k = 0; k < 200000; ++k) ++slow;  // a replay takes its time, too
    pthread_create(&gives, NULL, giver, (void*)i);
    pthread_join(gives, NULL);
  }
  pthread_join(takes, NULL);
  printf("%d\n", sum);
}
