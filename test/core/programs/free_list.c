// Buffers from a list. Whether there are any is looked at before the lock is taken: two threads may take the
// last one, and the second finds none.
#include <pthread.h>
#include <stdlib.h>
struct buffer {
  struct buffer* next;
  int data[4];
};
static struct buffer* head;
static _Atomic int available;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buffer* get(void) {
  if (available == 0) return 0;
  pthread_mutex_lock(&lock);
  struct buffer* b = head;
  head = b->next;
  --available;
  pthread_mutex_unlock(&lock);
  return b;
}
static void put(struct buffer* b) {
  pthread_mutex_lock(&lock);
  b->next = head;
  head = b;
  ++available;
  pthread_mutex_unlock(&lock);
}
static void* user(void* arg) {
  for (int i = 0; i < 3; ++i) {
    struct buffer *a = get(), *b = get();
    if (a) a->data[0] = (int)(long)arg;
    if (b) b->data[0] = i;
    if (a) put(a);
    if (b) put(b);
  }
  return 0;
}
int main(void) {
  for (int i = 0; i < 3; ++i) put(calloc(1, sizeof(struct buffer)));
  pthread_t t[2];
  for (long i = 0; i < 2; ++i) pthread_create(&t[i], 0, user, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);
  return 0;
}
