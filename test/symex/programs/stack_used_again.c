/* A thread gets the stack of one that has ended, thread-local variables and all: they are two things at one address. */
#include <pthread.h>
#include <stdlib.h>

static _Thread_local unsigned own = 4;
static unsigned *volatile lent;
static unsigned sum;

static void *work(void *argument) {
  unsigned local[8];
  lent = argument ? &own : local; /* for all the analysis knows */
  for (unsigned i = 0; i < 8; ++i) local[i] = own + i;
  own += 3;
  if (own != 7) abort();
  for (unsigned i = 0; i < 8; ++i) sum += local[i];
  return NULL;
}

int main(void) {
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, &sum);
    pthread_join(thread, NULL);
  }
  return sum == 3 * 60 ? 0 : 1;
}
