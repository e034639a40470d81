// A hash table with one lock for every second bucket (lock striping), which doubles its buckets when it gets
// full.
//
// The bug: doubling is done with the lock of one stripe only. A thread that inserts under the other stripe's
// lock can still put its entry into the old buckets, after they have been copied; the entry is lost.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B an insertion reads the address of the buckets before they are replaced
// HEDDLE-DECISIVE: C D the old bucket is copied before the new entry is linked into it
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { kStripes = 2, kFirstBuckets = 2, kMaxGenerations = 8 };

struct entry {
  struct entry* next;
  unsigned key;
  int value;
};

struct buckets {
  unsigned count;
  struct entry* volatile heads[];
};

struct table {
  pthread_mutex_t stripes[kStripes];
  _Atomic(struct buckets*) buckets;
  atomic_uint entries;
  struct buckets* old[kMaxGenerations];  // kept until the end, for readers
  int generations;
};

static struct buckets* buckets_new(unsigned count) {
  struct buckets* result = calloc(1, sizeof *result + count * sizeof result->heads[0]);
  if (result == NULL) abort();
  result->count = count;
  return result;
}

static void table_init(struct table* table) {
  for (int i = 0; i < kStripes; ++i) pthread_mutex_init(&table->stripes[i], NULL);
  atomic_init(&table->buckets, buckets_new(kFirstBuckets));
  atomic_init(&table->entries, 0);
  table->generations = 0;
}

static void table_free(struct table* table) {
  struct buckets* buckets = table->buckets;
  for (unsigned i = 0; i < buckets->count; ++i) {
    for (struct entry *entry = buckets->heads[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      free(entry);
    }
  }
  free(buckets);
  for (int i = 0; i < table->generations; ++i) free(table->old[i]);
  for (int i = 0; i < kStripes; ++i) pthread_mutex_destroy(&table->stripes[i]);
}

static pthread_mutex_t* stripe_of(struct table* table, unsigned key) {
  return &table->stripes[key % kStripes];
}

static void lock_for_growth(struct table* table, unsigned key) {
#ifdef FIXED
  (void)key;
  for (int i = 0; i < kStripes; ++i) pthread_mutex_lock(&table->stripes[i]);
#else
  pthread_mutex_lock(stripe_of(table, key));
#endif
}

static void unlock_after_growth(struct table* table, unsigned key) {
#ifdef FIXED
  (void)key;
  for (int i = kStripes - 1; i >= 0; --i) pthread_mutex_unlock(&table->stripes[i]);
#else
  pthread_mutex_unlock(stripe_of(table, key));
#endif
}

static void link_entry(struct buckets* buckets, struct entry* entry) {
  const unsigned index = entry->key % buckets->count;
  entry->next = buckets->heads[index];
  buckets->heads[index] = entry;  // [D]
}

static void grow(struct table* table, unsigned key) {
  lock_for_growth(table, key);
  struct buckets* old = atomic_load(&table->buckets);
  if (atomic_load(&table->entries) > old->count && table->generations < kMaxGenerations) {
    struct buckets* fresh = buckets_new(2 * old->count);
    for (unsigned i = 0; i < old->count; ++i) {
      for (struct entry *entry = old->heads[i], *next; entry != NULL; entry = next) {  // [C]
        next = entry->next;
        link_entry(fresh, entry);
      }
    }
    table->old[table->generations++] = old;
    atomic_store(&table->buckets, fresh);  // [B]
  }
  unlock_after_growth(table, key);
}

static void insert(struct table* table, unsigned key, int value) {
  struct entry* entry = malloc(sizeof *entry);
  if (entry == NULL) abort();
  entry->key = key;
  entry->value = value;
  pthread_mutex_lock(stripe_of(table, key));
  struct buckets* buckets = atomic_load(&table->buckets);  // [A]
  link_entry(buckets, entry);
  const unsigned entries = atomic_fetch_add(&table->entries, 1) + 1;
  const int full = entries > buckets->count;
  pthread_mutex_unlock(stripe_of(table, key));
  if (full) grow(table, key);
}

static int find(struct table* table, unsigned key) {
  pthread_mutex_lock(stripe_of(table, key));
  struct buckets* buckets = atomic_load(&table->buckets);
  const struct entry* entry = buckets->heads[key % buckets->count];
  while (entry != NULL && entry->key != key) entry = entry->next;
  const int result = entry != NULL ? entry->value : -1;
  pthread_mutex_unlock(stripe_of(table, key));
  return result;
}

struct table table;

static void* even_keys(void* arg) {
  (void)arg;
  for (unsigned key = 0; key < 4; key += 2) insert(&table, key, (int)key * 10);
  return NULL;
}

static void* odd_keys(void* arg) {
  (void)arg;
  for (unsigned key = 1; key < 4; key += 2) insert(&table, key, (int)key * 10);
  return NULL;
}

int main(void) {
  table_init(&table);
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, even_keys, NULL);
  pthread_create(&threads[1], NULL, odd_keys, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  for (unsigned key = 0; key < 4; ++key) assert(find(&table, key) == (int)key * 10);
  table_free(&table);
  return 0;
}
