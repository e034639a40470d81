/* What scanf and its kin wrote: the conversions of the format say how much is behind each pointer (scanf(3)).
 *
 * One entry for each pointer, in the order of the pointers; those that no conversion was made for are empty. Of
 * memory that scanf allocates itself (%ms) the pointer is kept, not the text.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

#include "runtime/record/runtime.h"

#define MOST_POINTERS 64
#define NO_LIMIT (1ull << 40)

struct conversion {
  bool assigns;     /* not %* and not %% */
  bool counts;      /* in scanf's result: all but %n */
  uint32_t pointer; /* of n$, from 1; 0: the next */
  uint64_t width;   /* 0: none */
  char length;      /* h, H (hh), l, q (ll), L, j, z, t or 0 */
  bool allocates;
  char kind;
};

static uint64_t number(const char** at) {
  uint64_t value = 0;
  while (**at >= '0' && **at <= '9' && value < 1ull << 40) value = value * 10 + (uint64_t)(*(*at)++ - '0');
  return value;
}

static char length_modifier(const char** at) {
  const char first = **at;
  if (first == 0 || strchr("hlLqjzt", first) == NULL) return 0;
  ++*at;
  if ((first == 'h' || first == 'l') && **at == first) {
    ++*at;
    return first == 'h' ? 'H' : 'q';
  }
  return first;
}

/* A ] directly behind [ or [^ belongs to the set. */
static void skip_set(const char** at) {
  if (**at == '^') ++*at;
  if (**at == ']') ++*at;
  while (**at != 0 && **at != ']') ++*at;
  if (**at != 0) ++*at;
}

/* Behind a %. */
static struct conversion read_conversion(const char** at) {
  struct conversion c = {.assigns = true, .counts = true};
  const char* const begin = *at;
  const uint64_t position = number(at);
  if (position > 0 && **at == '$') {
    c.pointer = (uint32_t)position;
    ++*at;
  } else {
    *at = begin;
  }
  while (**at == '*' || **at == '\'' || **at == 'I') {
    if (**at == '*') c.assigns = false;
    ++*at;
  }
  c.width = number(at);
  if (**at == 'm') {
    c.allocates = true;
    ++*at;
  }
  c.length = length_modifier(at);
  c.kind = **at;
  if (c.kind == 0) return c;
  ++*at;
  if (c.kind == '[') skip_set(at);
  if (c.kind == '%') c.assigns = false;
  if (c.kind == 'n') c.counts = false;
  return c;
}

static uint64_t integer_size(char length) {
  switch (length) {
    case 'H':
      return 1;
    case 'h':
      return 2;
    case 0:
      return 4;
    default:
      return 8;
  }
}

static uint64_t written_size(const struct conversion* c, const void* at) {
  if (c->allocates) return sizeof(void*);
  const bool wide = c->length == 'l' || c->kind == 'S' || c->kind == 'C';
  switch (c->kind) {
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
    case 'b':
    case 'B':
    case 'n':
      return integer_size(c->length);
    case 'p':
      return sizeof(void*);
    case 'c':
    case 'C':
      return (c->width > 0 ? c->width : 1) * (wide ? sizeof(wchar_t) : 1);
    case 's':
    case 'S':
    case '[':
      return wide ? rt_wide_string_size(at, NO_LIMIT) : rt_string_size(at, NO_LIMIT);
    case 'a':
    case 'A':
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return c->length == 'l' ? sizeof(double) : c->length == 0 ? sizeof(float) : sizeof(long double);
    default:
      return 0;
  }
}

void heddle_record_scanned(const char* format, uint32_t count, void* const* pointers, int64_t converted) {
  uint64_t sizes[MOST_POINTERS] = {0};
  uint32_t next = 0;
  int64_t made = 0;
  for (const char* at = format; *at != 0;) {
    if (*at++ != '%') continue;
    const struct conversion c = read_conversion(&at);
    if (!c.assigns) continue;
    if (c.counts ? made >= converted : made > converted) break;
    const uint32_t pointer = c.pointer > 0 ? c.pointer - 1 : next++;
    if (c.counts) ++made;
    if (pointer < count && pointer < MOST_POINTERS && pointers[pointer] != NULL)
      sizes[pointer] = written_size(&c, pointers[pointer]);
  }
  for (uint32_t i = 0; i < count; ++i) rt_put_range(pointers[i], i < MOST_POINTERS ? sizes[i] : 0);
}
