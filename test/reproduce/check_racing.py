#!/usr/bin/env python3
"""The whole way, on racing programs (test/model/racing_programs): those that fail in one of a few runs are reproduced and replayed.

    check_racing.py [--policy P] [--sync-order] [--runs N] [--times N] [--jobs N] [--verbose] SCRATCH FIRST-LAST

"impossible" is always wrong: the failure did happen. Others than "reproduced" are told, and counted: at most --most may be left.
"""
import argparse
import collections
import os
import sys

sys.dont_write_bytecode = True
import check_reproduce  # noqa: E402  (finds the others)
import check_programs  # noqa: E402
sys.path.insert(0, os.path.join(check_programs.TEST, "model"))
from racing_programs import batches  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("seeds", metavar="FIRST-LAST")
    parser.add_argument("--policy", default="standard")
    parser.add_argument("--sync-order", action="store_true", help="record with it")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--time", type=int, default=20, help="for solving, in seconds")
    parser.add_argument("--most", type=int, default=0, help="how many failures may be left that are not reproduced")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    checker = check_programs.Checker(options)
    verdicts = collections.Counter()
    for job in batches.jobs(options.seeds, check_programs.Job):
        executable = checker.build(job)
        for name, arguments in job.runs:
            verdict, text, kind = check_reproduce.attempt(executable, arguments, name, ["--policy", options.policy, "--chaos", *(["--sync-order"] if options.sync_order else [])], options)
            verdicts[verdict] += 1
            if options.verbose or verdict not in (*check_reproduce.DONE, "unseen"):
                print(f"{name} ({executable} {arguments[0]}): {verdict}: {kind} {text}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    left = sum(count for verdict, count in verdicts.items() if verdict not in (*check_reproduce.DONE, "unseen"))
    sys.exit(1 if verdicts["impossible"] or verdicts["wrong"] or left > options.most else 0)


main()
