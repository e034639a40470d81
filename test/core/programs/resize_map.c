// A hash map of words with counts. Writers hold a lock; readers walk a chain without one, as long as the table
// is not being resized: they look at the flag first, and only then at the table. A resize in between frees the
// old table under them.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kFirstSize = 4, kWords = 60, kReaders = 2, kLookups = 150 };

struct entry {
  struct entry* next;
  char* word;
  unsigned hash;
  int count;
};

struct table {
  size_t size;
  struct entry** slots;
};

struct map {
  pthread_mutex_t lock;
  volatile bool resizing;
  struct table* table;
  size_t used;
  size_t resizes;
};

static struct map words = {.lock = PTHREAD_MUTEX_INITIALIZER};

static unsigned hash_of(const char* word) {
  unsigned hash = 5381;
  while (*word != '\0') hash = hash * 33 + (unsigned char)*word++;
  return hash;
}

static struct table* new_table(size_t size) {
  struct table* table = malloc(sizeof *table);
  table->size = size;
  table->slots = calloc(size, sizeof *table->slots);
  return table;
}

static struct entry* find(struct table* table, const char* word, unsigned hash) {
  struct entry* entry = table->slots[hash % table->size];
  while (entry != NULL && (entry->hash != hash || strcmp(entry->word, word) != 0)) entry = entry->next;
  return entry;
}

static void resize(struct map* map) {
  struct table* old = map->table;
  struct table* fresh = new_table(old->size * 2);
  map->resizing = true;
  for (size_t i = 0; i < old->size; ++i)
    for (struct entry* entry = old->slots[i]; entry != NULL;) {
      struct entry* next = entry->next;
      entry->next = fresh->slots[entry->hash % fresh->size];
      fresh->slots[entry->hash % fresh->size] = entry;
      entry = next;
    }
  map->table = fresh;
  ++map->resizes;
  free(old->slots);
  old->slots = NULL;
  old->size = 0;
  free(old);
  map->resizing = false;
}

static void insert(struct map* map, const char* word) {
  const unsigned hash = hash_of(word);
  pthread_mutex_lock(&map->lock);
  struct entry* entry = find(map->table, word, hash);
  if (entry == NULL) {
    if (map->used >= map->table->size * 2) resize(map);
    entry = malloc(sizeof *entry);
    entry->word = strdup(word);
    entry->hash = hash;
    entry->count = 0;
    entry->next = map->table->slots[hash % map->table->size];
    map->table->slots[hash % map->table->size] = entry;
    ++map->used;
  }
  ++entry->count;
  pthread_mutex_unlock(&map->lock);
}

static int lookup(struct map* map, const char* word) {
  const unsigned hash = hash_of(word);
  if (!map->resizing) {
    struct table* table = map->table;  // may be freed from here on
    struct entry* entry = find(table, word, hash);
    return entry != NULL ? entry->count : 0;
  }
  pthread_mutex_lock(&map->lock);
  struct entry* entry = find(map->table, word, hash);
  const int count = entry != NULL ? entry->count : 0;
  pthread_mutex_unlock(&map->lock);
  return count;
}

static void* reader(void* arg) {
  long found = 0;
  char word[32];
  for (int i = 0; i < kLookups; ++i) {
    snprintf(word, sizeof word, "word-%d", (i + (int)(size_t)arg) % kWords);
    found += lookup(&words, word);
  }
  return (void*)found;
}

static void* writer(void* arg) {
  (void)arg;
  char word[32];
  for (int i = 0; i < kWords; ++i) {
    snprintf(word, sizeof word, "word-%d", i);
    insert(&words, word);
  }
  return NULL;
}

int main(void) {
  words.table = new_table(kFirstSize);
  pthread_t readers[kReaders], one;
  pthread_create(&one, NULL, writer, NULL);
  for (size_t i = 0; i < kReaders; ++i) pthread_create(&readers[i], NULL, reader, (void*)(i * 7));
  for (size_t i = 0; i < kReaders; ++i) pthread_join(readers[i], NULL);
  pthread_join(one, NULL);
  printf("%zu words, %zu resizes\n", words.used, words.resizes);
  return 0;
}
