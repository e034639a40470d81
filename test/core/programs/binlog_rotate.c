// A log of changes that is rotated when it is full: the old one is closed, a new one opened. Writers look
// whether it is open, and write nothing otherwise, since a server without a log is allowed. What was changed
// meanwhile is missing when the changes are played back at the end.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { kWriters = 3, kChanges = 4, kRoom = 5, kKeys = 4 };
struct change {
  int key, by;
};
struct log_file {
  struct change changes[kRoom * 4];
  int used;
  struct log_file* next;
};
static pthread_mutex_t table_lock[kKeys] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                            PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int table[kKeys];
static struct log_file* files;
static struct log_file* current;
static int open_now;
static void open_log(void) {
  struct log_file* file = calloc(1, sizeof *file);
  file->next = files;
  files = current = file;
  open_now = 1;
}
static void close_log(void) {
  open_now = 0;
  current = NULL;
}
static void rotate(void) {
#ifdef FIXED
  close_log();
  open_log();
#else
  close_log();
  pthread_mutex_unlock(&log_lock);
  pthread_mutex_lock(&log_lock);
  if (!open_now) open_log();
#endif
}
static void write_log(int key, int by) {
#ifndef FIXED
  if (!open_now) return;
#endif
  pthread_mutex_lock(&log_lock);
  if (current) {
    current->changes[current->used].key = key;
    current->changes[current->used++].by = by;
    if (current->used >= kRoom) rotate();
  }
  pthread_mutex_unlock(&log_lock);
}
static void* writer(void* arg) {
  int id = (int)(long)arg;
  for (int i = 0; i < kChanges; ++i) {
    int key = (id + i) % kKeys;
    pthread_mutex_lock(&table_lock[key]);
    table[key] += id * 10 + i;
    write_log(key, id * 10 + i);
    pthread_mutex_unlock(&table_lock[key]);
  }
  return NULL;
}
int main(void) {
  open_log();
  pthread_t t[kWriters];
  for (long i = 0; i < kWriters; ++i) pthread_create(&t[i], NULL, writer, (void*)(i + 1));
  for (int i = 0; i < kWriters; ++i) pthread_join(t[i], NULL);
  int copy[kKeys];
  memset(copy, 0, sizeof copy);
  for (struct log_file* file = files; file; file = file->next)
    for (int i = 0; i < file->used; ++i) copy[file->changes[i].key] += file->changes[i].by;
  for (int key = 0; key < kKeys; ++key) assert(copy[key] == table[key]);
  return 0;
}
