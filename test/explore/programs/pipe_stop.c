// A worker waits for orders from a pipe until that is closed. BUG: nobody closes it.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <unistd.h>
static int orders[2], answers[2];
static void *work(void *unused) {
  char order;
  while (read(orders[0], &order, 1) == 1) {
    order += 1;
    assert(write(answers[1], &order, 1) == 1);
  }
  close(answers[1]);
  return unused;
}
int main(void) {
  pthread_t worker;
  char text[2] = {0};
  assert(pipe(orders) == 0 && pipe(answers) == 0);
  pthread_create(&worker, NULL, work, NULL);
  assert(write(orders[1], "a", 1) == 1);
  assert(read(answers[0], text, 1) == 1 && text[0] == 'b');
#ifndef BUG
  close(orders[1]);
#endif
  assert(read(answers[0], text, 1) == 0);
  pthread_join(worker, NULL);
}
