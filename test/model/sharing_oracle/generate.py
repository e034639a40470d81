#!/usr/bin/env python3
"""Sharing oracle, step 1: writes a random C program in which threads hand pointers to each other in devious ways.

    generate.py SEED [strict] [BOX] > program.c

A program has a few routes. A route starts with an object (`x`), puts its address into a box in one of many ways,
that box into another, and so on, and the last one into a root. Thread 1 does this and touches the object; thread 2
takes the way back from the root and touches what it finds, and may leave an object of its own in it (the gift); then
thread 1 touches the object again, and the gift. Some routes are decoys: their
root belongs to the thread, and nobody else comes for the object. They keep the analysis honest the other way
round, and mix with the true routes in helper functions that both use.

`strict`: obeys the aliasing rules of C, for compilers that rely on them. BOX: only this way to put a pointer
into a box (a name from BOXES).
"""
import random
import sys

HEAD = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct S;
typedef struct S *(*fn)(struct S *, struct S *);
union U { struct S *p; uintptr_t i; double d; };
struct S {
  struct S *p[2];
  uintptr_t t;
  long n;
  int k;
  unsigned char b[8];
  union U u;
  fn f;
  short h[4];
};
void oracle_wait(int), oracle_pass(int), oracle_end(void);
#define NOINLINE __attribute__((noinline))
static volatile int zero;   /* so that nothing is known at compile time */
static uintptr_t key = 0x5a5a5a5a5a5a5a5a;
static struct S *gp, *garr[4], g0, g1;
static uintptr_t gt;
static union U gu;
static unsigned char gb[8];
static _Thread_local struct S tls, tls2;
static _Thread_local struct S *tlp;
static struct S *const ctab[2] = {&g0, &g1};
static int fds[2];
static pthread_key_t tkey;
static long total;

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
static NOINLINE struct S wrapped(struct S *x) { struct S s = {0}; s.p[1] = x; s.n = 1; return s; }
static NOINLINE void put(struct S **where, struct S *what) { *where = what; }
static NOINLINE struct S *get(struct S **where) { return *where; }
static NOINLINE struct S *make(void) { struct S *s = malloc(sizeof *s); if (!s) abort(); memset(s, 0, sizeof *s); return s; }
static NOINLINE struct S *make_with(struct S *p) { struct S *s = calloc(1, sizeof *s); if (!s) abort(); s->p[0] = p; s->n = 1; return s; }
static NOINLINE struct S *choose(int i, struct S *a, struct S *b) { return i ? b : a; }
static NOINLINE void touch(struct S *x) { x->n++; x->k += 2; }
static int order(const void *a, const void *b) {
  struct S *x = *(struct S *const *)a, *y = *(struct S *const *)b;
  return (x ? (int)(x->n & 7) : 0) - (y ? (int)(y->n & 7) : 0);
}
static struct S *store_first(struct S *box, struct S *x) { box->p[0] = x; return box; }
static struct S *load_first(struct S *box, struct S *x) { (void)x; return box->p[0]; }
static fn const operations[2] = {store_first, load_first};
"""

# Ways to put x into the box and to take it out again: (name, put, get). `q` is the result of get.
BOXES = [
    ("field", "box->p[0] = x;", "q = box->p[0];"),
    ("element", "box->p[zero + 1] = x;", "q = box->p[1 - zero];"),
    ("tag", "box->t = (uintptr_t)x | 1;", "q = (struct S *)(box->t & ~(uintptr_t)1);"),
    ("tag_minus", "box->t = (uintptr_t)x + 1;", "q = (struct S *)(box->t - 1);"),
    ("tag_rest", "box->t = (uintptr_t)x + 3;", "{ uintptr_t w = box->t; q = (struct S *)(w - w % 4); }"),
    ("round", "box->t = (uintptr_t)x + 5;", "q = (struct S *)(box->t / 8 * 8);"),
    ("shift", "box->t = (uintptr_t)x << 8;", "q = (struct S *)(box->t >> 8);"),
    ("xor", "box->t = (uintptr_t)x ^ key;", "q = (struct S *)(box->t ^ key);"),
    ("union_pointer", "box->u.p = x;", "q = (struct S *)box->u.i;"),
    ("union_number", "box->u.i = (uintptr_t)x;", "q = box->u.p;"),
    ("union_double", "{ union U v; v.p = x; box->u.d = v.d; }", "{ union U v; v.d = box->u.d; q = v.p; }"),
    ("union_tag", "box->u.p = x; box->u.i |= 1;", "box->u.i &= ~(uintptr_t)1; q = box->u.p;"),
    ("bytes", "copy_bytes(&box->p[0], &x, sizeof x);", "copy_bytes(&q, &box->p[0], sizeof q);"),
    ("byte_index", "copy_index((char *)&box->p[1], (char *)&x);", "copy_index((char *)&q, (char *)&box->p[1]);"),
    ("byte_array", "copy_temp(box->b, (unsigned char *)&x);", "copy_temp((unsigned char *)&q, box->b);"),
    ("byte_loop", "for (int j = 0; j < 8; ++j) ((char *)&box->p[0])[j] = ((char *)&x)[j];",
     "for (int j = 0; j < 8; ++j) ((char *)&q)[j] = ((char *)&box->p[0])[j];"),
    ("byte_list", " ".join(f"box->b[{j}] = ((unsigned char *)&x)[{j}];" for j in range(8)),
     " ".join(f"((unsigned char *)&q)[{j}] = box->b[{j}];" for j in range(8))),
    ("halves", "copy_halves((int *)&box->p[0], (int *)&x);", "copy_halves((int *)&q, (int *)&box->p[0]);"),
    ("shorts", "for (int j = 0; j < 4; ++j) box->h[j] = ((short *)&x)[j];", "for (int j = 0; j < 4; ++j) ((short *)&q)[j] = box->h[j];"),
    ("pack", "pack(box->b, (uintptr_t)x);", "q = (struct S *)unpack(box->b);"),
    ("memcpy", "memcpy(&box->p[1], &x, sizeof x);", "memcpy(&q, &box->p[1], sizeof q);"),
    ("memcpy_number", "{ uintptr_t w; memcpy(&w, &x, sizeof w); box->t = w; }", "{ uintptr_t w = box->t; memcpy(&q, &w, sizeof q); }"),
    ("memcpy_tag", "{ uintptr_t w; memcpy(&w, &x, sizeof w); w |= 1; box->t = w; }",
     "{ uintptr_t w = box->t & ~(uintptr_t)1; memcpy(&q, &w, sizeof q); }"),
    ("memcpy_long", "memcpy(&box->p[1], &x, sizeof x + zero);", "memmove(&q, &box->p[1], sizeof q + zero);"),
    ("structure", "{ struct S s = {0}; s.p[0] = x; *box = s; }", "{ struct S s = *box; q = s.p[0]; }"),
    ("atomic", "__atomic_store_n(&box->p[0], x, __ATOMIC_RELEASE);", "q = __atomic_load_n(&box->p[0], __ATOMIC_ACQUIRE);"),
    ("exchange", "__atomic_exchange_n(&box->p[0], x, __ATOMIC_SEQ_CST);", "q = __atomic_exchange_n(&box->p[0], 0, __ATOMIC_SEQ_CST); box->p[0] = q;"),
    ("exchange_number", "__atomic_exchange_n(&box->t, (uintptr_t)x, __ATOMIC_SEQ_CST);", "q = (struct S *)__atomic_fetch_or(&box->t, 0, __ATOMIC_SEQ_CST);"),
    ("add_number", "__atomic_fetch_add(&box->t, (uintptr_t)x, __ATOMIC_SEQ_CST);", "q = (struct S *)__atomic_load_n(&box->t, __ATOMIC_SEQ_CST);"),
    ("compare", "{ struct S *e = 0; __atomic_compare_exchange_n(&box->p[0], &e, x, 0, 5, 5); }",
     "{ struct S *e = 0; __atomic_compare_exchange_n(&box->p[0], &e, 0, 0, 5, 5); q = e; }"),
    ("through", "put(&box->p[0], x);", "q = get(&box->p[0]);"),
    ("interior", "box->p[0] = (struct S *)&x->n;", "q = (struct S *)((char *)box->p[0] - offsetof(struct S, n));"),
    ("array", "{ struct S **m = malloc(16); m[zero] = x; box->p[0] = (struct S *)m; }", "q = ((struct S **)box->p[0])[zero];"),
    ("realloc", "{ struct S **m = malloc(16); m[1] = x; m = realloc(m, 64 + zero); box->p[0] = (struct S *)m; }",
     "q = ((struct S **)box->p[0])[1];"),
    ("wrapper", "box->p[1] = make_with(x);", "q = box->p[1]->p[0];"),
    ("function", "box->f = store_first; box->f(box, x);", "q = load_first(box, 0);"),
    ("table", "operations[zero](box, x);", "q = operations[zero + 1](box, 0);"),
    ("returned", "*box = wrapped(x);", "q = by_value(*box, 1);"),
    ("variadic", "box->p[0] = nth(1 + zero, box, x);", "q = nth(zero, box->p[0], box);"),
    ("sorted", "{ struct S *a[2] = {x, x}; qsort(a, 2, sizeof *a, order); box->p[0] = a[1]; }", "q = box->p[0];"),
    ("selected", "box->p[0] = choose(zero, x, box);", "q = zero ? box : box->p[0];"),
    ("long", "box->n = (long)x;", "q = (struct S *)box->n;"),
]
NOT_STRICT = {"halves", "shorts"}

# Where the last box goes: (name, put `box`, get `q`); the first kind is for all threads, the second for one.
ROOTS = [
    ("variable", "gp = box;", "q = gp;"),
    ("element", "garr[zero + 2] = box;", "q = garr[2 - zero];"),
    ("member", "g0.p[1] = box;", "q = ctab[zero]->p[1];"),
    ("constant", "ctab[zero + 1]->p[0] = box;", "q = g1.p[0];"),
    ("number", "gt = (uintptr_t)box ^ 1;", "q = (struct S *)(gt ^ 1);"),
    ("union", "gu.p = box;", "q = (struct S *)gu.i;"),
    ("bytes", "copy_temp(gb, (unsigned char *)&box);", "copy_temp((unsigned char *)&q, gb);"),
    ("pipe", "if (write(fds[1], &box, sizeof box) < 0) abort();", "if (read(fds[0], &q, sizeof q) < 0) abort();"),
    ("argument", "((struct S *)p)->p[0] = box;", "q = ((struct S *)p)->p[0];"),
    ("argument_number", "((struct S *)p)->t = (uintptr_t)box;", "q = (struct S *)((struct S *)p)->t;"),
    ("exchange", "__atomic_exchange_n(&gp, box, __ATOMIC_SEQ_CST);", "q = __atomic_load_n(&gp, __ATOMIC_SEQ_CST);"),
    ("thread_local", "tls.p[0] = box; gp = &tls;", "q = gp->p[0];"),
    ("specific", "pthread_setspecific(tkey, box); gp = pthread_getspecific(tkey);", "q = gp;"),
]
OWN_ROOTS = [
    ("own_variable", "tlp = box;", "q = tlp;"),
    ("own_object", "tls2.p[0] = box;", "q = tls2.p[0];"),
    ("own_frame", "mine->p[0] = box;", "q = mine->p[0];"),
]
SOURCES = ["make()", "calloc(1, sizeof(struct S))", "frame", "&tls", "make_with(0)"]


class Route:
    def __init__(self, r, index, strict, box, published, wanted_root):
        self.index, self.published = index, published
        boxes = [b for b in BOXES if not (strict and b[0] in NOT_STRICT) and box in (None, b[0])] or BOXES[:1]
        self.hops = [r.choice(boxes) for _ in range(r.randint(1, 3))]
        self.root = wanted_root
        self.source = r.choice(SOURCES if published else [s for s in SOURCES if s != "&tls"] + ["&tls2"])
        self.box = [r.choice(["make()", "calloc(1, sizeof(struct S))"]) for _ in self.hops]
        self.inline = r.random() < 0.4
        self.gift = r.random() < 0.6
        self.touch = r.choice(["x->n++;", "x->k += 2;", "touch(x);", "total += x->n;  x->n = 1;", "x->h[1]++;", "memset(&x->h, 0, 8);"])

    def functions(self):
        kind = "static inline" if self.inline else "static NOINLINE"
        lines = []
        for i, (name, put, get) in enumerate(self.hops):
            lines.append(f"/* {name} */ {kind} struct S *put{self.index}_{i}(struct S *x) {{ struct S *box = {self.box[i]}; {put} return box; }}")
            lines.append(f"{kind} struct S *get{self.index}_{i}(struct S *box) {{ struct S *q = 0; {get} return q; }}")
        name, put, get = self.root
        lines.append(f"/* {name} */ {kind} void hide{self.index}(struct S *box, void *p, struct S *mine) {{ (void)p; (void)mine; {put} }}")
        lines.append(f"{kind} struct S *find{self.index}(void *p, struct S *mine) {{ struct S *q = 0; (void)p; (void)mine; {get} return q; }}")
        give = "struct S *gift = calloc(1, sizeof *gift); gift->n = 7; x->p[1] = gift; gift->k++;" if self.gift else ""
        take = "if (x->p[1]) x->p[1]->n++;" if self.gift else ""
        chain = "x"
        for i in range(len(self.hops)):
            chain = f"put{self.index}_{i}({chain})"
        back = f"find{self.index}(p, mine)"
        for i in reversed(range(len(self.hops))):
            back = f"get{self.index}_{i}({back})"
        lines.append(f"static NOINLINE void receive{self.index}(void *p, struct S *mine) {{ struct S *x = {back}; {self.touch} {give} }}")
        source = self.source.replace("frame", "&frame")
        lines.append(f"static NOINLINE void use{self.index}(struct S *x) {{ {self.touch} {take} }}")
        self.body = {
            "declare": f"struct S frame{self.index} = {{0}}; struct S *x{self.index} = 0; (void)x{self.index};",
            "send": f"x{self.index} = {source.replace('&frame', f'&frame{self.index}')}; "
                    f"{{ struct S *x = x{self.index}; {self.touch} hide{self.index}({chain}, p, mine); }}",
            "again": f"use{self.index}(x{self.index});",
            "receive": f"receive{self.index}(p, mine);",
        }
        return lines


class Program:
    def __init__(self, seed, strict=False, box=None):
        r = random.Random(seed)
        count = r.randint(1, 4)
        roots = r.sample(ROOTS, min(count, len(ROOTS)))
        self.routes = []
        used = set()
        for i in range(count):
            published = r.random() < 0.5
            root = roots[i] if published else r.choice(OWN_ROOTS)
            # Two routes through one variable would overwrite each other.
            place = {"exchange": "gp", "variable": "gp", "thread_local": "gp", "specific": "gp", "argument": "p"}.get(root[0], root[0])
            if place in used:
                root, published = OWN_ROOTS[2], False
                place = root[0]
                if place in used:
                    continue
            used.add(place)
            self.routes.append(Route(r, i, strict, box, published, root))
        self.argument = r.choice(["&g1", "start", "&local"])
        if any(route.root[0] == "constant" for route in self.routes):
            self.argument = "start"

    def text(self):
        lines = [HEAD]
        for route in self.routes:
            lines += route.functions()
        bodies = [route.body for route in self.routes]
        lines += ["static void *thread1(void *p) {", "  struct S own = {0}, *mine = &own; (void)mine;",
                  *["  " + b["declare"] for b in bodies], "  oracle_wait(1);", *["  " + b["send"] for b in bodies],
                  "  oracle_pass(2); oracle_wait(1);", *["  " + b["again"] for b in bodies],
                  *["  " + b["receive"] for b, route in zip(bodies, self.routes) if not route.published],
                  "  oracle_pass(0);", "  for (;;) pause();", "}"]
        lines += ["static void *thread2(void *p) {", "  struct S own = {0}, *mine = &own; (void)mine;", "  oracle_wait(2);",
                  *["  " + b["receive"] for b, route in zip(bodies, self.routes) if route.published],
                  # the same code with the thread's own objects, for the decoys
                  *["  { " + b["declare"] + " " + b["send"] + " " + b["receive"] + " }"
                    for b, route in zip(bodies, self.routes) if not route.published],
                  "  oracle_pass(1);", "  for (;;) pause();", "}"]
        lines += ["int main(void) {", "  struct S local = {0}; struct S *start = make();",
                  "  pthread_t t1, t2; pthread_key_create(&tkey, 0); if (pipe(fds)) abort();",
                  f"  pthread_create(&t1, 0, thread1, {self.argument}); pthread_create(&t2, 0, thread2, {self.argument});",
                  "  oracle_pass(1); oracle_wait(0); local.n++; start->n++;", "  oracle_end();", "}"]
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    only = [a for a in sys.argv[2:] if a != "strict"]
    sys.stdout.write(Program(int(sys.argv[1]), "strict" in sys.argv, only[0] if only else None).text())
