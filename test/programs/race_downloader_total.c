// A downloader in segments, in the shape of aget: each thread fetches its part of a file in small pieces and
// writes it to its place; a total of bytes serves for the progress display and for the question whether the
// file is complete.
//
// The bug: all threads add to the total without a lock. An addition gets lost, and a complete file is called
// incomplete: exit code 3.
//
// HEDDLE-FAILURE: exit:3
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one thread loads the total before another one stores it (in both directions)
// HEDDLE-SMALL: no
// HEDDLE-ARGS: 3
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kFileSize = 96, kPiece = 8, kMaxSegments = 8 };

// ---- the server
// ----------------------------------------------------------------------------------------------------

struct connection {
  size_t offset;
  size_t end;
};

static char server_byte(size_t offset) {
  return (char)('A' + (offset * 31) % 26);
}

static void server_request(struct connection* connection, size_t from, size_t to) {
  connection->offset = from;
  connection->end = to;
}

// As recv(): up to `size` bytes, 0 at the end of the range.
static size_t server_receive(struct connection* connection, char* buffer, size_t size) {
  size_t count = 0;
  while (count < size && connection->offset < connection->end)
    buffer[count++] = server_byte(connection->offset++);
  return count;
}

// ---- the file and the total
// ----------------------------------------------------------------------------------------

char file[kFileSize];
volatile size_t total_written;
#ifdef FIXED
pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
#endif

static void write_at(size_t offset, const char* bytes, size_t count) {
  assert(offset + count <= kFileSize);
  memcpy(file + offset, bytes, count);
}

static void add_to_total(size_t count) {
#ifdef FIXED
  pthread_mutex_lock(&total_lock);
#endif
  const size_t before = total_written;  // [A]
  total_written = before + count;       // [B]
#ifdef FIXED
  pthread_mutex_unlock(&total_lock);
#endif
}

// ---- segments
// ------------------------------------------------------------------------------------------------------

struct segment {
  pthread_t thread;
  size_t from;
  size_t to;
  size_t written;
};

static void* download(void* arg) {
  struct segment* segment = arg;
  struct connection connection;
  char piece[kPiece];
  server_request(&connection, segment->from, segment->to);
  for (;;) {
    const size_t count = server_receive(&connection, piece, sizeof piece);
    if (count == 0) return NULL;
    write_at(segment->from + segment->written, piece, count);
    segment->written += count;
    add_to_total(count);
  }
}

static void divide(struct segment* segments, size_t count) {
  const size_t share = kFileSize / count;
  for (size_t i = 0; i < count; ++i) {
    segments[i].from = i * share;
    segments[i].to = i + 1 == count ? kFileSize : (i + 1) * share;
    segments[i].written = 0;
  }
}

// What a later run would need to resume.
static void save_log(const struct segment* segments, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    fprintf(stderr, "segment %zu: %zu of %zu bytes\n", i, segments[i].written,
            segments[i].to - segments[i].from);
  }
}

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? (size_t)atoi(argv[1]) : 2;
  if (count < 1 || count > kMaxSegments) {
    fprintf(stderr, "usage: %s [1-%d segments]\n", argv[0], kMaxSegments);
    return 2;
  }
  static struct segment segments[kMaxSegments];
  divide(segments, count);
  for (size_t i = 0; i < count; ++i) pthread_create(&segments[i].thread, NULL, download, &segments[i]);
  for (size_t i = 0; i < count; ++i) pthread_join(segments[i].thread, NULL);
  for (size_t i = 0; i < kFileSize; ++i) assert(file[i] == server_byte(i));
  if (total_written != kFileSize) {
    fprintf(stderr, "incomplete: %zu of %d bytes\n", total_written, kFileSize);
    save_log(segments, count);
    return 3;
  }
  return 0;
}
