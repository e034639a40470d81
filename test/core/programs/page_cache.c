// Connections of a database share a cache of pages. Each has a lock, the cache has one, and a global one guards
// the list of connections. Most take the global lock first; who closes the last connection of a cache takes it
// while he holds the cache.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kThreads = 4, kPages = 8, kSteps = 3 };
struct cache {
  pthread_mutex_t lock;
  int users;
  int pages[kPages];
  int dirty;
};
struct connection {
  pthread_mutex_t lock;
  struct cache* cache;
  struct connection* next;
  int id;
  int changes;
};
static pthread_mutex_t global = PTHREAD_MUTEX_INITIALIZER;
static struct connection* connections;
static struct cache shared = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void enter(struct connection* c) {
  pthread_mutex_lock(&c->lock);
  pthread_mutex_lock(&c->cache->lock);
}
static void leave(struct connection* c) {
  pthread_mutex_unlock(&c->cache->lock);
  pthread_mutex_unlock(&c->lock);
}
static void open_connection(struct connection* c, int id) {
  pthread_mutex_init(&c->lock, NULL);
  c->id = id;
  c->cache = &shared;
  pthread_mutex_lock(&global);
  c->next = connections;
  connections = c;
  pthread_mutex_lock(&shared.lock);
  shared.users++;
  pthread_mutex_unlock(&shared.lock);
  pthread_mutex_unlock(&global);
}
static void unlist(struct connection* c) {
  struct connection** at = &connections;
  while (*at != c) at = &(*at)->next;
  *at = c->next;
}
static void close_connection(struct connection* c) {
#ifdef FIXED
  pthread_mutex_lock(&global);
  enter(c);
  c->cache->users--;
  leave(c);
  unlist(c);
  pthread_mutex_unlock(&global);
#else
  enter(c);
  if (--c->cache->users <= 1) {
    c->cache->dirty = 0;
    pthread_mutex_lock(&global);
    unlist(c);
    pthread_mutex_unlock(&global);
    leave(c);
    return;
  }
  leave(c);
  pthread_mutex_lock(&global);
  unlist(c);
  pthread_mutex_unlock(&global);
#endif
}
static void write_page(struct connection* c, int page) {
  enter(c);
  c->cache->pages[page % kPages] = c->id;
  c->cache->dirty++;
  c->changes++;
  leave(c);
}
static int count_changes(void) {
  int sum = 0;
  pthread_mutex_lock(&global);
  for (struct connection* c = connections; c; c = c->next) {
    pthread_mutex_lock(&c->lock);
    sum += c->changes;
    pthread_mutex_unlock(&c->lock);
  }
  pthread_mutex_unlock(&global);
  return sum;
}
static void* client(void* arg) {
  struct connection c;
  memset(&c, 0, sizeof c);
  open_connection(&c, (int)(long)arg);
  for (int i = 0; i < kSteps; ++i) write_page(&c, c.id * 3 + i);
  if (c.id % 2) count_changes();
  close_connection(&c);
  return NULL;
}
int main(void) {
  pthread_t t[kThreads];
  for (long i = 0; i < kThreads; ++i) pthread_create(&t[i], NULL, client, (void*)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(t[i], NULL);
  printf("%d pages to write\n", shared.dirty);
  return shared.users;
}
