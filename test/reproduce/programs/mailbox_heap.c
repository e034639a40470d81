// A worker writes into the message that it finds in a mailbox; main replaces the message and releases the old
// one.
//
// The bug: the worker takes the pointer under the lock and writes behind it. What it overwrites is the C
// library's list of free blocks, which notices that at a later allocation ("malloc(): unaligned tcache chunk
// detected").
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-ALSO: abort, segv
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct msg {
  long kind, payload[5];
};
static struct msg* mailbox;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void* worker(void* p) {
  (void)p;
  for (int i = 0; i < 20; ++i) {
    pthread_mutex_lock(&m);
    struct msg* mine = mailbox;
    pthread_mutex_unlock(&m);
    usleep(100);
    if (mine) {
      mine->kind = 0x41414141;
      mine->payload[0] = i;
    }
  }
  return 0;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, worker, 0);
  for (int i = 0; i < 20; ++i) {
    void* volatile a = malloc(48), * volatile b = malloc(48);
    free(a);
    free(b);
    struct msg* fresh = malloc(sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    pthread_mutex_lock(&m);
    struct msg* old = mailbox;
    mailbox = fresh;
    pthread_mutex_unlock(&m);
    free(old);
    usleep(60);
  }
  pthread_join(t, 0);
  void* p[8];
  for (int i = 0; i < 8; ++i) p[i] = malloc(48);
  for (int i = 0; i < 8; ++i) free(p[i]);
  free(mailbox);
  puts("ok");
  return 0;
}
