#!/usr/bin/env python3
"""Sharing oracle: does an access that the sharing analysis calls private ever meet another thread?

    run.py --tool INSTRUMENT [--programs N] [--seed S] [--jobs J] [--levels O0,O2,O2s] [--keep DIR] [--box NAME]

Makes N random programs (generate.py), judges and instruments them (instrument.cpp), runs them (runtime.c) and
reports every violation with the command that shows it again. Exit code 1 when there is one. Levels with an s obey the
aliasing rules, the others are compiled with -fno-strict-aliasing.
"""
import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import generate  # noqa: E402


def call(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def check(tool, folder, seed, level, box):
    """(verdict, text): verdict is ok, violation, limit, or error (a bug of the oracle itself)."""
    base = os.path.join(folder, f"p{seed}-{level}")
    strict = level.endswith("s")
    with open(base + ".c", "w") as file:
        file.write(generate.Program(seed, strict, box).text())
    aliasing = "-fstrict-aliasing" if strict else "-fno-strict-aliasing"
    steps = [["clang-19", "-w", "-" + level.rstrip("s"), aliasing, "-c", "-emit-llvm", base + ".c", "-o", base + ".bc"],
             [tool, base + ".bc", base + ".i.bc", os.path.join(HERE, "oracle.table")],
             # The fast way of choosing instructions loses pointers that are given as floating point numbers.
             ["clang-19", "-w", "-O0", "-mllvm", "-fast-isel=false", "-fuse-ld=lld", base + ".i.bc", os.path.join(folder, "runtime.o"), "-pthread", "-o", base]]
    for step in steps:
        done = call(*step)
        if done.returncode != 0:
            return "error", " ".join(step) + "\n" + done.stderr
    done = call(base)
    if done.stdout.startswith("OK"):
        return "ok", done.stdout
    if done.stdout.startswith("LIMIT"):
        return "limit", done.stdout
    if done.stdout.startswith("VIOLATION"):
        return "violation", done.stdout
    return "error", f"{base}: exit code {done.returncode}\n{done.stdout}{done.stderr}"


def one_seed(tool, folder, seed, levels, keep, box):
    results = []
    for level in levels:
        try:
            verdict, text = check(tool, folder, seed, level, box)
        except subprocess.TimeoutExpired as error:
            verdict, text = "error", str(error)
        results.append((seed, level, verdict, text))
        base = os.path.join(folder, f"p{seed}-{level}")
        for suffix in [".c", ".bc", ".i.bc", ""]:
            if not os.path.exists(base + suffix):
                continue
            if verdict in ("violation", "error") and keep:
                shutil.copy(base + suffix, keep)
            os.remove(base + suffix)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--levels", default="O0,O2,O2s")
    parser.add_argument("--keep", default="")
    parser.add_argument("--box", choices=[b[0] for b in generate.BOXES])
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    counts = {"ok": 0, "violation": 0, "limit": 0, "error": 0}
    private = quiet = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        made = call("clang-19", "-O2", "-c", os.path.join(HERE, "runtime.c"), "-o", os.path.join(folder, "runtime.o"))
        if made.returncode != 0:
            sys.exit(made.stderr)
        seeds = range(options.seed, options.seed + options.programs)
        jobs = [pool.submit(one_seed, options.tool, folder, seed, options.levels.split(","), options.keep, options.box) for seed in seeds]
        for job in concurrent.futures.as_completed(jobs):
            for seed, level, verdict, text in job.result():
                counts[verdict] += 1
                if verdict == "ok":
                    private += int(text.split()[1])
                    quiet += text.split()[1] == "0"
                else:
                    print(f"seed {seed} -{level}: {verdict}: {text.strip()}")
                    print(f"  again: {sys.argv[0]} --tool {options.tool} --programs 1 --seed {seed} --levels {level} --keep DIR")
    print(f"{counts}, {private} private accesses run, {quiet} runs without any")
    sys.exit(1 if counts["violation"] or counts["error"] else 0)


if __name__ == "__main__":
    main()
