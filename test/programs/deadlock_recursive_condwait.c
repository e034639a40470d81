// A mailbox behind a recursive mutex. receive() waits on a condition variable until there is a message;
// checked_receive() takes the mutex too, for a consistent count, and calls receive() when it believes that a
// message is there or will be.
//
// The bug: pthread_cond_wait() gives back one level of the recursive mutex only. When the message is not there
// yet, the receiver waits with the mutex held and the sender can never deliver.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A B the receiver waits before the sender has delivered
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: lost-wakeup
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

pthread_mutex_t lock;
pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
sem_t announced;
int messages;
int received;

static void receive(void) {
  pthread_mutex_lock(&lock);
  while (messages == 0) pthread_cond_wait(&arrived, &lock);  // [A]
  --messages;
  ++received;
  pthread_mutex_unlock(&lock);
}

static void* receiver(void* arg) {
  (void)arg;
  sem_wait(&announced);
#ifdef FIXED
  receive();
#else
  pthread_mutex_lock(&lock);
  receive();
  pthread_mutex_unlock(&lock);
#endif
  return NULL;
}

static void* sender(void* arg) {
  (void)arg;
  sem_post(&announced);  // a message is about to come
  pthread_mutex_lock(&lock);
  ++messages;  // [B]
  pthread_cond_signal(&arrived);
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  sem_init(&announced, 0, 0);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, receiver, NULL);
  pthread_create(&threads[1], NULL, sender, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(received == 1);
  return 0;
}
