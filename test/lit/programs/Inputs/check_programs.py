#!/usr/bin/env python3
"""Checks the collection of programs in test/programs.

  check_programs.py headers PROGRAMS           the machine-readable lines, the markers, the table in README.md
  check_programs.py table PROGRAMS             prints the table for README.md
  check_programs.py build PROGRAMS SCRATCH     compiles all with heddle cc / heddle c++, runs the repaired variants

The conventions are described in test/programs/README.md. Other tests import load() to know what to expect of a program.
"""
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys

FAILURES = {"assert", "abort", "exception", "segv", "fpe", "ill", "bus", "deadlock", "lost-wakeup", "use-after-free",
            "double-free", "exit:3", "livelock"}
MODELS = {"sc", "tso", "pso"}
PATTERNS = {"atomicity", "order", "deadlock", "lost-wakeup", "store-buffer", "race"}
KEYS = ["FAILURE", "MODEL", "PATTERN", "DECISIVE", "SMALL", "ALSO", "ARGS"]
OPTIONAL = {"ALSO", "ARGS"}
FLAGS = {".c": ["-std=c11"], ".cpp": ["-std=c++20"]}
COMPILER = {".c": ["heddle", "cc"], ".cpp": ["heddle", "c++"]}
COMMON = ["-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
HEADERS = ["condition_variable", "functional", "future", "map", "memory", "mutex", "string", "thread", "vector"]
RUNS = 3
TIMEOUT = 10


class Program:
    """One source file: what its head comment says, and where its markers stand."""

    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)
        self.suffix = os.path.splitext(path)[1]
        with open(path, encoding="utf-8") as file:
            self.lines = file.read().splitlines()
        self.errors = []
        self.values = {}
        self.read_head()
        self.read_markers()

    def error(self, text):
        self.errors.append(f"{self.name}: {text}")

    def read_head(self):
        head = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            head.append(line)
        self.head = head
        keys = []
        for line in head:
            match = re.match(r"^// HEDDLE-([A-Z]+): (\S.*)$", line)
            if match:
                keys.append(match[1])
                self.values.setdefault(match[1], []).append(match[2].strip())
            elif "HEDDLE" in line:
                self.error(f"not a line heddle understands: {line}")
        if keys != sorted(keys, key=lambda key: KEYS.index(key) if key in KEYS else 99):
            self.error(f"HEDDLE lines are not in the order {', '.join(KEYS)}")

    def read_markers(self):
        self.markers = {}
        for number, line in enumerate(self.lines, 1):
            for marker in re.findall(r"// \[([A-Z])\]", line):
                if marker in self.markers:
                    self.error(f"marker [{marker}] stands in lines {self.markers[marker]} and {number}")
                self.markers[marker] = number

    def one(self, key):
        return self.values.get(key, [""])[0]

    @property
    def failure(self):
        return self.one("FAILURE")

    @property
    def also(self):
        return [kind.strip() for kind in self.one("ALSO").split(",") if kind.strip()]

    @property
    def model(self):
        return self.one("MODEL")

    @property
    def pattern(self):
        return self.one("PATTERN")

    @property
    def small(self):
        return self.one("SMALL") == "yes"

    @property
    def args(self):
        return shlex.split(self.one("ARGS"))

    @property
    def decisive(self):
        """Pairs of line numbers: in failing runs the first comes before the second, in different threads."""
        pairs = []
        for text in self.values.get("DECISIVE", []):
            match = re.match(r"^([A-Z]) ([A-Z]) \S", text)
            if match and match[1] in self.markers and match[2] in self.markers:
                pairs.append((self.markers[match[1]], self.markers[match[2]]))
        return pairs

    def check(self):
        for key in self.values:
            if key not in KEYS:
                self.error(f"unknown line HEDDLE-{key}")
        for key in KEYS:
            count = len(self.values.get(key, []))
            if count == 0 and key not in OPTIONAL:
                self.error(f"no line HEDDLE-{key}")
            if count > 1 and key != "DECISIVE":
                self.error(f"{count} lines HEDDLE-{key}")
        for kind in [self.failure] + self.also:
            if kind not in FAILURES:
                self.error(f"unknown failure '{kind}'")
        if self.failure in self.also:
            self.error("HEDDLE-ALSO repeats HEDDLE-FAILURE")
        if self.model not in MODELS:
            self.error(f"unknown model '{self.model}'")
        if self.pattern not in PATTERNS:
            self.error(f"unknown pattern '{self.pattern}'")
        if self.one("SMALL") not in ("yes", "no"):
            self.error("HEDDLE-SMALL is yes or no")
        if (self.model != "sc") != (self.pattern == "store-buffer"):
            self.error(f"model {self.model} does not go with pattern {self.pattern}")
        for model in ("tso", "pso"):
            if self.name.startswith(model + "_") != (self.model == model):
                self.error(f"the name does not go with model {self.model}")
        if self.pattern == "deadlock" and self.failure != "deadlock":
            self.error(f"pattern deadlock does not go with failure {self.failure}")
        if self.pattern == "lost-wakeup" and self.failure != "lost-wakeup":
            self.error(f"pattern lost-wakeup does not go with failure {self.failure}")
        self.check_markers()
        if not any("The " in line and "bug" in line for line in self.head):
            self.error("the head comment does not say what the bug is")
        if not any(re.match(r"#if(n?def| !?defined\(?) ?FIXED", line) for line in self.lines):
            self.error("no repaired variant (#ifdef FIXED)")

    def check_markers(self):
        named = set()
        for text in self.values.get("DECISIVE", []):
            match = re.match(r"^([A-Z]) ([A-Z]) \S", text)
            if not match:
                self.error(f"HEDDLE-DECISIVE is two markers and a description, not '{text}'")
                continue
            named.update(match.groups())
        for marker in sorted(named - set(self.markers)):
            self.error(f"marker [{marker}] is not in the code")
        for marker in sorted(set(self.markers) - named):
            self.error(f"marker [{marker}] is not named by a HEDDLE-DECISIVE line")

    def row(self):
        kinds = self.failure + (f" ({', '.join(self.also)})" if self.also else "")
        size = f"{len(self.lines)}{', small' if self.small else ''}"
        return f"| `{self.name}` | {kinds} | {self.pattern} | {self.model} | {size} |"


def load(folder):
    """All programs, by name."""
    names = sorted(name for name in os.listdir(folder) if name.endswith((".c", ".cpp")))
    return [Program(os.path.join(folder, name)) for name in names]


def check_headers(folder):
    programs = load(folder)
    for program in programs:
        program.check()
    errors = [error for program in programs for error in program.errors]
    if len(programs) < 44:
        errors.append(f"only {len(programs)} programs")
    for what, wanted, present in (
            ("failure", FAILURES, {program.failure for program in programs}),
            ("model", MODELS, {program.model for program in programs}),
            ("pattern", PATTERNS, {program.pattern for program in programs})):
        errors += [f"no program with {what} {value}" for value in sorted(wanted - present)]
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        rows = [line for line in file.read().splitlines() if re.match(r"\| `\w+\.(c|cpp)`", line)]
    expected = [program.row() for program in programs]
    errors += [f"README.md lacks: {row}" for row in expected if row not in rows]
    errors += [f"README.md has a row that is not so: {row}" for row in rows if row not in expected]
    return programs, errors


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options)


def build(program, fixed, scratch, precompiled):
    """Compiles one variant; the repaired one is linked and run too. Gives the errors."""
    variant = "fixed" if fixed else "buggy"
    executable = os.path.join(scratch, f"{program.name}.{variant}")
    command = COMPILER[program.suffix] + FLAGS[program.suffix] + COMMON + (["-DFIXED"] if fixed else [])
    if program.suffix == ".cpp":
        command += ["-include-pch", precompiled]
    if not fixed:
        command.append("-c")
    done = run(command + [program.path, "-o", executable])
    if done.returncode != 0 or done.stdout:
        return [f"{program.name}, {variant}: {' '.join(command)}\n{done.stdout}"]
    errors = []
    for _ in range(RUNS if fixed else 0):
        try:
            done = run([executable] + program.args, timeout=TIMEOUT)
            if done.returncode != 0:
                errors.append(f"{program.name}, repaired: exit code {done.returncode}\n{done.stdout}")
        except subprocess.TimeoutExpired:
            errors.append(f"{program.name}, repaired: not finished after {TIMEOUT} s")
    return errors


def precompile(scratch):
    """The standard headers are most of the work of compiling a C++ program: read them once."""
    header = os.path.join(scratch, "standard.h")
    with open(header, "w", encoding="utf-8") as file:
        file.writelines(f"#include <{name}>\n" for name in HEADERS)
    done = run(["clang++-19"] + FLAGS[".cpp"] + COMMON + ["-fpch-instantiate-templates", "-x", "c++-header", header,
                                                          "-o", header + ".pch"])
    if done.returncode != 0:
        sys.exit(done.stdout)
    return header + ".pch"


def build_all(folder, scratch):
    os.makedirs(scratch, exist_ok=True)
    programs = load(folder)
    errors = []
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        precompiled = pool.submit(precompile, scratch)
        # C first: these do not need the precompiled headers.
        todo = sorted(programs, key=lambda program: program.suffix)
        jobs = [pool.submit(lambda p=p, f=f: build(p, f, scratch, precompiled.result() if p.suffix == ".cpp" else None))
                for p in todo for f in (False, True)]
        for job in jobs:
            errors += job.result()
    return programs, errors


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "headers":
        programs, errors = check_headers(arguments[1])
    elif len(arguments) == 2 and arguments[0] == "table":
        print("| program | failure (also) | pattern | model | lines |\n|---|---|---|---|---|")
        print("\n".join(program.row() for program in load(arguments[1])))
        return 0
    elif len(arguments) == 3 and arguments[0] == "build":
        programs, errors = build_all(arguments[1], arguments[2])
    else:
        print(__doc__, file=sys.stderr)
        return 2
    for error in errors:
        print(error)
    print(f"{len(programs)} programs, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
