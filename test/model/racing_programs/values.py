"""Random values and conditions of a racing program.

Values are unsigned integers, 64-bit integers or doubles; whatever other threads do, computing them is defined, but for the race
itself. Locals of every function: a, b, d (unsigned), w (64 bits), r (double), own[8], node (a Node), bytes[16].
"""
from racing_programs.tree import value

ORDERS = {"load": ["RELAXED", "CONSUME", "ACQUIRE", "SEQ_CST"], "store": ["RELAXED", "RELEASE", "SEQ_CST"],
          "update": ["RELAXED", "ACQUIRE", "RELEASE", "ACQ_REL", "SEQ_CST"]}
CONSTANTS = [0, 1, 2, 3, 5, 7, 8, 13, 64, 100, 255, 256, 1000, 65537, 0x7fffffff, 0xfffffff0]
FIELDS = ["n", "half", "low", "middle", "high", "mixed.words[1]", "mixed.halves[1]", "mixed.halves[2]", "mixed.bytes[3]", "mixed.bytes[5]"]


class Values:
    def __init__(self, rng, prefix):
        self.rng, self.prefix = rng, prefix
        self.counters = 0  # loops around the place that is written: i0, i1, ...
        self.nodes = ["&node"]  # pointers to nodes that are there only here
        self.actions = []  # functions that may be called: (name, cost)

    def order(self, kind):
        return "__ATOMIC_" + self.rng.choice(ORDERS[kind])

    # ---- places

    def node(self):
        """A Node that is there: text of a pointer."""
        p, rng = self.prefix, self.rng
        return value(rng.choice([f"&{p}nodes[{rng.randrange(3)}]", f"{p}pointers[{rng.randrange(3)}]", f"{p}pointers[{rng.randrange(3)}]", *self.nodes]))

    def element(self, array, size):
        rng = self.rng
        index = value(str(rng.randrange(size))) if rng.random() < 0.6 else value("(", self.integer(1), f") % {size}u")
        return value(f"{self.prefix}{array}[", index, "]")

    def shared_place(self):
        """An integer that other threads use, of any size."""
        rng, p = self.rng, self.prefix
        kind = rng.randrange(12)
        if kind < 3:
            return self.element("plain", 8)
        if kind == 3:
            return self.element("bytes", 16)
        if kind == 4:
            return self.element("halves", 4)
        if kind == 5:
            return value(f"{p}loud[{rng.randrange(4)}]")
        if kind < 9:
            return value("(", self.node(), ")->", rng.choice([*FIELDS, f"bytes[{rng.randrange(4)}]"]))
        if kind == 9:
            return value(f"*{p}places[{rng.randrange(4)}]")
        if kind == 10:
            return value(f"{p}mixed[{rng.randrange(2)}].", rng.choice(["words[0]", "words[1]", "halves[1]", "halves[3]", "bytes[0]", "bytes[6]"]))
        return value(f"{p}text[{rng.randrange(24)}]")

    def place(self):
        """An integer to be changed."""
        if self.rng.random() < 0.5:
            return self.shared_place()
        return value(self.rng.choice(["a", "b", "d", f"own[{self.rng.randrange(8)}]", "node.n", "node.middle", f"bytes[{self.rng.randrange(16)}]",
                                      f"{self.prefix}mine"]))

    def address(self):
        """Of an unsigned."""
        rng, p = self.rng, self.prefix
        return value(rng.choice([f"&{p}plain[{rng.randrange(8)}]", f"{p}places[{rng.randrange(4)}]", f"&own[{rng.randrange(8)}]", "&a", f"&{p}mine",
                                 f"&{p}pointers[{rng.randrange(3)}]->n", f"&{p}mixed[{rng.randrange(2)}].words[{rng.randrange(2)}]"]))

    # ---- values

    def leaf(self):
        rng = self.rng
        return value(rng.choice(["a", "b", "d", "x", f"own[{rng.randrange(8)}]", f"{rng.choice(CONSTANTS)}u", "node.n", f"bytes[{rng.randrange(16)}]",
                                 f"{self.prefix}mine", *[f"(unsigned)i{i}" for i in range(self.counters)]]))

    def integer(self, depth=2):
        """Of type unsigned, or smaller."""
        rng, p = self.rng, self.prefix
        if depth <= 0 or rng.random() < 0.25:
            return self.leaf()
        kind = rng.randrange(20)
        if kind < 6:
            return value("((unsigned)", self.integer(depth - 1), f" {rng.choice('+-*^&|')} ", self.integer(depth - 1), ")")
        if kind == 6:
            return value("((unsigned)", self.integer(depth - 1), f" {rng.choice(['<<', '>>'])} {rng.randrange(31)})")
        if kind == 7:
            return value("((unsigned)", self.integer(depth - 1), f" {rng.choice('/%')} (", self.integer(depth - 1), " | 1u))")
        if kind == 8:
            return value("(", self.condition(1), " ? ", self.integer(depth - 1), " : ", self.integer(depth - 1), ")")
        if kind < 13:
            return self.shared_place()
        if kind == 13:
            return value(f"__atomic_load_n(&{p}{rng.choice(['relaxed', 'small', 'wide'])}[{rng.randrange(4)}], {self.order('load')})")
        if kind == 14:
            return value("(unsigned)(", self.wide(depth - 1), f" >> {rng.choice([0, 7, 32, 40])})")
        if kind == 15:
            return value("whole(", self.real(depth - 1), ")")
        if kind == 16:
            signed = rng.choice(["(int8_t)", "(int16_t)", "(int)"])
            return value(f"(unsigned)({signed}", self.integer(depth - 1), f" {rng.choice(['/ 3', '% 5', '>> 2', '< 0'])})")
        if kind == 17:
            return rng.choice([
                lambda: value(f"total(&{p}plain[{rng.randrange(4)}], ", str(rng.randrange(5)), ")"),
                lambda: value("depth_of(", self.node(), f", {rng.randrange(4)})"),
                lambda: value("among(3, ", *self.separated([value("(unsigned)", self.integer(depth - 1)) for _ in range(3)]), ")"),
                lambda: value("(unsigned)", rng.choice(["__builtin_popcount", "__builtin_bswap32", "__builtin_ffs"]), "(", self.integer(depth - 1), ")"),
                lambda: value("(unsigned)", rng.choice(["isalpha", "isdigit", "toupper"]), "((", self.integer(depth - 1), ") & 127)")])()
        return value("(unsigned)(", self.condition(1), ")")

    @staticmethod
    def separated(values):
        return [part for i, v in enumerate(values) for part in ((", ", v) if i else (v,))]

    def wide(self, depth=1):
        """Of 64 bits."""
        rng, p = self.rng, self.prefix
        kind = rng.randrange(6)
        if depth <= 0 or kind == 0:
            return value(rng.choice(["w", f"{rng.choice(CONSTANTS)}ull", f"{p}mixed[{rng.randrange(2)}].whole"]))
        if kind == 1:
            return value(f"{p}pointers[{rng.randrange(3)}]->mixed.whole")
        if kind == 2:
            return value("((uint64_t)", self.integer(depth - 1), " << ", str(rng.randrange(33)), ")")
        if kind == 3:
            return value(f"__atomic_load_n(&{p}wide[{rng.randrange(4)}], {self.order('load')})")
        return value("(", self.wide(depth - 1), f" {rng.choice('+-*^|')} ", self.wide(depth - 1), ")")

    def real(self, depth=1):
        rng, p = self.rng, self.prefix
        kind = rng.randrange(7)
        if depth <= 0 or kind == 0:
            return value(rng.choice(["r", "1.5", "0.1", "(double)a", f"{p}reals[{rng.randrange(4)}]", f"(double){p}singles[{rng.randrange(4)}]"]))
        if kind == 1:
            return value("(double)", self.integer(depth - 1))
        if kind == 2:
            return value(f"{p}pointers[{rng.randrange(3)}]->weight")
        if kind == 3:
            return value("(double)(float)", self.real(depth - 1))
        if kind == 4:
            return value("(", self.condition(0), " ? ", self.real(depth - 1), " : ", self.real(depth - 1), ")")
        return value("(", self.real(depth - 1), f" {rng.choice('+-*/')} ", self.real(depth - 1), ")")

    def condition(self, depth=2):
        rng, p = self.rng, self.prefix
        if depth > 0 and rng.random() < 0.3:
            return value("(", self.condition(depth - 1), f" {rng.choice(['&&', '||'])} ", self.condition(depth - 1), ")")
        kind = rng.randrange(9)
        if kind < 3:
            return value("(", self.integer(1), f" & {rng.choice([1, 2, 3, 4, 8])}u) {rng.choice(['==', '!='])} {rng.randrange(2)}u")
        if kind < 6:
            return value("(", self.integer(1), f") {rng.choice(['<', '>', '==', '!=', '<=', '>='])} (", self.integer(1), ")")
        if kind == 6:
            return value("(", self.real(1), f" {rng.choice(['<', '>', '==', '!='])} ", self.real(0), ")")
        if kind == 7:
            return value(f"{p}pointers[{rng.randrange(3)}] {rng.choice(['==', '!='])} ", self.node())
        return value("(", self.wide(1), f" {rng.choice(['<', '>', '!='])} ", self.wide(0), ")")
