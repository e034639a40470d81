#!/usr/bin/env python3
"""The programs of test/programs under control: each fails as its head says, its schedule replays, its repaired variant does not fail.

  hunt_programs.py [options] FOLDER-OF-PROGRAMS SCRATCH [PATTERN...]

For each program whose name matches a shell pattern (default: all):
  hunt      finds a failure of the stated kind (or one that HEDDLE-ALSO names) under its memory model, within bounds
  fibres    the schedule that hunt wrote fails in the same way in each of --times replays in one process
  threads   ... and with real threads
  stronger  under the next stronger memory model, nothing fails
  repaired  the repaired variant does not fail under any model

SCRATCH keeps the executables and schedules; the commands of what went wrong are printed and can be given by hand.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import os
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "programs", "Inputs"))
import check_programs  # noqa: E402

MODELS = ["sc", "tso", "pso"]
# Where nothing may fail.
STRATEGIES = ["random", "pct:3"]
FAILURE_FOUND = 10


class Wrong(Exception):
    """A step that did not do what it should; the text says what, with the command."""


class Checker:
    def __init__(self, options, precompiled):
        self.options, self.precompiled = options, precompiled

    def run(self, command, codes):
        """(exit code, object that --json printed). Wrong when the code is none of `codes`."""
        shown = shlex.join(command)
        try:
            done = subprocess.run(command, cwd=self.options.scratch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, errors="replace", timeout=self.options.patience)
        except subprocess.TimeoutExpired as error:
            raise Wrong(f"not finished after {self.options.patience} s: {shown}") from error
        if done.returncode not in codes:
            raise Wrong(f"exit code {done.returncode}: {shown}\n{summary(done.stdout)}\n{done.stderr[-1500:]}")
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError as error:
            raise Wrong(f"no JSON on standard output: {shown}\n{done.stdout[-1000:]}") from error

    def build(self, program, fixed):
        name = f"{program.name.replace('.', '_')}{'.fixed' if fixed else ''}"
        command = check_programs.COMPILER[program.suffix] + check_programs.FLAGS[program.suffix] + check_programs.COMMON
        command = command + ["-g"] + (["-DFIXED"] if fixed else [])
        if program.suffix == ".cpp":
            command += ["-include-pch", self.precompiled.result()]
        done = subprocess.run(command + [program.path, "-o", os.path.join(self.options.scratch, name)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Wrong(f"{shlex.join(command)}\n{done.stdout[-1500:]}")
        return f"./{name}"

    def hunt_command(self, program, executable, model, strategy, runs, more):
        codes = ["--fail-exit-code", program.failure.split(":")[1]] if program.failure.startswith("exit:") else []
        return ["heddle", "hunt", "--json", "--quiet", "--memory-model", model, "--strategy", strategy, "--runs", str(runs),
                *codes, *more, "--", executable, *program.args]

    def find(self, program, executable, schedule):
        """(which strategy found it in how many runs, kind of the failure)."""
        command = self.hunt_command(program, executable, program.model, "mix", self.options.runs,
                                    ["--time", f"{self.options.time}s", "--shorten-time", "2s", "-o", schedule])
        _, answer = self.run(command, (FAILURE_FOUND,))
        kind = answer["failure"]["kind"]
        if kind not in [program.failure, *program.also]:
            raise Wrong(f"found {kind} instead of {program.failure}: {shlex.join(command)}\n{answer['failure']['identity']}")
        return f"{answer['runs']} {answer['found_by']['strategy']}", kind

    def nothing_fails(self, program, executable, model):
        for strategy in STRATEGIES:
            self.run(self.hunt_command(program, executable, model, strategy, self.options.passing_runs, []), (0,))

    def replay(self, schedule, substrate):
        times = self.options.times
        _, answer = self.run(["heddle", "replay", "--json", "--quiet", "--times", str(times), "--substrate", substrate, schedule], (0,))
        if answer["reproduced"] != times:
            raise Wrong(f"{answer['reproduced']} of {times} replays of {schedule} with {substrate} fail as expected")
        return f"{answer['reproduced']}"

    def check(self, program):
        """One row of the table: results by column, texts of what is wrong."""
        row, wrong = {"program": program.name, "model": program.model}, []
        start = time.monotonic()

        def step(column, action):
            try:
                row[column] = action()
            except Wrong as error:
                row[column] = "WRONG"
                wrong.append(f"{program.name}, {column}: {error}")
                return None
            return row[column]

        schedule = f"{program.name.replace('.', '_')}.sched"
        executable = step("build", lambda: self.build(program, False))
        fixed = executable and step("build", lambda: self.build(program, True))
        if fixed:
            if step("hunt", lambda: self.find(program, executable, schedule)):
                row["hunt"], row["failure"] = row["hunt"]
                step("fibres", lambda: self.replay(schedule, "fibres"))
                step("threads", lambda: self.replay(schedule, "threads"))
            if program.model != "sc":
                stronger = MODELS[MODELS.index(program.model) - 1]
                step("stronger", lambda: self.nothing_fails(program, executable, stronger) or "passes")
            for model in ("sc", "pso"):
                if row.get("repaired") != "WRONG":
                    step("repaired", lambda m=model: self.nothing_fails(program, fixed, m) or "passes")
        row["seconds"] = f"{time.monotonic() - start:.1f}"
        return row, wrong


def summary(output):
    """What matters of a JSON answer."""
    try:
        answer = json.loads(output)
    except ValueError:
        return output[-1000:]
    failure = answer.get("failure") or {}
    return failure.get("identity") or json.dumps({key: value for key, value in answer.items() if not isinstance(value, (list, dict))})[:800]


def print_table(rows):
    columns = ["program", "model", "failure", "hunt", "fibres", "threads", "stronger", "repaired", "seconds"]
    cells = [columns] + [[row.get(column, "WRONG" if row.get("build") == "WRONG" and column == "hunt" else "") for column in columns] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--runs", type=int, default=100000, help="to find the failure (default: %(default)s)")
    parser.add_argument("--time", type=int, default=20, help="seconds for the same (default: %(default)s)")
    parser.add_argument("--passing-runs", type=int, default=150, help="of each strategy, where nothing may fail (default: %(default)s)")
    parser.add_argument("--times", type=int, default=100, help="replays with each substrate (default: %(default)s)")
    parser.add_argument("--patience", type=int, default=60, help="seconds for one command (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    return options


def precompile(scratch):
    check_programs.COMMON = check_programs.COMMON + ["-g"]
    return check_programs.precompile(scratch)


def main():
    options = arguments()
    os.makedirs(options.scratch, exist_ok=True)
    programs = [program for program in check_programs.load(options.programs)
                if not options.patterns or any(fnmatch.fnmatchcase(program.name, pattern) for pattern in options.patterns)]
    start, rows, errors = time.monotonic(), [], []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool, concurrent.futures.ThreadPoolExecutor(1) as header:
        checker = Checker(options, header.submit(precompile, options.scratch))
        # C first: these do not need the precompiled headers.
        for row, wrong in pool.map(checker.check, sorted(programs, key=lambda program: program.suffix)):
            rows.append(row)
            errors += wrong
    print_table(sorted(rows, key=lambda row: row["program"]))
    for error in errors:
        print(f"\n{error}")
    print(f"\n{len(programs)} programs, {len(errors)} errors, {time.monotonic() - start:.0f} s")
    return 1 if errors or not programs else 0


if __name__ == "__main__":
    sys.exit(main())
