// Workers look whether there is work and take it in two critical sections: two of them may take the last piece.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct node {
  struct node* next;
  int* load;
};
static struct node* head;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stopping;
static void* worker(void* arg) {
  int* sum = arg;
  for (int i = 0; i < 4; ++i) {
    pthread_mutex_lock(&lock);
    if (stopping || !head) {
      pthread_mutex_unlock(&lock);
      break;
    }
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    struct node* n = head;
    head = n->next;
    pthread_mutex_unlock(&lock);
    *sum += *n->load;
    free(n->load);
    free(n);
  }
  return 0;
}
int main(void) {
  for (int i = 0; i < 5; ++i) {
    struct node* n = malloc(sizeof *n);
    n->load = malloc(sizeof(int));
    *n->load = i;
    n->next = head;
    head = n;
  }
  pthread_t t[3];
  int sums[3] = {0};
  for (int i = 0; i < 3; ++i) pthread_create(&t[i], 0, worker, &sums[i]);
  for (int i = 0; i < 3; ++i) pthread_join(t[i], 0);
  return 0;
}
