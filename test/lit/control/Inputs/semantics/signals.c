// Signals to threads: the handler runs in the thread that was meant, blocked ones wait, masks are inherited,
// raise is to oneself.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

sem_t ready, sent;
pthread_t receiver;
atomic_int handled;

static void handler(int number) {
  assert(number == SIGUSR1 && pthread_equal(pthread_self(), receiver));
  atomic_fetch_add(&handled, 1);
}

static void* receives(void* unused) {
  (void)unused;
  sigset_t mask, old, pending;
  receiver = pthread_self();
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  assert(pthread_sigmask(SIG_BLOCK, &mask, &old) == 0);
  assert(sigismember(&old, SIGUSR2) == 1 && sigismember(&old, SIGUSR1) == 0);
  sem_post(&ready);
  while (sem_wait(&sent) != 0) {
  }
  assert(atomic_load(&handled) == 0);
  assert(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1) == 1);
  assert(pthread_sigmask(SIG_UNBLOCK, &mask, NULL) == 0);
  assert(atomic_load(&handled) == 1);
  assert(raise(SIGUSR1) == 0);
  assert(atomic_load(&handled) == 2);
  return NULL;
}

int main(void) {
  pthread_t thread;
  struct sigaction action = {.sa_handler = handler};
  sigset_t mask;
  sem_init(&ready, 0, 0);
  sem_init(&sent, 0, 0);
  assert(sigaction(SIGUSR1, &action, NULL) == 0);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  assert(pthread_sigmask(SIG_BLOCK, &mask, NULL) == 0);
  assert(pthread_create(&thread, NULL, receives, NULL) == 0);
  sem_wait(&ready);
  assert(pthread_kill(thread, SIGUSR1) == 0);
  sem_post(&sent);
  pthread_join(thread, NULL);
  assert(atomic_load(&handled) == 2);
  return 0;
}
