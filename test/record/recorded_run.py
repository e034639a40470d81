"""Runs a program's record variant for tests, by itself: without `heddle record`, and with every block logged as well.

Names of threads, logs and the file `process` are those of src/abi/record.h.
"""
import ctypes
import mmap
import os
import random
import re
import shutil
import signal
import subprocess
import time

VARIANTS = {"standard": "record-blocks", "paths": "record-blocks-paths", "clap": "record-blocks-clap"}
PROCESS_MAGIC = 0x636f7270656c6468
CLOCK = 1
SYS_FUTEX, FUTEX_WAKE = 202, 1
FILES_OFFSET, FILE_SIZE, MAX_FILES = 8192, 4096, 4096


class Process(ctypes.Structure):
    """The first part of struct heddle_record_process."""
    _fields_ = [("magic", ctypes.c_uint64), ("format", ctypes.c_uint32), ("pid", ctypes.c_int32), ("load_base", ctypes.c_uint64),
                ("begin_tsc", ctypes.c_uint64), ("begin_ns", ctypes.c_uint64), ("end_tsc", ctypes.c_uint64), ("end_ns", ctypes.c_uint64),
                ("options", ctypes.c_uint64), ("keep", ctypes.c_uint64), ("chaos_seed", ctypes.c_uint64), ("failed", ctypes.c_uint32),
                ("failure_seen", ctypes.c_uint32)]


class Wrong(Exception):
    """What is wrong, with the command that shows it."""


def run_tool(command, timeout=120, folder=None):
    """Standard output of a command that must succeed."""
    shown = " ".join(command)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, errors="replace",
                              timeout=timeout, cwd=folder)
    except subprocess.TimeoutExpired as error:
        raise Wrong(f"not finished after {timeout} s: {shown}") from error
    if done.returncode != 0:
        raise Wrong(f"exit code {done.returncode}: {shown}\n{done.stdout[-4000:]}")
    return done.stdout


def variant_of(executable, policy):
    """Path of the variant that logs blocks."""
    return run_tool(["heddle", "variant", "--quiet", VARIANTS[policy], executable]).strip().splitlines()[-1]


def prepare(folder, clock):
    """An empty recording."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "threads"))
    with open(os.path.join(folder, "process"), "wb") as file:
        file.truncate(FILES_OFFSET + MAX_FILES * FILE_SIZE)
        file.write(bytes(Process(magic=PROCESS_MAGIC, format=4, options=CLOCK if clock else 0)))


def acknowledge(process):
    """A program that fails waits until heddle has looked at it."""
    process.failure_seen = 1
    place = ctypes.c_void_p(ctypes.addressof(process) + Process.failure_seen.offset)
    ctypes.CDLL(None).syscall(SYS_FUTEX, place, FUTEX_WAKE, 1, None, None, 0)


def run(variant, arguments, folder, *, scratch, patience, clock=True, kill_after=None):
    """Records one run into `folder`. The exit code; negative if a signal ended it; None if it was killed for being late (`patience` seconds)
    or as wanted (`kill_after`)."""
    prepare(folder, clock)
    environment = dict(os.environ, HEDDLE_RECORD_FOLDER=os.path.abspath(folder))
    output = os.path.join(folder, "output")
    with open(output, "wb") as out, open(os.path.join(folder, "process"), "r+b") as file:
        process = mmap.mmap(file.fileno(), 4096)
        seen = Process.from_buffer(process)
        start = time.monotonic()
        limit = kill_after if kill_after is not None else patience
        child = subprocess.Popen([variant, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=scratch)
        pause = 0.001
        while child.poll() is None and time.monotonic() - start < limit:
            if seen.failed and not seen.failure_seen:
                acknowledge(seen)
            time.sleep(min(pause, max(0.0, limit - (time.monotonic() - start))))
            pause = min(pause * 1.5, 0.05 if not seen.failed else 0.005)
        killed = child.poll() is None
        if killed:
            child.send_signal(signal.SIGKILL)
        code = child.wait()
        del seen
        process.close()
    return None if killed else code


def output_of(folder):
    with open(os.path.join(folder, "output"), encoding="utf-8", errors="replace") as file:
        return file.read()


def decode(executable, folder, policy, prefix=False):
    """Checks a recording against the blocks that ran: the tool's summary. Wrong if it is not exact."""
    oracle = os.path.join(os.environ["HEDDLE_BUILD"], "test-tools", "record_oracle") if "HEDDLE_BUILD" in os.environ else "record_oracle"
    return run_tool([oracle, executable, folder, "--policy", policy] + (["--prefix"] if prefix else [])).strip()


def counts(summary):
    """The numbers of the tool's last line, by the word behind each: logs, blocks, threads (cut off), not (ended), ..."""
    return {name.rstrip(","): int(number) for number, name in re.findall(r"(\d+) (\S+)", summary.splitlines()[-1])}


def random_delay(seed, most):
    return random.Random(seed).uniform(0.0, most)
