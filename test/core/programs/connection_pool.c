// A pool of connections. A client takes one in two critical sections: it looks for one that is idle, and says
// that it is busy. A reaper in between takes its buffer away.
#include <pthread.h>
#include <stdlib.h>
enum { kConnections = 3, kRequests = 4 };
struct connection {
  int busy;
  int served;
  char* buffer;
};
static struct connection pool[kConnections];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection* take(void) {
  struct connection* found = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < kConnections && !found; ++i)
    if (!pool[i].busy) {
      found = &pool[i];
      if (!found->buffer) found->buffer = malloc(64);
    }
  pthread_mutex_unlock(&lock);
  if (!found) return 0;
  pthread_mutex_lock(&lock);
  found->busy++;
  pthread_mutex_unlock(&lock);
  return found;
}
static void give(struct connection* c) {
  pthread_mutex_lock(&lock);
  c->busy--;
  c->served++;
  pthread_mutex_unlock(&lock);
}
static void* client(void* arg) {
  for (int i = 0; i < kRequests; ++i) {
    struct connection* c = take();
    if (!c) continue;
    c->buffer[0] = (char)(long)arg;
    c->buffer[1] = (char)i;
    give(c);
  }
  return 0;
}
static void* reaper(void* arg) {
  (void)arg;
  for (int round = 0; round < 3; ++round) {
    pthread_mutex_lock(&lock);
    for (int i = 0; i < kConnections; ++i)
      if (!pool[i].busy && pool[i].buffer) {
        free(pool[i].buffer);
        pool[i].buffer = 0;
      }
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, client, (void*)1);
  pthread_create(&t[1], 0, client, (void*)2);
  pthread_create(&t[2], 0, reaper, 0);
  for (int i = 0; i < 3; ++i) pthread_join(t[i], 0);
  return 0;
}
