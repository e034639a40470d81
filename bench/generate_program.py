#!/usr/bin/env python3
"""Writes a C program of a given size, the same one for the same numbers: many files of functions with structures, lists,
pointers, loops, switches and locks, called by four threads. It terminates, and what it prints does not depend on the
schedule, so that a variant can be compared with it.

  generate_program.py --lines 100000 --files 100 -o DIR

DIR gets program.h, main.c, part000.c, ... and a Makefile (CC, CFLAGS)."""
import argparse
import os
import random

THREADS = 4

HEADER = """\
#pragma once
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next;
  unsigned long key, check;
};

struct record {
  unsigned long id, total;
  unsigned long values[16];
  char name[32];
  struct record *peer;
  struct node *head;
  pthread_mutex_t lock;
};

typedef unsigned long step(struct record *r, unsigned long x);

#define TOTALS 16
extern unsigned long totals[TOTALS];
extern pthread_mutex_t totals_lock;
extern unsigned long damaged;
"""

# Each shape is the body of `unsigned long NAME(struct record *r, unsigned long x)`; {a} to {d} are numbers, {call} is a
# call of an earlier function or x. Only what is local to the call or sums up in any order may reach the result.
SHAPES = {
    "sum": """\
  unsigned long local[16];
  for (int i = 0; i < 16; i++) local[i] = x * {a} + (unsigned long)i;
  for (int i = 0; i < {small}; i++) {{
    if (local[i & 15] % {b} == 0)
      x += local[i & 15];
    else
      x ^= local[(i + {c}) & 15] >> 3;
  }}
  x ^= {call};
  pthread_mutex_lock(&r->lock);
  r->total += {d};
  pthread_mutex_unlock(&r->lock);
  return x;
""",
    "choose": """\
  unsigned long result = x;
  switch (x % 7) {{
    case 0: result += {a}; break;
    case 1: result *= {b}; break;
    case 2:
      result ^= {c};
      /* fall through */
    case 3: result += {d}; break;
    case 4:
      if (r->id > {a})
        result -= {b};
      else
        result += r->id;
      break;
    case 5: return {call};
    default: result = ~result;
  }}
  return result + {c};
""",
    "push": """\
  struct node *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return x;
  fresh->key = x % {a};
  fresh->check = fresh->key * {b} + r->id;
  fresh->next = NULL;
  if (fresh->check != fresh->key * {b} + r->id) __atomic_fetch_add(&damaged, 1, __ATOMIC_RELAXED);
  fresh->check = ~fresh->key;
  pthread_mutex_lock(&r->lock);
  fresh->next = r->head;
  r->head = fresh;
  pthread_mutex_unlock(&r->lock);
  return {call} + {d};
""",
    "walk": """\
  unsigned long seen = 0;
  pthread_mutex_lock(&r->lock);
  for (struct node *n = r->head; n != NULL && seen < {small}; n = n->next) {{
    if (n->check != ~n->key) damaged += {a};
    seen++;
  }}
  while (seen > {small} && r->head != NULL) {{
    struct node *old = r->head;
    r->head = old->next;
    free(old);
    seen--;
  }}
  pthread_mutex_unlock(&r->lock);
  return {call} ^ {b};
""",
    "matrix": """\
  unsigned long table[8][8];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 8; k++) table[i][k] = x + (unsigned long)(i * {small} + k);
  for (int i = 1; i < 7; i++) {{
    for (int k = 1; k < 7; k++) {{
      if ((table[i][k] & 3) == 1) continue;
      table[i][k] = table[i - 1][k] + table[i + 1][k] - table[i][k - 1] * {a};
      if (table[i][k] % {b} == 0) break;
    }}
  }}
  x = table[x & 7][(x >> 3) & 7];
  return {call} + {c};
""",
    "text": """\
  char buffer[64];
  int length = snprintf(buffer, sizeof buffer, "%lx-%d", x, {small});
  for (char *p = buffer; *p != '\\0'; p++)
    if (*p == '-') *p = '+';
  pthread_mutex_lock(&r->lock);
  memcpy(r->name, buffer, sizeof r->name - 1);
  r->name[sizeof r->name - 1] = '\\0';
  pthread_mutex_unlock(&r->lock);
  x += strlen(buffer) * {a} + (unsigned long)length;
  return {call};
""",
    "peers": """\
  struct record copy[2];
  memset(copy, 0, sizeof copy);
  copy[0].peer = &copy[1];
  copy[1].peer = &copy[0];
  struct record *at = &copy[x & 1];
  for (int i = 0; i < {small}; i++) {{
    at->values[i & 15] += {a} + x;
    unsigned long **slot = &(unsigned long *){{&at->peer->total}};
    **slot += at->values[(i + {c}) & 15] % {b};
    if (at->total % 3 != 2) at = at->peer;
  }}
  x += copy[0].total ^ copy[1].total;
  return {call};
""",
    "search": """\
  unsigned long low = 0, high = {a} + 1000, target = x % {a};
  int rounds = 0;
  while (low < high) {{
    unsigned long middle = low + (high - low) / 2;
    if (++rounds > 64) goto out;
    if (middle * {b} < target * {b})
      low = middle + 1;
    else if (middle == target && r->id == 0 && x == {c})
      goto out;
    else
      high = middle;
  }}
out:
  __atomic_fetch_add(&r->values[low & 15], 1, __ATOMIC_RELAXED);
  return {call} + low;
""",
}


def numbers(rng):
    return {"a": rng.randrange(3, 1000), "b": rng.randrange(3, 1000), "c": rng.randrange(1, 16),
            "d": rng.randrange(1, 1000), "small": rng.randrange(3, 17)}


def function(rng, name, earlier):
    """One function; calls at most one earlier function, so that the work stays about linear in the size."""
    call = f"{rng.choice(earlier)}(r, x + {rng.randrange(100)})" if earlier and rng.random() < 0.6 else "x"
    body = SHAPES[rng.choice(sorted(SHAPES))].format(call=call, **numbers(rng))
    return f"static unsigned long {name}(struct record *r, unsigned long x) {{\n{body}}}\n\n"


def part(rng, number, lines):
    """A file of about so many lines: functions, a table of them, and one entry that calls each, half of them through
    the table."""
    text = f'#include "program.h"\n\nstatic struct record record = {{.id = {number}, .lock = PTHREAD_MUTEX_INITIALIZER}};\n\n'
    names = []
    while not names or text.count("\n") + len(names) + 20 < lines:
        names.append(f"f{number}_{len(names)}")
        text += function(rng, names[-1], names[-40:-1])
    direct, indirect = names[::2], names[1::2] or names[:1]
    text += "static step *const steps[] = {\n" + "".join(f"    {name},\n" for name in indirect) + "};\n\n"
    text += f"void part{number}(unsigned long x) {{\n  unsigned long sum = 0;\n"
    text += "".join(f"  sum += {name}(&record, x + {i});\n" for i, name in enumerate(direct))
    text += ("  for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) sum += steps[i](&record, x);\n"
             "  pthread_mutex_lock(&totals_lock);\n"
             f"  totals[{number} % TOTALS] += sum;\n"
             "  pthread_mutex_unlock(&totals_lock);\n}\n")
    return text


def main_file(files):
    declarations = "".join(f"void part{i}(unsigned long x);\n" for i in range(files))
    table = "".join(f"    part{i},\n" for i in range(files))
    return f"""\
#include "program.h"

unsigned long totals[TOTALS];
pthread_mutex_t totals_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned long damaged;

{declarations}
static void (*const parts[])(unsigned long) = {{
{table}}};
enum {{ PARTS = sizeof parts / sizeof parts[0] }};

/* Each part is entered by two threads. */
static void *work(void *argument) {{
  unsigned long self = (unsigned long)argument;
  for (unsigned long i = 0; i < PARTS; i++)
    if (i % {THREADS} == self || (i + 1) % {THREADS} == self) parts[i](self * 10 + i);
  return NULL;
}}

int main(void) {{
  pthread_t threads[{THREADS}];
  unsigned long sum = 0;
  for (unsigned long i = 0; i < {THREADS}; i++)
    if (pthread_create(&threads[i], NULL, work, (void *)i) != 0) return 1;
  for (int i = 0; i < {THREADS}; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < TOTALS; i++) sum = sum * 31 + totals[i];
  printf("%016lx %lu\\n", sum, damaged);
  return damaged != 0;
}}
"""


MAKEFILE = """\
CFLAGS ?= -O1
sources := $(wildcard *.c)
app: $(sources:.c=.o)
	$(CC) $(CFLAGS) -pthread $^ -o $@
%.o: %.c program.h
	$(CC) $(CFLAGS) -pthread -c $< -o $@
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--lines", type=int, default=100000, help="about how many in all")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("-o", dest="folder", required=True)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    texts = {"program.h": HEADER, "main.c": main_file(options.files), "Makefile": MAKEFILE}
    rest = options.lines - sum(text.count("\n") for text in texts.values())
    for i in range(options.files):
        texts[f"part{i:03}.c"] = part(random.Random(i), i, rest // options.files)
    for name, text in texts.items():
        with open(os.path.join(options.folder, name), "w") as out:
            out.write(text)
    print(f"{sum(text.count(chr(10)) for text in texts.values())} lines in {len(texts)} files")


main()
