#!/usr/bin/env python3
"""Emulates programs, and compares what the decoder says with the emulator's log of every executed instruction, and with the
branches that perf script lists (perf has a decoder of its own).

    check_emulator.py PT_TOOL SCRATCH PROGRAM...     each on 1, 2 and 4 virtual cores, and once with all code traced
"""
import collections
import os
import subprocess
import sys


def branches_of_perf(trace):
    out = subprocess.run(["perf", "script", "-i", trace, "--itrace=be", "-F", "tid,ip,addr"], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, check=True)
    lines = [line.replace("=>", " ").split() for line in out.stdout.splitlines()]
    errors = [line for line in lines if "instruction trace error" in " ".join(line)]
    return collections.Counter(" ".join(line) for line in lines if line not in errors), errors


def check(tool, scratch, program, options):
    trace, log = os.path.join(scratch, "trace.data"), os.path.join(scratch, "log")
    name = f"{os.path.basename(program)} {' '.join(options)}"
    run = subprocess.run([tool, "emulate", *options, "--log", log, trace, program], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        return f"{name}: {run.stderr}"
    checked = subprocess.run([tool, "check", trace, log], capture_output=True, text=True)
    if checked.returncode != 0:
        return f"{name}: {checked.stdout}{checked.stderr}"
    ours = collections.Counter(subprocess.run([tool, "branches", trace], capture_output=True, text=True,
                                              check=True).stdout.splitlines())
    theirs, errors = branches_of_perf(trace)
    if errors:
        return f"{name}: perf script: {errors[0]}"
    if ours != theirs:
        return f"{name}: only here {list((ours - theirs).items())[:5]}, only in perf {list((theirs - ours).items())[:5]}"
    print(f"{name}: {sum(ours.values())} branches, {checked.stdout.splitlines()[0]}")
    return None


def main():
    tool, scratch, programs = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(scratch, exist_ok=True)
    problems = []
    for program in programs:
        for options in (["--cores", "1"], ["--cores", "2", "--seed", "2"], ["--cores", "4", "--slice", "20", "--seed", "3"],
                        ["--cores", "2", "--all", "--seed", "4"]):
            problem = check(tool, scratch, os.path.abspath(program), options)
            if problem:
                print(problem)
                problems.append(problem)
    print(f"{len(programs)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
