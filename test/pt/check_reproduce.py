#!/usr/bin/env python3
"""Programs that fail: recorded by emulated Intel PT, reproduced from the trace, replayed 20 times.

    check_reproduce.py BUILD SCRATCH [-O LEVEL] [--cores N] [--time T] [--least N] PROGRAM.c[=ARGUMENT]...

A program that does not fail within the time is skipped, and said so. --least: how many must be reproduced.
"""
import json
import os
import shutil
import sys

from pt_checks import argument_parser, compile_program, run


def first_error(text):
    lines = [line for line in text.splitlines() if line.startswith("heddle:") or line.strip().startswith(("at:", "why:"))]
    return "; ".join(line.strip() for line in lines[:3])


def check(args, source):
    source, _, argument = source.partition("=")
    name = os.path.basename(source).rsplit(".", 1)[0]
    folder = os.path.join(args.scratch, f"{name}{argument}-{args.level}-{args.cores}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    heddle = os.path.join(args.build, "bin", "heddle")
    app = os.path.join(folder, name)
    compiled = compile_program(args.build, source, args.level, app, *args.define)
    if compiled.returncode != 0:
        return "broken", compiled.stderr[:300]
    recording = os.path.join(folder, "run.rec")
    recorded = run([heddle, "record", "--mode", "pt", "--emulate", "--cores", str(args.cores), "--runs", "500", "--time",
                    f"{args.time}s", "--hang-timeout", f"{args.hang}s", "-o", recording, "--", app, *argument.split()], args.time + 60, cwd=folder)
    if recorded.returncode in (0, 12):
        return "no failure", ""
    if recorded.returncode != 10:
        return "not recorded", first_error(recorded.stderr)
    reproduced = run([heddle, "reproduce", recording, "--time", f"{args.time}s", "-o", os.path.join(folder, "found.heddle")],
                     args.time * 3 + 60, cwd=folder)
    if reproduced.returncode != 0:
        return "not reproduced", first_error(reproduced.stderr)
    times = 0
    for _ in range(20):
        replayed = run([heddle, "replay", os.path.join(folder, "found.heddle")], 60, cwd=folder)
        times += replayed.returncode == 0
    return ("reproduced" if times == 20 else "not replayed"), f"replayed {times} of 20"


def main():
    parser = argument_parser()
    parser.add_argument("-O", dest="level", default="1")
    parser.add_argument("-D", dest="define", action="append", default=[])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--time", type=int, default=30)
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--hang", type=int, default=10)
    args = parser.parse_args()
    args.define = [f"-D{each}" for each in args.define]
    counts = {}
    for source in args.programs:
        verdict, text = check(args, source)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{os.path.basename(source)} -O{args.level} {args.cores} cores: {verdict} {text}", flush=True)
    print(json.dumps(counts))
    return 0 if counts.get("reproduced", 0) >= args.least else 1


if __name__ == "__main__":
    sys.exit(main())
