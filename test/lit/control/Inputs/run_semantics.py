#!/usr/bin/env python3
"""The programs of Inputs/semantics: natively, then under control, nothing may fail.

  run_semantics.py [options] SCRATCH [PATTERN...]

Each program that matches a shell pattern (default: all) is built with heddle, run natively, hunted with several strategies and memory
models, and run once with real threads and once without preemptions; all of it must end with exit code 0.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import shlex
import subprocess
import sys
import time

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "semantics")
CONTROL = ["--quiet", "--fail-exit-code", "nonzero"]
COMPILER = {".c": ["heddle", "cc", "-std=gnu11"], ".cpp": ["heddle", "c++", "-std=c++20"]}
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
HUNTS = [("random", "sc"), ("pct:3", "sc"), ("pos", "tso"), ("random", "pso")]
PATIENCE = 120


def run(command, folder):
    """What went wrong, or nothing."""
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return f"not finished after {PATIENCE} s: {shlex.join(command)}"
    return f"exit code {done.returncode}: {shlex.join(command)}\n{done.stdout[-2500:]}" if done.returncode != 0 else ""


def commands(program, executable, options):
    source = os.path.join(SOURCES, program)
    yield "build", COMPILER[os.path.splitext(program)[1]] + FLAGS + [source, "-o", executable]
    yield "native", [f"./{executable}"]
    yield "nonpreemptive", ["heddle", "run", *CONTROL, "--strategy", "nonpreemptive", "--", f"./{executable}"]
    yield "threads", ["heddle", "run", *CONTROL, "--strategy", "random", "--seed", "7", "--substrate", "threads", "--", f"./{executable}"]
    for strategy, model in HUNTS:
        yield f"{strategy}/{model}", ["heddle", "hunt", *CONTROL, "--strategy", strategy, "--memory-model", model, "--runs",
                                      str(options.runs), "-o", f"{executable}.sched", "--", f"./{executable}"]


def check(program, options):
    executable = program.replace(".", "_")
    start, row, wrong = time.monotonic(), [program], []
    for name, command in commands(program, executable, options):
        error = run(command, options.scratch)
        row.append("WRONG" if error else "ok")
        if error:
            wrong.append(f"{program}, {name}: {error}")
            if name in ("build", "native"):
                break
    return row, wrong, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--runs", type=int, default=200, help="of each hunt (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    programs = [name for name in sorted(os.listdir(SOURCES)) if not options.patterns or any(fnmatch.fnmatchcase(name, p) for p in options.patterns)]
    errors, start = [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row, wrong, seconds in pool.map(lambda program: check(program, options), programs):
            print(f"{row[0]:24} {' '.join(f'{cell:5}' for cell in row[1:])}  {seconds:5.1f} s", flush=True)
            errors += wrong
    for error in errors:
        print(f"\n{error}")
    print(f"\n{len(programs)} programs, {len(errors)} errors, {time.monotonic() - start:.0f} s")
    return 1 if errors or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
