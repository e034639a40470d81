#!/usr/bin/env python3
"""The index oracle (test/core/index_oracle.cpp) over programs with known bugs.

  index_programs.py [--points N] [--flags=-O1] [--plain] ORACLE PROGRAMS-FOLDER WORK-FOLDER [NAME...]

Looks at about N points in all; each program is compiled with loop counters and must be exact. With --plain it has none: then counts may be
unknown, but those that are known must be right. The oracle looks at a program for some seconds only, so on a slow machine there are fewer points.
Prints the sums; ends with 1 when an index differs, or when there were less than --least points (default 1)."""
import argparse
import os
import re
import subprocess
import sys

LINE = re.compile(r"(\d+) points, (\d+) skipped; (\d+) frames, (\d+) loops, (\d+) of unknown count, (\d+) merges; (\d+) different")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--least", type=int, default=1)
    parser.add_argument("--flags", default="-O1")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("oracle")
    parser.add_argument("programs")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or sorted(n for n in os.listdir(options.programs) if n.endswith((".c", ".cpp")))
    os.makedirs(options.work, exist_ok=True)
    sums = [0] * 7
    for name in names:
        source, app = os.path.join(options.programs, name), os.path.join(options.work, name.rsplit(".", 1)[0])
        compiler = ["heddle-c++", "-std=c++20"] if name.endswith(".cpp") else ["heddle-cc", "-std=c11"]
        counters = [] if options.plain else ["-fheddle-loop-counters"]
        subprocess.run([*compiler, *options.flags.split(), *counters, "-pthread", source, "-o", app], check=True)
        with open(source, encoding="utf-8") as file:
            arguments = [line.split(":", 1)[1].split() for line in file if line.startswith("// HEDDLE-ARGS:")]
        points = -(-options.points // len(names)) + 1
        command = [options.oracle, *([] if options.plain else ["--exact"]), "--points", str(points), app, *(arguments[0] if arguments else [])]
        # The program's own complaints are nobody's business: most of these fail by design.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, check=False)
        found = LINE.search(done.stdout)
        if done.returncode != 0 or not found:
            print(f"{name}: {done.stdout}", flush=True)
        if found:
            sums = [total + int(number) for total, number in zip(sums, found.groups())]
        elif done.returncode == 0:
            return 1
    print("{} points, {} skipped; {} frames, {} loops, {} of unknown count, {} merges; {} different".format(*sums))
    return 1 if sums[6] != 0 or sums[0] < options.least else 0


sys.exit(main())
