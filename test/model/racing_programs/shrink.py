#!/usr/bin/env python3
"""Makes a racing program small that shows something wrong.

    shrink.py [--time SECONDS] SEED OUTPUT.c COMMAND...

COMMAND is run with the path of a C file behind it; it exits with code 1 if that file shows the fault, and with any other code if not, or if it does not
compile. What it shows may depend on the schedule: then COMMAND must try often enough.

Delta debugging (Zeller and Hildebrandt, TSE 2002) over the program's own tree instead of its lines: statements, functions, threads and declarations are
left out, first many at a time; then what surrounds statements is; then values become simpler ones. Until nothing more can go, or time is up.
"""
import argparse
import os
import subprocess
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from racing_programs import program  # noqa: E402


class Shrinker:
    def __init__(self, tree, prefix, output, command, limit):
        self.tree, self.prefix, self.output, self.command = tree, prefix, output, command
        self.end = time.monotonic() + limit
        self.tests = 0

    def fails(self):
        """Whether the program as it is now shows the fault; then it is the output."""
        attempt = self.output.removesuffix(".c") + ".try.c"
        with open(attempt, "w", encoding="utf-8") as file:
            file.write(program.file_of([(self.prefix, self.tree)]))
        self.tests += 1
        if subprocess.run([*self.command, attempt], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 1:
            return False
        os.replace(attempt, self.output)
        return True

    def replace(self, pieces, instead):
        """Tries to put `instead[i]` in the place of `pieces[i]`; whether it may stay."""
        before = [piece.instead for piece in pieces]
        for piece, new in zip(pieces, instead):
            piece.instead = new
        if time.monotonic() < self.end and self.fails():
            return True
        for piece, old in zip(pieces, before):
            piece.instead = old
        return False

    def of_kind(self, kind):
        return [piece for piece in self.tree.walk() if piece.kind == kind and piece.instead is None]

    def leave_out(self):
        """Statements, in chunks that get smaller. Later ones first: what they use stands before them."""
        size, changed = max(1, len(self.of_kind("statement")) // 2), False
        while size:
            pieces = self.of_kind("statement")[::-1]
            at = 0
            while at < len(pieces):
                chunk = pieces[at:at + size]
                if self.replace(chunk, [""] * len(chunk)):
                    changed = True
                at += size
            size //= 2
        return changed

    def unwrap(self):
        """What surrounds statements."""
        changed = False
        for piece in self.of_kind("statement"):
            for inner in (p for p in piece.walk() if p is not piece and p.kind == "glue" and p.text().strip()):
                if piece.instead is None and self.replace([piece], [inner]):
                    changed = True
        return changed

    def simplify(self):
        changed = False
        for piece in self.of_kind("value"):
            if piece.text() in ("0", "1", "") or piece.instead is not None:
                continue
            inner = [p for p in piece.children() if p.kind == "value"]
            changed |= any(self.replace([piece], [new]) for new in ["1", "0", *inner])
        return changed

    def run(self):
        if not self.fails():
            return False
        while time.monotonic() < self.end:
            changed = self.leave_out()
            changed |= self.unwrap()
            changed |= self.simplify()
            if not changed:
                break
        subprocess.run(["clang-format-19", "-i", "--style={BasedOnStyle: Google, ColumnLimit: 120}", self.output], check=False)
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--time", type=float, default=600)
    parser.add_argument("seed", type=int)
    parser.add_argument("output")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    shrinker = Shrinker(program.make(options.seed, "p_"), "p_", options.output, options.command, options.time)
    if not shrinker.run():
        print("the program does not show the fault")
        sys.exit(1)
    print(f"{options.output}: {shrinker.tests} tests")


main()
