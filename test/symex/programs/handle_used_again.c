/* A thread gets the handle of one that was joined before: who joins by it joins the right one. */
#include <pthread.h>
#include <semaphore.h>

static sem_t joined;
static unsigned count;

static void *child(void *argument) {
  ++count;
  return argument;
}

static void make_and_join(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, child, NULL);
  pthread_join(thread, NULL);
}

static void *first(void *argument) {
  sem_wait(&joined);
  make_and_join();
  return argument;
}

static void *second(void *argument) {
  make_and_join();
  sem_post(&joined);
  return argument;
}

int main(void) {
  pthread_t threads[2];
  sem_init(&joined, 0, 0);
  pthread_create(&threads[0], NULL, first, NULL);
  pthread_create(&threads[1], NULL, second, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return count == 2 ? 0 : 1;
}
