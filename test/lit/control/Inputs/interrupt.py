#!/usr/bin/env python3
"""interrupt.py APP: ends heddle by signals while it runs programs. It must end in time with the right exit code, leave no process
and no file behind.

Processes are recognised by a marker that is among the program's arguments and in the environment of all that is started here."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

APP = os.path.abspath(sys.argv[1])
BEFORE = 1.0  # seconds until the signal
ENOUGH = 2.0  # seconds until everything is over

HUNT = ["hunt", "--runs", "1000000000", "-o", "found.sched"]
# name: heddle's arguments, mode of the program, signal, exit codes allowed
CASES = {
    "hunt with fibres, Ctrl-C": (HUNT + ["--substrate", "fibres"], "short", signal.SIGINT, {12}),
    "hunt with threads, Ctrl-C": (HUNT + ["--substrate", "threads"], "short", signal.SIGINT, {12}),
    "hunt, SIGTERM": (HUNT, "short", signal.SIGTERM, {12}),
    "hunt, SIGHUP": (HUNT, "short", signal.SIGHUP, {12}),
    "hunt with fibres, kill -9": (HUNT + ["--substrate", "fibres"], "short", signal.SIGKILL, {-signal.SIGKILL}),
    "hunt with threads, kill -9": (HUNT + ["--substrate", "threads"], "short", signal.SIGKILL, {-signal.SIGKILL}),
    "hunt of a loop without end, Ctrl-C": (HUNT, "spin", signal.SIGINT, {12}),
    "run of a loop without end, Ctrl-C": (["run"], "spin", signal.SIGINT, {12}),
    "run that waits for input, Ctrl-C": (["run"], "sleep", signal.SIGINT, {12}),
    "run that waits for input, kill -9": (["run", "--substrate", "threads"], "sleep", signal.SIGKILL, {-signal.SIGKILL}),
    "hunt whose time is over": (HUNT + ["--time", "1s"], "short", None, {0, 12}),
}


def processes_with(marker):
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid():
            for file in ("cmdline", "environ"):
                try:
                    with open(f"/proc/{pid}/{file}", "rb") as stream:
                        if marker.encode() in stream.read():
                            found.append(int(pid))
                            break
                except OSError:
                    pass
    return found


def gone(marker, deadline):
    while processes_with(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def check(name, arguments, mode, number, codes, folder):
    marker = f"heddle-interrupt-{os.getpid()}-{abs(hash(name))}"
    reading, writing = os.pipe()  # an input that never comes
    heddle = subprocess.Popen(["heddle", *arguments, "--", "./app", mode, marker], cwd=folder, stdin=reading, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, start_new_session=True, env=dict(os.environ, HEDDLE_TEST_MARKER=marker))
    os.close(reading)
    wrong = []
    time.sleep(BEFORE)
    if number is not None:
        if heddle.poll() is not None:
            wrong.append(f"ended with {heddle.returncode} before the signal")
        heddle.send_signal(number)
    start = time.monotonic()
    try:
        output, _ = heddle.communicate(timeout=ENOUGH)
        if heddle.returncode not in codes:
            wrong.append(f"exit code {heddle.returncode}, expected {codes}: {output[-600:]}")
    except subprocess.TimeoutExpired:
        wrong.append(f"heddle still lives after {ENOUGH} s")
        heddle.kill()
        heddle.communicate()
    took = time.monotonic() - start
    if not gone(marker, start + ENOUGH):
        left = processes_with(marker)
        wrong.append(f"{len(left)} processes are left")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
    os.close(writing)
    files = sorted(set(os.listdir(folder)) - {"app"})
    if files:
        wrong.append(f"files are left: {', '.join(files)}")
        for file in files:
            os.unlink(os.path.join(folder, file))
    print(f"{'WRONG' if wrong else 'ok':5}  {took:.2f} s  {name}{''.join(f'{chr(10)}       {text}' for text in wrong)}", flush=True)
    return not wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(APP, os.path.join(folder, "app"))
        # The variant is built and cached by the first one: that is not what is measured.
        subprocess.run(["heddle", "run", "--quiet", "--", "./app", "short"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return 0 if all([check(name, *case, folder) for name, case in CASES.items()]) else 1


sys.exit(main())
