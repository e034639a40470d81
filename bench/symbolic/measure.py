"""The table "symbolic" of scripts/bench: how fast threads are interpreted along their recorded paths.

First where nothing is symbolic: instructions per second of one thread that computes (kernel.c), from the difference of a long and a short
run, so that loading the program does not count. Then the programs of the table "recording", with less work: one recording of each, and
the time from it to its trace, beside CLAP's column "symbolic" (PLDI 2013, table 1), which was measured on another machine and on runs of
its own size: the events say how far they can be compared."""
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GOAL = 20e6  # instructions per second
SHORT, LONG = 5, 55  # rounds of the kernel
PATIENCE = 60  # seconds for one trace
# The part of the work of table "recording" that is done, and CLAP's events and seconds of symbolic execution.
PARTS = {"sort": (0.0005, 1265, 27), "pblock": (0.1, 65, 4), "fetch": (0.01, 1951, 125), "scan": (0.01, 2864, 332),
         "cache": (0.001, 81237, 770), "racey": (0.0001, 1361588, 857), "bbuf-short": (1, 64, 3), "sim_race-short": (1, 23, 0.8)}
SUMMARY = re.compile(r"(\d+) threads, (\d+) events, (\d+) constraints, .* (\d+) passes, (\d+) instructions, (not )?exact")


class Traced:
    """One trace, made in processor time `used` and `passed` seconds."""

    def __init__(self, build, recording):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run([os.path.join(build, "test-tools", "trace_of"), recording], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.passed = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.found = SUMMARY.search(done.stdout)
        self.exact = self.found is not None and self.found[6] is None
        if self.found is not None:
            self.threads, self.events, self.constraints, self.passes, self.instructions = (int(self.found[i]) for i in range(1, 6))


def kernel_rate(build, folder, runs, run):
    program = os.path.join(folder, "kernel")
    run([os.path.join(build, "bin", "heddle-cc"), "-O2", "-g", os.path.join(HERE, "kernel.c"), "-o", program])
    recordings = {}
    for rounds in (SHORT, LONG):
        recordings[rounds] = os.path.join(folder, f"kernel-{rounds}.rec")
        run([os.path.join(build, "bin", "heddle"), "record", "-q", "--keep-passing", "-o", recordings[rounds], "--", program, str(rounds)])
    rates = []
    for _ in range(runs):
        short, long = (Traced(build, recordings[rounds]) for rounds in (SHORT, LONG))
        rates.append((long.instructions - short.instructions) / (long.used - short.used))
    return rates


def record(build, program, executable, folder):
    """A recording of one run, made by heddle record as the programs start it."""
    recording, starter = os.path.join(folder, "recording"), os.path.join(folder, "start")
    with open(starter, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec {build}/bin/heddle record -q --keep-passing -o {recording} -- {executable} "$@"\n')
    os.chmod(starter, 0o755)
    program.run(starter, folder, dict(os.environ))
    return recording


def bench(build, compilers, folder, runs, table, run, say):
    os.makedirs(folder)
    rates = kernel_rate(build, folder, runs, run)
    rate = statistics.median(rates)
    table(f"symbolic, nothing shared: instructions interpreted per second of processor time, median of {runs}",
          ["program", "million per second", "slowest", "fastest", "goal", ""],
          [["kernel", f"{rate / 1e6:.1f}", f"{min(rates) / 1e6:.1f}", f"{max(rates) / 1e6:.1f}", f"{GOAL / 1e6:.0f}",
            "met" if rate >= GOAL else "NOT met"]])
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), "recording"))
    import measure
    import programs
    built = measure.Executables(build, os.path.join(folder, "bin"), compilers)
    rows = []
    for kind in programs.ALL:
        if kind.name not in PARTS:
            continue
        part, clap_events, clap_seconds = PARTS[kind.name]
        program = kind(os.path.join(folder, kind.__name__), part)
        executable = built.of(program, ["native"])["native"]
        place = os.path.join(folder, "run")
        os.makedirs(place)
        paper = [clap_events, f"{clap_seconds} s"]
        try:
            recording = record(build, program, executable, place)
            traces = [Traced(build, recording) for _ in range(runs)]
            last = traces[-1]
            if last.found is None:
                rows.append([kind.name, kind.like, "no trace", "", "", "", "", "", *paper])
            else:
                rows.append([kind.name, kind.like, last.threads, last.events, last.instructions, last.passes, "yes" if last.exact else "NO",
                             f"{statistics.median(each.passed for each in traces):.2f} s", *paper])
        except subprocess.TimeoutExpired:
            rows.append([kind.name, kind.like, "none in", f"{PATIENCE} s", "", "", "", "", *paper])
        finally:
            shutil.rmtree(place)
            shutil.rmtree(program.folder)
        say(kind.name)
    table(f"symbolic, programs of the table recording with less work: from one recording to its trace, median of {runs}",
          ["program", "like", "threads", "events", "instructions", "passes", "exact", "time", "CLAP: events", "symbolic"], rows)
