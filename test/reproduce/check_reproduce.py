#!/usr/bin/env python3
"""The whole way, on test/programs: record runs until one fails, reproduce that failure from the recording, replay its schedule.

    check_reproduce.py [--folder F] [--level=-O1] [--models sc,tso,pso] [--policy P] [--sync-order] [--runs N] [--times N] [--least N] [--jobs N] [--verbose] SCRATCH
                       [PATTERN...]

A recording is another one each time, and not every one can be reproduced yet: at least as many as --least says (default: all that fail) must be.
A failure that needs store buffers must also be proved impossible under sc (exit code 11).
holes.txt has the programs that cannot be reproduced yet, by policy: they count as "hole", and may be taken off the list when they can.
A program whose failure does not show natively (a freed block that nobody misses) cannot be recorded: that is said and not counted as wrong.
Failures that only a search by controlled runs found (found_by_search) are counted of their own ("searched").
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "record")]
import check_programs  # noqa: E402

DONE = ("reproduced", "searched")


def run(command, timeout):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "late")


def attempt(executable, arguments, name, how, options):
    """Records until a run fails, reproduces, replays: (verdict, what to say, kind of the failure that was reproduced)."""
    recording, schedule = os.path.join(options.scratch, name + ".rec"), os.path.join(options.scratch, name + ".heddle")
    run(["rm", "-rf", recording, schedule], 20)
    recorded = run(["heddle", "record", "-q", *how, "--runs", str(options.runs), "--time", "60s", "--hang-timeout", "5s", "-o", recording, "--",
                    executable, *arguments], 120)
    if recorded.returncode != 10:
        return "unseen", f"no failure was recorded (exit code {recorded.returncode})", ""
    command = ["heddle", "reproduce", "--json", "--time", f"{options.time}s", "--shorten-time", "2s", "-o", schedule, recording]
    result = run(command, options.time + 120)
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        return "wrong", f"{' '.join(command)}: exit code {result.returncode}: {result.stderr[-600:].strip()}", ""
    attempts = "; ".join(f"{a['memory_model']} facts {a['facts']}{' but ' + str(a['doubted']) if a['doubted'] else ''}: {a['verdict']} {a['seconds']} s {a['why']} {a['replay']}" for a in answer["attempts"])
    last = answer["attempts"][-1]
    if answer["verdict"] == "reproduced" and (last["doubted"] or (last["facts"] == "none" and any(a["verdict"] == "impossible" and a["facts"] != "none"
                                                                                                 for a in answer["attempts"][-2:]))):
        return "wrong", f"the facts exclude what happened: {attempts}", ""
    if answer["verdict"] != "reproduced":
        return answer["verdict"], f"{answer['recorded_failure']}: {attempts} ({answer['events']} events, {answer['approximations']} approximations)", ""
    replayed = run(["heddle", "replay", "-q", "--times", str(options.times), schedule], 120)
    if replayed.returncode != 0:
        return "wrong", f"heddle replay --times {options.times} {schedule}: {replayed.stderr[-400:].strip()}", ""
    if "--memory-model" in how:
        impossible = run(["heddle", "reproduce", "-q", "--memory-model", "sc", "--time", f"{options.time}s", recording], options.time + 60)
        if impossible.returncode != 11:
            return "wrong", f"heddle reproduce --memory-model sc {recording}: exit code {impossible.returncode}: {impossible.stderr[-400:].strip()}", ""
    measures = answer["measures"]
    run(["rm", "-rf", recording, schedule], 20)
    return ("searched" if answer["found_by_search"] else "reproduced", f"{answer['events']} events, {measures['preemptions']} preemptions, {measures['switches']} switches, "
            f"{answer['attempts'][-1]['seconds']} s", answer["failure"]["kind"])


def holes(policy):
    """Names of the programs that cannot be reproduced from recordings by this policy."""
    with open(os.path.join(HERE, "holes.txt"), encoding="utf-8") as file:
        rows = [line.split(None, 2) for line in file if not line.startswith("#")]
    return {name for name, policies, _ in rows if policy in policies.split(",")}


def check(program, number, options):
    """(verdict, what to say)"""
    base, suffix = os.path.splitext(program.name)
    executable = os.path.join(options.scratch, base)
    level = options.level or check_programs.LEVELS[number % 3]
    command = ["heddle", *check_programs.COMPILER[suffix], level, "-g", "-pthread", program.path, "-o", executable]
    built = run(command, 120)
    if built.returncode != 0:
        return "wrong", f"does not compile: {' '.join(command)}\n{built.stderr[-500:]}"
    how = ["--policy", options.policy, "--chaos"] + (["--sync-order"] if options.sync_order else []) if program.model == "sc" else ["--memory-model", program.model]
    verdict, text, kind = attempt(executable, program.args, base, how, options)
    if verdict in DONE and kind != program.failure and kind not in program.also:
        return "wrong", f"reproduced {kind}, the program's failure is {program.failure}"
    if verdict not in (*DONE, "unseen") and program.name in holes(options.policy):
        return "hole", text
    return verdict, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--folder", help="with the programs (default: test/programs)")
    parser.add_argument("--level", help="of optimisation: -O1 (default: each another one)")
    parser.add_argument("--models", default="sc,tso,pso")
    parser.add_argument("--policy", default="standard")
    parser.add_argument("--sync-order", action="store_true", help="record with it")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--least", type=int, help="how many must be reproduced")
    parser.add_argument("--time", type=int, default=60, help="for solving, in seconds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    os.makedirs(options.scratch, exist_ok=True)
    programs = [p for p in check_programs.load_catalogue(options.folder) if p.model in options.models.split(",")
                and (not options.patterns or any(fnmatch.fnmatch(p.name, pattern) for pattern in options.patterns))]
    verdicts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for program, (verdict, text) in zip(programs, pool.map(lambda pair: check(pair[1], pair[0], options), enumerate(programs))):
            verdicts[verdict] += 1
            if options.verbose or verdict not in (*DONE, "unseen", "hole"):
                print(f"{program.name}: {verdict}: {text}", flush=True)
    print(f"{len(programs)} programs: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    enough = set(verdicts) <= {*DONE, "unseen", "hole"} if options.least is None else sum(verdicts[done] for done in DONE) >= options.least
    sys.exit(0 if enough and not verdicts["wrong"] else 1)


if __name__ == "__main__":
    main()
