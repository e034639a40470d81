// Local names that a library function or another object has too, a string constant, a static variable of a
// function, a constructor and a comdat-free inline function: all must mean the same when code is generated in parts.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

extern int foreign_answer(void);  // calls its own `answer`, through a global name that is local here

static int answer(void) { return 1; }
static int write(int fd, const char* text) { return fd + (int)strlen(text); }
static int early;
__attribute__((constructor)) static void begin(void) { early = 5; }
static inline int next(void) {
  static int count;
  return ++count;
}
static int (*const table[])(void) = {answer, next, foreign_answer};
static int shared;

static void* work(void* argument) {
  for (int i = 0; i < 3; ++i) shared += table[i]();
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  printf("%s %d %d\n", "sum", early, write(3, "abcd"));
  assert(shared == 1 + 1 + 40 + 1 + 2 + 40);
  return 0;
}
