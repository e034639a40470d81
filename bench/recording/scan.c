/* Parallel file scanner, in the shape of pfscan: the main thread walks a directory tree and puts the names of
 * files into a bounded queue; workers take them, read them and count a word by the Boyer-Moore-Horspool search.
 *
 *   scan FOLDER WORD */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORKERS 4
#define QUEUE 32
#define BUFFER (64 * 1024)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static char* queue[QUEUE];
static unsigned head, tail;
static int walked;

static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long files, bytes, matches;

static const unsigned char* word;
static size_t length;
static size_t shift[256];

static void fail(const char* what) {
  perror(what);
  exit(1);
}

static void put(char* path) {
  pthread_mutex_lock(&lock);
  while (tail - head == QUEUE) pthread_cond_wait(&not_full, &lock);
  queue[tail++ % QUEUE] = path;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static char* take(void) {
  char* path = NULL;
  pthread_mutex_lock(&lock);
  while (head == tail && !walked) pthread_cond_wait(&not_empty, &lock);
  if (head != tail) path = queue[head++ % QUEUE];
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&lock);
  return path;
}

static void prepare(const char* text) {
  word = (const unsigned char*)text;
  length = strlen(text);
  for (int c = 0; c < 256; ++c) shift[c] = length;
  for (size_t i = 0; i + 1 < length; ++i) shift[word[i]] = length - 1 - i;
}

/* Occurrences that begin in text[0 .. size - length]. */
static unsigned long count(const unsigned char* text, size_t size) {
  unsigned long found = 0;
  const unsigned char last = word[length - 1];
  for (size_t at = length - 1; at < size;) {
    const unsigned char c = text[at];
    if (c == last && memcmp(text + at - (length - 1), word, length - 1) == 0) ++found;
    at += shift[c];
  }
  return found;
}

static void scan(const char* path, unsigned char* buffer) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) fail(path);
  size_t kept = 0, all = 0;
  unsigned long found = 0;
  ssize_t got;
  while ((got = read(fd, buffer + kept, BUFFER)) > 0) {
    const size_t size = kept + (size_t)got;
    found += count(buffer, size);
    kept = size < length - 1 ? size : length - 1;
    memmove(buffer, buffer + size - kept, kept);
    all += (size_t)got;
  }
  if (got < 0) fail(path);
  close(fd);
  pthread_mutex_lock(&result_lock);
  ++files;
  bytes += all;
  matches += found;
  pthread_mutex_unlock(&result_lock);
}

static void* work(void* nothing) {
  unsigned char* buffer = malloc(BUFFER + length);
  if (buffer == NULL) fail("malloc");
  char* path;
  while ((path = take()) != NULL) {
    scan(path, buffer);
    free(path);
  }
  free(buffer);
  return nothing;
}

static void walk(const char* folder) {
  DIR* open_folder = opendir(folder);
  if (open_folder == NULL) fail(folder);
  const struct dirent* entry;
  while ((entry = readdir(open_folder)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    char* path;
    if (asprintf(&path, "%s/%s", folder, entry->d_name) < 0) fail("asprintf");
    struct stat status;
    if (lstat(path, &status) != 0) fail(path);
    if (S_ISREG(status.st_mode)) {
      put(path);
      continue;
    }
    if (S_ISDIR(status.st_mode)) walk(path);
    free(path);
  }
  closedir(open_folder);
}

int main(int argc, char** argv) {
  if (argc != 3 || strlen(argv[2]) < 2) return 2;
  prepare(argv[2]);
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; ++i) pthread_create(&workers[i], NULL, work, NULL);
  walk(argv[1]);
  pthread_mutex_lock(&lock);
  walked = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; ++i) pthread_join(workers[i], NULL);
  printf("%lu files, %lu bytes, %lu matches\n", files, bytes, matches);
  return 0;
}
