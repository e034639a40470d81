// Odd corners of C that a linked module and its variant must keep: aliases, weak and common symbols, indirect
// functions, constructors in order, computed goto, setjmp, assembly, wide types, thread-local variables.
#define _GNU_SOURCE
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int common_symbol;
extern int other_value(void);
extern int overridden(void);
__attribute__((weak)) int overridden(void) { return 1; }
extern int missing(void) __attribute__((weak));

static int original(int x) { return x + 1; }
int alias_of(int x) __attribute__((alias("original")));
static int (*resolve(void))(int) { return original; }
int indirect(int x) __attribute__((ifunc("resolve")));

__attribute__((constructor(201))) static void second(void) { common_symbol = common_symbol * 10 + 2; }
__attribute__((constructor(200))) static void first(void) { common_symbol = common_symbol * 10 + 1; }
__attribute__((destructor)) static void last(void) { printf("last\n"); }

static _Thread_local int local_counter = 5;
__thread int shared_tls;
static _Atomic __int128 wide;
typedef int vec __attribute__((vector_size(16)));

static long sum(int n, ...) {
  va_list args;
  va_start(args, n);
  long total = 0;
  while (n-- > 0) total += va_arg(args, long);
  va_end(args);
  return total;
}

static int interpret(const char* code) {
  static void* labels[] = {&&add, &&twice, &&end};
  int value = 0;
#define NEXT goto* labels[*code++ - 'a']
  NEXT;
add:
  value += 3;
  NEXT;
twice:
  value *= 2;
  NEXT;
end:
  return value;
}

static jmp_buf jump;
static int jumped(void) {
  volatile int tries = 0;
  if (setjmp(jump) < 3) {
    ++tries;
    longjmp(jump, tries);
  }
  return tries;
}

static int asm_goto(int x) {
  asm goto("test %0, %0\n\tjz %l1" : : "r"(x) : "cc" : zero);
  return 1;
zero:
  return 0;
}

asm(".text\n.globl from_module_asm\n.type from_module_asm,@function\nfrom_module_asm: movl $77, %eax\n ret\n.size from_module_asm,.-from_module_asm\n");
extern int from_module_asm(void);

static void* thread(void* arg) {
  local_counter += *(int*)arg;
  shared_tls = local_counter;
  return (void*)(long)(local_counter * 100 + shared_tls);
}

static volatile sig_atomic_t signals;
static void on_signal(int s) { signals += s; }

static int vla(int n) {
  int a[n];
  for (int i = 0; i < n; ++i) a[i] = i * i;
  return a[n - 1];
}

static int nested_switch(unsigned x) {
  switch (x) {
    case 0 ... 9: return 1;
    case 100: case 200: case 300: return 2;
    default: return x > 1000 ? 3 : 4;
  }
}

int main(void) {
  printf("%d %d %d %d\n", common_symbol, other_value(), overridden(), missing ? 1 : 0);
  printf("%d %d %d\n", alias_of(1), indirect(2), from_module_asm());
  printf("%ld %d %d %d %d\n", sum(3, 1L, 2L, 3L), interpret("aabbc"), jumped(), asm_goto(0), asm_goto(5));
  int two = 2;
  pthread_t t;
  void* result;
  pthread_create(&t, NULL, thread, &two);
  pthread_join(t, &result);
  printf("%ld %d %d\n", (long)result, local_counter, shared_tls);
  signal(SIGUSR1, on_signal);
  raise(SIGUSR1);
  printf("%d\n", (int)signals == SIGUSR1);
  wide = ((__int128)1 << 100) + 7;
  printf("%lx %lx\n", (long)(wide >> 64), (long)wide);
  vec a = {1, 2, 3, 4}, b = a * a + 1;
  double complex z = 3.0 + 4.0 * I;
  long double l = 1.0L / 3.0L;
  printf("%d %.1f %.18Lf %d %d\n", b[3], cabs(z), l, vla(9), nested_switch(200) * 10 + nested_switch(5000));
  char buffer[16];
  memcpy(buffer, "0123456789", 11);
  memmove(buffer + 2, buffer, 5);
  printf("%s\n", buffer);
  return 9;
}
