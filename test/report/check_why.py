#!/usr/bin/env python3
"""Hunts the failures of programs of test/programs, makes their reports, and compares pattern and decisive pairs with the head of the
program.

  check_why.py [--least N] SCRATCH [PATTERN...]      PATTERN: shell patterns of file names; all without one

The programs of test/report/programs/known, which were written after the patterns were, are always among them.

A program counts when, for one of three hunts, the pattern is the one of the head and every pair of HEDDLE-DECISIVE is among the
decisive pairs: the first event at the first marked line, the second at the second one. An event is at a line when the line is that
of one of the frames it is performed in. The names in known.txt are those that are right today; one of them that is wrong fails the
test, whatever --least says.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "lit", "programs", "Inputs"))
from check_programs import COMPILER, FLAGS, Program  # noqa: E402

SEEDS = (1, 1001, 2001)  # of the first run: another failure of the same bug, or another order that leads to it, may come first


def run(command, folder, limit=120):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit, errors="replace")


def hunt(program, name, seed, folder):
    """The schedule of a failure."""
    schedule = f"{name}.{seed}.heddle"
    command = ["heddle", "hunt", "--json", "--memory-model", program.model, "--time", "40s", "--shorten-time", "5s",
               "--seed", str(seed), "-o", schedule]
    if program.failure.startswith("exit:"):
        command += ["--fail-exit-code", program.failure[5:]]
    done = run(command + ["--", "./" + name] + program.args, folder)
    return schedule if done.returncode == 10 else None


def lines_of(event, file):
    lines = {event["line"]} if os.path.basename(event.get("file", "")) == file else set()
    for frame in event.get("stack", []):
        if frame["place"] and os.path.basename(frame["place"]["file"]) == file:
            lines.add(frame["place"]["line"])
    return lines


def problems(program, report):
    why, events = report["why"], report["events"]
    if why["pattern"] != program.pattern:
        yield f"pattern {why['pattern']} instead of {program.pattern}"
    pairs = [(lines_of(events[pair["first"]], program.name), lines_of(events[pair["second"]], program.name))
             for pair in why["decisive"]]
    for first, second in program.decisive:
        if not any(first in a and second in b for a, b in pairs):
            yield f"no pair {first} {second} among {[(sorted(a), sorted(b)) for a, b in pairs]}"
    for pair in why["decisive"]:
        flipped = pair["flipped"]
        if flipped["runs"] < 1 or flipped["passed"] < 1:
            yield f"a decisive pair that no passing run shows: {pair['text']}"
        a, b = events[pair["first"]], events[pair["second"]]
        if a["thread"] == b["thread"]:
            yield f"a pair of one thread: {pair['text']}"


def examine(path, folder):
    program = Program(path)
    name = os.path.splitext(program.name)[0]
    built = run(COMPILER[program.suffix] + FLAGS[program.suffix] + ["-O1", "-g", "-pthread", path, "-o", name], folder)
    if built.returncode != 0:
        return [f"does not compile: {built.stderr}"]
    found = ["no failure found"]
    for seed in SEEDS:
        schedule = hunt(program, name, seed, folder)
        if schedule is None:
            continue
        done = run(["heddle", "report", "--json", schedule, "-o", name + ".report"], folder)
        if done.returncode != 0:
            return [f"report ended with {done.returncode}: {done.stderr}"]
        found = list(problems(program, json.loads(done.stdout)))
        if not found:
            break
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*")
    given = parser.parse_args()
    os.makedirs(given.scratch, exist_ok=True)
    folder = os.path.abspath(given.scratch)
    programs, own = os.path.join(ROOT, "test", "programs"), os.path.join(ROOT, "test", "report", "programs", "known")
    paths = [os.path.join(own, name) for name in sorted(os.listdir(own))]
    paths += [os.path.join(programs, name) for name in sorted(os.listdir(programs)) if name.endswith((".c", ".cpp")) and
              (not given.patterns or any(fnmatch.fnmatch(name, pattern) for pattern in given.patterns))]
    right, known_wrong = [], []
    with open(os.path.join(ROOT, "test", "report", "known.txt"), encoding="utf-8") as file:
        known = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    for path in paths:
        name = os.path.basename(path)
        try:
            found = examine(path, folder)
        except subprocess.TimeoutExpired as error:
            found = [str(error)]
        print(f"{'right' if not found else 'WRONG' if name in known else 'not yet'}: {name}{''.join('; ' + text for text in found)}",
              flush=True)
        if not found:
            right.append(name)
        elif name in known:
            known_wrong.append(name)
    print(f"{len(right)} of {len(paths)} programs: pattern and decisive pairs as their heads say")
    if known_wrong or len(right) < given.least:
        sys.exit(f"wrong: {', '.join(known_wrong) or 'too few are right'}")


main()
