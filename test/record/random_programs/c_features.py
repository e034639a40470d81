"""Functions of special kinds for random programs: what C knows of ways through a program that are not calls and branches.

A feature is a function of the Writer (generate.py) that adds one function to the program, with helpers it needs."""
from statements import Function


def plain(writer):
    writer.add_function(writer.rng.randint(20, 300))


def leaf(writer):
    writer.add_function(writer.rng.randint(10, 80), leaf=True)


def recursion(writer):
    """f(d) calls itself up to twice, after the paper's example of nested labels; fuel bounds it."""
    name, other = writer.name(), writer.name()
    body = writer.body(leaf=True)
    lines, cost = body.block(30)
    writer.prototype(name)
    writer.prototype(other)
    writer.emit(name, [
        "if (c->fuel <= 0) return x;", "--c->fuel;", *[line[2:] for line in lines],
        f"if ({body.condition()}) b += {other}(c, x / 2u);",
        f"if ({body.condition()}) d ^= {name}(c, x / 3u);"])
    writer.emit(other, ["if (x == 0 || c->fuel-- <= 0) return 1;", f"return {name}(c, x - 1u) * 3u;"])
    entry = writer.name()
    depth = writer.rng.randint(1, 40)
    writer.emit(entry, [f"c->fuel = {depth};", f"a = {name}(c, x | 7u);", "c->fuel = 0;"])
    writer.functions.append(Function(entry, depth * 4 * (cost + 20)))


def tail_calls(writer):
    """A machine whose states are functions that end in tail calls."""
    rng = writer.rng
    states = [writer.name() for _ in range(rng.randint(2, 4))]
    for state in states:
        writer.prototype(state)
    total = 0
    for state in states:
        body = writer.body(leaf=True)
        lines, cost = body.block(20, 2)
        total += cost + 12
        writer.emit(state, [
            "if (c->fuel-- <= 0) return x;", *[line[2:] for line in lines],
            f"if ({body.condition(1)}) __attribute__((musttail)) return {rng.choice(states)}(c, a + 1u);",
            f"if ({body.condition(1)}) {{", "  Action *volatile next = " + rng.choice(states) + ";",
            "  Action *now = next;", "  __attribute__((musttail)) return now(c, b + x);", "}",
            f"__attribute__((musttail)) return {rng.choice(states)}(c, d ^ x);"])
    entry = writer.name()
    rounds = rng.randint(1, 30)
    writer.emit(entry, [f"c->fuel = {rounds};", f"a = {states[0]}(c, x);", "c->fuel = 0;"])
    writer.functions.append(Function(entry, (rounds + 1) * (total + 10)))


def variadic(writer):
    name, entry = writer.name(), writer.name()
    body = writer.body()
    count = writer.rng.randint(0, 5)
    writer.text += [f"{writer.linkage()} unsigned {name}(Context *c, unsigned count, ...) {{", "  va_list rest;", "  unsigned sum = c->memory[0];",
                    "  va_start(rest, count);", "  for (unsigned i = 0; i < count; ++i) {", "    unsigned next = va_arg(rest, unsigned);",
                    "    if (next & 1) sum += next; else sum ^= next;", "  }", "  va_end(rest);", "  return sum;", "}"]
    arguments = "".join(f", {body.value()}" for _ in range(count))
    writer.emit(entry, [f"a += {name}(c, {count}u{arguments});", f"if (a & 2) b = {name}(c, 1u, a);"])
    writer.functions.append(Function(entry, 8 * count + 40))


def callbacks(writer):
    """qsort and bsearch call back into the program."""
    rng = writer.rng
    compare, entry = writer.name(), writer.name()
    body = writer.body(leaf=True)
    noise = rng.choice([[], ["  loud[1] = loud[1] + 1u;"], ["  for (int i = 0; i < 3; ++i) if (plain[i] & 1u) ++plain[i];"]])
    writer.text += [f"static int {compare}(const void *left, const void *right) {{", "  unsigned l = *(const unsigned *)left, r = *(const unsigned *)right;",
                    *noise, "  if (l < r) return -1;", "  return l > r;", "}"]
    size = rng.choice([1, 2, 5, 16, 40])
    writer.emit(entry, [
        f"unsigned values[{size}];", f"for (int i = 0; i < {size}; ++i) values[i] = (x * 2654435761u + {body.value(1)}) >> (i & 15);",
        f"qsort(values, {size}, sizeof values[0], {compare});", "b = x & 0xff;",
        f"unsigned *found = (unsigned *)bsearch(&{rng.choice(['b', f'values[x % {size}u]'])}, values, {size}, sizeof values[0], {compare});",
        "if (found) a += (unsigned)(found - values);"])
    writer.functions.append(Function(entry, size * 60 + 60))


def computed_goto(writer):
    """A small interpreter with labels as values; the instructions are shared memory."""
    rng = writer.rng
    count = rng.randint(2, 5)
    body = writer.body(leaf=True)
    entry = writer.name()
    lines = [f"static void *const places[{count}] = {{" + ", ".join(f"&&place{i}" for i in range(count)) + "};",
             f"int steps = {rng.randint(1, 30)};", f"goto *places[x % {count}u];"]
    total = 0
    for i in range(count):
        inner, cost = body.block(15, 2)
        total += cost + 6
        lines += [f"place{i}:;", *[line[2:] for line in inner], "if (--steps <= 0) goto finished;"]
        lines.append(rng.choice([f"goto *places[{body.value(1)} % {count}u];", f"goto *places[table[steps & 63] % {count}u];",
                                 f"goto place{rng.randrange(count)};"]))
    writer.emit(entry, [*lines, "finished:;"])
    writer.functions.append(Function(entry, 31 * total))


def long_jump(writer):
    """setjmp here, longjmp (`jump_out`) from somewhere below; several times."""
    rng = writer.rng
    entry = writer.name()
    inside = [function for function in writer.functions if function.cost < 1000] or [writer.functions[0]]
    first, second = rng.choice(inside), rng.choice(inside)
    rounds = rng.randint(1, 4)
    set_jump = rng.choice(["setjmp(here)", "_setjmp(here)", "sigsetjmp(here, 1)"])
    kind = "sigjmp_buf" if set_jump.startswith("sig") else "jmp_buf"
    writer.text += [
        f"{writer.linkage()} unsigned {entry}(Context *c, unsigned x) {{", f"  {kind} here;", "  volatile unsigned rounds = 0, sum = x;",
        "  jmp_buf *volatile before = c->jump;", f"  int came = {set_jump};", "  if (came == 2) sum += 2;", "  else if (came > 2) sum ^= 5;",
        "  rounds = rounds + 1;", f"  if (rounds <= {rounds}) {{", "    c->jump = &here;", f"    sum += {first.name}(c, sum + rounds);",
        f"    if (sum & 1) sum += {second.name}(c, sum); else jump_out(c, sum);", "  }", "  c->jump = before;", "  return sum;", "}"]
    writer.functions.append(Function(entry, (rounds + 1) * (first.cost + second.cost + 20)))
    jumper = writer.name()
    body = writer.body(leaf=True)
    lines, cost = body.block(30)
    writer.emit(jumper, [*[line[2:] for line in lines], f"if ({body.condition(1)}) jump_out(c, a);"])
    writer.functions.append(Function(jumper, cost + 10, jumps=True))


def raised_signal(writer):
    """A handler that runs at a known place, and one at any place (the timer, which main starts)."""
    entry = writer.name()
    body = writer.body(leaf=True)
    writer.emit(entry, [f"if ({body.condition(1)}) raise(SIGUSR1);", f"if ({body.condition(1)}) pthread_kill(pthread_self(), SIGUSR2);"])
    writer.functions.append(Function(entry, 200))


def once(writer):
    entry, initialise = writer.name(), writer.name()
    body = writer.body(leaf=True)
    lines, cost = body.block(40)
    del cost
    writer.text += [f"static pthread_once_t {entry}_once = PTHREAD_ONCE_INIT;", f"static void {initialise}(void) {{",
                    "  Context here = {0};", "  Context *c = &here;", "  unsigned x = 3;", *writer.declarations(), *lines,
                    f"  plain[2] += {writer.result()};", "}"]
    writer.emit(entry, [f"pthread_once(&{entry}_once, {initialise});", f"if (plain[2] & 1) a += {body.value()};"])
    writer.functions.append(Function(entry, 70))


C_FEATURES = [(plain, 8), (leaf, 3), (recursion, 2), (tail_calls, 1), (variadic, 1), (callbacks, 2), (computed_goto, 1), (raised_signal, 1), (once, 1)]
JUMP_FEATURES = [(long_jump, 3)]
