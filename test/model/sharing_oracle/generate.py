#!/usr/bin/env python3
"""Sharing oracle, step 1: writes a random C program in which threads hand pointers to each other in devious ways.

    generate.py SEED [strict] [BOX] > program.c

A program has a few routes. A route starts with an object (`x`), puts its address into a box in one of many ways,
that box into another, and so on, and the last one into a root. Thread 1 does this and touches the object; thread 2
takes the way back from the root and touches what it finds, and may leave an object of its own in it (the gift); then
thread 1 touches the object again, and the gift. Some routes are decoys: their
root belongs to the thread, and nobody else comes for the object. They keep the analysis honest the other way
round, and mix with the true routes in helper functions that both use. Thread 2 may take the detour over boxes of its
own, so that what is private leads to what is shared. Some routes are apart: the helper functions of each of their
steps are copies, so that nothing else meets there.

`strict`: obeys the aliasing rules of C, for compilers that rely on them. BOX: only this way to put a pointer
into a box (a name from BOXES).
"""
import random
import re
import sys

from shapes import BOXES, HEAD, NOT_STRICT, OWN_ROOTS, ROOTS, SOURCES


def functions_of(text):
    """The helper functions in it: name and text of each."""
    spans = [(m.group(1), m.group(0)) for m in re.finditer(
        r"^(?:__attribute__\(\(malloc\)\) )?static (?:NOINLINE )?[^=;()]*?(\w+)\([^;{}]*\) \{(?:[^\n]*\}$|.*?^\}$)", text, re.M | re.S)]
    return dict(spans)


HELPERS = functions_of(HEAD)


def with_own_helpers(lines, suffix):
    """Copies of the helper functions that these lines use, for them alone: others do not meet there."""
    text, used = "\n".join(lines), []
    for name in reversed(HELPERS):  # each uses those before it
        if re.search(rf"\b{name}\b", text):
            text = HELPERS[name] + "\n" + text
            used.append(name)
    for name in used:
        text = re.sub(rf"\b{name}\b", f"{name}_{suffix}", text)
    return text.split("\n")


class Route:
    def __init__(self, r, index, strict, box, published, wanted_root):
        self.apart = r.random() < 0.6
        self.index, self.published = index, published
        boxes = [b for b in BOXES if not (strict and b[0] in NOT_STRICT) and box in (None, b[0])] or BOXES[:1]
        self.hops = [r.choice(boxes) for _ in range(r.randint(1, 3))]
        # Boxes of the receiver's own, for what it has found: private boxes that hold what is shared.
        self.detour = [r.choice(boxes) for _ in range(r.randint(0, 2))]
        self.root = wanted_root
        self.source = r.choice(SOURCES if published else [s for s in SOURCES if s != "&tls"] + ["&tls2"])
        self.box = ["calloc(1, sizeof(struct S))" if self.apart else r.choice(["make()", "calloc(1, sizeof(struct S))"]) for _ in self.hops + self.detour]
        if self.apart and "make" in self.source:
            self.source = "calloc(1, sizeof(struct S))"
        self.inline = r.random() < 0.4
        self.gift = r.random() < 0.6
        self.touch = r.choice(["x->n++;", "x->k += 2;", "touch(x);", "total += x->n;  x->n = 1;", "x->h[1]++;", "memset(&x->h, 0, 8);"])
        if self.apart and self.touch == "touch(x);":
            self.touch = "x->n++;"

    def functions(self):
        kind = "static inline" if self.inline else "static NOINLINE"
        lines = []
        for i, (name, put, get) in enumerate(self.hops + self.detour):
            hop = [f"/* {name} */ {kind} struct S *put{self.index}_{i}(struct S *x) {{ struct S *box = {self.box[i]}; {put} return box; }}",
                   f"{kind} struct S *get{self.index}_{i}(struct S *box) {{ struct S *q = 0; {get} return q; }}"]
            lines += with_own_helpers(hop, f"{self.index}_{i}") if self.apart else hop
        name, put, get = self.root
        lines.append(f"/* {name} */ {kind} void hide{self.index}(struct S *box, void *p, struct S *mine) {{ (void)p; (void)mine; {put} }}")
        lines.append(f"{kind} struct S *find{self.index}(void *p, struct S *mine) {{ struct S *q = 0; (void)p; (void)mine; {get} return q; }}")
        give = "struct S *gift = calloc(1, sizeof *gift); gift->n = 7; x->p[1] = gift; gift->k++;" if self.gift else ""
        take = "if (x->p[1]) x->p[1]->n++;" if self.gift else ""
        if self.apart:
            lines = with_own_helpers(lines, self.index)
        chain = "x"
        for i in range(len(self.hops)):
            chain = f"put{self.index}_{i}({chain})"
        back = f"find{self.index}(p, mine)"
        for i in reversed(range(len(self.hops))):
            back = f"get{self.index}_{i}({back})"
        for i in range(len(self.hops), len(self.hops + self.detour)):
            back = f"get{self.index}_{i}(put{self.index}_{i}({back}))"
        lines.append(f"static NOINLINE void receive{self.index}(void *p, struct S *mine) {{ struct S *x = {back}; {self.touch} {give} }}")
        lines.append(f"static NOINLINE void use{self.index}(struct S *x) {{ {self.touch} {take} }}")
        source = self.source.replace("frame", "&frame")
        self.body = {
            "declare": f"struct S frame{self.index} = {{0}}; struct S *x{self.index} = 0; (void)x{self.index};",
            "send": f"x{self.index} = {source.replace('&frame', f'&frame{self.index}')}; "
                    f"{{ struct S *x = x{self.index}; {self.touch} hide{self.index}({chain}, p, mine); }}",
            "again": f"use{self.index}(x{self.index});",
            "receive": f"receive{self.index}(p, mine);",
        }
        return lines


class Program:
    def __init__(self, seed, strict=False, box=None):
        r = random.Random(seed)
        count = r.randint(1, 4)
        roots = r.sample(ROOTS, min(count, len(ROOTS)))
        self.routes = []
        used = set()
        for i in range(count):
            published = r.random() < 0.5
            root = roots[i] if published else r.choice(OWN_ROOTS)
            # Two routes through one variable would overwrite each other.
            place = {"exchange": "gp", "variable": "gp", "thread_local": "gp", "specific": "gp", "argument": "p"}.get(root[0], root[0])
            if place in used:
                root, published = OWN_ROOTS[2], False
                place = root[0]
                if place in used:
                    continue
            used.add(place)
            self.routes.append(Route(r, i, strict, box, published, root))
        self.argument = r.choice(["&g1", "start", "&local"])
        if any(route.root[0] == "constant" for route in self.routes):
            self.argument = "start"

    def text(self):
        lines = [HEAD]
        for route in self.routes:
            lines += route.functions()
        bodies = [route.body for route in self.routes]
        lines += ["static void *thread1(void *p) {", "  struct S own = {0}, *mine = &own; (void)mine;",
                  *["  " + b["declare"] for b in bodies], "  oracle_wait(1);", *["  " + b["send"] for b in bodies],
                  "  oracle_pass(2); oracle_wait(1);", *["  " + b["again"] for b in bodies],
                  *["  " + b["receive"] for b, route in zip(bodies, self.routes) if not route.published],
                  "  oracle_pass(0);", "  for (;;) pause();", "}"]
        lines += ["static void *thread2(void *p) {", "  struct S own = {0}, *mine = &own; (void)mine;", "  oracle_wait(2);",
                  *["  " + b["receive"] for b, route in zip(bodies, self.routes) if route.published],
                  # the same code with the thread's own objects, for the decoys
                  *["  { " + b["declare"] + " " + b["send"] + " " + b["receive"] + " }"
                    for b, route in zip(bodies, self.routes) if not route.published],
                  "  oracle_pass(1);", "  for (;;) pause();", "}"]
        lines += ["int main(void) {", "  struct S local = {0}; struct S *start = make();",
                  "  pthread_t t1, t2; pthread_key_create(&tkey, 0); if (pipe(fds)) abort();",
                  f"  pthread_create(&t1, 0, thread1, {self.argument}); pthread_create(&t2, 0, thread2, {self.argument});",
                  "  oracle_pass(1); oracle_wait(0); local.n++; start->n++;", "  oracle_end();", "}"]
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    only = [a for a in sys.argv[2:] if a != "strict"]
    sys.stdout.write(Program(int(sys.argv[1]), "strict" in sys.argv, only[0] if only else None).text())
