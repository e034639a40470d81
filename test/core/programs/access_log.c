// Lines of an access log are gathered in a buffer and written when it is full. Each begins with its length. How
// much of the buffer is used is read before a line is copied and set behind it. Who reads the log finds a
// length that leads nowhere.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { kClients = 4, kLines = 6, kBuffer = 96, kFile = 2048 };
struct log_buffer {
  unsigned used;
  unsigned lines;
  char bytes[kBuffer];
};
static struct log_buffer buffer;
static char file[kFile];
static size_t written;
#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static void flush(struct log_buffer* log) {
  if (written + log->used > kFile) abort();
  memcpy(file + written, log->bytes, log->used);
  written += log->used;
  log->used = 0;
}
static void log_line(struct log_buffer* log, const char* text) {
  size_t length = strlen(text);
#ifdef FIXED
  pthread_mutex_lock(&lock);
#endif
  if (log->used + length + 1 > kBuffer) flush(log);
  char* at = log->bytes + log->used;
  at[0] = (char)length;
  memcpy(at + 1, text, length);
  log->used += length + 1;
  log->lines++;
#ifdef FIXED
  pthread_mutex_unlock(&lock);
#endif
}
static void* client(void* arg) {
  char text[32];
  for (int i = 0; i < kLines; ++i) {
    snprintf(text, sizeof text, "GET /%d/%ld", i * 7 % 5, (long)arg);
    for (int k = 0; k < i % 3; ++k) strcat(text, "/x");
    log_line(&buffer, text);
  }
  return 0;
}
static int check(const char* bytes, size_t size) {
  int lines = 0;
  for (size_t at = 0; at < size; at += 1 + (size_t)bytes[at]) {
    if (memcmp(bytes + at + 1, "GET ", 4) != 0) {
      fprintf(stderr, "line %d does not begin at %zu\n", lines, at);
      abort();
    }
    ++lines;
  }
  return lines;
}
int main(void) {
  pthread_t t[kClients];
  for (long i = 0; i < kClients; ++i) pthread_create(&t[i], 0, client, (void*)i);
  for (int i = 0; i < kClients; ++i) pthread_join(t[i], 0);
  flush(&buffer);
  int lines = check(file, written);
  if (lines != kClients * kLines) {
    fprintf(stderr, "%d lines\n", lines);
    abort();
  }
  return 0;
}
