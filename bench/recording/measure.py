"""The table "recording" of scripts/bench: what recording costs, beside CLAP's published numbers (PLDI 2013, table 2) and beside
baselines that are measured in the same run.

Ways to run a program:
  native    built by heddle cc -O2, the program itself
  standard  record variant, `heddle record` without options
  paths     record variant of `heddle record --policy paths`
  clap      record variant of `heddle record --policy clap`: CLAP as published
  branches  as standard, but with bits for the branches that the reader could compute: the difference is what leaving them out saves
  tsan      clang -O2 -fsanitize=thread, reports turned off
  leap      variant leap: a lock and an access vector for each location

Variants are started directly, in an empty recording folder, as `heddle record` starts them: its own start-up is not in the times.
Rounds alternate (native, standard, paths, ..., native, ...). Times are of the clock on the wall, from the start of the process to
its end; the median counts, and the spread is half the distance of the quartiles. tsan and leap, which take much longer, take part in
the first rounds only."""
import json
import math
import os
import re
import shutil
import statistics
import struct
import subprocess

import programs

RECORDED = {"standard": "record", "branches": "record-branches", "paths": "record-paths", "clap": "record-clap"}
WAYS = ["native", *RECORDED, "tsan", "leap"]
COUNTERS = "counters"  # in a table of its own: the program with loop counters (heddle cc -fheddle-loop-counters)
FEW_ROUNDS = 3  # of tsan and leap
GOAL_MEAN = 0.05

# src/abi/record.h
PROCESS_MAGIC, FORMAT = 0x636F7270656C6468, 4
OPTIONS_AT, CLOCK, NO_INPUTS = 56, 1, 16
PROCESS_SIZE = 8192 + 4096 * 4096
PAGE, CHUNK_MAGIC, CHUNK_HEAD, PATH = 4096, 0x6B6E6863, 64, 1
STOP_AT = 8 + 8 + 256 + 4
LONG_ZEROS = re.compile(rb"\0{64,}")


def command(arguments):
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    programs.check(done.returncode == 0, f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


class Executables:
    """Builds what is measured; variants are taken from heddle's cache, or made."""

    def __init__(self, build, folder, compilers):
        self.heddle = os.path.join(build, "bin", "heddle")
        self.bin = os.path.join(build, "bin")
        self.folder, self.compilers = folder, compilers
        self.source = os.path.dirname(os.path.abspath(__file__))
        os.makedirs(folder)

    def compile(self, program, compiler, extra, name):
        out = os.path.join(self.folder, name)
        flags = ["-O2", "-g", "-pthread", "-D_GNU_SOURCE", *(["-std=c++20"] if program.source.endswith(".cpp") else [])]
        command([compiler, *flags, *extra, os.path.join(self.source, program.source), *program.libraries, "-o", out])
        return out

    def of(self, program, ways):
        cxx = "CXX" if program.source.endswith(".cpp") else "CC"
        stem = program.source.split(".")[0]
        app = self.compile(program, os.path.join(self.bin, {"CC": "heddle-cc", "CXX": "heddle-c++"}[cxx]), [], stem)
        out = {}
        for way in ways:
            if way == "native":
                out[way] = app
            elif way == "counters":
                out[way] = self.compile(program, os.path.join(self.bin, {"CC": "heddle-cc", "CXX": "heddle-c++"}[cxx]),
                                        ["-fheddle-loop-counters"], stem + ".counters")
            elif way == "tsan":
                out[way] = self.compile(program, self.compilers[cxx], ["-fsanitize=thread"], stem + ".tsan")
            else:
                out[way] = command([self.heddle, "variant", "--quiet", RECORDED.get(way, way), app]).strip()
        companion = programs.COMPANIONS.get(program.name)
        if companion is not None:
            command([self.compilers["CC"], "-O2", "-pthread", "-D_GNU_SOURCE",
                     os.path.join(self.source, companion + ".c"), "-o", os.path.join(program.folder, companion)])
        return out


def new_recording(folder, options):
    os.makedirs(os.path.join(folder, "threads"))
    with open(os.path.join(folder, "process"), "wb") as file:
        file.truncate(PROCESS_SIZE)
        file.write(struct.pack("<QI", PROCESS_MAGIC, FORMAT))
        file.seek(OPTIONS_AT)
        file.write(struct.pack("<Q", options))


def chunks(file, name):
    """(stream, content) of each chunk of a log; of a path stream with the word in the making, which is not in `used`."""
    at = PAGE
    file.seek(at)
    while len(head := file.read(CHUNK_HEAD)) == CHUNK_HEAD:
        used, magic, stream, size = struct.unpack_from("<QIIQ", head)
        programs.check(magic == CHUNK_MAGIC and CHUNK_HEAD <= used <= size, f"{name}: no chunk at {at}")
        content = file.read(used - CHUNK_HEAD)
        if stream == PATH and used < size and int.from_bytes(last := file.read(8), "little") > 1:
            content += last
        yield stream, content
        at += size
        file.seek(at)


def log_sizes(folder):
    """Bytes of the path streams and of the data streams, without heads and unused room, and how many of the data are long runs of
    zeros. Logs that ended early are an error."""
    path = data = zeros = 0
    threads = os.path.join(folder, "threads")
    for name in os.listdir(threads):
        with open(os.path.join(threads, name), "rb") as file:
            head = file.read(PAGE)
            programs.check(struct.unpack_from("<I", head, STOP_AT)[0] == 0, f"{name}: not all was recorded")
            for stream, content in chunks(file, name):
                if stream == PATH:
                    path += len(content)
                else:
                    data += len(content)
                    zeros += sum(len(run.group()) for run in re.finditer(LONG_ZEROS, content))
    return path, data, zeros


def one_run(program, way, executable, folder, no_inputs=False):
    """(run, answer, log), in a folder that is gone afterwards; log: as log_sizes, (bytes,) of leap, or ()."""
    os.makedirs(folder)
    recording = os.path.join(folder, "recording")
    vectors = os.path.join(folder, "vectors")
    environment = dict(os.environ, HEDDLE_RECORD_FOLDER=recording, HEDDLE_LEAP_FILE=vectors, TSAN_OPTIONS="report_bugs=0")
    if way in RECORDED:
        new_recording(recording, CLOCK | (NO_INPUTS if no_inputs else 0))
    try:
        run, answer = program.run(executable, folder, environment)
        log = log_sizes(recording) if way in RECORDED else (os.path.getsize(vectors),) if way == "leap" else ()
        programs.check(way not in RECORDED or os.listdir(os.path.join(recording, "threads")), "nothing was recorded")
        return run, answer, log
    finally:
        shutil.rmtree(folder)


def quartile_spread(values):
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2


class Measured:
    """Of one program: for each way the times of its rounds, and the log of its last run."""

    def __init__(self, program):
        self.program = program
        self.passed = {way: [] for way in [*WAYS, COUNTERS]}
        self.used = {way: [] for way in [*WAYS, COUNTERS]}
        self.log, self.inputs = {}, {}

    def seconds(self, way):
        return statistics.median(self.passed[way])

    def spread(self, way):
        return quartile_spread(self.passed[way]) / self.seconds(way)

    def overhead(self, way):
        return self.seconds(way) / self.seconds("native") - 1

    def used_overhead(self, way):
        return statistics.median(self.used[way]) / max(1e-9, statistics.median(self.used["native"])) - 1

    def without_inputs(self, way):
        path, data, _ = self.log[way]
        return path + data - self.inputs[way]

    def data(self):
        return {"program": self.program.name, "work": self.program.work, "passed": self.passed, "processor": self.used,
                "log": self.log, "inputs": self.inputs}


def measure(program, executables, folder, rounds, ways, say):
    measured = Measured(program)
    expected = None
    for i in range(rounds):
        for way in ways:
            if way in ("tsan", "leap") and i >= FEW_ROUNDS:
                continue
            run, answer, log = one_run(program, way, executables[way], os.path.join(folder, "run"))
            expected = answer if expected is None else expected
            programs.check(answer == expected, f"{program.name}, {way}: the answer is {answer!r}, not {expected!r}")
            measured.passed[way].append(run.passed)
            measured.used[way].append(run.used)
            measured.log[way] = log
        say(f"{program.name}: round {i + 1} of {rounds}")
    # What part of the data are bytes that came from outside: in one more run zeros stand for them, and what is no zeros is the rest.
    for way in RECORDED.keys() & set(ways):
        _, _, (_, data, zeros) = one_run(program, way, executables[way], os.path.join(folder, "run"), no_inputs=True)
        measured.inputs[way] = max(0, measured.log[way][1] - (data - zeros))
    return measured


# ---- the tables

def percent(value):
    return f"{100 * value:.1f} %"


def size(value):
    for unit in ("B", "K", "M"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} G"


def mean_overhead(all_measured, way):
    return math.exp(statistics.fmean(math.log(1 + m.overhead(way)) for m in all_measured)) - 1


def verdict(good):
    return "met" if good else "NOT met"


def time_rows(all_measured, ways):
    rows = []
    for m in all_measured:
        rows.append([m.program.name, m.program.like, f"{m.seconds('native'):.3f} s",
                     *[f"{percent(m.overhead(way))} ±{100 * m.spread(way):.0f}" if way in ways else "" for way in WAYS[1:]],
                     percent(m.used_overhead("standard")) if "standard" in ways else "", m.program.clap, m.program.leap,
                     "" if m.program.goal is None else f"< {percent(m.program.goal)}",
                     "" if m.program.goal is None or "standard" not in ways else verdict(m.overhead("standard") < m.program.goal)])
    with_goal = [m for m in all_measured if m.program.goal is not None]
    if with_goal:
        rows.append(["geometric mean", "", "", *[percent(mean_overhead(with_goal, way)) if way in ways else "" for way in WAYS[1:]],
                     "", "", "", f"< {percent(GOAL_MEAN)}",
                     verdict(mean_overhead(with_goal, "standard") < GOAL_MEAN) if "standard" in ways else ""])
    return rows


def log_rows(all_measured, ways):
    rows = []
    for m in all_measured:
        row = [m.program.name, m.program.like]
        if "standard" in ways:
            path, data, _ = m.log["standard"]
            row += [size(path), size(data - m.inputs["standard"]), size(m.inputs["standard"]), size(m.without_inputs("standard"))]
        else:
            row += [""] * 4
        row += [size(m.log["branches"][0]) if "branches" in ways else ""]
        row += [size(m.without_inputs(way)) if way in ways else "" for way in ("paths", "clap")]
        row += [size(m.log["leap"][0]) if "leap" in ways else "", m.program.clap_log, m.program.leap_log]
        row.append(verdict(m.without_inputs("standard") <= m.without_inputs("clap")) if {"standard", "clap"} <= set(ways) else "")
        rows.append(row)
    return rows


GOAL_COUNTERS = 0.016  # figure 10 of Weeratunge, Zhang and Jagannathan: 0 to 2.5 %, 1.6 % on average


INSTRUCTIONS_PART = 0.02  # of the work, under valgrind


def instructions(program, executable, folder):
    """How many instructions a run performs, all threads together, counted by valgrind (no hardware counter is needed, and other load on the
    machine does not matter)."""
    log, wrapper = os.path.join(folder, "valgrind.log"), os.path.join(folder, "counted")
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file='{log}' '{executable}' \"$@\"\n")
    os.chmod(wrapper, 0o755)
    one_run(program, "native", wrapper, os.path.join(folder, "run"))
    with open(log, encoding="utf-8") as file:
        return int(re.search(r"Collected : (\d+)", file.read()).group(1))


def bench_counters(build, compilers, folder, rounds, table, part=1.0, say=lambda text: None):
    """What loop counters cost the program itself: time, and instructions. Programs that end at once are left out: nothing of them but their
    start is seen."""
    executables = Executables(build, os.path.join(folder, "bin"), compilers)
    rows, all_measured, counted = [], [], []
    for kind in programs.ALL:
        if kind.goal is None:
            continue
        program = kind(os.path.join(folder, kind.name), part)
        apps = executables.of(program, ["native", COUNTERS])
        measured = measure(program, apps, folder, rounds, ["native", COUNTERS], say)
        all_measured.append(measured)
        more, spread = "", ""
        if shutil.which("valgrind"):
            small = kind(os.path.join(folder, kind.name + ".small"), INSTRUCTIONS_PART)
            executables.of(small, [])  # a program beside it
            say(f"{program.name}: instructions")
            counts = {way: sorted(instructions(small, apps[way], folder) for _ in range(3)) for way in ("native", COUNTERS)}
            counted.append(counts[COUNTERS][1] / counts["native"][1] - 1)
            more = percent(counted[-1])
            spread = percent((counts["native"][2] - counts["native"][0]) / counts["native"][1])
        rows.append([program.name, f"{measured.seconds('native'):.3f} s", percent(measured.overhead(COUNTERS)),
                     percent(measured.used_overhead(COUNTERS)), percent(measured.spread("native")), more, spread])
    mean = statistics.mean(m.used_overhead(COUNTERS) for m in all_measured)
    rows.append(["mean", "", percent(statistics.mean(m.overhead(COUNTERS) for m in all_measured)), percent(mean), "",
                 percent(statistics.mean(counted)) if counted else "", ""])
    table(f"core, loop counters: overhead over native, median of {rounds} alternated rounds; goal {percent(GOAL_COUNTERS)} on average",
          ["program", "native", "counters", "counters, processor", "spread of native", "counters, instructions", "spread"], rows)


def bench(build, compilers, folder, rounds, table, only=None, ways=None, part=1.0, json_file=None, say=lambda text: None):
    """`table` prints one; `only`: names of programs, `ways`: of ways; `part` of the work is done."""
    ways = [way for way in WAYS if ways is None or way in ways or way == "native"]
    unknown = set(only or []) - {program.name for program in programs.ALL}
    programs.check(not unknown, f"no program {', '.join(unknown)}")
    all_measured = []
    built = Executables(build, os.path.join(folder, "bin"), compilers)
    for kind in programs.ALL:
        if only and kind.name not in only:
            continue
        program = kind(os.path.join(folder, kind.__name__), part)
        all_measured.append(measure(program, built.of(program, ways), folder, rounds, ways, say))
        shutil.rmtree(program.folder)
    table(f"recording, time: overhead over native, median of {rounds} alternated rounds (tsan, leap: {min(rounds, FEW_ROUNDS)}) "
          "± half the distance of the quartiles; variants started directly, not through heddle record",
          ["program", "like", "native", *WAYS[1:], "standard, processor", "CLAP, published", "LEAP, published", "goal", ""],
          time_rows(all_measured, ways))
    table("recording, log of one run: bytes written, without unused room in files; inputs (bytes from outside, in ranges "
          "of 64 and more, that are kept in the log itself) apart",
          ["program", "like", "path", "data", "inputs", "path + data", "path of branches", "paths", "clap", "leap", "CLAP, published", "LEAP, published",
           "standard <= clap"], log_rows(all_measured, ways))
    if json_file is not None:
        with open(json_file, "w", encoding="ascii") as file:
            json.dump([m.data() for m in all_measured], file, indent=1)
