"""heddle record is ended by signals while the program waits: the recording must be there, and the program gone."""
import glob
import os
import signal
import subprocess
import sys
import time


def start(name):
    process = subprocess.Popen(["heddle", "record", "-o", name, "--", "./app", "pause"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "waiting\n"
    time.sleep(0.3)
    return process


def show(folder):
    return subprocess.run(["heddle", "show", folder], capture_output=True, text=True, check=True).stdout


def running():
    """Processes that run a record variant of ours: their folder is ours."""
    here = os.getcwd()
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\0")
            if words[:2] == ["./app", "pause"] and os.readlink(f"/proc/{pid}/cwd") == here:
                found.append(pid)
        except OSError:
            pass
    return found


for number in (signal.SIGINT, signal.SIGTERM):
    name = f"{number}.rec"
    process = start(name)
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 12, (process.returncode, errors)
    assert "interrupted" in errors, errors
    text = show(name)
    assert "interrupted" in text and "main at ways.c" in text and "Threads (3)" in text, text
    assert not running()

process = start("killed.rec")
process.kill()
process.communicate(timeout=20)
for _ in range(100):
    if not running():
        break
    time.sleep(0.05)
assert not running()
left = glob.glob("heddle-*")
assert len(left) == 1, left
text = show(left[0])
assert "unfinished" in text and "Threads (3)" in text and "Damage" not in text, text
sys.exit(0)
