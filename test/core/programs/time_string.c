// A server keeps the text of the time, since many answers need it. Whoever sees that the second has changed
// writes the text anew, in the same place, while others copy it into their answers. Clients check what they
// get.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kConnections = 4, kRequests = 5 };
static atomic_int now = 58;
static int text_of = -1;
static char text[24];
static int text_length;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void update(int second) {
  pthread_mutex_lock(&lock);
  if (text_of != second) {
    text_of = second;
    memset(text, 0, sizeof text);
    text_length = snprintf(text, sizeof text, "12:%02d:%02d GMT", second / 60, second % 60);
  }
  pthread_mutex_unlock(&lock);
}
struct answer {
  char head[64];
  int length;
};
static void make_answer(struct answer* a, int status) {
  int second = atomic_load(&now);
#ifndef FIXED
  if (text_of != second) update(second);
  a->length = sprintf(a->head, "HTTP/1.1 %d ", status);
  memcpy(a->head + a->length, text, (size_t)text_length);
  a->length += text_length;
#else
  update(second);
  a->length = sprintf(a->head, "HTTP/1.1 %d ", status);
  pthread_mutex_lock(&lock);
  memcpy(a->head + a->length, text, (size_t)text_length);
  a->length += text_length;
  pthread_mutex_unlock(&lock);
#endif
  a->head[a->length] = 0;
}
static void check(const struct answer* a) {
  int status, hour, minute, second;
  char zone[8];
  if (sscanf(a->head, "HTTP/1.1 %d %d:%d:%d %7s", &status, &hour, &minute, &second, zone) != 5 ||
      strcmp(zone, "GMT") != 0) {
    fprintf(stderr, "bad answer '%s'\n", a->head);
    abort();
  }
}
static void* connection(void* arg) {
  struct answer a;
  for (int i = 0; i < kRequests; ++i) {
    make_answer(&a, 200 + (int)(long)arg);
    check(&a);
    if (i % 2) atomic_fetch_add(&now, 1);
  }
  return NULL;
}
int main(void) {
  update(atomic_load(&now));
  pthread_t t[kConnections];
  for (long i = 0; i < kConnections; ++i) pthread_create(&t[i], NULL, connection, (void*)i);
  for (int i = 0; i < kConnections; ++i) pthread_join(t[i], NULL);
  return 0;
}
