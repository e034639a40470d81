#!/usr/bin/env python3
"""Sharing oracle, step 1: writes a random C program with two threads that moves pointers in many ways.

    generate.py SEED [strict] > program.c

Every pointer is null or points to a live `struct S`, and is tested before use, so programs do not crash. Threads
run their steps in turns (runtime.c). Each program uses a random part of the ways to move a pointer: a program
that uses all of them has nothing private left, and would test nothing. `strict`: obeys the aliasing rules of C,
for compilers that rely on them.
"""
import random
import sys

HEAD = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct S;
typedef struct S *(*fn)(struct S *, struct S *);
union U { struct S *p; uintptr_t i; double d; };
struct S {
  struct S *p[2];
  uintptr_t t;       /* 0 or an address with its lowest bit set */
  long n;
  int k;
  unsigned char b[8]; /* bytes of a pointer */
  union U u;
  fn f;
  short h[4];         /* a pointer as four pieces */
};
extern _Thread_local int oracle_thread;
void oracle_wait(int), oracle_pass(int), oracle_end(void);
#define NOINLINE __attribute__((noinline))
"""

HELPERS = r"""
static NOINLINE void copy_bytes(void *to, const void *from, long n) {
  char *d = to; const char *s = from;
  while (n--) *d++ = *s++;
}
static NOINLINE void copy_index(char *to, const char *from) { for (int i = 0; i < 8; ++i) to[i] = from[i]; }
static NOINLINE void copy_halves(int *to, const int *from) { for (int i = 0; i < 2; ++i) to[i] = from[i]; }
static NOINLINE void copy_temp(unsigned char *to, const unsigned char *from) {
  unsigned char c;
  for (int i = 7; i >= 0; --i) { c = from[i]; to[i] = c; }
}
static NOINLINE void pack(unsigned char *to, uintptr_t x) { for (int i = 0; i < 8; ++i) to[i] = (unsigned char)(x >> (8 * i)); }
static NOINLINE uintptr_t unpack(const unsigned char *from) {
  uintptr_t x = 0;
  for (int i = 0; i < 8; ++i) x |= (uintptr_t)from[i] << (8 * i);
  return x;
}
static NOINLINE struct S *nth(int n, ...) {
  va_list ap; va_start(ap, n);
  struct S *r = 0;
  for (int i = 0; i <= n; ++i) r = va_arg(ap, struct S *);
  va_end(ap);
  return r;
}
static NOINLINE struct S *by_value(struct S s, int i) { s.n++; return s.p[i]; }
static NOINLINE struct S returned(struct S *a) { struct S s = *a; s.n++; return s; }
static NOINLINE void put(struct S **where, struct S *what) { *where = what; }
static NOINLINE struct S *get(struct S **where) { return *where; }
static NOINLINE struct S *make(void) { struct S *s = malloc(sizeof *s); if (!s) abort(); memset(s, 0, sizeof *s); return s; }
static NOINLINE struct S *make_with(struct S *p) { struct S *s = calloc(1, sizeof *s); if (!s) abort(); s->p[0] = p; s->n = 1; return s; }
static int order(const void *a, const void *b) {
  struct S *x = *(struct S *const *)a, *y = *(struct S *const *)b;
  return (x ? (int)(x->n & 7) : 0) - (y ? (int)(y->n & 7) : 0);
}
"""


class Program:
    def __init__(self, seed, strict=False):
        self.r = random.Random(seed)
        self.strict = strict
        self.functions = self.r.randint(1, 4)
        ways = [m for m in dir(self) if m.startswith("way_") and not (strict and m == "way_shorts")]
        self.ways = self.r.sample(ways, self.r.randint(3, min(12, len(ways)))) + ["way_touch"] * 3
        # Few globals in reach of few functions: the fewer, the more stays private.
        self.publish = self.r.choice([0.0, 0.03, 0.1, 0.25])
        self.locals = []

    # Expressions. A place is an lvalue of type struct S *; an object an rvalue of that type that is not null.
    def pointer(self):
        return self.r.choice(self.locals)

    def field(self, base):
        return f"{base}->p[{self.r.randrange(2)}]"

    def glob(self):
        return self.r.choice(["gp0", "gp1", "g0.p[0]", "g1.p[1]", "garr[1]", "garr[i & 1]"])

    def guard(self, *names):
        return "if (" + " && ".join(sorted(set(names))) + ") "

    # Ways to move a pointer: statements.
    def way_touch(self):
        v = self.pointer()
        return self.guard(v) + self.r.choice([f"{v}->n++;", f"{v}->k = {v}->k + 1;", f"sum += {v}->n;",
                                              f"{v}->h[i & 3] = 0;" if "way_shorts" not in self.ways else f"{v}->n--;"])

    def way_field_store(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a) + f"{self.field(a)} = {b};"

    def way_field_load(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a) + f"{b} = {self.field(a)};"

    def way_assign(self):
        return f"{self.pointer()} = {self.pointer()};"

    def way_local_address(self):
        return f"{self.pointer()} = &{self.r.choice(['l0', 'l1'])};"

    def way_malloc(self):
        v, w = self.pointer(), self.pointer()
        return f"{v} = " + self.r.choice(["make();", f"make_with({w});", "calloc(1, sizeof(struct S));"])

    def way_thread_local(self):
        v = self.pointer()
        return self.r.choice([f"{v} = &tls;", f"tlp = {v};", f"{v} = tlp;", f"tls.p[0] = {v};", f"{v} = tls.p[0];", "tls.n++;"])

    def way_tag(self):
        v, a = self.pointer(), self.pointer()
        return self.r.choice([f"w = (uintptr_t){v} | 1;", f"{v} = (struct S *)(w & ~(uintptr_t)1);",
                              f"if (w) {v} = (struct S *)(w - (w & 1));", self.guard(a) + f"{a}->t = w;",
                              self.guard(a) + f"w = {a}->t;", "w = w / 2 * 2 + (w & 1);" if self.r.random() < .3 else "w ^= 0;",
                              f"w = ((w << 8) >> 8);"])

    def way_memcpy(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a, b) + self.r.choice([f"memmove({a}, {b}, sizeof *{a});", f"*{a} = *{b};",
                                                 f"{{ memcpy(&tmp, {b}, sizeof tmp); *{a} = tmp; }}",
                                                 f"memcpy(&{a}->p[0], &{b}->p[1], n8);"])

    def way_bytes(self):
        a, b = self.pointer(), self.pointer()
        halves = f"copy_halves((int *)&{a}->p[1], (int *)&{b}->p[0]);"
        return self.guard(a, b) + self.r.choice([
            f"copy_bytes(&{a}->p[0], &{b}->p[1], sizeof(void *));", f"copy_index((char *){a}->p, (char *)({b}->p + 1));",
            f"{a}->p[0] = {b}->p[1];" if self.strict else halves, f"copy_temp({a}->b, (unsigned char *)&{b}->p[0]);",
            f"copy_temp((unsigned char *)&{a}->p[1], {b}->b);", f"copy_bytes({a}, {b}, sizeof *{a});",
            f"for (int j = 0; j < 8; ++j) ((char *)&{a}->p[0])[j] = ((char *)&{b}->p[0])[j];",
            "{ " + " ".join(f"((char *)&{a}->p[1])[{j}] = ((char *)&{b}->p[0])[{j}];" for j in range(8)) + " }"])

    def way_shorts(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a, b) + self.r.choice([
            f"for (int j = 0; j < 4; ++j) {a}->h[j] = ((short *)&{b}->p[0])[j];",
            f"for (int j = 0; j < 4; ++j) ((short *)&{a}->p[0])[j] = {b}->h[j];"])

    def way_pack(self):
        a, b = self.pointer(), self.pointer()
        return self.r.choice([self.guard(a) + f"pack({a}->b, (uintptr_t){b});", self.guard(a) + f"{b} = (struct S *)unpack({a}->b);"])

    def way_union(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a) + self.r.choice([f"{a}->u.p = {b};", f"{a}->u.i = (uintptr_t){b};", f"{b} = {a}->u.p;",
                                              f"{b} = (struct S *){a}->u.i;", f"l0.u.d = {a}->u.d;", f"{a}->u = l0.u;"])

    def way_function_pointer(self):
        a, v, x, y = (self.pointer() for _ in range(4))
        f = f"f{self.r.randrange(self.functions)}"
        return self.r.choice([self.guard(a) + f"{a}->f = {f};", f"if ({a} && {a}->f) {v} = {a}->f({x}, {y});",
                              f"{v} = ftab[i & 1]({x}, {y});", f"{v} = gf ? gf({x}, {y}) : {x};", f"gf = {f};"])

    def way_call(self):
        v, x, y = (self.pointer() for _ in range(3))
        return f"{v} = f{self.r.randrange(self.functions)}({x}, {y});"

    def way_atomic(self):
        a, v = self.pointer(), self.pointer()
        f = self.field(a)
        return self.guard(a) + self.r.choice([
            f"{v} = __atomic_load_n(&{f}, __ATOMIC_ACQUIRE);", f"__atomic_store_n(&{f}, {v}, __ATOMIC_RELEASE);",
            f"{v} = __atomic_exchange_n(&{f}, {v}, __ATOMIC_SEQ_CST);",
            "{ struct S *e = " + v + f"; if (!__atomic_compare_exchange_n(&{f}, &e, {self.pointer()}, 0, 5, 5)) {v} = e; }}"])

    def way_varargs(self):
        v, x, y = (self.pointer() for _ in range(3))
        return f"{v} = nth(i & 1, {x}, {y});"

    def way_by_value(self):
        a, v = self.pointer(), self.pointer()
        return self.guard(a) + self.r.choice([f"{v} = by_value(*{a}, i & 1);", f"l1 = returned({a});"])

    def way_through(self):
        a, v = self.pointer(), self.pointer()
        return self.guard(a) + self.r.choice([f"put(&{self.field(a)}, {v});", f"{v} = get(&{self.field(a)});"])

    def way_pointer_to_pointer(self):
        a, v = self.pointer(), self.pointer()
        return self.r.choice([f"pp = &{v};", f"if (pp) {a} = *pp;", f"if (pp) *pp = {a};", self.guard(a) + f"pp = &{self.field(a)};"])

    def way_sort(self):
        a, b, v = (self.pointer() for _ in range(3))
        return "{ struct S *arr[2] = {" + f"{a}, {b}" + "}; qsort(arr, 2, sizeof *arr, order); " + f"{v} = arr[i & 1]; }}"

    def way_number(self):
        a, b = self.pointer(), self.pointer()
        return self.guard(a, b) + self.r.choice([f"{a}->n = {b}->n;", f"{a}->k = {b}->k;", f"{a}->n += gn;", f"gn += {a}->n;"])

    def way_select(self):
        return f"{self.pointer()} = i % 3 ? {self.pointer()} : {self.pointer()};"

    def way_realloc(self):
        v = self.pointer()
        return "{ struct S **m = malloc(8); m[0] = " + v + f"; m = realloc(m, 16); {self.pointer()} = m[0]; }}"

    def way_key(self):
        v = self.pointer()
        return self.r.choice([f"pthread_setspecific(key, {v});", f"{v} = pthread_getspecific(key);"])

    def way_pipe(self):
        v = self.pointer()
        return self.r.choice([f"if (in_pipe < 50) in_pipe++, (void)!write(fds[1], &{v}, sizeof {v});",
                              f"if (in_pipe > 0) in_pipe--, (void)!read(fds[0], &{v}, sizeof {v});"])

    def way_constant_table(self):
        v = self.pointer()
        return self.r.choice([f"{v} = ctab[i & 1];", "sum += numbers[i & 3];", f"if (i & 1) cq = &numbers[i & 3]; sum += *cq;"])

    def publish_statement(self):
        v = self.pointer()
        return self.r.choice([f"{self.glob()} = {v};", f"{v} = {self.glob()};", f"gt = (uintptr_t){v} | 1;",
                              f"{v} = (struct S *)(gt & ~(uintptr_t)1);"])

    def statement(self):
        if self.r.random() < self.publish:
            return self.publish_statement()
        return getattr(self, self.r.choice(self.ways))()

    def body(self, count):
        lines = []
        for _ in range(count):
            s = self.statement()
            roll = self.r.random()
            if roll < 0.1:
                s = f"if (i & {self.r.choice([1, 2, 4])}) {{ {s} }}"
            elif roll < 0.15:
                s = f"for (int q = 0; q < 2; ++q) {{ {s} }}"
            lines.append("  " + s)
        return lines

    def prologue(self):
        return ["  struct S l0 = {0}, l1 = {0}, tmp = {0}; uintptr_t w = 0; struct S **pp = 0; const long *cq = numbers;",
                "  size_t n8 = (size_t)(8 + (i & 0)); long sum = 0; (void)l1; (void)tmp; (void)w; (void)pp; (void)cq; (void)n8;"]

    def function(self, index):
        self.locals = ["a", "b", "v0", "v1"]
        return [f"static NOINLINE struct S *f{index}(struct S *a, struct S *b) {{",
                "  if (--fuel <= 0) return a;", "  int i = fuel; (void)i;", "  struct S *v0 = 0, *v1 = 0;", *self.prologue(),
                *self.body(self.r.randint(2, 7)), "  sink += sum;", f"  return {self.pointer()};", "}"]

    def step(self, name):
        self.locals = ["v0", "v1", "v2", "arg"]
        return [f"static NOINLINE void {name}(struct S *arg, int i) {{", "  struct S *v0 = 0, *v1 = 0, *v2 = 0; fuel = 12;",
                *self.prologue(), *self.body(self.r.randint(4, 14)), "  sink += sum; (void)v2;", "}"]

    def thread(self, index, steps):
        # Every thread has an object of its own that nobody else gets, as the argument of its steps.
        shared = self.r.random() < 0.5
        own = self.r.choice(["&mine", "make()", "&tls"])
        return [f"static void *thread{index}(void *p) {{", f"  struct S mine = {{0}}; struct S *own = 0;",
                "  for (int i = 0; i < 6; ++i) {", f"    oracle_wait({index});", f"    if (!own) own = {own};",
                *[f"    {s}({'i & 1 ? own : p' if shared else 'own'}, i);" for s in steps],
                f"    oracle_pass({'2' if index == 1 else 'i == 5 ? 0 : 1'});", "  }", "  (void)mine; (void)p;",
                "  for (;;) pause();", "}"]

    def text(self):
        f = lambda: f"f{self.r.randrange(self.functions)}"
        lines = [HEAD,
                 "static struct S g0, g1; static struct S *gp0, *gp1, *garr[2]; static uintptr_t gt; static long gn;",
                 "static _Thread_local struct S tls; static _Thread_local struct S *tlp; static _Thread_local int fuel;",
                 "static _Thread_local volatile long sink; static fn gf; static pthread_key_t key;",
                 "static int fds[2]; static int in_pipe;",
                 "static struct S *const ctab[2] = {&g0, &g1}; static const long numbers[4] = {1, 2, 3, 4};", HELPERS]
        lines += [f"static struct S *f{i}(struct S *a, struct S *b);" for i in range(self.functions)]
        lines.append(f"static const fn ftab[2] = {{{f()}, {f()}}};")
        for i in range(self.functions):
            lines += self.function(i)
        steps = [f"step{i}" for i in range(self.r.randint(1, 3))]
        for s in steps:
            lines += self.step(s)
        same = self.r.random() < 0.3
        lines += self.thread(1, steps)
        lines += self.thread(2, steps if same else self.r.sample(steps, self.r.randint(1, len(steps))))
        arg = self.r.choice(["&g0", "start", "0", "&local", "local.p[0]"])
        lines += ["int main(void) {", "  struct S local = {0}; struct S *start = make(); local.p[0] = make();",
                  "  pthread_t t1, t2; pthread_key_create(&key, 0); if (pipe(fds)) abort();",
                  f"  pthread_create(&t1, 0, thread1, {arg}); pthread_create(&t2, 0, thread2, {arg});",
                  "  local.n++; start->n++; local.p[0]->n++;", "  oracle_pass(1); oracle_wait(0);", "  local.n++; start->n++;", "  oracle_end();", "}"]
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(Program(int(sys.argv[1]), "strict" in sys.argv).text())
