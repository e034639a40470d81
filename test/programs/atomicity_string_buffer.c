// A string buffer with a lock of its own, after java.lang.StringBuffer: one thread appends buffer b to buffer
// a, another one deletes the contents of b.
//
// The bug: append() asks b for its length and then for its characters; each is locked, both together are not.
// In between, b can get shorter, and append() asks for characters that are not there.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the length is asked before the contents are deleted
// HEDDLE-DECISIVE: B C the contents are deleted before the characters are copied
// HEDDLE-SMALL: yes
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCapacity = 32 };

struct string_buffer {
  pthread_mutex_t lock;  // recursive, as a Java monitor
  size_t length;
  char characters[kCapacity];
};

static void buffer_init(struct string_buffer* buffer, const char* text) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&buffer->lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  buffer->length = strlen(text);
  memcpy(buffer->characters, text, buffer->length);
}

static size_t buffer_length(struct string_buffer* buffer) {
  pthread_mutex_lock(&buffer->lock);
  const size_t result = buffer->length;  // [A]
  pthread_mutex_unlock(&buffer->lock);
  return result;
}

static void buffer_get(struct string_buffer* buffer, size_t count, char* to) {
  pthread_mutex_lock(&buffer->lock);
  if (count > buffer->length) {  // [C]
    fprintf(stderr, "%zu characters wanted, %zu there\n", count, buffer->length);
    abort();
  }
  memcpy(to, buffer->characters, count);
  pthread_mutex_unlock(&buffer->lock);
}

static void buffer_append(struct string_buffer* buffer, struct string_buffer* other) {
  pthread_mutex_lock(&buffer->lock);
#ifdef FIXED
  pthread_mutex_lock(&other->lock);
#endif
  const size_t count = buffer_length(other);
  if (buffer->length + count > kCapacity) abort();
  buffer_get(other, count, buffer->characters + buffer->length);
#ifdef FIXED
  pthread_mutex_unlock(&other->lock);
#endif
  buffer->length += count;
  pthread_mutex_unlock(&buffer->lock);
}

static void buffer_delete(struct string_buffer* buffer) {
  pthread_mutex_lock(&buffer->lock);
  buffer->length = 0;  // [B]
  pthread_mutex_unlock(&buffer->lock);
}

struct string_buffer a;
struct string_buffer b;

static void* append(void* arg) {
  (void)arg;
  buffer_append(&a, &b);
  return NULL;
}

static void* delete(void* arg) {
  (void)arg;
  buffer_delete(&b);
  return NULL;
}

int main(void) {
  buffer_init(&a, "warp ");
  buffer_init(&b, "and weft");
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, append, NULL);
  pthread_create(&threads[1], NULL, delete, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  if (buffer_length(&a) != 5 && buffer_length(&a) != 13) abort();
  return 0;
}
