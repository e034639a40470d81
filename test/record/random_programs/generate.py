#!/usr/bin/env python3
"""Random multithreaded programs in C and C++ whose ways are hard to follow.

    generate.py SEED > program.c        (or program.cpp; the first line of the program says how it is to be compiled)

A program is made of random functions (statements.py) and functions of special kinds (c_features.py, cpp_features.py) that call each
other, never in circles but where fuel bounds it. Threads of several kinds call them: workers, some that leave by pthread_exit, some that are
cancelled, detached ones that may outlive main(). They race for shared variables, whose values decide branches and, reduced to the bounds, choose
elements of arrays. Whatever the races do, every loop is bounded, and the program ends by itself.

A program in C++ has either exceptions or longjmp: to jump over destructors is undefined.
"""
import random
import sys

import c_features
import cpp_features
from statements import Body, Function, RESULT, declarations

HEAD = r"""
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef struct Context {
  int fuel;
  jmp_buf *jump;
  unsigned memory[16];
} Context;
typedef unsigned Action(Context *c, unsigned x);

/* What threads race for. */
unsigned plain[8] = {1, 2, 3, 4, 5, 6, 7, 8};
volatile unsigned loud[8];
unsigned relaxed[8];
unsigned table[64];
int gate_open;
pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gate = PTHREAD_COND_INITIALIZER;
sem_t semaphore;
pthread_key_t key;
THREAD_LOCAL unsigned own;
static const char *const words[4] = {"12 word", "HOME", "7", "a longer word"};

__attribute__((noinline)) static void jump_out(Context *c, unsigned value) {
  if (c->jump && (value & 3)) longjmp(*c->jump, 1 + (int)(value % 3));
}
static void wait_at_gate(void) {
  pthread_mutex_lock(&gate_lock);
  while (!gate_open) pthread_cond_wait(&gate, &gate_lock);
  pthread_mutex_unlock(&gate_lock);
}
static void open_gate(void) {
  pthread_mutex_lock(&gate_lock);
  gate_open = 1;
  pthread_cond_broadcast(&gate);
  pthread_mutex_unlock(&gate_lock);
}
static void key_destroyed(void *value) {
  unsigned n = (unsigned)(uintptr_t)value;
  if (n & 1) plain[1] += n;
  if (n > 8) pthread_setspecific(key, (void *)(uintptr_t)(n / 2));
}
static void cleaned_up(void *value) {
  Context *c = (Context *)value;
  if (c->memory[2] & 1) loud[4] = loud[4] + 1;
}
"""

CPP_HEAD = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>
static std::mutex mutexes[3];
struct ThreadObject {
  unsigned touched = 0;
  void touch(unsigned x) { if (x & 1) ++touched; else touched += 2; }
  ~ThreadObject() { if (touched & 1) loud[5] = loud[5] + 1; else plain[3] ^= touched; }
};
static thread_local ThreadObject thread_object;
struct Trouble : std::runtime_error { using std::runtime_error::runtime_error; };
struct Guard {
  Context *c;
  unsigned place;
  Guard(Context *context, unsigned at) : c(context), place(at) { c->memory[at & 15] += 1; }
  ~Guard() { if (c->memory[place & 15] & 1) loud[place & 7] = place; else for (unsigned i = 0; i < (place & 3); ++i) plain[i] ^= place; }
};
struct Early {
  unsigned seen = 0;
  Early() { for (int i = 0; i < 5; ++i) { table[i] = static_cast<unsigned>(i); if (i & 1) ++seen; } }
  ~Early() { if (seen & 1) plain[0] = 1; else loud[0] = 2; }
};
static Early early;
"""


class Writer:
    """The text of a program while it grows."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.cpp = self.rng.random() < 0.4
        self.exceptions = self.cpp and self.rng.random() < 0.7
        self.jumps = not self.exceptions
        self.level = self.rng.choice(["-O0", "-O1", "-O2", "-O3"])
        self.suffix = ".cpp" if self.cpp else ".c"
        self.functions, self.text, self.count = [], [], 0

    # ---- what features use

    def name(self, stem="f"):
        self.count += 1
        return f"{stem}{self.count}"

    def linkage(self):
        return self.rng.choice(["static", "static", "static inline", "static __attribute__((noinline))", "__attribute__((noinline))"])

    def body(self, leaf=False):
        return Body(self.rng, self.functions, self.cpp, leaf)

    def declarations(self):
        return declarations()

    def result(self):
        return RESULT

    def prototype(self, name):
        self.text.append(f"unsigned {name}(Context *c, unsigned x);")

    def emit(self, name, lines):
        """A function without inner linkage if a prototype came before."""
        declared = f"unsigned {name}(Context *c, unsigned x);" in self.text
        linkage = "" if declared else self.linkage() + " "
        self.text += [f"{linkage}unsigned {name}(Context *c, unsigned x) {{", *declarations(), *["  " + line for line in lines],
                      f"  return {RESULT};", "}"]

    def add_function(self, budget, leaf=False):
        name, body = self.name(), self.body(leaf)
        lines, cost = body.block(budget, 6)
        self.emit(name, [line[2:] for line in lines])
        self.functions.append(Function(name, cost + 4, body.throws, body.jumps, leaf))

    # ---- threads

    def calls(self, budget):
        """Statements of a thread's body, with whatever they throw caught. c->jump is null: nothing jumps out of them."""
        body = self.body()
        lines, _ = body.block(budget, 5)
        for function in self.rng.sample(self.functions, min(3, len(self.functions))):
            lines.append(f"  a += {function.name}(c, x + a);")
        if self.exceptions:
            lines = ["  try {", *["  " + line for line in lines], "  } catch (int value) {", "    a += static_cast<unsigned>(value);",
                     "  } catch (const std::exception &) {", "    ++a;", "  }"]
        return lines

    def thread(self, index, kind):
        head = [f"static void *thread{index}(void *argument) {{", "  Context context = {0};", "  Context *c = &context;",
                "  unsigned x = (unsigned)(uintptr_t)argument;", *declarations()]
        if self.rng.random() < 0.3:
            head.append("  pthread_setspecific(key, (void *)(uintptr_t)(x + 9));")
        if self.cpp and self.rng.random() < 0.5:
            head.append("  thread_object.touch(x);")
        if kind in ("worker", "exiting") and self.rng.random() < 0.5:  # cancelled there, it would keep the lock
            head.append("  wait_at_gate();")
        if kind == "cancelled":
            body = self.body(leaf=True)
            lines, _ = body.block(60)
            inner = ["  pthread_cleanup_push(cleaned_up, c);", "  for (int round = 0; round < 300; ++round) {", *["  " + line for line in lines],
                     self.rng.choice(["    pthread_testcancel();", "    usleep(20);", "    if (round & 1) pthread_testcancel(); else usleep(10);"]),
                     "  }", "  pthread_cleanup_pop(1);"]
            return head + inner + [f"  return (void *)(uintptr_t)({RESULT});", "}"]
        lines = self.calls(5000)
        if kind == "detached":
            lines = ["  for (int round = 0; round < 20000 && !(loud[7] == 77); ++round) {", *["  " + line for line in self.body(leaf=True).block(40)[0]], "  }"]
        if kind == "exiting":
            lines.append("  leave(c, a & 7);")
        return head + lines + [f"  return (void *)(uintptr_t)({RESULT});", "}"]

    def handlers(self):
        lines = []
        for name in ("on_user1", "on_user2", "on_alarm"):
            body = Body(self.rng, [], self.cpp, leaf=True)
            inner, _ = body.block(50)
            more = ["  if (own & 1) raise(SIGUSR2);"] if name == "on_user1" else []
            lines += [f"static void {name}(int signal) {{", "  Context here = {0};", "  Context *c = &here;", "  unsigned x = (unsigned)signal;",
                      *declarations(), *inner, *more, f"  loud[6] = {RESULT};", "}"]
        return lines

    def main(self, kinds):
        rng = self.rng
        threads = len(kinds)
        lines = ["int main(int argc, char **argv) {", "  Context context = {0};", "  Context *c = &context;", "  unsigned x = (unsigned)argc;",
                 *declarations(), f"  pthread_t threads[{threads}];", "  (void)argv;", "  struct sigaction action;", "  memset(&action, 0, sizeof action);",
                 "  action.sa_flags = SA_RESTART;"]
        for signal, handler in (("SIGUSR1", "on_user1"), ("SIGUSR2", "on_user2"), ("SIGALRM", "on_alarm")):
            lines += [f"  action.sa_handler = {handler};", f"  sigaction({signal}, &action, NULL);"]
        lines += ["  atexit(at_end);", "  sem_init(&semaphore, 0, 2);", "  pthread_key_create(&key, key_destroyed);"]
        if rng.random() < 0.4:
            lines += [f"  struct itimerval timer = {{{{0, {rng.choice([200, 500, 1500])}}}, {{0, 300}}}};", "  setitimer(ITIMER_REAL, &timer, NULL);"]
        for i, kind in enumerate(kinds):
            lines += [f"  if (pthread_create(&threads[{i}], NULL, thread{i}, (void *)(uintptr_t){i + 1}) != 0) return 1;"]
            if kind == "detached":
                lines += [f"  pthread_detach(threads[{i}]);"]
        lines += ["  open_gate();", *self.calls(3000)]
        for i, kind in enumerate(kinds):
            if kind == "cancelled":
                lines += [f"  pthread_cancel(threads[{i}]);"]
        for i, kind in enumerate(kinds):
            if kind != "detached":
                lines += ["  {", "    void *result;", f"    pthread_join(threads[{i}], &result);", "    if (result == PTHREAD_CANCELED) a += 3;",
                          "    else if ((uintptr_t)result & 1) a ^= 1;", "  }"]
        ends = ["  if (a & 1) return 0;", "  exit(0);", "  if (a & 1) _exit(0);", "  if (a & 3) pthread_exit(NULL);"]
        lines += [rng.choice(ends), "  return 0;", "}"]
        return lines

    def program(self):
        rng = self.rng
        leave = ["__attribute__((noinline)) static void leave(Context *c, unsigned x) {", "  if (x > 1) { leave(c, x - 1); ++c->memory[1]; }",
                 "  if (c->memory[3] & 1) return;", "  pthread_exit((void *)(uintptr_t)x);", "}"]
        self.functions = []
        c_features.leaf(self)
        c_features.plain(self)
        features = c_features.C_FEATURES + (c_features.JUMP_FEATURES if self.jumps else [])
        if self.cpp:
            features = features + cpp_features.CPP_FEATURES + (cpp_features.EXCEPTION_FEATURES if self.exceptions else [])
        for _ in range(rng.randint(4, 16)):
            feature, = rng.choices([feature for feature, _ in features], [weight for _, weight in features])
            feature(self)
        kinds = [rng.choice(["worker", "worker", "worker", "exiting", "cancelled", "detached"]) for _ in range(rng.randint(1, 5))]
        threads = [line for i, kind in enumerate(kinds) for line in self.thread(i, kind)]
        early = ["__attribute__((constructor)) static void at_start(void) {", "  for (unsigned i = 0; i < 64; ++i) if (i % 3) table[i] = i * 7; else table[i] = i ^ 5;", "}",
                 "static void at_end(void) {", "  if (plain[0] & 1) loud[2] = 1; else loud[2] = 2;", "}"]
        head = ["/* heddle " + " ".join(self.compiler()) + " */", "#ifndef _GNU_SOURCE", "#define _GNU_SOURCE", "#endif",
                f"#define THREAD_LOCAL {'thread_local' if self.cpp else '_Thread_local'}", HEAD]
        parts = head + ([CPP_HEAD] if self.cpp else []) + early + self.handlers() + leave + self.text + threads + self.main(kinds)
        return "\n".join(parts) + "\n"

    def compiler(self):
        more = ["-std=c++20"] if self.cpp else ["-std=gnu11"]
        return ["c++" if self.cpp else "cc", *more, self.level, "-pthread", "-w"]


def generate(seed):
    """(text, suffix, compiler arguments)."""
    writer = Writer(seed)
    return writer.program(), writer.suffix, writer.compiler()


if __name__ == "__main__":
    sys.stdout.write(generate(int(sys.argv[1]))[0])
