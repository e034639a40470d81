// A logger made at first use, with printf-like messages (varargs) and a sink given as a function pointer.
//
// The bug: two threads can both find no logger and make one each. One of them, with the line written to it, is
// lost: the program ends with exit code 3.
//
// HEDDLE-FAILURE: exit:3
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B both threads find no logger before one of them has installed its own
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLines = 8, kLength = 40 };

struct logger;
typedef void (*sink)(struct logger*, const char* line);

struct logger {
  pthread_mutex_t lock;
  sink write;
  int lines;
  char text[kLines][kLength];
};

_Atomic(struct logger*) the_logger;
#ifdef FIXED
pthread_once_t once = PTHREAD_ONCE_INIT;
#endif

static void write_to_memory(struct logger* logger, const char* line) {
  if (logger->lines < kLines) snprintf(logger->text[logger->lines++], kLength, "%s", line);
}

static struct logger* logger_new(void) {
  struct logger* result = calloc(1, sizeof *result);
  if (result == NULL) abort();
  pthread_mutex_init(&result->lock, NULL);
  result->write = write_to_memory;
  return result;
}

#ifdef FIXED
static void install(void) {
  atomic_store(&the_logger, logger_new());
}
#endif

static struct logger* logger(void) {
#ifdef FIXED
  pthread_once(&once, install);
#else
  if (atomic_load(&the_logger) == NULL) {     // [A]
    atomic_store(&the_logger, logger_new());  // [B]
  }
#endif
  return atomic_load(&the_logger);
}

__attribute__((format(printf, 1, 2))) static void log_line(const char* format, ...) {
  char line[kLength];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  struct logger* mine = logger();
  pthread_mutex_lock(&mine->lock);
  mine->write(mine, line);
  pthread_mutex_unlock(&mine->lock);
}

static void* work(void* arg) {
  log_line("worker %d says %s", *(const int*)arg, "hello");
  return NULL;
}

int main(void) {
  int ids[2] = {1, 2};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &ids[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return logger()->lines == 2 ? 0 : 3;
}
