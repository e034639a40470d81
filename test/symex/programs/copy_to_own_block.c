/* Copies from shared memory into blocks and objects that each thread has for itself, at the same addresses one after the other. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Node {
  unsigned n, more[9];
} Node;
static Node shared = {1, {2, 3}};

static __attribute__((noinline)) void touch(Node *node, unsigned x) { node->more[x & 7] += node->n; }

static void *work(void *argument) {
  for (int i = 0; i < 3; ++i) {
    Node *made = malloc(sizeof *made), node;
    if (!made) abort();
    *made = shared;
    touch(made, 1);
    node = *made;
    free(made);
    touch(&shared, node.n);
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  work(NULL);
  return 0;
}
