// Every access is under the lock, and nobody asks whether the pointer is still there.
#include <pthread.h>
#include <stdlib.h>
struct node { struct node* next; int value; };
struct node* list;
int total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void* add_first(void* unused) {
  pthread_mutex_lock(&lock);
#ifdef FIXED
  if (list != NULL)
#endif
    total += list->value;
  pthread_mutex_unlock(&lock);
  return unused;
}
static void* clear(void* unused) {
  pthread_mutex_lock(&lock);
  list = NULL;
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  pthread_t a, b;
  struct node only = {NULL, 3};
  list = &only;
  pthread_create(&a, NULL, add_first, NULL);
  pthread_create(&b, NULL, clear, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return total > 3;
}
