#!/usr/bin/env python3
"""Random multithreaded C programs in which values matter: what is written, what is read and what is computed of it.

    program.py SEED... > programs.c        a program's number among them is its argument

Two to four threads, some of which are created by threads, race for all kinds of memory and synchronise in all ways. Every program ends by itself,
whatever the schedule: values.py, statements.py, synchronisation.py. Many have assertions that hold on some schedules only, or end with an exit code
that depends on the schedule. A seed gives the same program always.

A program's names begin with a prefix, so that many fit into one file: then compiling and linking, most of the work, is done once for all.
"""
import os
import random
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from racing_programs.synchronisation import Synchronising  # noqa: E402
from racing_programs.tree import Piece, block, statement, value  # noqa: E402

PRELUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prelude.h")
LOCALS = ["unsigned a = x, b = 1, d = 0, own[8] = {1, 2, 3, 4};", "uint64_t w = 5;", "double r = 0.5;", "Node node;", "unsigned char bytes[16] = {1, 2, 3};",
          "memset(&node, 0, sizeof node);"]


class Program(Synchronising):
    """Writes one program."""

    def __init__(self, seed, prefix):
        super().__init__(random.Random(seed), prefix)
        self.counts = [0, 0]     # what threads add to each counter
        self.how = [self.rng.choice(["race", "race", "race", "lock", "lock", "atomic", "atomic", "apart"]) for _ in self.counts]
        self.workers = self.rng.randint(1, 3)
        self.rounds = self.rng.choice([0, 0, 0, 1, 2])  # how often all workers meet at the barrier
        self.functions, self.children = [], 0

    def locals(self):
        return block([statement(line) for line in LOCALS])

    def declarations(self):
        p, rng = self.prefix, self.rng

        def numbers(count, most):
            return "{" + ", ".join(str(rng.choice([0, 1, rng.randrange(most)])) for _ in range(count)) + "}"

        lines = [f"unsigned {p}plain[8] = {numbers(8, 1000)};", f"uint8_t {p}bytes[16] = {numbers(16, 256)};", f"uint16_t {p}halves[4] = {numbers(4, 65536)};",
                 f"volatile unsigned {p}loud[4] = {numbers(4, 9)};", f"Node {p}nodes[3] = {{{{1}}, {{2}}, {{3}}}};",
                 f"Node *{p}pointers[4] = {{&{p}nodes[0], &{p}nodes[1], &{p}nodes[2], &{p}nodes[0]}};",
                 f"unsigned *{p}places[4] = {{&{p}plain[0], &{p}plain[1], &{p}plain[1], &{p}nodes[2].n}};", f"double {p}reals[4] = {{0.5, 2}};",
                 f"float {p}singles[4] = {{1.25f}};", f"char {p}text[32] = \"{rng.choice(['17', '3f', 'word', '0', '400000'])}\";", f"Mixed {p}mixed[2];",
                 f"uint32_t {p}relaxed[4];", f"uint8_t {p}small[4];", f"uint64_t {p}wide[4];", f"_Thread_local unsigned {p}mine = 4;", f"unsigned {p}count[2];",
                 f"pthread_mutex_t {p}locks[3] = {{PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER}};",
                 f"pthread_mutex_t {p}gate_lock = PTHREAD_MUTEX_INITIALIZER;", f"pthread_cond_t {p}gate = PTHREAD_COND_INITIALIZER;", f"int {p}open, {p}announced;",
                 f"pthread_rwlock_t {p}rwlock = PTHREAD_RWLOCK_INITIALIZER;", f"sem_t {p}semaphore;", f"pthread_barrier_t {p}barrier;",
                 f"pthread_spinlock_t {p}spin;", f"pthread_once_t {p}once = PTHREAD_ONCE_INIT;", f"Node *{p}guarded;",
                 f"unsigned *{p}list, {p}used, {p}room;", f"typedef struct {p}Start {{ Node *lent; unsigned x; }} {p}Start;"]
        return block([statement(rng.choice(["", "static "]) + line if "typedef" not in line and "once_t" not in line else line) for line in lines])

    # ---- functions and threads

    def function(self):
        p = self.prefix
        name = f"{p}f{len(self.functions)}"
        self.returns = True
        body = self.block(self.rng.choice([10, 30, 60]), 5)
        again = block([])
        if self.rng.random() < 0.4:
            again = statement(f"if (fuel > 0) b ^= {name}(", self.rng.choice(["place", "&own[1]"]), ", a + 1, fuel - 1);")
        self.returns = False
        attribute = self.rng.choice(["", "NOINLINE "])
        made = statement(f"static {attribute}unsigned {name}(unsigned *place, unsigned x, int fuel) {{\n", self.locals(), statement("*place += a;"), body, again,
                         statement("(void)fuel; (void)place;"), "return a ^ b ^ d ^ (unsigned)w ^ whole(r) ^ own[3] ^ bytes[2];\n}")
        self.functions.append(made)
        self.actions.append((name, 2 * made.cost + 4))

    def count(self, number):
        """Adds one to a counter whose end value main() expects."""
        p, how = self.prefix, self.how[number]
        self.counts[number] += 1
        counter = f"{p}count[{number}]"
        return statement({"race": f"++{counter};", "atomic": f"__atomic_fetch_add(&{counter}, 1, __ATOMIC_RELAXED);",
                          "lock": f"pthread_mutex_lock(&{p}locks[2]); ++{counter}; pthread_mutex_unlock(&{p}locks[2]);",
                          "apart": f"{{ unsigned seen = {counter}; sched_yield(); {counter} = seen + 1; }}"}[how])

    def unchanged(self):
        """Fails if somebody comes between."""
        p, index = self.prefix, self.rng.randrange(8)
        return statement(f"{{ unsigned seen = {p}plain[{index}];\n", self.block(5, 1), f"assert({p}plain[{index}] == seen); }}")

    def child(self):
        """A thread that is given a node of this one's stack, created and awaited."""
        name = f"{self.prefix}child{self.children}"
        self.children += 1
        kept, self.nodes = self.nodes, ["&node", "lent"]
        body = self.block(25, 4)
        self.nodes = kept
        self.functions.append(statement(f"static void *{name}(void *argument) {{\n", "Node *lent = (Node *)argument; unsigned x = lent->n;\n", self.locals(), body,
                                        "return (void *)(uintptr_t)(a & 255);\n}"))
        return statement(f"{{ pthread_t child; void *result; if (pthread_create(&child, NULL, {name}, &node) == 0) {{\n", self.block(20, 3),
                         "pthread_join(child, &result); a += (unsigned)(uintptr_t)result; } }")

    def steps(self, budget, children=True):
        """What a thread does, one after the other; nothing of it can leave the thread."""
        rng, made = self.rng, []
        for _ in range(rng.randint(4, 12)):
            kind = rng.randrange(12)
            if kind < 2:
                made.append(self.count(rng.randrange(2)))
            elif kind == 2 and rng.random() < 0.5:
                made.append(self.unchanged())
            elif kind == 3 and children and self.children < 2 and rng.random() < 0.5:
                made.append(self.child())
            else:
                made.append(self.statement(budget))
        return made

    def worker(self, number):
        p = self.prefix
        self.nodes = ["&node", "lent", "lent"]
        parts = []
        if self.rng.random() < 0.3:
            parts.append(statement(f"pthread_mutex_lock(&{p}gate_lock); while (!{p}open) pthread_cond_wait(&{p}gate, &{p}gate_lock); pthread_mutex_unlock(&{p}gate_lock);"))
        for meeting in range(self.rounds + 1):
            if meeting:
                parts.append(statement(f"if (pthread_barrier_wait(&{p}barrier) == PTHREAD_BARRIER_SERIAL_THREAD) a += 5;"))
            parts += self.steps(60 if self.rounds else 120)
        self.nodes = ["&node"]
        leave = self.rng.choice(["", "", f"if (a & 1) pthread_exit((void *)(uintptr_t)(b & 255));\n"])
        return statement(f"static void *{p}worker{number}(void *argument) {{\n", f"{p}Start *start = ({p}Start *)argument; Node *lent = start->lent; unsigned x = start->x;\n",
                         self.locals(), block(parts), leave, "return (void *)(uintptr_t)(a & 255);\n}")

    def main(self):
        p, rng = self.prefix, self.rng
        parts = [statement(f"sem_init(&{p}semaphore, 0, {rng.randint(1, 2)});"), statement(f"pthread_barrier_init(&{p}barrier, NULL, {self.workers});"),
                 statement(f"pthread_spin_init(&{p}spin, PTHREAD_PROCESS_PRIVATE);")]
        if self.actions:
            parts.append(statement(f"{p}actions[0] = {self.actions[0][0]}; {p}actions[1] = {self.actions[-1][0]};"))
        if rng.random() < 0.5:
            parts.append(statement(f"{p}pointers[{rng.randrange(3)}] = &node;"))
        parts += [self.statement(10) for _ in range(rng.randrange(3))]
        for i in range(self.workers):
            lent = rng.choice(["&node", f"&{p}nodes[1]", "&lent[0]", "&lent[1]"])
            parts += [statement(f"starts[{i}].lent = {lent}; starts[{i}].x = {rng.randrange(9)};"),
                      statement(f"if (pthread_create(&threads[{i}], NULL, {p}worker{i}, &starts[{i}]) != 0) return 0;")]
            parts += [self.statement(20) for _ in range(rng.choice([0, 0, 1]))]
        parts += [statement(f"pthread_mutex_lock(&{p}gate_lock); {p}open = 1; pthread_cond_broadcast(&{p}gate); pthread_mutex_unlock(&{p}gate_lock);")]
        parts += self.steps(60, children=False)
        for i in rng.sample(range(self.workers), self.workers):
            parts += [statement(f"{{ void *result; pthread_join(threads[{i}], &result); a += (unsigned)(uintptr_t)result; }}")]
        return statement(f"static int {p}main(void) {{\n", "unsigned x = 3;\n", self.locals(), statement(f"pthread_t threads[{self.workers}];"),
                         statement(f"{p}Start starts[{self.workers}];"), statement("Node lent[2]; memset(lent, 0, sizeof lent);"), block(parts), self.end())

    def end(self):
        p, rng = self.prefix, self.rng
        checks = [statement(f"assert({p}count[{i}] == {self.counts[i]}u);") for i in range(2) if rng.random() < 0.7]
        if rng.random() < 0.1:
            checks.append(statement("assert(!(", self.condition(), "));"))
        if rng.random() < 0.1:
            checks.append(statement("if (", self.condition(), ") abort();"))
        result = value("0") if rng.random() < 0.7 else value("(int)(", self.integer(), f" % {rng.choice([2, 4, 16])}u)")
        return block([*checks, statement("free(", f"{p}guarded); free({p}list);"), Piece("glue", "return ", result, ";\n}\n")])

    def program(self):
        p = self.prefix
        declarations = self.declarations()
        for _ in range(self.rng.randint(0, 3)):
            self.function()
        early = len(self.functions)
        workers = [self.worker(i) for i in range(self.workers)]
        main = self.main()
        first = statement(f"static void {p}first(void) {{ {p}plain[7] += 5; {p}loud[1] = 2; }}")
        actions = statement(f"static Action *{p}actions[2];")
        return block([declarations, actions, first, *self.functions[:early], *self.functions[early:], *workers, main])


def make(seed, prefix):
    """The program as a tree; its function PREFIXmain is to be called once."""
    return Program(seed, prefix).program()


def file_of(programs):
    """The text of a file with (prefix, tree) pairs; its argument chooses."""
    with open(PRELUDE, encoding="utf-8") as file:
        head = file.read()
    cases = "".join(f"    case {i}: return {prefix}main();\n" for i, (prefix, _) in enumerate(programs))
    return (head + "".join(tree.text() for _, tree in programs) +
            "int main(int argc, char **argv) {\n  switch (argc > 1 ? atoi(argv[1]) : 0) {\n" + cases + "  }\n  return 99;\n}\n")


if __name__ == "__main__":
    sys.stdout.write(file_of([(f"p{seed}_", make(int(seed), f"p{seed}_")) for seed in sys.argv[1:]]))
