// Workers tell by an eventfd that they are done; who waits counts them. BUG: it takes the first answer for both.
// safe: sc tso pso
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>
static int done, results[2];
static void *work(void *number) {
  results[(uintptr_t)number] = 1;
  assert(eventfd_write(done, 1) == 0);
  return NULL;
}
int main(void) {
  pthread_t workers[2];
  done = eventfd(0, 0);
  for (uintptr_t i = 0; i < 2; ++i) pthread_create(&workers[i], NULL, work, (void *)i);
  eventfd_t count = 0, more = 0;
  assert(eventfd_read(done, &count) == 0);
#ifndef BUG
  if (count == 1) assert(eventfd_read(done, &more) == 0);
  assert(count + more == 2);
#endif
  assert(results[0] + results[1] == 2);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
  close(done);
}
