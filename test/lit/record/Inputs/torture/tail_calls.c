// Tail calls that must be: to itself, to others, through pointers, to foreign functions, and out of callbacks.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

volatile int shared = 1;
typedef int State(const void*, const void*);
static int red(const void* left, const void* right);
static int green(const void* left, const void* right);
static int blue(const void* left, const void* right);
State* volatile states[3] = {red, green, blue};
static _Thread_local int fuel;

static int red(const void* left, const void* right) {
  if (fuel-- <= 0) return *(const int*)left - *(const int*)right;
  if (shared & 1) __attribute__((musttail)) return green(left, right);
  __attribute__((musttail)) return states[(unsigned)fuel % 3](left, right);
}
__attribute__((noinline)) static int green(const void* left, const void* right) {
  for (int i = 0; i < fuel % 5; ++i) {
    if (shared == i) break;
  }
  if (fuel % 4 == 0) __attribute__((musttail)) return red(right, left);
  if (fuel % 4 == 1) __attribute__((musttail)) return blue(left, right);
  return fuel % 4 - 2;
}
static int blue(const void* left, const void* right) {
  if (fuel-- <= 0) return 0;
  shared = shared + 1;
  switch (fuel % 3) {
    case 0: __attribute__((musttail)) return blue(left, right);
    case 1: __attribute__((musttail)) return red(left, right);
    default: __attribute__((musttail)) return green(right, left);
  }
}

static size_t measured(const char* text);
size_t strlen(const char* text);
static size_t measured(const char* text) {
  if (*text == 'x') __attribute__((musttail)) return measured(text + 1);
  __attribute__((musttail)) return strlen(text);
}

static void* run(void* unused) {
  int values[30];
  for (int i = 0; i < 30; ++i) values[i] = i * 11 % 30;
  for (int round = 0; round < 10; ++round) {
    fuel = round * 3;
    if (red(&values[0], &values[1]) > 0) shared = 0;
    fuel = 2;
    qsort(values, (size_t)round, sizeof values[0], round & 1 ? red : blue);
  }
  return (void*)(measured("xxxlong") + measured("") + (unused != NULL));
}

int main(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, NULL);
  run(NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
