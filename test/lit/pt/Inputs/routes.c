// Requests are routed over tables of connections that another thread exchanges. Where they lie depends on a number that the system gives:
// the way of a thread does not say which connection it locks.
//
// The bug: a worker reads the number of the table twice, and takes the index from one and the connection from the other.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

enum { TABLES = 4, SLOTS = 8, ROUNDS = 6 };
struct connection {
  pthread_mutex_t lock;
  int owner, used;
};
static struct connection connections[TABLES][SLOTS];
static struct connection *table[TABLES][SLOTS];
static unsigned char index_of[TABLES][SLOTS];
static int current, wrong;

static void *exchange(void *arg) {
  (void)arg;
  for (int i = 1; i < ROUNDS; ++i) __atomic_store_n(&current, i % TABLES, __ATOMIC_RELAXED);
  return 0;
}

static void *work(void *arg) {
  unsigned slot = (unsigned)(unsigned long)arg;
  const unsigned step = (unsigned)sysconf(_SC_PAGESIZE) / 4096;
  for (int i = 0; i < ROUNDS; ++i) {
    const unsigned at = index_of[__atomic_load_n(&current, __ATOMIC_RELAXED)][slot & 7];
    struct connection *c = table[__atomic_load_n(&current, __ATOMIC_RELAXED)][at];
    pthread_mutex_lock(&c->lock);
    if (c->owner != (int)(slot & 7)) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    ++c->used;
    pthread_mutex_unlock(&c->lock);
    slot += (unsigned)c->used * step;
  }
  return 0;
}

int main(void) {
  for (int t = 0; t < TABLES; ++t)
    for (int s = 0; s < SLOTS; ++s) {
      index_of[t][s] = (unsigned char)((s * 3 + t) % SLOTS);
      struct connection *c = &connections[t][(s * 5 + t) % SLOTS];
      pthread_mutex_init(&c->lock, 0);
      table[t][index_of[t][s]] = c;
      c->owner = s;
    }
  pthread_t threads[3];
  pthread_create(&threads[0], 0, exchange, 0);
  pthread_create(&threads[1], 0, work, (void *)1);
  pthread_create(&threads[2], 0, work, (void *)2);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], 0);
  assert(wrong == 0);
  return 0;
}
