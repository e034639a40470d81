"""Sharing oracle: what random programs are made of: helper functions, ways to put a pointer into a box and to take
it out again, roots and sources (generate.py)."""

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
struct two { struct S *a; struct S *b; };
struct counted { struct S *p; long n; };
struct header { struct S *owner; long n; };
struct rest { long n; struct S *first; struct S *all[]; };
struct hook { struct hook *next, **back; };
struct named { char text[16]; struct S *p; };
typedef long pair __attribute__((vector_size(16)));
static const long places[3] = {offsetof(struct S, p), offsetof(struct S, u), offsetof(struct S, t)};
/* the object around a member, in functions that only look */
static NOINLINE struct S *around(const int *k) { return ((const struct S *)((const char *)k - offsetof(struct S, k)))->p[0]; }
static NOINLINE struct S *around_number(const int *k, long off) { return ((const struct S *)((uintptr_t)k - (uintptr_t)off))->p[0]; }
static NOINLINE struct S *around_bytes(const int *k, long off) { return ((const struct S *)((const char *)k - off))->p[0]; }
static NOINLINE struct S *before(struct S *const *p, long n) { return p[-n]; }
static NOINLINE struct S *before_unsigned(struct S *const *p, unsigned n) { return p[(long)n - 1]; }
static NOINLINE struct S *last_of(struct S *const *end) { struct S *q = 0; do q = *--end; while (!q); return q; }
static NOINLINE struct S **slot_down(struct S **p, int n) { return n ? slot_down(p - 1, n - 1) : p; }
static NOINLINE void copy_down(void *to, const void *from, long n) {
  char *d = (char *)to + n; const char *s = (const char *)from + n;
  while (n--) *--d = *--s;
}
static NOINLINE void copy_down_fixed(struct two *to, const struct two *from) {
  char *d = (char *)(to + 1); const char *s = (const char *)(from + 1);
  while (d != (char *)to) *--d = *--s;
}
static NOINLINE void copy_up_before(void *to, const void *from, long n) {
  char *d = (char *)to - 1; const char *s = (const char *)from - 1;
  while (n--) *++d = *++s;
}
static NOINLINE struct two both(struct S *a, struct S *b) { struct two t = {a, b}; return t; }
static NOINLINE struct counted with_count(struct S *a, long n) { struct counted t = {a, n}; return t; }
static NOINLINE struct S *second(struct two t) { return t.b; }
__attribute__((malloc)) static NOINLINE struct S *behind_header(struct S *owner) {
  struct header *h = malloc(sizeof *h + sizeof(struct S)); if (!h) abort();
  h->owner = owner; h->n = 1; memset(h + 1, 0, sizeof(struct S)); return (struct S *)(h + 1);
}
static NOINLINE struct S *owner_of(struct S *s) { return ((struct header *)s - 1)->owner; }
static NOINLINE struct S **slot(struct S *s, int i) { return i ? &s->p[1] : &s->p[0]; }
static int order_two(const void *a, const void *b) { return (((const struct two *)a)->a != 0) - (((const struct two *)b)->a != 0); }
static NOINLINE void swap_two(struct two *a, struct two *b) { struct two t = *a; *a = *b; *b = t; }
static NOINLINE void hook_after(struct hook *h, struct hook *n) { n->next = h->next; n->back = &h->next; if (h->next) h->next->back = &n->next; h->next = n; }
/* a table whose functions give and take different things */
static void nothing(struct S *b) { b->k++; }
static int count_up(int n) { return n + 1; }
static struct S *loaded(struct S *b) { return b->p[0]; }
static int stored(struct S *b, struct S *x) { b->p[0] = x; return 0; }
static long sum(long n, int m) { return n + m; }
static NOINLINE struct S *by_table(int i, struct S *b, struct S *x) {
  static void *const mixed[5] = {stored, sum, loaded, nothing, count_up};
  if (i == 0) { ((int (*)(struct S *, struct S *))mixed[zero])(b, x); return 0; }
  return ((struct S *(*)(struct S *))mixed[zero + 2])(b);
}
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
    ('around', '{ struct S *y = calloc(1, sizeof *y); y->p[0] = x; box->p[1] = (struct S *)&y->k; }', 'q = around((int *)box->p[1]);'),
    ('around_number', '{ struct S *y = calloc(1, sizeof *y); y->p[0] = x; box->p[1] = (struct S *)&y->k; }', 'q = around_number((int *)box->p[1], offsetof(struct S, k) + zero);'),
    ('around_bytes', '{ struct S *y = calloc(1, sizeof *y); y->p[0] = x; box->p[1] = (struct S *)&y->k; }', 'q = around_bytes((int *)box->p[1], offsetof(struct S, k) + zero);'),
    ('before', 'box->p[0] = x;', 'q = before((struct S **)&box->t, zero + 2);'),
    ('before_unsigned', 'box->p[0] = x;', 'q = before_unsigned(&box->p[1], (unsigned)zero);'),
    ('before_zero', 'box->p[0] = x;', '{ unsigned n = (unsigned)zero; struct S **m = &box->p[1]; q = m[(long)n - 1]; }'),
    ('last', 'box->p[0] = x;', 'q = last_of((struct S **)&box->t);'),
    ('last_far', 'box->p[0] = x;', 'q = last_of((struct S **)&box->n);'),
    ('slot_down', '*slot_down((struct S **)&box->n, 2 + zero) = x;', 'q = box->p[1];'),
    ('slot_down_read', 'box->p[1] = x;', 'q = *slot_down((struct S **)&box->n, 2 + zero);'),
    ('down', 'copy_down(&box->p[0], &x, sizeof x);', 'copy_down(&q, &box->p[0], sizeof q);'),
    ('down_fixed', '{ struct two t = {0, x}; copy_down_fixed((struct two *)box, &t); }', '{ struct two t; copy_down_fixed(&t, (struct two *)box); q = t.b; }'),
    ('down_fixed_first', '{ struct two t = {x, 0}; copy_down_fixed((struct two *)box, &t); }', '{ struct two t; copy_down_fixed(&t, (struct two *)box); q = t.a; }'),
    ('down_here', '{ struct two t = {x, 0}; char *d = (char *)&box->t, *s = (char *)(&t + 1); while (s != (char *)&t) *--d = *--s; }', 'q = box->p[0];'),
    ('up_before', 'copy_up_before(&box->p[0], &x, sizeof x);', 'copy_up_before(&q, &box->p[0], sizeof q);'),
    ('both', '{ struct two t = both(box, x); box->p[0] = t.a; box->p[1] = t.b; }', 'q = second(both(box->p[0], box->p[1]));'),
    ('counted', '{ struct counted t = with_count(x, 3); memcpy(&box->p[0], &t, sizeof t); }', '{ struct counted t; memcpy(&t, &box->p[0], sizeof t); q = t.p; }'),
    ('shifted_layout', '{ struct { long n; struct S *p; } t = {0, x}; memcpy(&box->p[0], &t, sizeof t); }', 'q = box->p[1];'),
    ('part', '{ struct S s = {0}; s.p[1] = x; memcpy(&box->p[1], &s.p[1], 24); }', '{ struct S s = {0}; memcpy(&s.t, &box->p[1], 8); q = (struct S *)s.t; }'),
    ('vector', '{ struct S *a[2] = {0, x}; pair v; memcpy(&v, a, 16); memcpy(&box->p[0], &v, 16); }', '{ struct S *a[2]; pair v; memcpy(&v, &box->p[0], 16); v = (pair){v[1], v[0]}; memcpy(a, &v, 16); q = a[0]; }'),
    ('wide', '{ unsigned __int128 w = (unsigned __int128)(uintptr_t)x << 64; memcpy(&box->p[0], &w, 16); }', '{ unsigned __int128 w; memcpy(&w, &box->p[0], 16); q = (struct S *)(uintptr_t)(w >> 64); }'),
    ('header', 'box->p[1] = behind_header(x);', 'q = owner_of(box->p[1]);'),
    ('header_list', '{ struct S *y = behind_header(0); ((struct header *)y - 1)->owner = x; box->p[0] = (struct S *)((struct header *)y - 1); }', 'q = ((struct header *)box->p[0])->owner;'),
    ('pairs', '{ struct two *m = calloc(4, sizeof *m); m[2 + zero].b = x; box->p[0] = (struct S *)m; }', '{ struct two *m = (struct two *)box->p[0]; for (int i = 0; i < 4; ++i) if (m[i].b) q = m[i].b; }'),
    ('pairs_down', '{ struct two *m = calloc(4, sizeof *m); m[0].b = x; box->p[0] = (struct S *)(m + 3); }', '{ struct two *m = (struct two *)box->p[0]; while (!m->b) --m; q = m->b; }'),
    ('pairs_back', '{ struct two *m = calloc(4, sizeof *m); m[1].b = x; box->p[0] = (struct S *)&m[2].a; }', 'q = ((struct S **)box->p[0])[-1 - zero];'),
    ('sorted_pairs', '{ struct two *m = calloc(3, sizeof *m); m[0].a = box; m[0].b = x; qsort(m, 3, sizeof *m, order_two); box->p[0] = (struct S *)m; }', '{ struct two *m = (struct two *)box->p[0]; q = m[2].b; }'),
    ('swapped', '{ struct two s = {x, 0}, t = {0, box}; swap_two(&s, &t); box->p[1] = t.a; }', 'q = box->p[1];'),
    ('slot', '*slot(box, zero + 1) = x;', 'q = box->p[1];'),
    ('slot_read', 'box->p[1] = x;', 'q = *slot(box, zero + 1);'),
    ('rest', '{ struct rest *m = calloc(1, sizeof *m + 32); m->n = 3; m->all[zero] = x; box->p[0] = (struct S *)m; }', '{ struct rest *m = (struct rest *)box->p[0]; for (long i = 0; i < m->n; ++i) if (m->all[i]) q = m->all[i]; }'),
    ('rest_first', '{ struct rest *m = calloc(1, sizeof *m + 32); m->n = 3; m->first = x; box->p[0] = (struct S *)m; }', '{ struct rest *m = (struct rest *)box->p[0]; for (long i = -1; i < m->n; ++i) if (m->all[i]) q = m->all[i]; }'),
    ('footer', '{ char *m = calloc(1, 64); *(struct S **)(m + 64 + zero - 8) = x; box->p[0] = (struct S *)(m + 64); }', 'q = ((struct S **)box->p[0])[-1];'),
    ('footer_fixed', '{ char *m = calloc(1, 64); *(struct S **)(m + 56) = x; box->p[0] = (struct S *)m; }', '{ long n = 64 + zero; char *m = (char *)box->p[0]; q = *(struct S **)(m + n - 8); }'),
    ('place', '*(struct S **)((char *)box + places[1 + zero]) = x;', 'q = box->u.p;'),
    ('place_back', '*(struct S **)((char *)&box->t - places[2 + zero]) = x;', 'q = box->p[0];'),
    ('itself', 'box->p[0] = (struct S *)&box->u; *(struct S **)box->p[0] = x;', 'q = box->u.p;'),
    ('itself_copied', 'box->p[0] = (struct S *)&box->u; { struct S s = *box; *(struct S **)s.p[0] = x; }', '{ struct S *s = calloc(1, sizeof *s); *s = *box; q = *(struct S **)s->p[0]; }'),
    ('text', '{ struct named *m = calloc(2, sizeof *m); m[1].p = x; strcpy(m[1].text, "abc"); box->p[1] = (struct S *)m[1].text; }', '{ const char *t = (const char *)box->p[1]; while (*t) ++t; q = ((struct named *)(t - 3))->p; }'),
    ('hooks', '{ struct hook *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b + 8); hook_after(a, b); *(struct S **)(b + 1) = x; box->p[0] = (struct S *)a; }', 'q = *(struct S **)(((struct hook *)box->p[0])->next + 1);'),
    ('hooks_back', '{ struct hook *a = calloc(1, sizeof *a + 8), *b = calloc(1, sizeof *b); hook_after(a, b); *(struct S **)(a + 1) = x; box->p[0] = (struct S *)b; }', 'q = *(struct S **)((struct hook *)((struct hook *)box->p[0])->back + 1);'),
    ('sum', 'box->t = (uintptr_t)&box->u; *(struct S **)(box->t + (uintptr_t)zero) = x;', 'q = box->u.p;'),
    ('complement', 'box->p[0] = x;', 'q = *(struct S **)((char *)&box->p[1] + ~(long)zero * 8);'),
    ("memcpy_field", "{ struct S *y = calloc(1, sizeof *y); y->p[zero] = x; memcpy(&box->t, &y->p[zero], sizeof x); }", "q = (struct S *)box->t;"),
    ("memcpy_back", "box->t = (uintptr_t)x;", "{ struct S *y = calloc(1, sizeof *y); memcpy(&y->p[1], &box->t, sizeof q); q = y->p[zero + 1]; }"),
    ("local_back", "box->p[0] = x;", "{ long back = -(long)offsetof(struct S, t) * (zero + 1); q = *(struct S **)((char *)&box->t + back); }"),
    ("mixed_table", "by_table(0, box, x);", "q = by_table(1, box, 0);"),
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
