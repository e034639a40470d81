#!/usr/bin/env python3
"""Runs killed by SIGKILL at random times: every log is readable, and what it is decoded to is a prefix of what ran.

    kill_runs.py [--runs N] [--seed S] [--most SECONDS] SCRATCH SOURCE...

The programs must keep several threads busy for longer than they are given.
"""
import argparse
import concurrent.futures
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recorded_run  # noqa: E402
from recorded_run import Wrong  # noqa: E402


def build(source, scratch):
    name, suffix = os.path.splitext(os.path.basename(source))
    executable = os.path.join(scratch, name)
    recorded_run.run_tool(["heddle", "c++" if suffix == ".cpp" else "cc", "-O1", "-g", "-pthread", source, "-o", executable])
    return executable, {policy: recorded_run.variant_of(executable, policy) for policy in recorded_run.VARIANTS}


def one_run(program, number, options):
    executable, variants = program
    policy = list(variants)[number % len(variants)]
    folder = f"{executable}.{number}.rec"
    delay = recorded_run.random_delay(options.seed * 1000003 + number, options.most)
    code = recorded_run.run(variants[policy], [], folder, scratch=options.scratch, patience=60, clock=number % 2 == 0, kill_after=delay)
    try:
        if code is not None:
            raise Wrong(f"ended by itself with code {code} within {delay:.3f} s")
        summary = recorded_run.decode(executable, folder, policy, prefix=True)
    except Wrong as wrong:
        return 0, f"run {number}, killed after {delay:.4f} s: {wrong}\n  recording: {folder}"
    shutil.rmtree(folder)
    return recorded_run.counts(summary)["blocks"], ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=0.06)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    programs = [build(source, options.scratch) for source in options.sources]
    blocks = wrong = empty = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        numbers = range(options.runs)
        for decoded, error in pool.map(lambda number: one_run(programs[number % len(programs)], number, options), numbers):
            blocks += decoded
            empty += decoded == 0
            wrong += bool(error)
            if error:
                print(error, flush=True)
    print(f"{options.runs} runs killed, {wrong} errors, {blocks} blocks decoded, {empty} runs before the first block")
    return 1 if wrong or empty * 2 > options.runs else 0


if __name__ == "__main__":
    sys.exit(main())
