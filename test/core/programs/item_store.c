// Items of a store are linked in a hash table and counted by who uses them. Adding to an item makes a new one
// in its place, which is allocated between two critical sections: the old one may have been unlinked by another
// client meanwhile, who put one of its own there.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kClients = 4, kBuckets = 4, kOps = 5 };
struct item {
  struct item* next;
  int refs, linked;
  char key[8];
  long value;
};
static struct item* table[kBuckets];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int items;
static unsigned hash(const char* key) {
  unsigned h = 5381;
  for (; *key; ++key) h = h * 33 + (unsigned char)*key;
  return h % kBuckets;
}
static struct item* new_item(const char* key, long value) {
  struct item* it = calloc(1, sizeof *it);
  strcpy(it->key, key);
  it->value = value;
  return it;
}
static void link_item(struct item* it) {
  struct item** at = &table[hash(it->key)];
  it->next = *at;
  *at = it;
  it->linked = 1;
  it->refs++;
  items++;
}
static void unlink_item(struct item* it) {
  assert(it->linked);
  struct item** at = &table[hash(it->key)];
  while (*at != it) at = &(*at)->next;
  *at = it->next;
  it->linked = 0;
  it->refs--;
  items--;
}
static void drop(struct item* it) {
  if (--it->refs == 0 && !it->linked) free(it);
}
static struct item* get(const char* key) {
  for (struct item* it = table[hash(key)]; it; it = it->next)
    if (strcmp(it->key, key) == 0) {
      it->refs++;
      return it;
    }
  return NULL;
}
static void add(const char* key, long delta) {
  pthread_mutex_lock(&lock);
  struct item* old = get(key);
  long value = old ? old->value : 0;
#ifndef FIXED
  pthread_mutex_unlock(&lock);
#endif
  struct item* fresh = new_item(key, value + delta);
#ifndef FIXED
  pthread_mutex_lock(&lock);
#endif
  if (old) {
    unlink_item(old);
    drop(old);
  }
  link_item(fresh);
  pthread_mutex_unlock(&lock);
}
static void* client(void* arg) {
  long id = (long)arg;
  char key[8];
  for (int i = 0; i < kOps; ++i) {
    snprintf(key, sizeof key, "k%ld", (id * 3 + i * (id + 1)) % 7);
    add(key, id + 1);
  }
  return NULL;
}
int main(void) {
  char key[8];
  for (int i = 0; i < 7; ++i) {
    snprintf(key, sizeof key, "k%d", i);
    add(key, 0);
  }
  pthread_t t[kClients];
  for (long i = 0; i < kClients; ++i) pthread_create(&t[i], NULL, client, (void*)i);
  for (int i = 0; i < kClients; ++i) pthread_join(t[i], NULL);
  return items != 7;
}
