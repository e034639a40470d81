// Branches that a reader can compute: on constants in loops, results of calls, values read for addresses, arguments and results of
// functions, local variables kept in memory; and such that it must not take for these.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned shared[16];
unsigned* pointers[16];
volatile int zero;

static int sign(long n) { return n < 0 ? -1 : n > 0; }
__attribute__((noinline)) static unsigned power(unsigned base, unsigned n) {
  unsigned result = 1;
  while (n > 0) {
    if (n & 1) result *= base;
    base *= base;
    n >>= 1;
  }
  return result;
}
__attribute__((noinline)) static unsigned through(unsigned n) {
  unsigned index = shared[n & 15];       // feeds an address
  unsigned value = shared[index & 15];   // does not
  unsigned sum = 0;
  if (index & 1) sum += 1;
  if (value & 1) sum += 2;
  for (unsigned i = 0; i < (index & 7); ++i) sum += shared[(i + index) & 15] & 1 ? i : 3;
  switch (index & 3) {
    case 0: sum += 5; break;
    case 1: sum ^= 3; break;
    default: break;
  }
  unsigned* pointer = pointers[index & 15];
  if (pointer != NULL && pointer != &shared[3]) sum += *pointer;
  return sum;
}
__attribute__((noinline)) static long parse(const char* text) {
  char* end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno == ERANGE) return -1;
  if (*end != 0) return -2;
  if (value > 100) return value % 100;
  return value < 0 ? -value : value;
}
__attribute__((noinline)) static int slots(int n) {
  int kept = n, other = 0;  // -O0 keeps these in memory
  for (int i = 0; i < 10; ++i) {
    if (i == kept) other += 2;
    if (i % 3 == 1) kept = i + n;
  }
  return other + kept;
}
static int transfers(void) {
  int pipes[2];
  int sum = 0;
  if (pipe(pipes) != 0) return 0;
  for (char i = 0; i < 20; ++i) {
    char got[4] = {0};
    if (write(pipes[1], "abcd", (size_t)(i % 4 + 1)) < 0) break;
    const ssize_t size = read(pipes[0], got, sizeof got);
    if (size == 2) sum += got[0];
    for (ssize_t k = 0; k < size; ++k) if (got[k] == 'c') ++sum;
  }
  close(pipes[0]);
  if (write(-1, "", 1) < 0) sum += errno == EBADF ? 1 : 2;
  close(pipes[1]);
  return sum;
}
static void* run(void* argument) {
  static const char* const texts[] = {"12", "-5", "1000", "99999999999999999999999", "7x", ""};
  unsigned sum = 0;
  for (unsigned n = 0; n < 40; ++n) {
    sum += through(n) + power(3, n % 7);
    shared[n & 15] = sum;
    pointers[n & 15] = n % 3 ? &shared[n % 16] : NULL;
    sum += (unsigned)sign(parse(texts[n % 6])) + (unsigned)slots((int)n);
    void* block = malloc(n * 10);
    if (((unsigned long)block >> 4) & 1) sum += 1;
    free(block);
    sum += (unsigned)slots(2);
  }
  sum += (unsigned)transfers();
  return argument == NULL ? NULL : &shared[sum & 15];
}
int main(int argc, char** argv) {
  pthread_t threads[3];
  if (argc > 1 && strcmp(argv[1], "x") == 0) return 1;
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, run, argv);
  run(NULL);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
