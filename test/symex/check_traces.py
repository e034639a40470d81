#!/usr/bin/env python3
"""Checks symbolic traces: is what the interpreter computes along a recorded path what the recording says?

    check_traces.py [--order] [--programs] [--semantics] [--torture] [--seeds FIRST-LAST] [--racing FIRST-LAST] [--kept] [--policy P] SCRATCH
                    [PATTERN...]

The programs are those of test/record/check_programs.py, racing ones (test/model/racing_programs), and small ones whose traces were wrong once (programs).
Each is recorded once (heddle record); trace_of
makes the trace.
Every branch that was computed must go where the thread went, every value that was logged must be the computed one, and
the trace must fit together. No trace may be wrong. Those of programs on the lists below say that they are not exact (some only in some runs); if all of one of them
are, or another one is not, that is an error as well, so that the lists stay true.

With --order the run also logs every access in the order that really happened (variant record-order), and order_oracle evaluates the trace under that
order: every value that was read or written, every branch and the failure must be as they were.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "record"), os.path.join(os.path.dirname(HERE), "model")]
import check_programs  # noqa: E402
from racing_programs import batches  # noqa: E402
from recorded_run import Wrong  # noqa: E402

# Programs whose traces are not exact, and why: under any policy,
NOT_EXACT = {
    "handlers": "jumps out of handlers of faults, behind which some of the blocks told may not have been entered",
}
# and besides under --policy paths, where addresses are expressions.
NOT_EXACT_BY_PATHS = {
    "lines_of_a_file": "getline's block is known by a pointer that the library gives",
    "shop": "texts are copied and compared whose places and lengths depend on shared memory",
}
# Not tried under --policy paths: their traces say that they are not exact, and hold wrong values besides.
LEFT_OUT_BY_PATHS = {
    "containers": "writes at addresses that come from unknown values leave what they overwrite as it was",
}
SUMMARY = re.compile(r"(\d+) threads, (\d+) events, ")


def tool(name):
    return os.path.join(os.environ["HEDDLE_BUILD"], "test-tools", name) if "HEDDLE_BUILD" in os.environ else name


def kept_jobs():
    folder = os.path.join(HERE, "programs")
    for source in sorted(os.listdir(folder)):
        for level in check_programs.LEVELS:
            base, suffix = os.path.splitext(source)
            yield check_programs.Job(base + level, os.path.join(folder, source), [*check_programs.COMPILER[suffix], level, "-g"])


def base_of(name):
    return re.sub(r"(_fixed)?(-O\d)?$", "", name)


def is_known(options, name):
    """To be not exact."""
    return base_of(name) in NOT_EXACT or (options.policy == "paths" and base_of(name) in NOT_EXACT_BY_PATHS)


def trace(options, executable, name, arguments):
    """Records one run and checks its trace: (summary line, problem or None)."""
    recording = os.path.join(options.scratch, name + ".rec")
    shutil.rmtree(recording, ignore_errors=True)
    how = ["--variant", "record-order" + ("" if options.policy == "standard" else "-" + options.policy), "--memory-model", "tso"] if options.order else []
    how += ["--sync-order"] if options.sync_order else []
    subprocess.run(["heddle", "record", "-q", "--policy", options.policy, *how, "--keep-passing", "--hang-timeout", "5s", "-o", recording, "--",
                    executable, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    command = [tool("order_oracle" if options.order else "trace_of"), recording]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=options.patience, check=False)
    except subprocess.TimeoutExpired:
        return "", f"{name}: no trace in {options.patience} s: {' '.join(command)}"
    inexact = re.match(r"not exact after \d+ passes\n|.*, not exact, 0 mismatches ", result.stdout)
    if result.returncode == 1 and inexact and is_known(options, name):
        options.seen[base_of(name)].add("not exact")
        shutil.rmtree(recording)
        return result.stdout.strip().splitlines()[-1], None
    # One that hung or failed may not have come so far.
    if result.returncode == 0 and is_known(options, name) and result.stdout.rstrip().endswith("failure none"):
        options.seen[base_of(name)].add("exact")
    if result.returncode != 0:
        return "", f"{name}: {' '.join(command)}\n  {(result.stdout + result.stderr).strip()[-600:]}"
    shutil.rmtree(recording)
    return result.stdout.strip().splitlines()[-1], None


def check(checker, options, job):
    """For each run of the job: (name, summary line, problem or None)."""
    runs = getattr(job, "runs", [(job.name, job.arguments)])
    try:
        executable = checker.build(job)
    except Wrong as wrong:
        return [(job.name, "", f"{job.name}: {wrong}")]
    return [(name, *trace(options, executable, name, arguments)) for name, arguments in runs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    for name in ("programs", "torture", "semantics", "kept"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--order", action="store_true", help="compare with the order that really happened")
    parser.add_argument("--sync-order", action="store_true", help="record with it; with --order, the stamps' order is compared instead of values")
    parser.add_argument("--seeds", default="")
    parser.add_argument("--racing", default="", metavar="FIRST-LAST")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--policy", default="standard")
    parser.add_argument("--patience", type=int, default=60)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    options.seen = collections.defaultdict(set)  # of those on the lists: what their traces were
    jobs = check_programs.collect(options)
    if options.kept:
        left_out = LEFT_OUT_BY_PATHS if options.policy == "paths" else {}
        jobs += [job for job in kept_jobs() if base_of(job.name) not in left_out and (not options.patterns or any(fnmatch.fnmatch(job.name, each) for each in options.patterns))]
    if options.racing:
        jobs += batches.jobs(options.racing, check_programs.Job)
    checker = check_programs.Checker(options)
    if sum(job.compiler[0] == "c++" for job in jobs) > 6:
        checker.precompile()
    traces = events = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(lambda job: check(checker, options, job), jobs):
            for name, line, problem in results:
                traces += 1
                if problem:
                    wrong += 1
                    print(problem, flush=True)
                    continue
                if options.verbose:
                    print(f"{name}: {line}", flush=True)
                events += int(SUMMARY.match(line)[2])
    for name in sorted(name for name, kinds in options.seen.items() if kinds == {"exact"}):
        wrong += 1
        print(f"{name}: its traces are exact: take it from the list of those that are not")
    print(f"{traces} traces, {events} events, {wrong} errors")
    sys.exit(1 if wrong else 0)


main()
