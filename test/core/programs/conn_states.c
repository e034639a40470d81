// A connection goes through states: connecting, open, draining, closed. A timer gives up what is still
// connecting, a handshake makes it open, a user closes it. Each looks at the state and then sets it, in two
// steps; only together do they leave a connection open without a socket.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
enum state { kConnecting, kOpen, kDraining, kClosed };
enum { kConnections = 3 };
struct socket_data {
  int sent;
  char buffer[16];
};
struct connection {
  pthread_mutex_t lock;
  _Atomic enum state state;
  struct socket_data* socket;
  int timeouts, id;
};
static struct connection connections[kConnections];
static int set_state(struct connection* c, enum state from, enum state to) {
#ifdef FIXED
  return atomic_compare_exchange_strong(&c->state, (enum state[]){from}, to);
#else
  if (atomic_load(&c->state) != from) return 0;
  atomic_store(&c->state, to);
  return 1;
#endif
}
static void release_socket(struct connection* c) {
  pthread_mutex_lock(&c->lock);
  free(c->socket);
  c->socket = NULL;
  pthread_mutex_unlock(&c->lock);
}
static void* handshake(void* arg) {
  (void)arg;
  for (int i = 0; i < kConnections; ++i) {
    struct connection* c = &connections[i];
    pthread_mutex_lock(&c->lock);
    if (c->socket) c->socket->sent = 1;
    pthread_mutex_unlock(&c->lock);
    set_state(c, kConnecting, kOpen);
  }
  return NULL;
}
static void* timer(void* arg) {
  (void)arg;
  for (int i = kConnections - 1; i >= 0; --i) {
    struct connection* c = &connections[i];
    c->timeouts++;
    if (set_state(c, kConnecting, kClosed)) release_socket(c);
  }
  return NULL;
}
static void* user(void* arg) {
  (void)arg;
  for (int i = 0; i < kConnections; ++i) {
    struct connection* c = &connections[i];
    if (atomic_load(&c->state) != kOpen) continue;
    pthread_mutex_lock(&c->lock);
    int open = atomic_load(&c->state) == kOpen;
    struct socket_data* s = c->socket;
    pthread_mutex_unlock(&c->lock);
    if (open) {
      for (int k = 0; k < 4; ++k) s->buffer[k] = (char)(c->id + k);
      s->sent += 4;
    }
    if (set_state(c, kOpen, kDraining)) {
      release_socket(c);
      atomic_store(&c->state, kClosed);
    }
  }
  return NULL;
}
int main(void) {
  for (int i = 0; i < kConnections; ++i) {
    pthread_mutex_init(&connections[i].lock, NULL);
    connections[i].socket = calloc(1, sizeof *connections[i].socket);
    connections[i].id = i;
  }
  pthread_t t[3];
  pthread_create(&t[0], NULL, handshake, NULL);
  pthread_create(&t[1], NULL, timer, NULL);
  pthread_create(&t[2], NULL, user, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(t[i], NULL);
  for (int i = 0; i < kConnections; ++i) free(connections[i].socket);
  return 0;
}
