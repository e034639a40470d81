"""The table "flow" of scripts/bench: what flow recording costs, on the programs of the table "recording".

Ways to run a program:
  native    built by heddle cc -O2, the program itself
  flow      variant flow as `heddle record --mode flow` runs it
  flow-o1   without O2: edges that follow from earlier ones are written too
  order     `--mode order`, a baseline: what LEAP records, and flow with neither optimisation: no ownership, every access locks its
            word and writes down the access before it
  stride    `--mode stride`, a baseline: Stride's bounded linkage
  leap      variant leap, a baseline that is not replayed: a lock and an access vector for each location, as LEAP does it
  tsan      clang -O2 -fsanitize=thread, reports turned off

Published (Light, PLDI 2015, section 5.2): Light 44 % on average (15 to 73 %), Leap 411 %, Stride 466 %."""
import math
import os
import shutil
import statistics
import struct
import subprocess
import json

import measure as recording
import programs

FLOW = {"flow": (1, 1, 0), "flow-o1": (1, 0, 0), "order": (0, 0, 1), "stride": (0, 0, 2)}  # sequences, locks, baseline
WAYS = ["native", *FLOW, "leap", "tsan"]
FEW_ROUNDS = 2
SLOW = ("order", "stride", "leap", "tsan")
PLAN_MAGIC, FORMAT = 0x6E616C70656C6468, 4  # src/abi/flow.h
USED_AT = 32
GOAL_MEAN, GOAL_EACH = 0.20, 0.73


def start_of(executable, folder):
    """A command that starts it without randomised addresses, as heddle does."""
    start = os.path.join(folder, "start")
    with open(start, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec setarch -R "{executable}" "$@"\n')
    os.chmod(start, 0o700)
    return start


def one_run(program, way, executable, folder):
    os.makedirs(folder)
    target, vectors = os.path.join(folder, "recording"), os.path.join(folder, "vectors")
    environment = dict(os.environ, HEDDLE_RECORD_FOLDER=target, HEDDLE_LEAP_FILE=vectors, TSAN_OPTIONS="report_bugs=0")
    if way in FLOW:
        recording.new_recording(target, 0)
        with open(os.path.join(target, "flow"), "wb") as file:
            file.write(struct.pack("<QIIIII36x", PLAN_MAGIC, FORMAT, 0, *FLOW[way]))
        executable = start_of(executable, folder)
    try:
        run, answer = program.run(executable, folder, environment)
        log = 0
        if way in FLOW:
            logs = [name for name in os.listdir(os.path.join(target, "threads")) if name.endswith(".flow")]
            programs.check(logs, "nothing was recorded")
            for name in logs:
                with open(os.path.join(target, "threads", name), "rb") as file:
                    log += struct.unpack_from("<Q", file.read(4096), USED_AT)[0]
        elif way == "leap":
            log = os.path.getsize(vectors)
        return run, answer, log
    finally:
        shutil.rmtree(folder)


def measure(program, executables, folder, rounds, ways, say):
    times = {way: [] for way in ways}
    logs, expected = {}, None
    for i in range(rounds):
        for way in ways:
            if way in SLOW and i >= FEW_ROUNDS:
                continue
            run, answer, logs[way] = one_run(program, way, executables[way], os.path.join(folder, "run"))
            expected = answer if expected is None else expected
            if program.name != "racey":
                programs.check(answer == expected, f"{program.name}, {way}: the answer is {answer!r}, not {expected!r}")
            times[way].append(run.used if program.name != "fetch" else run.passed)
        say(f"{program.name}: round {i + 1} of {rounds}")
    return {way: min(values) for way, values in times.items()}, logs


def replay(heddle, command, folder):
    """Recorded and replayed by heddle: (seconds for the schedule, seconds of the replay, events, edges)."""
    target = os.path.join(folder, "replayed.rec")
    subprocess.run([heddle, "record", "--mode", "flow", "--keep-passing", "-q", "-o", target, "--", *command], cwd=folder,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    done = subprocess.run([heddle, "replay", "--json", target], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    shutil.rmtree(target, ignore_errors=True)
    answer = json.loads(done.stdout)
    programs.check(answer["verdict"] == "reproduced", f"{command}: {answer}")
    return answer


def bench(build, compilers, folder, rounds, table, only=None, ways=None, part=1.0, say=lambda text: None):
    ways = [way for way in WAYS if ways is None or way in ways or way == "native"]
    built = recording.Executables(build, os.path.join(folder, "bin"), compilers)
    rows, sizes, replays, overheads = [], [], [], {way: [] for way in ways}
    for kind in programs.ALL:
        if only and kind.name not in only or kind.goal is None:
            continue
        program = kind(os.path.join(folder, kind.__name__), part)
        recording.RECORDED.update({way: "flow" for way in FLOW})  # names of variants
        executables = built.of(program, ways)
        used, logs = measure(program, executables, folder, rounds, ways, say)
        for way in ways:
            overheads[way].append(used[way] / used["native"])
        rows.append([program.name, program.like, f"{used['native']:.2f} s",
                     *[f"{100 * (used[way] / used['native'] - 1):.0f} %" for way in ways[1:]]])
        sizes.append([program.name, *[recording.size(logs[way]) for way in ways if way in FLOW or way == "leap"]])
        if type(program).run is programs.Program.run:
            answer = replay(built.heddle, [executables["native"], str(max(1, program.work // 20))], folder)
            replays.append([program.name, answer["events"], answer["edges"], answer["steps"],
                            f"{answer['schedule_seconds']:.2f} s", f"{answer['replay_seconds']:.2f} s"])
        shutil.rmtree(program.folder)
    mean = {way: math.exp(statistics.fmean(map(math.log, values))) - 1 for way, values in overheads.items()}
    rows.append(["geometric mean", "", "", *[f"{100 * mean[way]:.0f} %" for way in ways[1:]]])
    table(f"flow, time: overhead over native, processor time, the least of {rounds} alternated rounds ({', '.join(SLOW)}: "
          f"{min(rounds, FEW_ROUNDS)}). Published: Light 44 % (15-73 %), Leap 411 %, Stride 466 %. Goals: mean {100 * GOAL_MEAN:.0f} %, "
          f"each at most {100 * GOAL_EACH:.0f} %", ["program", "like", "native", *ways[1:]], rows)
    table("flow, log of one run: bytes, with what came from outside", ["program", *[way for way in ways if way in FLOW or way == "leap"]], sizes)
    table("flow, schedule and replay of a twentieth of the work. Published on average: 62 s and 34 s",
          ["program", "events", "edges", "steps", "schedule", "replay"], replays)
