#!/usr/bin/env python3
"""A parallel heddle check is killed three times and gone on with; workers are killed: the result is that of a run in peace.

    check_resume.py SCRATCH ALGORITHM APP BROKEN_APP [OPTION OF CHECK...]
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

scratch, algorithm, app, broken = sys.argv[1:5]
more = sys.argv[5:]
shutil.rmtree(scratch, ignore_errors=True)
os.makedirs(scratch)


def command(*options, program=app):
    return ["heddle", "check", "--json", "--algorithm", algorithm, "--no-shorten", "-o", "/dev/null", *more, *options, "--", program]


def result(process):
    return json.loads(process.communicate(timeout=600)[0])


def start(*options, program=app):
    return subprocess.Popen(command(*options, program=program), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def failures(ended):
    return sorted(each["failure"]["identity"] for each in ended["failures"])


def same(what, seen, wanted):
    counted = seen["outcomes_counted"] and wanted["outcomes_counted"]
    for key in ("verdict", "outcomes") if counted else ("verdict",):
        if seen[key] != wanted[key]:
            sys.exit(f"{what}: {key} is {seen[key]}, and was {wanted[key]} in peace")
    if failures(seen) != failures(wanted):
        sys.exit(f"{what}: failures are {failures(seen)}, and were {failures(wanted)} in peace")


def workers_of(process):
    """Copies of the process itself, not the programs they run."""
    out = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            if parent == process.pid and os.readlink(f"/proc/{name}/exe") == os.readlink(f"/proc/{process.pid}/exe"):
                out.append(int(name))
        except (OSError, ValueError, IndexError):
            pass
    return out


began = time.monotonic()
peace = result(start())
length = time.monotonic() - began
print(f"in peace: {peace['verdict']}, {peace['outcomes']} outcomes, {peace['executions']} executions, {length:.1f} s")
same("two workers", result(start("--jobs", "2")), peace)



def killed_three_times(name, wanted, *options, program=app):
    """Each time after a part of what there is to do."""
    journal = os.path.join(scratch, name + "-whole")
    same(f"{name}: with a journal", result(start("--jobs", "2", "--journal", journal, *options, program=program)), wanted)
    part = os.path.getsize(journal) / 8
    journal = os.path.join(scratch, name)
    sizes = []
    option = "--journal"
    while len(sizes) < 3:
        process = start("--jobs", "2", option, journal, *options, program=program)
        enough = (sizes[-1] if sizes else 0) + part
        while process.poll() is None and not (os.path.exists(journal) and os.path.getsize(journal) > enough):
            time.sleep(0.002)
        if process.poll() is not None:
            sys.exit(f"{name}: it ended after {len(sizes)} kills already: the program is too small")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        sizes.append(os.path.getsize(journal))
        option = "--resume"
    with open(journal, "ab") as file:  # as if it had been killed in the middle of a line
        file.write(b"u 99999999 1 0 a b 0*3,0:")
    ended = result(start("--jobs", "2", "--resume", journal, *options, program=program))
    same(f"{name}: killed three times", ended, wanted)
    print(f"{name}: killed three times (journal of {sizes} bytes): {ended['verdict']}, {ended['outcomes']} outcomes, {ended['executions']} executions, "
          f"{len(ended['failures'])} failures")
    same(f"{name}: gone on with when all was done", result(start("--resume", journal, *options, program=program)), wanted)


killed_three_times("safe", peace)
all_failures = result(start("--find-all", program=broken))
if not all_failures["failures"]:
    sys.exit("the broken program does not fail")
killed_three_times("find-all", all_failures, "--find-all", program=broken)

# Workers die.
process = start("--jobs", "2")
killed = 0
while process.poll() is None and killed < 4:
    time.sleep(min(length / 20, 0.1))
    for worker in workers_of(process)[:1]:
        with contextlib.suppress(ProcessLookupError):  # it had ended
            os.kill(worker, signal.SIGKILL)
            killed += 1
ended = result(process)
same("workers killed", ended, peace)
if killed == 0 or ended["workers_replaced"] == 0:
    sys.exit("no worker was killed")
print(f"{killed} workers killed, {ended['workers_replaced']} replaced: {ended['verdict']}, {ended['outcomes']} outcomes")

# A failure is found again from the journal; one of another program is refused.
journal = os.path.join(scratch, "broken")
for option in ("--journal", "--resume"):
    seen = result(start("--jobs", "2", option, journal, program=broken))
    if seen["verdict"] != "failure" or not seen["failures"] or seen["failures"][0]["confirmed"] != 3:
        sys.exit(f"the failure was not found with {option}: {seen}")
process = start("--resume", journal)
if process.wait(timeout=60) != 2 or "another search" not in process.stderr.read():
    sys.exit("a journal of another program was taken")
print("failures: found, and found again")
