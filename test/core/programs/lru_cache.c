// A cache of pages with a list in the order of use. Entries come from a pool of their own; each has functions
// that load and measure it. A reader that found an entry uses it without the lock, while another one evicts it.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { kEntries = 3, kReaders = 2, kRounds = 4 };

struct entry;
struct operations {
  void (*load)(struct entry*, int key);
  int (*measure)(const struct entry*);
};

struct entry {
  struct entry *newer, *older;
  const struct operations* operations;
  int key;
  char page[16];
};

static void load_text(struct entry* entry, int key) {
  snprintf(entry->page, sizeof entry->page, "page %d", key);
}
static int measure_text(const struct entry* entry) {
  return (int)strlen(entry->page);
}
static void load_number(struct entry* entry, int key) {
  memcpy(entry->page, &key, sizeof key);
}
static int measure_number(const struct entry* entry) {
  int key;
  memcpy(&key, entry->page, sizeof key);
  return key < 10 ? 1 : 2;
}
static const struct operations text = {load_text, measure_text}, number = {load_number, measure_number};

static struct entry pool[kEntries];
static struct entry *newest, *oldest, *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void take_out(struct entry* entry) {
  if (entry->newer != NULL)
    entry->newer->older = entry->older;
  else
    newest = entry->older;
  if (entry->older != NULL)
    entry->older->newer = entry->newer;
  else
    oldest = entry->newer;
}

static void put_in_front(struct entry* entry) {
  entry->newer = NULL;
  entry->older = newest;
  if (newest != NULL)
    newest->newer = entry;
  else
    oldest = entry;
  newest = entry;
}

static void evict(void) {
  struct entry* entry = oldest;
  take_out(entry);
  entry->operations = NULL;
  entry->key = -1;
  entry->older = unused;
  unused = entry;
}

static struct entry* find(int key) {
  for (struct entry* entry = newest; entry != NULL; entry = entry->older)
    if (entry->key == key) return entry;
  return NULL;
}

static struct entry* lookup(int key) {
  pthread_mutex_lock(&lock);
  struct entry* entry = find(key);
  if (entry == NULL) {
    if (unused == NULL) evict();
    entry = unused;
    unused = entry->older;
    entry->key = key;
    entry->operations = key % 2 ? &text : &number;
    entry->operations->load(entry, key);
  } else {
    take_out(entry);
  }
  put_in_front(entry);
  pthread_mutex_unlock(&lock);
  return entry;
}

static void* reader(void* argument) {
  const int first = *(const int*)argument;
  int sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    const struct entry* entry = lookup(first + i % 2);
    sum += entry->operations->measure(entry);  // the entry may be another's by now, or nobody's
  }
  pthread_mutex_lock(&lock);
  total += sum;
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void* cleaner(void* argument) {
  for (int i = 0; i < 2; ++i) {
    pthread_mutex_lock(&lock);
    while (oldest != NULL) evict();
    pthread_mutex_unlock(&lock);
  }
  return argument;
}

int main(void) {
  pthread_t threads[kReaders + 1];
  int firsts[kReaders];
  for (int i = 0; i < kEntries; ++i) {
    pool[i].older = unused;
    unused = &pool[i];
  }
  for (int i = 0; i < kReaders; ++i) {
    firsts[i] = i;
    pthread_create(&threads[i], NULL, reader, &firsts[i]);
  }
  pthread_create(&threads[kReaders], NULL, cleaner, NULL);
  for (int i = 0; i <= kReaders; ++i) pthread_join(threads[i], NULL);
  printf("%d\n", total);
  return 0;
}
