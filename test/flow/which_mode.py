#!/usr/bin/env python3
"""Which way of recording reproduces which failure: the programs in defeating/, recorded by path and by flow.

  which_mode.py HEDDLE FOLDER [--limit SECONDS] [PROGRAM...]

Prints a table. Exit code 1 if a flow recording does not replay; what path recording gives is shown, not judged."""
import argparse
import glob
import os
import subprocess
import sys
import time


def run(command, folder, limit):
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit)
        return done.returncode, time.monotonic() - start, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return None, time.monotonic() - start, ""


def by_path(heddle, name, folder, limit):
    code, _, _ = run([heddle, "record", "--runs", "3000", "--chaos", "--time", "30s", "-q", "-o", f"{name}.path.rec", "--", f"./{name}"],
                     folder, 60)
    if code != 10:
        return "no failure seen"
    code, passed, _ = run([heddle, "reproduce", "-o", f"{name}.heddle", f"{name}.path.rec"], folder, limit)
    return {0: f"reproduced, {passed:.1f} s", 11: "said to be impossible", 12: f"undecided, {passed:.1f} s",
            13: "another outcome", None: f"none in {limit:.0f} s"}.get(code, f"exit code {code}")


def by_flow(heddle, name, folder):
    code, _, text = run([heddle, "record", "--mode", "flow", "--runs", "3000", "--time", "60s", "-q", "-o", f"{name}.flow.rec", "--",
                         f"./{name}"], folder, 120)
    if code != 10:
        return False, f"no failure seen ({code}) {text[-200:]}"
    code, passed, text = run([heddle, "replay", f"{name}.flow.rec"], folder, 120)
    return code == 0, f"reproduced, {passed:.1f} s" if code == 0 else f"exit code {code}: {text[-200:]}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("folder")
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--flow-only", action="store_true")
    parser.add_argument("programs", nargs="*")
    given = parser.parse_args()
    given.heddle = os.path.abspath(given.heddle)
    os.makedirs(given.folder, exist_ok=True)
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "defeating")
    good = True
    for source in sorted(glob.glob(here + "/*.c")):
        name = os.path.splitext(os.path.basename(source))[0]
        if given.programs and name not in given.programs:
            continue
        code, _, text = run([given.heddle, "cc", "-O1", "-g", "-pthread", source, "-lm", "-o", name], given.folder, 60)
        if code != 0:
            sys.exit(text)
        path = "not tried" if given.flow_only else by_path(given.heddle, name, given.folder, given.limit)
        reproduced, flow = by_flow(given.heddle, name, given.folder)
        good &= reproduced
        print(f"{name:12}  path: {path:28}  flow: {flow}", flush=True)
    return 0 if good else 1


sys.exit(main())
