/* The places where arguments of variable number lie are the compiler's own, and pointers to them go through memory. */
#include <pthread.h>
#include <stdarg.h>

static unsigned shared = 2;

static __attribute__((noinline)) unsigned among(unsigned count, ...) {
  va_list list, again;
  unsigned sum = 0;
  va_start(list, count);
  va_copy(again, list);
  for (unsigned i = 0; i < count; ++i) sum = sum * 3 + va_arg(list, unsigned) + (unsigned)va_arg(again, int);
  va_end(again);
  va_end(list);
  return sum;
}

static void *work(void *argument) {
  for (unsigned i = 0; i < 3; ++i) shared += among(8, i, 2u, shared, 4u, 5u, 6u, 7u, 8u) + among(2, shared, 1u);
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  return 0;
}
