"""Functions of special kinds for random programs in C++: exceptions, destructors, virtual calls, library callbacks."""
from statements import Function


def virtual_calls(writer):
    rng = writer.rng
    base, entry = writer.name("Base"), writer.name()
    count = rng.randint(2, 3)
    inside = [function for function in writer.functions if function.cost < 500 and not function.jumps]  # over destructors: undefined
    called = [rng.choice(inside) for _ in range(count)]
    writer.text += [f"struct {base} {{", "  unsigned state = 1;", f"  virtual ~{base}() {{ if (state & 1) loud[3] = loud[3] + 1; }}",
                    "  virtual unsigned act(Context *c, unsigned x) = 0;", "};"]
    for i, function in enumerate(called):
        writer.text += [f"struct {base}{i} : {base} {{", f"  ~{base}{i}() override {{ plain[{i}] += state; }}",
                        "  unsigned act(Context *c, unsigned x) override {", f"    if (x % {i + 2}u == 0) state += {function.name}(c, x + state);",
                        "    else state ^= x;", "    return state;", "  }", "};"]
    objects = ", ".join(f"&o{i}" for i in range(count))
    lines = [f"{base}{i} o{i};" for i in range(count)]
    lines += [f"{base} *objects[] = {{{objects}}};", f"for (unsigned i = 0; i < {count + 1}u; ++i) a += objects[(x + i + loud[0]) % {count}u]->act(c, x + i);"]
    if rng.random() < 0.5:
        lines += [f"std::unique_ptr<{base}> owned;", f"if (x & 1) owned = std::make_unique<{base}0>(); else owned = std::make_unique<{base}1>();",
                  "b += owned->act(c, x);"]
    writer.emit(entry, lines)
    writer.functions.append(Function(entry, (count + 2) * (max(f.cost for f in called) + 30), any(f.throws for f in called)))


def thrower(writer):
    rng = writer.rng
    entry = writer.name()
    body = writer.body(leaf=True)
    lines, cost = body.block(30)
    what = rng.choice(["throw static_cast<int>(a & 7);", "throw Trouble(\"trouble\");", "throw std::out_of_range(\"range\");",
                       "{ std::vector<unsigned> few(3); b += few.at(x & 7); }"])
    guard = ["Guard guard(c, 1);"] if rng.random() < 0.5 else []
    writer.emit(entry, [*guard, *[line[2:] for line in lines], f"if ({body.condition(1)}) {what}"])
    writer.functions.append(Function(entry, cost + 30, throws=True))


def catcher(writer):
    """Catches some of what comes from below, throws some of it again, destroys objects on the way."""
    rng = writer.rng
    entry = writer.name()
    inside = [function for function in writer.functions if function.cost < 800]
    throwing = [function for function in inside if function.throws] or inside
    body = writer.body(leaf=True)
    first, second = rng.choice(throwing), rng.choice(inside)
    rounds = rng.randint(1, 4)
    all_caught = rng.random() < 0.6
    lines = [f"for (int i = 0; i < {rounds}; ++i) {{", "  Guard outer(c, 2);", "  try {", "    Guard inner(c, 3);", f"    a += {first.name}(c, a + x);"]
    if rng.random() < 0.6:
        lines += ["    try {", f"      b += {second.name}(c, a);", f"      if ({body.condition(1)}) throw Trouble(\"inside\");",
                  "    } catch (const std::out_of_range &) {", "      Guard third(c, 4);", "      d += 3;", f"      if ({body.condition(1)}) throw;",
                  "    } catch (int value) {", "      d += static_cast<unsigned>(value);", f"      if ({body.condition(1)}) throw Trouble(\"other\");", "    }"]
    else:
        lines += [f"    b += {second.name}(c, a);"]
    lines += ["  } catch (const Trouble &trouble) {", "    e += static_cast<unsigned>(trouble.what()[0]);", "  } catch (int value) {",
              "    if (value > 3) d ^= 1; else d += 2;"]
    if all_caught:
        lines += ["  } catch (const std::exception &) {", f"    b ^= {body.value(1)};"]
    lines += ["  }", "}"]
    writer.emit(entry, lines)
    throws = not all_caught and (first.throws or second.throws)
    writer.functions.append(Function(entry, rounds * (first.cost + second.cost + 100) + 10, throws=throws))


def no_throw(writer):
    """A noexcept function that keeps its word."""
    rng = writer.rng
    quiet = [function for function in writer.functions if not function.throws and not function.jumps and function.cost < 500]
    if not quiet:
        return
    function = rng.choice(quiet)
    entry = writer.name()
    writer.text += [f"{writer.linkage()} unsigned {entry}(Context *c, unsigned x) noexcept {{ return {function.name}(c, x) + 1; }}"]
    writer.functions.append(Function(entry, function.cost + 4))


def containers(writer):
    rng = writer.rng
    entry = writer.name()
    size = rng.choice([2, 5, 20])
    order = rng.choice(["l < r", "(l ^ 5u) < (r ^ 5u)", "l > r"])
    writer.emit(entry, [
        "std::vector<unsigned> values;", f"for (unsigned i = 0; i < {size}; ++i) values.push_back((x * (i + 3)) % 17u);",
        f"std::sort(values.begin(), values.end(), [](unsigned l, unsigned r) {{ return {order}; }});",
        "std::string text;", "for (unsigned v : values) text += static_cast<char>('a' + v);", "a += static_cast<unsigned>(text.find('c'));",
        "std::map<unsigned, unsigned> seen;", "for (unsigned v : values) ++seen[v];", "for (const auto &[key, n] : seen) if (n > 1) b += key;"])
    writer.functions.append(Function(entry, size * 200 + 100))


def call_once(writer):
    entry = writer.name()
    writer.text += [f"static std::once_flag {entry}_flag;"]
    writer.emit(entry, [f"std::call_once({entry}_flag, [&] {{ if (x & 1) plain[5] += 2; else plain[5] = 1; }});", "if (plain[5] & 1) a += 2;"])
    writer.functions.append(Function(entry, 60))


def lambdas(writer):
    """std::function, and a static local whose guard threads race for."""
    inside = [function for function in writer.functions if function.cost < 300 and not function.jumps]
    function = writer.rng.choice(inside)
    entry = writer.name()
    writer.emit(entry, [
        "static const unsigned first = (x & 1) ? 3u : 4u;",
        f"std::function<unsigned(unsigned)> action = [c](unsigned y) {{ return {function.name}(c, y) + 1; }};",
        "if (x & 1) action = [](unsigned y) { return y ^ 3u; };", "a += action(x) + first;", "thread_object.touch(x);"])
    writer.functions.append(Function(entry, function.cost + 100, function.throws))


CPP_FEATURES = [(virtual_calls, 3), (containers, 1), (call_once, 1), (lambdas, 2)]
EXCEPTION_FEATURES = [(thrower, 3), (catcher, 4), (no_throw, 1)]
