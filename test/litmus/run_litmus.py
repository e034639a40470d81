#!/usr/bin/env python3
"""Litmus tests under controlled execution: outcomes of many random runs against all outcomes the memory model allows.

  run_litmus.py [options] [PATTERN...]      named tests whose names match a shell pattern (default: all); --list shows them
  run_litmus.py --random N [--seed S]       random tests S, S + 1, ...

For each test and memory model, `heddle hunt` runs it many times; every outcome must be allowed, and every allowed one must be found:
more and more runs are made (up to --most) until it is. Random tests may have outcomes that are very rare: of theirs, nine in ten must be found,
and at least one that the next stronger model forbids, if there is any.

The program is kept in the folder given by -o, so that a failure can be looked at:
  heddle hunt --memory-model M --fail-exit-code N -- DIR/litmus TEST
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time

import emit_c
from catalogue import catalogue, known_errors
from memory_models import MODELS, allowed
from random_tests import random_test

FIRST_RUNS = 500
GROWTH = 4
ENOUGH_OF_RANDOM = 0.9


class Failure(Exception):
    pass


def build(tests, folder, compiler):
    source, program = os.path.join(folder, "litmus.c"), os.path.join(folder, "litmus")
    with open(source, "w", encoding="utf-8") as file:
        file.write(emit_c.emit(tests))
    command = [*compiler, "-std=c11", "-g", "-O1", "-pthread", "-Wall", "-Werror", "-Wno-unused-value", source, "-o", program]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}\n{done.stdout}")
    return program


def hunt(program, number, model, runs, seed, strategy):
    """Exit codes of the runs, with how often."""
    command = ["heddle", "hunt", "--json", "--quiet", "--runs", str(runs), "--seed", str(seed), "--strategy", strategy,
               "--memory-model", model, "--fail-exit-code", str(emit_c.UNKNOWN), "--", program, str(number)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, cwd=os.path.dirname(program))
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{' '.join(command)}\n  not finished after 120 s") from error
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}\n  ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-1000:]}")
    return {int(code): count for code, count in json.loads(done.stdout)["exit_codes"].items()}


def native(program, number, runs):
    """The processor's own outcomes, as a check of the oracle: x86 is TSO."""
    return {subprocess.run([program, str(number)]).returncode for _ in range(runs)}


def describe(test, outcome):
    return " ".join(f"{name}={value}" for name, value in zip(test.observed(), outcome))


def witnesses(test, model):
    """Outcomes that the model allows and the next stronger one does not."""
    stronger = MODELS[:MODELS.index(model)]
    return allowed(test, model) - allowed(test, stronger[-1]) if stronger else frozenset()


def enough(options, found, permitted, telling):
    if not options.random:
        return permitted <= found
    return len(found & permitted) >= ENOUGH_OF_RANDOM * len(permitted) and (not telling or telling & found)


def check(options, program, number, test, model):
    """One test under one model: (lines about what is wrong, outcomes found, allowed, runs)."""
    listed = emit_c.outcomes(test)
    permitted = {listed.index(outcome) for outcome in allowed(test, model)}
    telling = {listed.index(outcome) for outcome in witnesses(test, model)}
    found, total, runs = set(), 0, FIRST_RUNS
    while total == 0 or (not enough(options, found, permitted, telling) and total < options.most):
        for strategy in options.strategies:
            found |= set(hunt(program, number, model, runs, total + 1, strategy))
            total += runs
        runs *= GROWTH
    wrong = []
    head = f"{test.name} under {model} (test {number}): {test.text()}"
    for code in sorted(found - permitted):
        outcome = describe(test, listed[code]) if code < len(listed) else f"exit code {code}"
        wrong.append(f"{head}\n  forbidden, but seen: {outcome} (--fail-exit-code {code})")
    if not enough(options, found, permitted, telling):
        missing = "".join(f"\n    {describe(test, listed[code])}{' (telling)' if code in telling else ''}" for code in sorted(permitted - found))
        wrong.append(f"{head}\n  allowed, but not seen in {total} runs:{missing}")
    return wrong, len(found & permitted), len(permitted), total


def check_native(program, number, test):
    listed = emit_c.outcomes(test)
    permitted = {listed.index(outcome) for outcome in allowed(test, "tso")}
    return [f"{test.name}: {test.text()}\n  the processor shows exit code {code}, which TSO forbids"
            for code in native(program, number, 20) - permitted]


def run_all(options, tests, program):
    errors, rows, start = [], [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [(test, model, pool.submit(check, options, program, number, test, model))
                for number, test in enumerate(tests) for model in options.models]
        for test, model, job in jobs:
            try:
                wrong, found, permitted, runs = job.result()
            except Failure as error:
                wrong, found, permitted, runs = [f"{test.name} under {model}: {error}"], 0, 0, 0
            errors += wrong
            rows.append((test, model, found, permitted, runs, bool(wrong)))
            if options.verbose:
                print(f"{'WRONG' if wrong else 'ok':5} {test.name:24} {model}  {found:3} of {permitted:3} outcomes in {runs:7} runs", flush=True)
    found, permitted, runs = (sum(row[i] for row in rows) for i in (2, 3, 4))
    print(f"{len(tests)} tests, models {', '.join(options.models)}: {found} of {permitted} allowed outcomes seen in {runs} runs, "
          f"{time.monotonic() - start:.0f} s")
    return errors


def choose(options):
    if options.random:
        return [random_test(options.seed + i) for i in range(options.random)]
    named = catalogue()
    wrong = known_errors(named, allowed, MODELS)
    if wrong:
        raise Failure("the oracle is wrong:\n" + "\n".join(wrong))
    for pattern in options.patterns:
        if not fnmatch.filter(named, pattern):
            raise Failure(f"no test matches {pattern}")
    return [test for name, test in named.items() if not options.patterns or any(fnmatch.fnmatchcase(name, p) for p in options.patterns)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--list", action="store_true", help="show the tests and how many outcomes each model allows, run nothing")
    parser.add_argument("--native", action="store_true", help="run on the bare processor instead, with clang")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", default=",".join(MODELS), help="default: %(default)s")
    parser.add_argument("--strategies", default="random,pos", help="used in turn; default: %(default)s")
    parser.add_argument("--most", type=int, default=100000, metavar="RUNS", help="runs of one test under one model (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("-o", dest="folder", help="where to build; default: a temporary folder")
    parser.add_argument("-v", dest="verbose", action="store_true", help="one line for each test and model")
    options = parser.parse_args()
    options.models = options.models.split(",")
    options.strategies = options.strategies.split(",")
    return options


def main():
    options = arguments()
    tests = choose(options)
    if options.list:
        for number, test in enumerate(tests):
            counts = "/".join(str(len(allowed(test, model))) for model in MODELS)
            print(f"{number:3} {test.name:24} {counts:9} {test.text()}")
        return 0
    with tempfile.TemporaryDirectory(prefix="heddle-litmus-") as temporary:
        folder = os.path.abspath(options.folder or temporary)
        os.makedirs(folder, exist_ok=True)
        if options.native:
            program = build(tests, folder, ["clang-19"])
            errors = [error for number, test in enumerate(tests) for error in check_native(program, number, test)]
            print(f"{len(tests)} tests on the bare processor")
        else:
            errors = run_all(options, tests, build(tests, folder, ["heddle", "cc"]))
    for error in errors:
        print(error)
    print(f"{len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))
