// A cache of web pages, after figure 11 of Weeratunge, Zhang and Jagannathan (ASPLOS 2010), which shows bug 21285 of the
// Apache web server: a page is put into the cache in two steps, first with a size that is a guess, then, when the whole
// page is there, it is taken out and put in again with its real size. The lock is not held from the one to the other, so
// another thread that needs space may throw the page out in between. Then its size is subtracted a second time, the sum
// wraps around, and the next insertion throws out pages until there are none left, and goes on.
//
// The cache holds two pages; three workers have a request each, as in the paper's case study. Workers take requests from a
// queue, look a page up, and make it when it is not there. -DFIXED: the second step looks whether the page is still there.
//
// web_cache [WORKERS [REQUESTS]]
// HEDDLE-ARGS: 3 12
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBuckets = 16, kGuess = 1000, kMostWorkers = 16, kMostRequests = 256, kPriorities = 8 };

// ---- pages and what is known of them
struct page {
  char* url;
  char* body;
  size_t size;      // that the cache counts with
  size_t length;    // of the body, when it is known
  unsigned hits;
  int references;   // the cache's own, and one for each worker that uses it
  int in_cache;
  size_t place;     // in the heap
  struct page* next_in_bucket;
};

static struct page* page_new(const char* url) {
  struct page* page = calloc(1, sizeof *page);
  if (page == NULL) abort();
  page->url = strdup(url);
  if (page->url == NULL) abort();
  page->size = kGuess;
  page->references = 1;
  return page;
}

static void page_free(struct page* page) {
  free(page->url);
  free(page->body);
  free(page);
}

// ---- a heap of pages, the one to be thrown out first on top
struct page_heap {
  struct page** pages;
  size_t count, capacity;
};

static unsigned priority(const struct page* page) {
  return page->hits < kPriorities ? page->hits : kPriorities;
}

static void heap_set(struct page_heap* heap, size_t at, struct page* page) {
  heap->pages[at] = page;
  page->place = at;
}

static void heap_up(struct page_heap* heap, size_t at) {
  struct page* page = heap->pages[at];
  while (at > 0) {
    const size_t parent = (at - 1) / 2;
    if (priority(heap->pages[parent]) <= priority(page)) break;
    heap_set(heap, at, heap->pages[parent]);
    at = parent;
  }
  heap_set(heap, at, page);
}

static void heap_down(struct page_heap* heap, size_t at) {
  struct page* page = heap->pages[at];
  while (2 * at + 1 < heap->count) {
    size_t child = 2 * at + 1;
    if (child + 1 < heap->count && priority(heap->pages[child + 1]) < priority(heap->pages[child])) ++child;
    if (priority(page) <= priority(heap->pages[child])) break;
    heap_set(heap, at, heap->pages[child]);
    at = child;
  }
  heap_set(heap, at, page);
}

static void heap_push(struct page_heap* heap, struct page* page) {
  if (heap->count == heap->capacity) {
    heap->capacity = heap->capacity == 0 ? 4 : 2 * heap->capacity;
    heap->pages = realloc(heap->pages, heap->capacity * sizeof *heap->pages);
    if (heap->pages == NULL) abort();
  }
  heap->pages[heap->count++] = page;
  heap_up(heap, heap->count - 1);
}

static void heap_remove(struct page_heap* heap, size_t at) {
  struct page* last = heap->pages[--heap->count];
  if (at == heap->count) return;
  heap_set(heap, at, last);
  heap_up(heap, at);
  heap_down(heap, last->place);
}

// As in the server: null when there is none.
static struct page* heap_pop(struct page_heap* heap) {
  if (heap->count == 0) return NULL;
  struct page* top = heap->pages[0];
  heap_remove(heap, 0);
  return top;
}

// ---- the cache
struct cache {
  pthread_mutex_t lock;
  struct page* buckets[kBuckets];
  struct page_heap queue;
  size_t current_size, max_size, max_entries;
  unsigned inserted, ejected, found;
};

struct cache cache = {.lock = PTHREAD_MUTEX_INITIALIZER, .max_size = 100 * kGuess, .max_entries = 2};

static unsigned hash(const char* url) {
  unsigned value = 5381;
  for (; *url != 0; ++url) value = value * 33 + (unsigned char)*url;
  return value % kBuckets;
}

static struct page** cache_slot(struct cache* c, const char* url) {
  struct page** slot = &c->buckets[hash(url)];
  while (*slot != NULL && strcmp((*slot)->url, url) != 0) slot = &(*slot)->next_in_bucket;
  return slot;
}

static struct page* cache_find(struct cache* c, const char* url) {
  return *cache_slot(c, url);
}

// Out of the table and out of the sum; out of the heap it is already, or never was in it.
static void cache_forget(struct cache* c, struct page* page) {
  struct page** slot = cache_slot(c, page->url);
  if (*slot == page) *slot = page->next_in_bucket;
  page->next_in_bucket = NULL;
  page->in_cache = 0;
}

static void page_release(struct page* page) {
  if (--page->references == 0) page_free(page);
}

static void cache_insert(struct cache* c, struct page* page) {
  while (c->queue.count >= c->max_entries || c->current_size + page->size > c->max_size) {
    struct page* ejected = heap_pop(&c->queue);
    c->current_size -= ejected->size;
    cache_forget(c, ejected);
    ++c->ejected;
    page_release(ejected);
  }
  c->current_size += page->size;
  struct page** slot = cache_slot(c, page->url);
  page->next_in_bucket = *slot;
  *slot = page;
  heap_push(&c->queue, page);
  page->in_cache = 1;
  ++page->references;
  ++c->inserted;
}

static void cache_remove(struct cache* c, struct page* page) {
  c->current_size -= page->size;
  if (page->in_cache) {
    heap_remove(&c->queue, page->place);
    cache_forget(c, page);
    page_release(page);
  }
}

// ---- the two steps
static struct page* create_entity(const char* url) {
  struct page* page = page_new(url);
  pthread_mutex_lock(&cache.lock);
  if (cache_find(&cache, url) == NULL) cache_insert(&cache, page);
  pthread_mutex_unlock(&cache.lock);
  return page;
}

static void write_body(struct page* page, const char* body) {
  page->body = strdup(body);
  if (page->body == NULL) abort();
  page->length = strlen(body);
  pthread_mutex_lock(&cache.lock);
#ifdef FIXED
  if (page->in_cache) {
#endif
    cache_remove(&cache, page);
    page->size = page->length;
    cache_insert(&cache, page);
#ifdef FIXED
  }
#endif
  pthread_mutex_unlock(&cache.lock);
}

// ---- requests
struct request {
  int number;
  char url[32];
};

struct request_queue {
  pthread_mutex_t lock;
  struct request requests[kMostRequests];
  int count, taken;
};

struct request_queue requests = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int next_request(struct request* request) {
  pthread_mutex_lock(&requests.lock);
  const int there = requests.taken < requests.count;
  if (there) *request = requests.requests[requests.taken++];
  pthread_mutex_unlock(&requests.lock);
  return there;
}

static void render(const struct request* request, char* body, size_t size) {
  int length = snprintf(body, size, "<h1>%s</h1>", request->url);
  for (int i = 0; i < request->number % 5 && length < (int)size - 32; ++i)
    length += snprintf(body + length, size - (size_t)length, "<p>%d of %d</p>", i, request->number);
}

struct worker {
  pthread_t thread;
  unsigned served, hits;
};

static void serve(struct worker* worker, const struct request* request) {
  pthread_mutex_lock(&cache.lock);
  struct page* known = cache_find(&cache, request->url);
  if (known != NULL && known->body != NULL) {
    ++known->hits;
    ++cache.found;
    ++worker->hits;
    pthread_mutex_unlock(&cache.lock);
    return;
  }
  pthread_mutex_unlock(&cache.lock);
  struct page* page = create_entity(request->url);
  char body[512];
  render(request, body, sizeof body);
  write_body(page, body);
  pthread_mutex_lock(&cache.lock);
  page_release(page);
  pthread_mutex_unlock(&cache.lock);
}

static void* work(void* argument) {
  struct worker* worker = argument;
  struct request request;
  while (next_request(&request)) {
    serve(worker, &request);
    ++worker->served;
  }
  return NULL;
}

int main(int count, char** words) {
  const int workers = count > 1 ? atoi(words[1]) : 3;
  requests.count = count > 2 ? atoi(words[2]) : 3;
  if (workers < 1 || workers > kMostWorkers || requests.count < 1 || requests.count > kMostRequests) return 2;
  for (int i = 0; i < requests.count; ++i) {
    requests.requests[i].number = i;
    snprintf(requests.requests[i].url, sizeof requests.requests[i].url, "/page/%d", i * 7 % 11);
  }
  struct worker all[kMostWorkers];
  memset(all, 0, sizeof all);
  for (int i = 0; i < workers; ++i) pthread_create(&all[i].thread, NULL, work, &all[i]);
  unsigned served = 0;
  for (int i = 0; i < workers; ++i) {
    pthread_join(all[i].thread, NULL);
    served += all[i].served;
  }
  printf("%u served, %u inserted, %u ejected, %zu bytes in the cache\n", served, cache.inserted, cache.ejected,
         cache.current_size);
  while (cache.queue.count > 0) {
    struct page* page = heap_pop(&cache.queue);
    cache_forget(&cache, page);
    page_release(page);
  }
  free(cache.queue.pages);
  return 0;
}
