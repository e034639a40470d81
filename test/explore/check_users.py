#!/usr/bin/env python3
"""heddle check on test/explore/programs, which nobody wrote with it in mind: safe as they are, broken with -DBUG, under each memory model.

    check_users.py [--time SECONDS] [--least N] [--models LIST] [--options WORDS] SCRATCH [PATTERN...]

The second line of a program says under which models it is safe, and, where it is not all of them, under which -DBUG fails; and flags that the
compiler needs.
"Undecided" is no error, but at least as many verdicts as --least says must be given (each program has two for each model).
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["sc", "tso", "pso"]


def verdict(executable, model, options):
    done = subprocess.run(["heddle", "check", "--json", "--memory-model", model, "--time", f"{options.time}s", "--no-shorten", "-o", "/dev/null",
                           *options.options.split(), "--", executable], capture_output=True, text=True, timeout=options.time + 60, check=False)
    try:
        result = json.loads(done.stdout[done.stdout.index("{"):])
    except ValueError:
        return "error", done.stderr, {}
    return result["verdict"], result["why"], result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--time", type=int, default=20)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--options", default="")
    parser.add_argument("--models", type=lambda text: text.split(","), default=MODELS)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    os.makedirs(options.scratch, exist_ok=True)
    wrong = given = undecided = 0
    folder = os.path.join(HERE, "programs")
    for name in sorted(os.listdir(folder)):
        if options.patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in options.patterns):
            continue
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            head = file.read().splitlines()[1]
        safe = re.search(r"safe:([a-z ]*)", head)[1].split()
        found = re.search(r"bug:([a-z ]*)", head)
        broken = found[1].split() if found else MODELS
        flags = re.search(r"flags:([^;]*)", head)
        compiler = ["heddle", "c++", "-std=c++20"] if name.endswith(".cpp") else ["heddle", "cc"]
        for bug in (False, True):
            executable = os.path.join(options.scratch, name.replace(".", "_") + ("_bug" if bug else ""))
            subprocess.run([*compiler, "-O1", "-g", "-pthread", *(["-DBUG"] if bug else []), *(flags[1].split() if flags else []), path, "-o", executable], check=True)
            for model in options.models:
                seen, why, result = verdict(executable, model, options)
                fails = model in broken if bug else model not in safe
                text = f"{name}{' -DBUG' if bug else ''} {model}: {seen} {why}"
                if seen == ("failure" if fails else "safe"):
                    given += 1
                elif seen in ("failure", "safe", "error"):
                    wrong += 1
                    print("WRONG", text)
                else:
                    undecided += 1
                    print("undecided", text)
                if options.verbose and result:
                    print(f"  {text}: {result['executions']} executions, {result['states']} states, {result['seconds']} s", flush=True)
    print(f"{given} verdicts, {undecided} undecided, {wrong} wrong")
    sys.exit(1 if wrong or given < options.least else 0)


main()
