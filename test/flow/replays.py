#!/usr/bin/env python3
"""Records programs with --mode flow (or a baseline), whether they fail or not, and replays each recording.

  replays.py HEDDLE FOLDER [--runs N] [--only TEXT] [--mode MODE] [--level=LEVEL] PROGRAM...

The replay compares the values at every read and the end; what is left to check here is that it says so. Prints a line for each
program that does not, and a summary: programs, recordings, failures among them.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys


def head(path, key):
    with open(path) as text:
        for line in text:
            if line.startswith(f"// {key}: "):
                return line.split(": ", 1)[1].split()
    return []


def run(command, folder, limit=120):
    try:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, late.stdout or b"", b"not done in time")


def check(heddle, source, folder, runs, mode, hang, options, level, right):
    """Problems, recordings, failures."""
    name = os.path.splitext(os.path.basename(source))[0]
    language = "c++" if source.endswith(".cpp") else "cc"
    standard = ["-std=c++20"] if language == "c++" else []
    built = run([heddle, language, *standard, level, "-g", "-pthread", "-w", source, "-o", name, "-latomic",
                 *head(source, "HEDDLE-CC")], folder)
    if built.returncode != 0:
        return [f"{name}: does not compile: {built.stderr.decode(errors='replace')[-300:]}"], 0, 0
    problems, recordings, failures = [], 0, 0
    for number in range(runs):
        target = os.path.join(folder, f"{name}.{number}.rec")
        recorded = run([heddle, "record", "--mode", mode, "--keep-passing", "--hang-timeout", hang, *options, "-q", "-o",
                        target, "--", f"./{name}", *head(source, "HEDDLE-ARGS")], folder)
        if recorded.returncode not in (0, 10):
            problems.append(f"{name}: record: exit code {recorded.returncode}: {recorded.stderr.decode(errors='replace')[-300:]}")
            continue
        recordings += 1
        failures += recorded.returncode == 10
        if right and recorded.returncode == 10 and b"ended with exit code" not in recorded.stderr:
            problems.append(f"{name}: fails when recorded: {recorded.stderr.decode(errors='replace')[-300:]}")
        replayed = run([heddle, "replay", "--json", target], folder)
        try:
            answer = json.loads(replayed.stdout)
        except ValueError:
            answer = {"verdict": "none", "differences": [replayed.stderr.decode(errors="replace")[-300:]]}
        if replayed.returncode != 0 or answer["verdict"] != "reproduced":
            problems.append(f"{name}: replay of {target}: exit code {replayed.returncode}, {answer['verdict']}: "
                            f"{'; '.join(answer['differences'])}; {replayed.stderr.decode(errors='replace')[-200:]}")
        else:
            shutil.rmtree(target)
    return problems, recordings, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--mode", default="flow")
    parser.add_argument("--hang", default="3s")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--level", default="-O1", help="of optimisation: --level=-O2")
    parser.add_argument("--right", action="store_true", help="these programs do not fail but by an exit code")
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args()
    given.heddle = os.path.abspath(given.heddle)
    os.makedirs(given.folder, exist_ok=True)
    problems, recordings, failures, programs = [], 0, 0, 0
    for source in given.programs:
        if given.only not in source:
            continue
        programs += 1
        found, recorded, failed = check(given.heddle, os.path.abspath(source), given.folder, given.runs, given.mode, given.hang,
                                        given.option, given.level, given.right)
        for problem in found:
            print(problem, flush=True)
        problems += found
        recordings += recorded
        failures += failed
    print(f"{programs} programs, {recordings} recordings, {failures} of failures, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
