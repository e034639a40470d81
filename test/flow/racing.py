#!/usr/bin/env python3
"""Random programs with real threads (test/model/racing_programs): each is recorded with --mode flow, and replayed.

  racing.py HEDDLE FOLDER FIRST-LAST [--jobs N] [--batch N]
"""
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


def run(command, folder, limit=100):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit)


def check(job, heddle, folder):
    """Problems, and how often each count occurred: recordings, failures, events, edges."""
    for header in os.listdir(os.path.dirname(batches.__file__)):
        if header.endswith(".h"):
            shutil.copy(os.path.join(os.path.dirname(batches.__file__), header), folder)
    with open(os.path.join(folder, job.source), "w") as out:
        out.write(job.text)
    problems, counts = [], [0, 0, 0, 0]
    built = run([heddle, *job.compiler, "-w", "-pthread", job.source, "-o", job.name], folder)
    if built.returncode != 0:
        return [f"{job.name}: does not compile: {built.stderr.decode(errors='replace')[-400:]}"], counts
    for name, arguments in job.runs:
        target = os.path.join(folder, name + ".rec")
        recorded = run([heddle, "record", "--mode", "flow", "--keep-passing", "--hang-timeout", "5s", "-q", "-o", target, "--",
                        f"./{job.name}", *arguments], folder)
        if recorded.returncode not in (0, 10):
            problems.append(f"{name}: record: exit code {recorded.returncode}: {recorded.stderr.decode(errors='replace')[-300:]}")
            continue
        replayed = run([heddle, "replay", "--json", target], folder)
        try:
            answer = json.loads(replayed.stdout)
        except ValueError:
            answer = {"verdict": "none", "differences": [replayed.stderr.decode(errors="replace")[-300:]], "events": 0, "edges": 0}
        if replayed.returncode != 0 or answer["verdict"] != "reproduced":
            problems.append(f"{name} ({target}): exit code {replayed.returncode}: {'; '.join(answer['differences'])} "
                            f"{replayed.stderr.decode(errors='replace')[-200:]}")
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
    os.makedirs(given.folder, exist_ok=True)
    failed, total = 0, [0, 0, 0, 0]
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        todo = [pool.submit(check, job, given.heddle, given.folder) for job in batches.jobs(given.seeds, Job)]
        for done in concurrent.futures.as_completed(todo):
            problems, counts = done.result()
            failed += len(problems)
            total = [a + b for a, b in zip(total, counts)]
            for problem in problems:
                print(problem, flush=True)
    print(f"{total[0]} recordings, {total[1]} of failures, {total[2]} events, {total[3]} edges, {failed} problems")
    return 1 if failed else 0


sys.exit(main())
