// C11 threads: thrd, mtx, cnd, call_once, tss. -DBUG: if instead of while around the wait.
// safe: sc tso pso
#include <assert.h>
#include <stdlib.h>
#include <threads.h>
static mtx_t m;
static cnd_t c;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int items;
static void setup(void) { mtx_init(&m, mtx_plain); cnd_init(&c); tss_create(&key, free); }
static int consumer(void* arg) {
  (void)arg;
  call_once(&once, setup);
  tss_set(key, malloc(4));
  mtx_lock(&m);
#ifdef BUG
  if (items == 0) cnd_wait(&c, &m);
#else
  while (items == 0) cnd_wait(&c, &m);
#endif
  items--;
  assert(items >= 0);
  mtx_unlock(&m);
  return 7;
}
static int producer(void* arg) {
  (void)arg;
  call_once(&once, setup);
  for (int i = 0; i < 2; i++) {
    mtx_lock(&m);
    items++;
    cnd_signal(&c);
    mtx_unlock(&m);
  }
  return 0;
}
int main(void) {
  thrd_t t[3];
  int r;
  thrd_create(&t[0], consumer, 0);
  thrd_create(&t[1], consumer, 0);
  thrd_create(&t[2], producer, 0);
  for (int i = 0; i < 3; i++) { thrd_join(t[i], &r); assert(r == (i < 2 ? 7 : 0)); }
}
