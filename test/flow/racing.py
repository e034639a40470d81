#!/usr/bin/env python3
"""Random programs with real threads (test/model/racing_programs): each is recorded with --mode flow, every second one
with --chaos, and replayed.

  racing.py HEDDLE FOLDER FIRST-LAST [--jobs N] [--batch N]

What was not done in time on a busy machine says nothing: it is counted apart, and tried once more. More than one in a hundred of these is a
failure of the test. A replay that diverges, or that does not end the second time either, is one always."""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model"))
from racing_programs import batches  # noqa: E402


class Job:
    def __init__(self, name, source, compiler):
        self.name, self.source, self.compiler = name, source, compiler


def run(command, folder, limit=300):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)


def replay(heddle, target, folder):
    """The exit code, what heddle said as JSON, and on standard error."""
    done = run([heddle, "replay", "--json", target], folder)
    said = done.stderr.decode(errors="replace")
    try:
        return done.returncode, json.loads(done.stdout), said
    except ValueError:
        return done.returncode, {"verdict": "none", "differences": [said[-300:]], "events": 0, "edges": 0}, said


def check(job, heddle, folder):
    """Problems, and how often each count occurred: recordings, failures, events, edges, not in time."""
    try:
        return check_in_time(job, heddle, folder)
    except subprocess.TimeoutExpired:
        try:
            return check_in_time(job, heddle, folder)
        except subprocess.TimeoutExpired as late:
            print(f"{job.name}: not in time: {' '.join(late.cmd)}", flush=True)
            return [], [0, 0, 0, 0, 1]


def check_in_time(job, heddle, folder):
    for header in os.listdir(os.path.dirname(batches.__file__)):
        if header.endswith(".h"):
            shutil.copy(os.path.join(os.path.dirname(batches.__file__), header), folder)
    with open(os.path.join(folder, job.source), "w") as out:
        out.write(job.text)
    problems, counts = [], [0, 0, 0, 0, 0]
    built = run([heddle, *job.compiler, "-w", "-pthread", job.source, "-o", job.name], folder)
    if built.returncode != 0:
        return [f"{job.name}: does not compile: {built.stderr.decode(errors='replace')[-400:]}"], counts
    for number, (name, arguments) in enumerate(job.runs):
        chaos = ["--chaos"] if number % 2 else []
        target = os.path.join(folder, name + ".rec")
        shutil.rmtree(target, ignore_errors=True)
        recorded = run([heddle, "record", "--mode", "flow", *chaos, "--keep-passing", "--hang-timeout", "5s", "-q", "-o", target, "--",
                        f"./{job.name}", *arguments], folder)
        if recorded.returncode not in (0, 10):
            problems.append(f"{name}: record: exit code {recorded.returncode}: {recorded.stderr.decode(errors='replace')[-300:]}")
            continue
        code, answer, said = replay(heddle, target, folder)
        if any("in time" in difference for difference in answer["differences"]):
            counts[4] += 1
            code, answer, said = replay(heddle, target, folder)
        if code != 0 or answer["verdict"] != "reproduced":
            problems.append(f"{name} ({target}): exit code {code}: {'; '.join(answer['differences'])} {said[-200:]}")
        else:
            shutil.rmtree(target)
        for i, count in enumerate([1, recorded.returncode == 10, answer["events"], answer["edges"]]):
            counts[i] += count
    if not problems:
        for file in (job.source, job.name):
            os.unlink(os.path.join(folder, file))
    return problems, counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("folder")
    parser.add_argument("seeds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=10, help="programs in one executable")
    given = parser.parse_args()
    batches.SIZE = given.batch
    given.heddle = os.path.abspath(given.heddle)
    os.makedirs(given.folder, exist_ok=True)
    failed, total = 0, [0, 0, 0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        todo = [pool.submit(check, job, given.heddle, given.folder) for job in batches.jobs(given.seeds, Job)]
        for done in concurrent.futures.as_completed(todo):
            problems, counts = done.result()
            failed += len(problems)
            total = [a + b for a, b in zip(total, counts)]
            for problem in problems:
                print(problem, flush=True)
    print(f"{total[0]} recordings, {total[1]} of failures, {total[2]} events, {total[3]} edges, {total[4]} not in time, "
          f"{failed} problems")
    return 1 if failed or total[4] * 100 > total[0] else 0


sys.exit(main())
