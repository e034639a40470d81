"""One C program for a list of litmus tests: `PROGRAM N` performs test N once and ends with the number of the outcome in outcomes(test) as
its exit code, or with UNKNOWN when the outcome is not among these.

The program has no events beside those of the test: threads return their registers, mixed to one number, by pthread_exit's value, and main
reads the observed variables when all threads have ended. Plain accesses are volatile so that the compiler keeps each of them.
"""
from memory_models import WORD, allowed

UNKNOWN = 255
MOST_OUTCOMES = 250
MIX = 0x9E3779B97F4A7C15

HEAD = """\
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint8_t __attribute__((may_alias)) u1;
typedef uint16_t __attribute__((may_alias, aligned(1))) u2;
typedef uint32_t __attribute__((may_alias, aligned(1))) u4;
#define PLAIN(size, place, offset) (*(volatile u##size*)(place + offset))
#define ATOMIC(size, place, offset) ((_Atomic(uint##size##_t)*)(void*)(place + offset))

static inline uint64_t mix(uint64_t sum, uint64_t value) {
  sum = (sum ^ (value + 1)) * 0x9e3779b97f4a7c15u;
  return sum ^ (sum >> 29);
}
"""

MAIN = """
struct test {
  void* (*threads[4])(void*);
  unsigned char* observed[4];
  const uint64_t* outcomes;
  unsigned count;
};
static const struct test tests[] = {
%s};

int main(int argc, char** argv) {
  const unsigned number = argc == 2 ? (unsigned)atoi(argv[1]) : ~0u;
  if (number >= sizeof tests / sizeof *tests) return 254;
  const struct test* test = &tests[number];
  pthread_t threads[4];
  unsigned count = 0;
  while (count < 4 && test->threads[count]) ++count;
  for (unsigned i = 0; i < count; ++i) pthread_create(&threads[i], NULL, test->threads[i], NULL);
  uint64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    void* registers;
    pthread_join(threads[i], &registers);
    sum = mix(sum, (uintptr_t)registers);
  }
  for (unsigned i = 0; i < 4 && test->observed[i]; ++i) sum = mix(sum, PLAIN(4, test->observed[i], 0));
  for (unsigned i = 0; i < test->count; ++i)
    if (test->outcomes[i] == sum) return (int)i;
  return %d;
}
"""

ORDER = {"rlx": "memory_order_relaxed", "acq": "memory_order_acquire", "rel": "memory_order_release",
         "ar": "memory_order_acq_rel", "sc": "memory_order_seq_cst"}


def outcomes(test):
    """Every outcome of any model, in the order of their numbers."""
    return sorted(allowed(test, "pso"))


def mix(total, value):
    total = (total ^ (value + 1) % 2 ** 64) * MIX % 2 ** 64
    return total ^ (total >> 29)


def outcome_sum(test, outcome):
    """What the program computes from an outcome."""
    values = list(outcome)
    total = 0
    for registers in test.registers():
        mine = 0
        for _ in registers:
            mine = mix(mine, values.pop(0))
        total = mix(total, mine)
    for value in values:
        total = mix(total, value)
    return total


def emit_op(op):
    if op.kind == "fence":
        return f"atomic_thread_fence({ORDER[op.order]});"
    if op.kind in ("lock", "unlock"):
        return f"pthread_mutex_{op.kind}(&mutex_{op.place});"
    place = f"{op.size}, var_{op.place}, {op.offset}"
    atomic = f"ATOMIC({op.size * 8}, var_{op.place}, {op.offset})"
    if op.kind == "store":
        return f"PLAIN({place}) = {op.value};" if op.order == "plain" else \
            f"atomic_store_explicit({atomic}, {op.value}, {ORDER[op.order]});"
    if op.kind == "load":
        value = f"PLAIN({place})" if op.order == "plain" else f"atomic_load_explicit({atomic}, {ORDER[op.order]})"
    elif op.kind == "cas":
        weaker = {"rel": "rlx", "ar": "acq"}.get(op.order, op.order)
        call = f"uint{op.size * 8}_t old = {op.expected}; atomic_compare_exchange_strong_explicit({atomic}, &old, {op.value}, " \
               f"{ORDER[op.order]}, {ORDER[weaker]});"
        return f"{{ {call} {f'sum = mix(sum, old);' if op.register else ''} }}"
    else:
        value = f"atomic_{'exchange' if op.kind == 'xchg' else 'fetch_add'}_explicit({atomic}, {op.value}, {ORDER[op.order]})"
    return f"sum = mix(sum, {value});" if op.register else f"{value};"


def emit(tests):
    """The program's source; `tests` is a list."""
    text = [HEAD]
    text += [f"_Alignas(8) unsigned char var_{name}[8];\n" for name in sorted({p for test in tests for p in test.places()})]
    text += [f"pthread_mutex_t mutex_{name} = PTHREAD_MUTEX_INITIALIZER;\n" for name in sorted({p for test in tests for p in test.locks()})]
    rows = []
    for number, test in enumerate(tests):
        assert len(test.threads) <= 4 and len(test.final) < 4
        sums = [outcome_sum(test, outcome) for outcome in outcomes(test)]
        assert len(sums) <= MOST_OUTCOMES and len(set(sums)) == len(sums), test.name
        text.append(f"\n/* {number}: {test.name}\n   {test.text()} */\n")
        for t, thread in enumerate(test.threads):
            text.append(f"static void* test{number}_thread{t}(void* unused) {{\n  (void)unused;\n  uint64_t sum = 0;\n")
            text += [f"  {emit_op(op)}\n" for op in thread]
            text.append("  return (void*)(uintptr_t)sum;\n}\n")
        text.append(f"static const uint64_t test{number}_outcomes[] = {{{', '.join(f'{s}u' for s in sums)}}};\n")
        threads = ", ".join(f"test{number}_thread{t}" for t in range(len(test.threads)))
        final = ", ".join(f"var_{name}" for name in test.final) or "NULL"
        rows.append(f"  {{{{{threads}}}, {{{final}}}, test{number}_outcomes, {len(sums)}}},\n")
    text.append(MAIN % ("".join(rows), UNKNOWN))
    return "".join(text)


assert WORD == 4  # the casts above
