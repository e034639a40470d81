// A connection has two flags of one bit each; the network thread sets one, the timer thread the other. Each has
// its lock.
//
// The bug: both bits share a byte, so that each assignment reads and writes the other bit too, under the wrong
// lock. One flag can get lost, and the state machine reaches its __builtin_trap().
//
// HEDDLE-FAILURE: ill
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B the two read-modify-writes of the byte that holds both bits overlap
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stddef.h>

struct connection {
#ifdef FIXED
  unsigned char closed;
  unsigned char expired;
#else
  unsigned char closed : 1;
  unsigned char expired : 1;
#endif
};

struct connection connection;
pthread_mutex_t network_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t timer_lock = PTHREAD_MUTEX_INITIALIZER;

static void* network(void* arg) {
  (void)arg;
  pthread_mutex_lock(&network_lock);
  connection.closed = 1;  // [A]
  pthread_mutex_unlock(&network_lock);
  return NULL;
}

static void* timer(void* arg) {
  (void)arg;
  pthread_mutex_lock(&timer_lock);
  connection.expired = 1;  // [B]
  pthread_mutex_unlock(&timer_lock);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, network, NULL);
  pthread_create(&threads[1], NULL, timer, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  switch (connection.closed + connection.expired) {
    case 2:
      return 0;
    default:
      __builtin_trap();
  }
}
