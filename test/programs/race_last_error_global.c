// A small library that parses numbers and remembers the last error, as errno does.
//
// The bug: unlike errno, the remembered error is one for all threads. A thread can be told the result of
// another one.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B the error of one thread is overwritten by the other before it is read
// HEDDLE-SMALL: yes
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#ifdef FIXED
static _Thread_local volatile int last_error;
#else
volatile int last_error;
#endif

static long parse(const char* text) {
  errno = 0;
  const long result = strtol(text, NULL, 10);
  last_error = errno;  // [A]
  return result;
}

static int parse_failed(void) {
  return last_error != 0;  // [B]
}

static void* parse_small(void* arg) {
  (void)arg;
  const long value = parse("17");
  assert(!parse_failed());
  assert(value == 17);
  return NULL;
}

static void* parse_large(void* arg) {
  (void)arg;
  parse("99999999999999999999999999");
  assert(parse_failed());
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, parse_small, NULL);
  pthread_create(&threads[1], NULL, parse_large, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
