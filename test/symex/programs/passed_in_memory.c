// Arguments that calls pass in memory: behind the named ones, of every class of the ABI, in registers and when these are used up; and structures by
// value. What comes of them are indexes of shared memory.
#include <pthread.h>
#include <stdarg.h>

typedef struct {
  float x, y;
} Point;
typedef struct {
  int a;
  double b;
  long c;
} Large;
typedef float Four __attribute__((vector_size(16)));

static unsigned counters[8], seed = 3;
static double sum;
static __int128 wide = 5;
static long double extended = 1.5L;

static __attribute__((noinline)) unsigned among(unsigned count, ...) {
  va_list list;
  unsigned out = 0;
  va_start(list, count);
  for (unsigned i = 0; i < count; ++i) out = out * 3 + va_arg(list, unsigned);
  va_end(list);
  return out;
}

static double rest(int rounds, va_list list) {
  double out = 0;
  for (int i = 0; i < rounds; ++i) {
    out += va_arg(list, int);
    out += va_arg(list, double);
    out += (double)va_arg(list, long double);
    const Large large = va_arg(list, Large);
    out += large.a + large.b + (double)large.c;
    const __int128 number = va_arg(list, __int128);
    out += (double)(long)(number >> 64) + (double)(long)number;
    const Point point = va_arg(list, Point);
    out += point.x * point.y;
    const Four four = va_arg(list, Four);
    out += four[0] + four[3];
  }
  return out;
}

// Seven named arguments: the last one is in memory, in front of the variadic ones.
static __attribute__((noinline)) double mixed(int a, int b, int c, int d, int e, int f, int rounds, ...) {
  va_list list;
  va_start(list, rounds);
  const double out = rest(rounds, list) + a + b + c + d + e + f;
  va_end(list);
  return out;
}

static __attribute__((noinline)) double few(int rounds, ...) {
  va_list list;
  va_start(list, rounds);
  const double out = rest(rounds, list);
  va_end(list);
  return out;
}

static __attribute__((noinline)) unsigned index_in(Large large) { return (unsigned)(large.a + (int)large.c) % 8; }

static void *work(void *argument) {
  const int who = (int)(long)argument;
  for (int i = 0; i < 3; ++i) {
    counters[among(3, seed, (unsigned)i, counters[1]) % 8]++;
    seed = seed * 5 + 1;
    const Large large = {(int)seed, 0.5 * seed, who};
    const Point point = {(float)seed, 2};
    const Four four = {(float)seed, 1, 2, (float)counters[2]};
    counters[index_in(large)] += 2;
    wide = wide * 7 + ((__int128)seed << 62);
    extended = extended * 1.1L + counters[0];
    sum += few(1, (int)seed, 0.25, extended, large, wide, point, four);
    sum += mixed(1, 2, 3, 4, 5, (int)counters[3], 2, (int)seed, 0.25, extended, large, wide, point, four, 6, 1.5, extended, large, wide, point, four);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void *)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return sum == 1.0;
}
