#!/usr/bin/env python3
"""Decode oracle: is the path that a recording is decoded to exactly the path that was executed, for every thread?

    check_programs.py [options] SCRATCH [PATTERN...]

Programs, of which those whose names match a shell pattern are taken (default: all):
  --programs          test/programs, with the bug and repaired; they may crash or hang
  --torture           test/lit/record/Inputs/torture: exceptions, jumps, signals, threads' ends, fork, crashes, ...
  --semantics         the programs on synchronisation in test/lit/control/Inputs/semantics
  --seeds FIRST-LAST  random programs (random_programs/generate.py)

Each is compiled with heddle; its variants that log every block too run, --runs times; record_oracle compares. Programs that are known to end well
must do so. `--policies turn` takes one of the three policies for each program in turn. What goes wrong stays in SCRATCH, and the command that
shows it again is printed.
"""
import argparse
import concurrent.futures
import fnmatch
import importlib.util
import os
import shlex
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.dont_write_bytecode = True
sys.path[:0] = [HERE, os.path.join(HERE, "random_programs")]
import generate  # noqa: E402
import recorded_run  # noqa: E402
from recorded_run import Wrong  # noqa: E402

COMPILER = {".c": ["cc", "-std=gnu11"], ".cpp": ["c++", "-std=c++20"]}
LEVELS = ["-O0", "-O1", "-O2"]
# Programs of the torture that fail as they should, by their arguments.
FAILING = {"crash.c": ["segv", "abort", "assert", "fpe", "overflow", "exit", "quick"], "uncaught.cpp": ["", "noexcept"]}
HEADERS = ["algorithm", "atomic", "condition_variable", "functional", "future", "map", "memory", "mutex", "stdexcept", "string", "thread", "vector"]


class Job:
    """One program: how it is made and run."""

    def __init__(self, name, source, compiler, arguments=(), well=True, patience=20.0):
        self.name, self.source, self.compiler, self.arguments = name, source, compiler, list(arguments)
        self.well, self.patience = well, patience  # must it end with exit code 0? When is it late?
        self.text = None  # of a source that is yet to be written


def load_catalogue(folder=None):
    path = os.path.join(TEST, "lit", "programs", "Inputs", "check_programs.py")
    specification = importlib.util.spec_from_file_location("catalogue", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.load(folder or os.path.join(TEST, "programs"))


def program_jobs():
    for i, program in enumerate(load_catalogue()):
        base, suffix = os.path.splitext(program.name)
        for fixed in (False, True):
            flags = [LEVELS[i % 3], "-g", *(["-DFIXED"] if fixed else [])]
            yield Job(f"{base}{'_fixed' if fixed else ''}", program.path, COMPILER[suffix] + flags, program.args, well=fixed,
                      patience=20.0 if fixed else 2.0)


def folder_jobs(folder, well=True):
    for i, source in enumerate(sorted(os.listdir(folder))):
        base, suffix = os.path.splitext(source)
        for arguments in FAILING.get(source, [None]):
            flags = [LEVELS[i % 3], "-g"]
            name = base if arguments is None else f"{base}_{arguments or 'plain'}"
            yield Job(name, os.path.join(folder, source), COMPILER[suffix] + flags, [arguments] if arguments else [], well and arguments is None)


def random_jobs(seeds):
    for seed in seeds:
        text, suffix, compiler = generate.generate(seed)
        job = Job(f"random{seed}", f"random{seed}{suffix}", [*compiler, "-g"])
        job.text = text
        yield job


class Checker:
    def __init__(self, options):
        self.options = options
        self.precompiled = {}

    def precompile(self):
        """The standard headers are most of the work of compiling a C++ program: read them once for each level."""
        header = os.path.join(self.options.scratch, "standard.h")
        with open(header, "w", encoding="utf-8") as file:
            file.writelines(f"#include <{name}>\n" for name in HEADERS)
        for level in [*LEVELS, "-O3"]:
            self.precompiled[level] = f"{header}{level}.pch"
            recorded_run.run_tool(["clang++-19", "-std=c++20", level, "-g", "-w", "-pthread", "-fpch-instantiate-templates", "-x", "c++-header", header,
                                   "-o", self.precompiled[level]])

    def build(self, job):
        executable = os.path.join(self.options.scratch, job.name)
        source = job.source
        if job.text is not None:
            source = os.path.join(self.options.scratch, job.source)
            with open(source, "w", encoding="utf-8") as file:
                file.write(job.text)
        level = next(flag for flag in job.compiler if flag.startswith("-O"))
        headers = ["-include-pch", self.precompiled[level]] if job.compiler[0] == "c++" and level in self.precompiled else []
        recorded_run.run_tool(["heddle", *job.compiler, *headers, "-w", "-pthread", source, "-o", executable])
        return executable

    def check(self, job, policies):
        """(summaries, errors)."""
        summaries, errors = [], []
        try:
            executable = self.build(job)
        except Wrong as wrong:
            return [], [f"{job.name}: {wrong}"]
        for policy in policies:
            try:
                variant = recorded_run.variant_of(executable, policy)
                for repetition in range(self.options.runs):
                    summaries.append(self.record(job, executable, variant, policy, repetition))
            except Wrong as wrong:
                errors.append(f"{job.name}, policy {policy}: {wrong}\n  again: {self.again(job, policy)}")
        if not errors and not self.options.keep:
            self.remove(job, executable)
        return summaries, errors

    def record(self, job, executable, variant, policy, repetition):
        folder = f"{executable}.{policy}.rec"
        code = recorded_run.run(variant, job.arguments, folder, scratch=self.options.scratch, patience=job.patience, clock=repetition % 2 == 0)
        if job.well and code != 0:
            ended = "late" if code is None else f"exit code {code}"
            raise Wrong(f"{ended}: HEDDLE_RECORD_FOLDER={folder} {variant} {shlex.join(job.arguments)}\n{recorded_run.output_of(folder)[-1000:]}")
        summary = recorded_run.decode(executable, folder, policy)
        if recorded_run.counts(summary)["threads"] != 0:
            raise Wrong(f"threads have ended, but their logs stop in the middle: {folder}\n{summary}")
        return summary

    def again(self, job, policy):
        sets = f"--seeds {job.name[6:]}-{job.name[6:]}" if job.text is not None else "--programs --torture --semantics"
        return f"{sys.argv[0]} {sets} --policies {policy} --keep SCRATCH {job.name}"

    def remove(self, job, executable):
        for policy in recorded_run.VARIANTS:
            shutil.rmtree(f"{executable}.{policy}.rec", ignore_errors=True)
        for path in [executable, *([os.path.join(self.options.scratch, job.source)] if job.text is not None else [])]:
            os.remove(path)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("--torture", action="store_true")
    parser.add_argument("--semantics", action="store_true")
    parser.add_argument("--seeds", default="")
    parser.add_argument("--policies", default="standard,paths,clap", help="or: turn")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="what went well, too")
    options = parser.parse_args()
    options.scratch = os.path.abspath(options.scratch)
    return options


def collect(options):
    jobs = []
    if options.programs:
        jobs += program_jobs()
    if options.torture:
        jobs += folder_jobs(os.path.join(TEST, "lit", "record", "Inputs", "torture"))
    if options.semantics:
        jobs += folder_jobs(os.path.join(TEST, "lit", "control", "Inputs", "semantics"))
    if options.seeds:
        first, _, last = options.seeds.partition("-")
        jobs += random_jobs(range(int(first), int(last or first) + 1))
    return [job for job in jobs if not options.patterns or any(fnmatch.fnmatchcase(job.name, pattern) for pattern in options.patterns)]


def main():
    options = arguments()
    os.makedirs(options.scratch, exist_ok=True)
    start = time.monotonic()
    jobs = collect(options)
    checker = Checker(options)
    if sum(job.compiler[0] == "c++" for job in jobs) > 6:
        checker.precompile()
    turn = list(recorded_run.VARIANTS)
    policies = [[turn[i % 3]] if options.policies == "turn" else options.policies.split(",") for i in range(len(jobs))]
    logs = blocks = wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for summaries, errors in pool.map(checker.check, jobs, policies):
            for summary in summaries:
                counts = recorded_run.counts(summary)
                logs += counts["logs"]
                blocks += counts["blocks"]
            wrong += len(errors)
            for error in errors:
                print(error, flush=True)
    print(f"{len(jobs)} programs, {logs} logs, {blocks} blocks, {wrong} errors, {time.monotonic() - start:.0f} s")
    return 1 if wrong or not jobs or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
