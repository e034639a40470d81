// setjmp and longjmp: across many frames, out of a callback of qsort, several marks alive at once, to the outer of two, back into a
// loop, with and without the signal mask, in recursion.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local jmp_buf outer, inner, *target;
static _Thread_local int left;
volatile int shared;

__attribute__((noinline)) static int deep(int depth, int code) {
  if (depth > 0) {
    int result = deep(depth - 1, code);
    if (result & 1) shared = shared + 1;
    return result;
  }
  if (code % 3 == 1) longjmp(inner, code);
  if (code % 3 == 2) longjmp(outer, code);
  return code;
}

static int compare(const void* left_item, const void* right_item) {
  const int l = *(const int*)left_item, r = *(const int*)right_item;
  if (target && --left <= 0) longjmp(*target, 9);
  return l < r ? -1 : l > r;
}

static int sort_and_jump(int after) {
  jmp_buf here;
  int values[20];
  for (int i = 0; i < 20; ++i) values[i] = i * 7 % 20;
  left = after;
  target = &here;
  const int came = setjmp(here);
  if (came == 0) qsort(values, 20, sizeof values[0], compare);
  target = NULL;
  return came;
}

// Each activation has a mark of its own; the jump goes up `up` activations.
static int marks(int depth, int up, jmp_buf* above[]) {
  jmp_buf here;
  volatile int rounds = 0;
  above[depth] = &here;
  const int came = setjmp(here);
  rounds = rounds + 1;
  if (came != 0) return came + rounds;
  if (depth == 6) longjmp(*above[depth - up], depth + 1);
  const int below = marks(depth + 1, up, above);
  return below > 3 ? below - 1 : below + 1;
}

static int loops(void) {
  jmp_buf again;
  volatile int rounds = 0, sum = 0;
  for (int i = 0; i < 3; ++i) {
    const int came = _setjmp(again);
    sum += came;
    if (rounds++ < 5) {
      if (rounds & 1) longjmp(again, rounds);
      continue;
    }
    if (sum > 1000) break;
  }
  return sum;
}

static void* run(void* argument) {
  const int first = (int)(long)argument;
  jmp_buf* above[8];
  volatile int code = first;
  const int from_outer = sigsetjmp(outer, 1);
  if (from_outer > 0) code = code + 1;
  while (code < first + 20) {
    const int from_inner = setjmp(inner);
    if (from_inner != 0) {
      code = code + 1;
      if (from_inner % 2) continue;
    }
    if (code >= first + 20) break;
    deep(code % 5, code);
    code = code + 1;
  }
  for (int i = 1; i < 200; i += 23) sort_and_jump(i);
  for (int up = 0; up <= 6; ++up) shared = shared + marks(0, up, above);
  return (void*)(long)loops();
}

int main(void) {
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  run((void*)5);
  puts("done");
  return 0;
}
