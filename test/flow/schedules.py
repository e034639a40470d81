#!/usr/bin/env python3
"""Flow recordings of failures become schedules of controlled runs.

  schedules.py HEDDLE FOLDER [--runs N] [--least N] PROGRAM...

Each program is recorded with --mode flow until it fails, `heddle reproduce` makes a schedule of the recording, and the schedule is replayed. Prints a
line for each program; exit code 1 if a replay of the recording or of a schedule does not show the failure, or fewer than N programs got a schedule."""
import argparse
import json
import os
import subprocess
import sys


def run(command, folder, limit=120):
    try:
        return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, b"", b"not done in time")


def check(heddle, source, folder, runs):
    """In words, whether there is a schedule, whether something is wrong."""
    name = os.path.splitext(os.path.basename(source))[0]
    language = "c++" if source.endswith(".cpp") else "cc"
    standard = ["-std=c++20"] if language == "c++" else []
    built = run([heddle, language, *standard, "-O1", "-g", "-pthread", "-w", source, "-o", name, "-latomic"], folder)
    if built.returncode != 0:
        return "does not compile", False, True
    recorded = run([heddle, "record", "--mode", "flow", "--runs", str(runs), "--time", "20s", "--hang-timeout", "3s", "-q", "-o",
                    f"{name}.rec", "--", f"./{name}"], folder)
    if recorded.returncode != 10:
        return "did not fail", False, False
    made = run([heddle, "reproduce", "--json", "--shorten-time", "5s", "-o", f"{name}.heddle", f"{name}.rec"], folder)
    if made.returncode not in (0, 13):
        return f"reproduce: exit code {made.returncode}: {made.stderr.decode(errors='replace')[-200:]}", False, True
    answer = json.loads(made.stdout)
    if not answer["replayed"] or (made.returncode == 13) != (answer["schedule"] is None):
        return f"reproduce: exit code {made.returncode}: {answer}", False, True
    if answer["schedule"] is None:
        return f"no schedule: {answer['why']}", False, False
    replayed = run([heddle, "replay", "-q", f"{name}.heddle"], folder)
    measures = answer["measures"]
    return (f"{measures['preemptions']} preemptions, {measures['switches']} switches, replay: exit code {replayed.returncode}", True,
            replayed.returncode != 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("programs", nargs="+")
    given = parser.parse_args()
    given.heddle = os.path.abspath(given.heddle)
    os.makedirs(given.folder, exist_ok=True)
    schedules = wrong = 0
    for source in given.programs:
        text, made, bad = check(given.heddle, os.path.abspath(source), given.folder, given.runs)
        print(f"{os.path.basename(source)}: {text}", flush=True)
        schedules += made
        wrong += bad
    print(f"{len(given.programs)} programs, {schedules} schedules, {wrong} wrong")
    return 1 if wrong or schedules < given.least else 0


sys.exit(main())
