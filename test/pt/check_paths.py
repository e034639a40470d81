#!/usr/bin/env python3
"""Paths recovered from emulated Intel PT, against the program's own arithmetic: the interpreter executes each thread along its
path, and a branch whose condition it knows must go where the path goes (a mismatch otherwise). A wrong block, a missed round
of a loop or a wrong call shows as a mismatch or as a path that does not fit.

    check_paths.py BUILD SCRATCH [--levels 0,1,2] [--cores 1,2,4] PROGRAM...
"""
import os
import re
import shutil
import sys

from pt_checks import argument_parser, compile_program, each_way, run


def check(build, scratch, source, level, cores):
    name = os.path.basename(source).rsplit(".", 1)[0]
    app, recording = os.path.join(scratch, name), os.path.join(scratch, "run.rec")
    compiled = compile_program(build, source, level, app)
    if compiled.returncode != 0:
        return "broken", compiled.stderr[:200]
    shutil.rmtree(recording, ignore_errors=True)
    recorded = run([os.path.join(build, "bin", "heddle"), "record", "--mode", "pt", "--emulate", "--cores", cores, "--keep-passing",
                    "--hang-timeout", "5s", "-o", recording, "--", app], 60, cwd=scratch)
    if recorded.returncode not in (0, 10):
        return "not recorded", recorded.stderr[:200]
    traced = run([os.path.join(build, "test-tools", "trace_of"), recording, "--text"], 60)
    if not (found := re.search(r"(\d+) mismatches ?(.*)", traced.stdout)):
        return "does not fit", " ".join(traced.stdout.split())[:200]
    ends = re.findall(r"^thread .* constraints, (.+)$", traced.stdout, re.M)
    if ends:  # what others got from that thread is not known then
        return "unfollowed", ends[0]
    return ("mismatch", found.group(0)) if found.group(1) != "0" else ("right", "")


def main():
    parser = argument_parser()
    parser.add_argument("--levels", default="0,1,2")
    parser.add_argument("--cores", default="1,2,4")
    args = parser.parse_args()
    os.makedirs(args.scratch, exist_ok=True)
    counts = {}
    for source, level, cores in each_way(args):
        verdict, text = check(args.build, args.scratch, source, level, cores)
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict != "right":
            print(f"{os.path.basename(source)} -O{level} {cores} cores: {verdict}: {text}", flush=True)
    print(", ".join(f"{counts[each]} {each}" for each in sorted(counts)))
    return 1 if counts.get("mismatch", 0) + counts.get("does not fit", 0) + counts.get("not recorded", 0) else 0


if __name__ == "__main__":
    sys.exit(main())
