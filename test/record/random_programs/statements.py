"""Random statements: what all functions of a random program are made of.

All functions have the form `unsigned NAME(Context *c, unsigned x)`, so each can be called from everywhere, through pointers and by tail
calls. A function has the locals a, b, d, e, m[8], loop counters i0, i1, ...; nothing is signed but the counters, so nothing overflows.

Every statement has a cost, an upper bound of the blocks it runs, whatever other threads write into shared variables. The cost of a
loop is its bound times that of its body. So programs end by themselves.
"""
from dataclasses import dataclass

LOOPS = 5  # counters of a function: i0 .. i4
LOCALS = ["a", "b", "d", "e"]


@dataclass
class Function:
    name: str
    cost: int
    throws: bool = False  # an exception may leave it
    jumps: bool = False   # longjmp may leave it
    leaf: bool = False    # calls nothing of the program, takes no lock: fit for handlers, comparators, locked regions


class Body:
    """Writes the body of one function. `functions`: what it may call."""

    def __init__(self, rng, functions, cpp, leaf=False, external=True):
        self.rng, self.functions, self.cpp, self.leaf = rng, functions, cpp, leaf
        self.external = external and not leaf
        self.depth = 0
        self.labels = 0
        self.throws = self.jumps = False
        self.in_loop = []  # for each open loop: may `continue` stand here?

    # ---- values

    def constant(self):
        return f"{self.rng.choice([0, 1, 2, 3, 5, 7, 13, 64, 100, 255, 1000, 65537, 0x7fffffff, 0xfffffff0])}u"

    def shared(self):
        """A read of a shared variable."""
        index = self.rng.randrange(8)
        return self.rng.choice([f"plain[{index}]", f"loud[{index}]", f"__atomic_load_n(&relaxed[{index}], __ATOMIC_RELAXED)",
                                f"table[{self.value(0)} & 63]", f"plain[table[{self.value(0)} & 63] & 7]"])

    def leaf_value(self):
        choices = LOCALS + ["x", "x", self.constant(), f"m[{self.value(0, True)} & 7]", f"c->memory[{self.rng.randrange(16)}]"]
        choices += [f"(unsigned)i{i}" for i in range(self.depth)]
        return self.rng.choice(choices)

    def value(self, depth=2, simple=False):
        rng = self.rng
        if simple:
            return rng.choice(LOCALS + ["x"] + [f"(unsigned)i{i}" for i in range(self.depth)])
        if depth <= 0 or rng.random() < 0.3:
            return self.leaf_value()
        kind = rng.randrange(10)
        if kind < 5:
            return f"({self.value(depth - 1)} {rng.choice('+-*^&|')} {self.value(depth - 1)})"
        if kind == 5:
            return f"({self.value(depth - 1)} {rng.choice(['<<', '>>'])} {rng.randrange(31)})"
        if kind == 6:
            return f"({self.value(depth - 1)} {rng.choice('/%')} ({self.value(depth - 1)} | 1u))"
        if kind == 7:
            return f"({self.condition(1)} ? {self.value(depth - 1)} : {self.value(depth - 1)})"
        if kind == 8:
            return self.shared()
        return f"(unsigned)({self.condition(1)})"

    def condition(self, depth=2):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.5:
            if rng.random() < 0.5:
                return f"({self.value(1)} & {rng.choice([1, 2, 3, 4])}u) {rng.choice(['==', '!='])} {rng.randrange(2)}u"
            return f"{self.value(1)} {rng.choice(['<', '>', '==', '!=', '<=', '>='])} {self.value(1)}"
        if rng.random() < 0.2:
            return f"!({self.condition(depth - 1)})"
        return f"({self.condition(depth - 1)}) {rng.choice(['&&', '||'])} ({self.condition(depth - 1)})"

    # ---- statements: each gives (lines, cost)

    def block(self, budget, most=4):
        lines, cost = [], 0
        for _ in range(self.rng.randint(1, most)):
            if cost >= budget:
                break
            more, price = self.statement(budget - cost)
            lines += more
            cost += price
        return ["  " + line for line in lines], cost

    def statement(self, budget):
        rng = self.rng
        kinds = [(self.assign, 4), (self.write_shared, 2)]
        if budget > 8:
            kinds += [(self.branch, 4), (self.choice, 2), (self.forward, 1), (self.use_index, 2)]
            if self.external:
                kinds += [(self.call_outside, 3)]
        if self.in_loop and budget > 4:
            kinds += [(self.leave_loop, 2)]
        if budget > 30 and self.depth < LOOPS:
            kinds += [(self.loop, 4), (self.counted, 2), (self.backward, 1)]
        if not self.leaf and budget > 20:
            kinds += [(self.call, 5), (self.call_pointer, 2), (self.locked, 2)]
        chosen, = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        return chosen(budget)

    def assign(self, budget):
        del budget
        target = self.rng.choice(LOCALS + [f"m[{self.value(0, True)} & 7]", f"c->memory[{self.rng.randrange(16)}]", "own"])
        return [f"{target} {self.rng.choice(['=', '+=', '^='])} {self.value()};"], 6

    def write_shared(self, budget):
        del budget
        index = self.rng.randrange(8)
        return [self.rng.choice([
            f"plain[{index}] = {self.value()};", f"plain[{index}] += {self.value(1)};", f"loud[{index}] = {self.value()};",
            f"__atomic_store_n(&relaxed[{index}], {self.value(1)}, __ATOMIC_RELAXED);",
            f"a += __atomic_fetch_add(&relaxed[{index}], {self.value(1)}, __ATOMIC_SEQ_CST);",
            f"table[{self.value(1)} & 63] = {self.value()};"])], 6

    def use_index(self, budget):
        """A shared value that is an index first and decides a branch then: the recording may know it."""
        inner, cost = self.block(budget - 8, 2)
        name = self.rng.choice(LOCALS)
        return [f"{name} = {self.rng.choice(['plain', 'loud'])}[{self.rng.randrange(8)}];", f"m[{name} & 7] += table[{name} & 63];",
                f"if ({name} & {self.rng.choice([1, 2, 4])}u) {{", *inner, "}"], cost + 6

    def branch(self, budget):
        first, cost = self.block(budget // 2)
        lines = [f"if ({self.condition()}) {{", *first]
        if self.rng.random() < 0.5:
            second, more = self.block(budget // 2)
            lines += ["} else {", *second]
            cost += more
        return lines + ["}"], cost + 8

    def choice(self, budget):
        rng = self.rng
        count = rng.randint(2, 7)
        labels = list(range(count)) if rng.random() < 0.6 else rng.sample([0, 1, 7, 50, 1000, 65537, 13, 255, 4, 9], count)
        subject = f"{self.value(1)} % {count + 1}u" if rng.random() < 0.6 else self.value(1)
        lines, cost = [f"switch ({subject}) {{"], 4
        self.in_loop.append(self.in_loop[-1] if self.in_loop else False)  # break leaves the switch
        for label in labels:
            inner, more = self.block(budget // count, 2)
            cost += more
            lines += [f"  case {label}:", *["  " + line for line in inner]]
            if rng.random() < 0.75:
                lines += ["    break;"]
            else:
                lines += ["    __attribute__((fallthrough));" if label != labels[-1] else "    break;"]
        if rng.random() < 0.6:
            inner, more = self.block(budget // count, 2)
            lines += ["  default:", *["  " + line for line in inner], "    break;"]
            cost += more
        self.in_loop.pop()
        return lines + ["}"], cost

    def label(self):
        self.labels += 1
        return f"label{self.labels}"

    def forward(self, budget):
        inner, cost = self.block(budget - 4, 3)
        label = self.label()
        return [f"if ({self.condition(1)}) goto {label};", *[line[2:] for line in inner], f"{label}:;"], cost + 4

    def leave_loop(self, budget):
        del budget
        word = "continue" if self.in_loop[-1] and self.rng.random() < 0.5 else "break"
        return [f"if ({self.condition(1)}) {word};"], 4

    def enter_loop(self):
        counter = f"i{self.depth}"
        self.depth += 1
        self.in_loop.append(True)
        return counter

    def exit_loop(self):
        self.in_loop.pop()
        self.depth -= 1

    def bound(self, most):
        """(text, largest value)."""
        most = max(1, min(most, self.rng.choice([2, 3, 4, 8, 20])))
        kind = self.rng.randrange(3)
        if kind == 0:
            return f"{most}", most
        mask = (1 << (most.bit_length() - 1)) - 1 or 1
        if kind == 1:
            return f"(int)({self.value(1)} & {mask}u)", max(mask, 1)
        return f"({self.condition(1)} ? {most} : {self.rng.randint(0, most)})", most

    def loop(self, budget):
        rng = self.rng
        bound, most = self.bound(budget // 12)
        limit = f"n{self.depth}"
        counter = self.enter_loop()
        inner, cost = self.block(budget // most - 4)
        self.exit_loop()
        cost = (cost + 4) * most + 4
        kind = rng.randrange(4)
        if kind == 0:
            return [f"{limit} = {bound};", f"for ({counter} = 0; {counter} < {limit}; ++{counter}) {{", *inner, "}"], cost
        if kind == 1:
            # The condition reads memory that others may change; the counter bounds it all the same.
            return [f"for ({counter} = 0; {counter} < {most} && ({self.condition(1)}); ++{counter}) {{", *inner, "}"], cost
        if kind == 2:
            return [f"{limit} = {bound};", f"{counter} = 0;", f"while ({counter}++ < {limit}) {{", *inner, "}"], cost
        return [f"{counter} = 0;", "do {", *inner, f"}} while (++{counter} < {most} && ({self.condition(1)}));"], cost

    def counted(self, budget):
        """A loop in which nothing is decided but whether to go on."""
        most = max(1, min(budget // 3, self.rng.choice([1, 2, 5, 30, 300])))
        counter = f"i{self.depth}"
        name = self.rng.choice(LOCALS)
        self.depth += 1
        work = [self.rng.choice([f"{name} = {name} * 5u + {self.value(1, True)};", f"m[{counter} & 7] += {name};",
                                 f"{name} += plain[{counter} & 7];", f"own += loud[{counter} & 7] ^ {name};"])
                for _ in range(self.rng.randint(1, 2))]
        self.depth -= 1
        bound = self.rng.choice([f"{most}", f"(int)({self.value(1)} % {most}u)", f"{most} && {name} != loud[{self.rng.randrange(8)}]"])
        if self.rng.random() < 0.25:
            work.append(f"if (plain[{counter} & 7] == {self.constant()}) break;")
        if self.rng.random() < 0.7:
            return [f"for ({counter} = 0; {counter} < {bound}; ++{counter}) {{", *["  " + line for line in work], "}"], 3 * most + 3
        return [f"{counter} = 0;", "do {", *["  " + line for line in work], f"}} while (++{counter} < {bound});"], 3 * most + 6

    def backward(self, budget):
        """A loop made of goto; sometimes with a way into its middle, so that it is not reducible."""
        most = self.rng.randint(1, 5)
        counter = f"i{self.depth}"
        self.depth += 1
        outer, self.in_loop = self.in_loop, []  # break and continue would mean another loop
        first, cost = self.block(budget // (2 * most) - 4, 2)
        second, more = self.block(budget // (2 * most) - 4, 2)
        self.in_loop = outer
        self.depth -= 1
        again, middle = self.label(), self.label()
        lines = [f"{counter} = 0;"]
        if self.rng.random() < 0.5:
            lines.append(f"if ({self.condition(1)}) goto {middle};")
        lines += [f"{again}:;", *[line[2:] for line in first], f"{middle}:;", *[line[2:] for line in second]]
        if self.rng.random() < 0.3:
            lines.append(f"if ({counter} < {most} && ({self.condition(1)})) {{ ++{counter}; goto {middle}; }}")
            cost *= 2
        return lines + [f"if (++{counter} < {most} && ({self.condition(1)})) goto {again};"], (cost + more + 8) * (2 * most + 1) + 4

    # ---- calls

    def callable(self, budget):
        fits = [function for function in self.functions if function.cost <= budget - 4]
        return self.rng.choice(fits) if fits else None

    def note(self, function):
        self.throws |= function.throws
        self.jumps |= function.jumps

    def call(self, budget):
        function = self.callable(budget)
        if function is None:
            return self.assign(budget)
        self.note(function)
        return [f"{self.rng.choice(LOCALS)} {self.rng.choice(['=', '+=', '^='])} {function.name}(c, {self.value()});"], function.cost + 4

    def call_pointer(self, budget):
        """Through one of two pointers; `chosen` is shared, so what it holds is not known to the compiler."""
        first, second = self.callable(budget), self.callable(budget)
        if first is None or second is None:
            return self.assign(budget)
        self.note(first)
        self.note(second)
        cost = max(first.cost, second.cost) + 6
        if self.rng.random() < 0.5:
            return [f"e ^= ({self.condition(1)} ? {first.name} : {second.name})(c, {self.value()});"], cost
        return ["{", f"  Action *volatile chosen = {first.name};", f"  if ({self.condition(1)}) chosen = {second.name};",
                f"  a += chosen(c, {self.value(1)});", "}"], cost

    def locked(self, budget):
        inner, cost = Body.inside_lock(self, min(budget - 10, 100))
        index = self.rng.randrange(3)
        kind = self.rng.randrange(4)
        if kind == 0:
            return [f"if (pthread_mutex_trylock(&locks[{index}]) == 0) {{", *inner, f"  pthread_mutex_unlock(&locks[{index}]);", "}"], cost + 6
        if kind == 1:
            return [f"pthread_rwlock_{self.rng.choice(['rd', 'wr'])}lock(&rwlock);", *[line[2:] for line in inner],
                    "pthread_rwlock_unlock(&rwlock);"], cost + 6
        if kind == 2 and self.cpp:
            return ["{", f"  std::lock_guard<std::mutex> guard(mutexes[{index}]);", *inner, "}"], cost + 10
        return [f"pthread_mutex_lock(&locks[{index}]);", *[line[2:] for line in inner], f"pthread_mutex_unlock(&locks[{index}]);"], cost + 6

    def inside_lock(self, budget):
        """Statements that cannot leave: no calls, no break out of the region, no goto."""
        functions, leaf, external, in_loop = self.functions, self.leaf, self.external, self.in_loop
        self.leaf, self.external, self.in_loop = True, False, []
        lines, cost = self.block(budget, 3)
        self.leaf, self.external, self.in_loop, self.functions = leaf, external, in_loop, functions
        return lines, cost

    def call_outside(self, budget):
        """Calls that leave the program: quiet and loud ones, with results that decide branches."""
        del budget
        name = self.rng.choice(LOCALS)
        size = self.rng.choice([1, 8, 24, 100])
        return self.rng.choice([
            ["{", f"  unsigned *block = (unsigned *)malloc({size} * sizeof(unsigned));", "  if (block) {", f"    block[0] = {self.value(1)};",
             f"    {name} += block[0] + (((uintptr_t)block >> 5) & 1);", f"    if (((uintptr_t)block & {size * 16}) != 0) ++{name};",
             "    free(block);", "  }", "}"],
            [f"memcpy(m, (unsigned *)table + ({self.value(1)} & 31), sizeof m);"],
            [f"memset(m, (int)({self.value(1)} & 255), {self.rng.choice(['sizeof m', '16'])});"],
            [f"{name} += (unsigned)strlen(words[{self.value(1)} & 3]);", f"if ({name} & 1) b += 3;"],
            [f"if (strcmp(words[{self.value(1)} & 3], words[{self.value(1)} & 3]) < 0) {name} ^= 1;"],
            ["{", "  char text[40];", f"  int length = snprintf(text, sizeof text, \"%u:%d\", {self.value(1)} & 0xffff, 7);",
             f"  for (char *p = text; *p; ++p) {name} += (unsigned)*p;", "  if (length > 5) d ^= 2;", "}"],
            ["{", "  unsigned number = 0;", "  char rest[8] = \"\";", f"  int found = sscanf(words[{self.value(1)} & 3], \"%u%7s\", &number, rest);",
             f"  if (found == 1) {name} += number; else if (found == 2) {name} -= (unsigned)rest[0];", "}"],
            [f"{name} = (unsigned)strtol(words[{self.value(1)} & 3], NULL, 10);", f"if ({name} > 20) e += {name}; else if ({name} == 12) e = 0;"],
            ["{", "  int pipes[2];", "  if (pipe(pipes) == 0) {", f"    unsigned sent = {self.value(1)} & 15, got = 0;",
             "    if (write(pipes[1], &sent, sizeof sent) == sizeof sent && read(pipes[0], &got, sizeof got) == sizeof got) {",
             f"      if (got & 1) {name} += m[got & 7]; else {name} ^= got;", "    }", "    close(pipes[0]);", "    close(pipes[1]);", "  }", "}"],
            [f"if (getenv(words[{self.value(1)} & 3]) != NULL) {name} = 1;"],
            [f"if (close(-1) < 0 && errno == EBADF) {name} += 2;"],
            ["sched_yield();"],
            [f"if (sem_trywait(&semaphore) == 0) {{ {name} += 1; sem_post(&semaphore); }} else if (errno == EAGAIN) {name} += 9;"],
            [f"if (isalpha((int)({self.value(1)} & 127))) {name} += 4;"],
            ["{", "  struct timespec now;", "  clock_gettime(CLOCK_MONOTONIC, &now);", f"  if (now.tv_nsec & 64) {name} += 5;", "}"],
        ]), 50


def declarations(names=LOCALS):
    values = ", ".join(f"{name} = {start}" for name, start in zip(names, ["x", "x >> 3", "1", "0"]))
    counters = ", ".join(f"i{i} = 0, n{i} = 0" for i in range(LOOPS))
    return [f"  unsigned {values}, m[8] = {{0}};", f"  int {counters};"]


RESULT = "a ^ b ^ d ^ e ^ m[3]" + "".join(f" ^ (unsigned)(i{i} + n{i})" for i in range(LOOPS))
