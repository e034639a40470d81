// A scanner and a printer are each guarded by a semaphore of one. A copy job needs both, an archive job needs
// both.
//
// The bug: the two jobs acquire the semaphores in opposite order.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A D the copy job has the scanner before the archive job asks for it
// HEDDLE-DECISIVE: C B the archive job has the printer before the copy job asks for it
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

sem_t scanner;
sem_t printer;
int pages;

static void* copy_job(void* arg) {
  (void)arg;
  sem_wait(&scanner);  // [A]
  sem_wait(&printer);  // [B]
  ++pages;
  sem_post(&printer);
  sem_post(&scanner);
  return NULL;
}

static void* archive_job(void* arg) {
  (void)arg;
#ifdef FIXED
  sem_wait(&scanner);
  sem_wait(&printer);
#else
  sem_wait(&printer);  // [C]
  sem_wait(&scanner);  // [D]
#endif
  ++pages;
  sem_post(&scanner);
  sem_post(&printer);
  return NULL;
}

int main(void) {
  sem_init(&scanner, 0, 1);
  sem_init(&printer, 0, 1);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, copy_job, NULL);
  pthread_create(&threads[1], NULL, archive_job, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(pages == 2);
  return 0;
}
