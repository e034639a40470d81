"""Random statements of a racing program: what one thread does by itself, and what races.

Loops have fixed bounds, recursion has fuel, and a piece's cost bounds what it carries out, so programs end by themselves.
"""
from racing_programs.tree import block, repeated, statement, value
from racing_programs.values import Values


class Statements(Values):
    def __init__(self, rng, prefix):
        super().__init__(rng, prefix)
        self.depth = 0        # of loops and branches
        self.returns = False  # may a statement leave the function?
        self.calls = True     # may it call the program's functions, or lock?

    def block(self, budget, most=4):
        statements, left = [], budget
        for _ in range(self.rng.randint(1, most)):
            if left <= 0:
                break
            made = self.statement(left)
            statements.append(made)
            left -= made.cost
        return block(statements)

    def statement(self, budget):
        kinds = [(self.assign, 6), (self.assign_wide, 1), (self.assign_real, 2), (self.atomic, 3), (self.pointer, 2), (self.copy, 2), (self.aggregate, 1),
                 (self.text, 2), (self.check_then_use, 1), (self.call_with_address, 2)]
        if budget > 6 and self.depth < 4:
            kinds += [(self.branch, 4), (self.choice, 1), (self.heap, 2)]
        if budget > 12 and self.depth < 4:
            kinds += [(self.loop, 3)]
        if self.returns:
            kinds += [(self.leave, 1)]
        if self.calls and budget > 10:
            kinds += [(self.call, 3), *self.synchronising()]
        chosen, = self.rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        return chosen(budget)

    def synchronising(self):
        """More kinds with their weights."""
        return []

    # ---- plain ones

    def assign(self, _):
        return statement(self.place(), f" {self.rng.choice(['=', '=', '+=', '^=', '-=', '|='])} ", self.integer(), ";")

    def assign_wide(self, _):
        p, rng = self.prefix, self.rng
        target = rng.choice(["w", "w", f"{p}mixed[{rng.randrange(2)}].whole", f"{p}pointers[{rng.randrange(3)}]->mixed.whole", "node.mixed.whole"])
        return statement(f"{target} {rng.choice(['=', '+=', '^='])} ", self.wide(2), ";")

    def assign_real(self, _):
        p, rng = self.prefix, self.rng
        target = rng.choice(["r", f"{p}reals[{rng.randrange(4)}]", f"{p}singles[{rng.randrange(4)}]", f"{p}pointers[{rng.randrange(3)}]->weight"])
        if target[-1] == "]" and "singles" in target:
            return statement(target, " = (float)", self.real(2), ";")
        return statement(target, f" {rng.choice(['=', '+=', '*='])} ", self.real(2), ";")

    def atomic(self, _):
        rng, p = self.rng, self.prefix
        target, order = f"&{p}{rng.choice(['relaxed', 'small', 'wide'])}[{rng.randrange(4)}]", self.order("update")
        kind = rng.randrange(6)
        if kind == 0:
            return statement(f"__atomic_store_n({target}, ", self.integer(1), f", {self.order('store')});")
        if kind == 1:
            return statement(f"a ^= (unsigned)__atomic_exchange_n({target}, ", self.integer(1), f", {order});")
        if kind == 2:
            name = rng.choice(["add", "sub", "and", "or", "xor", "nand"])
            return statement(f"b += (unsigned)__atomic_fetch_{name}({target}, ", self.integer(1), f", {order});")
        if kind == 3:
            index, weak = rng.randrange(4), rng.choice(["true", "false"]).replace("true", "1").replace("false", "0")
            return statement("{ unsigned expected = ", self.integer(1), f"; if (__atomic_compare_exchange_n(&{p}relaxed[{index}], &expected, ", self.integer(1),
                             f", {weak}, {order}, __ATOMIC_RELAXED)) ", self.assign(0), " else d += expected; }")
        if kind == 4:
            return statement(f"__atomic_thread_fence({order});")
        # One thread hands a value over to the others.
        index = rng.randrange(4)
        if rng.random() < 0.5:
            return statement(f"{p}plain[{index}] = ", self.integer(1), f"; __atomic_store_n(&{p}relaxed[{index}], 1u, __ATOMIC_RELEASE);")
        return statement(f"if (__atomic_load_n(&{p}relaxed[{index}], __ATOMIC_ACQUIRE) == 1u) a += {p}plain[{index}];")

    def pointer(self, _):
        rng, p = self.rng, self.prefix
        kind = rng.randrange(6)
        if kind == 0:
            return statement(f"{p}pointers[{rng.randrange(3)}] = ", self.lasting_node(), ";")
        if kind == 1:
            return statement(f"{p}places[{rng.randrange(4)}] = &{p}plain[(", self.integer(1), ") % 8u];")
        if kind == 2:
            return statement(f"{p}pointers[3] = (", self.condition(1), ") ? NULL : ", self.lasting_node(), ";")
        if kind == 3:
            return statement("(", self.node(), ")->next = ", self.lasting_node(), ";")
        if kind == 4:
            return statement("{ Node *at = ", self.node(), f"; for (int n = 0; at && n < {rng.randint(1, 4)}; ++n, at = at->next) a += at->n; }}")
        return statement("{ unsigned *at = ", self.address(), "; *at += ", self.integer(1), "; b ^= *at; }")

    def lasting_node(self):
        """One that is there as long as the program runs."""
        rng, p = self.rng, self.prefix
        return value(rng.choice([f"&{p}nodes[{rng.randrange(3)}]", f"{p}pointers[{rng.randrange(3)}]", f"&{p}nodes[{rng.randrange(3)}]"]))

    def copy(self, _):
        rng, p = self.rng, self.prefix
        size = rng.choice([1, 2, 3, 4, 7, 8, 13, 16])
        variable = value(str(size)) if rng.random() < 0.6 else value("(", self.integer(1), ") % 17u")
        return rng.choice([
            lambda: statement(f"memcpy(bytes, {p}bytes, ", variable, ");"),
            lambda: statement(f"memcpy({p}bytes, bytes, ", variable, ");"),
            lambda: statement(f"memmove({p}bytes + {rng.randrange(4)}, {p}bytes + {rng.randrange(4)}, ", value(f"{min(size, 12)}"), ");"),
            lambda: statement(f"memset({p}bytes, (int)", self.integer(1), ", ", variable, ");"),
            lambda: statement("memcpy(own, ", f"{p}plain, sizeof own);"),
            lambda: statement(f"memcpy(&{p}plain[{rng.randrange(5)}], own, 12);"),
            lambda: statement("node = *", self.lasting_node(), ";"),
            lambda: statement("*", self.lasting_node(), " = node;"),
            lambda: statement(f"exchange({p}bytes + {rng.randrange(8)}, bytes, {rng.randrange(1, 8)});"),
            lambda: statement(f"{p}mixed[{rng.randrange(2)}].single = (float)", self.real(1), ";"),
            lambda: statement(f"a += (unsigned)memcmp({p}bytes, bytes, ", variable, ") >> 31;"),
            lambda: statement("{ unsigned char *found = (unsigned char *)", f"memchr({p}bytes, (int)(", self.integer(1), ") & 255, 16); if (found) ",
                              f"d += (unsigned)(found - {p}bytes); }}")])()

    def aggregate(self, _):
        return statement("{ Large large = {{a, b, d, 1, 2, 3}, r}; large = changed(large, ", self.integer(1), "); ",
                         "a += large.values[", self.integer(0), " % 6u]; r += large.real; }")

    def text(self, _):
        rng, p = self.rng, self.prefix
        return rng.choice([
            lambda: statement("{ char line[40]; ", f"int length = snprintf(line, sizeof line, \"{rng.choice(['%u', '%x:%u', '%08x', '<%5u>'])}\", ",
                              self.integer(1), ", 5u); b += (unsigned)length + (unsigned char)line[", self.integer(0), " % 4u]; }"),
            lambda: statement(f"a += (unsigned)strlen({p}text);"),
            lambda: statement(f"d += (unsigned)strtol({p}text, NULL, ", rng.choice(["10", "16", "0"]), ");"),
            lambda: statement(f"snprintf({p}text, 12, \"%u\", ", self.integer(1), ");"),
            lambda: statement("{ char line[40]; ", f"strncpy(line, {p}text, sizeof line - 1); line[39] = 0; a ^= (unsigned)line[{rng.randrange(12)}]; ",
                              "if (strchr(line, '1')) ++b; }"),
            lambda: statement(f"if (strcmp({p}text, \"{rng.randrange(9)}\") < 0) ", self.assign(0), " else ", self.assign(0)),
            lambda: statement("{ unsigned number = 0; if (sscanf(", f"{p}text, \"%u\", &number) == 1) a += number; }}")])()

    def check_then_use(self, _):
        p = self.prefix
        return statement(f"if ({p}pointers[3]) a += {p}pointers[3]->n;")

    def call_with_address(self, _):
        return self.rng.choice([
            lambda: statement("add_to(", self.address(), ", ", self.integer(1), ");"),
            lambda: statement("touch(", self.node(), ", ", self.integer(1), ");"),
            lambda: statement("add_to(&b, total(", self.address(), ", 1));")])()

    def heap(self, _):
        rng, p = self.rng, self.prefix
        kind = rng.randrange(3)
        if kind == 0:  # memory of the thread's own
            return statement("{ unsigned *memory = (unsigned *)", rng.choice(["malloc(32)", "calloc(8, 4)"]), "; if (memory) { memset(memory, 0, 32); memory[2] = ",
                             self.integer(1), "; memory[a % 8u] += 3; ", "memory = (unsigned *)realloc(memory, 64); if (memory) { a += memory[2] + memory[7]; free(memory); } } }")
        if kind == 1:  # a node that is handed over and stays
            return statement("{ Node *made = (Node *)calloc(1, sizeof *made); if (made) { made->n = ", self.integer(1), f"; made->next = {p}pointers[0]; ",
                             f"{p}pointers[{rng.randrange(3)}] = made; }} }}")
        return statement(f"{{ Node *made = (Node *)malloc(sizeof *made); if (made) {{ *made = *{p}pointers[{rng.randrange(3)}]; touch(made, ", self.integer(1),
                         "); node = *made; free(made); } }")

    # ---- around others

    def inner(self, budget, most=3):
        self.depth += 1
        made = self.block(budget, most)
        self.depth -= 1
        return made

    def branch(self, budget):
        first = self.inner(budget // 2)
        if self.rng.random() < 0.5:
            return statement("if (", self.condition(), ") {\n", first, "}")
        return statement("if (", self.condition(), ") {\n", first, "} else {\n", self.inner(budget // 2), "}")

    def choice(self, budget):
        rng = self.rng
        parts = ["switch (", self.integer(1), f" % {rng.randint(3, 5)}u) {{\n"]
        for label in rng.sample(range(5), rng.randint(2, 4)):
            parts += [f"case {label}: {{\n", self.inner(budget // 4, 2), "}\n", rng.choice(["break;\n", "break;\n", "/* falls */;\n"])]
        return statement(*parts, "default:;\n}")

    def loop(self, budget):
        rng, rounds = self.rng, self.rng.randint(1, 5)
        counter = f"i{self.counters}"
        self.counters += 1
        body = repeated(rounds, self.inner(budget // rounds))
        leave = statement("if (", self.condition(1), ") ", rng.choice(["break", "continue"]), ";") if rng.random() < 0.3 else block([])
        while_too = value(" && ", self.condition(1)) if rng.random() < 0.3 else value("")
        self.counters -= 1
        return statement(f"for (int {counter} = 0; {counter} < {rounds}", while_too, f"; ++{counter}) {{\n", leave, body, "}")

    def leave(self, _):
        return statement("if (", self.condition(1), ") return ", self.integer(1), ";")

    def call(self, budget):
        rng, p = self.rng, self.prefix
        fitting = [(name, cost) for name, cost in self.actions if cost < budget]
        if not fitting:
            return self.call_with_address(budget)
        name, cost = rng.choice(fitting)
        kind = rng.randrange(4)
        if kind == 0 and not self.returns and all(price < budget for _, price in self.actions):  # by a thread, through a pointer that others change
            slot, most = rng.randrange(2), max(cost for _, cost in self.actions)
            if rng.random() < 0.4:
                return statement(f"{p}actions[{slot}] = {name};")
            return statement(f"a += {p}actions[{slot}](", self.address(), ", ", self.integer(1), ", 1);", cost=most)
        if kind == 1:
            other, more = rng.choice(fitting)
            return statement("a += (", self.condition(1), f" ? {name} : {other})(", self.address(), ", ", self.integer(1), ", 1);", cost=max(cost, more))
        return statement(f"a += {name}(", self.address(), ", ", self.integer(1), f", {rng.randrange(2)});", cost=cost)
