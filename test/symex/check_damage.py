#!/usr/bin/env python3
"""Recordings that are cut short, damaged or of another program: an error with thread and place, or the trace that there was; never another one.

    check_damage.py [--tries N] [--seed N] PROGRAM OTHER       (in a scratch folder)

PROGRAM is recorded, and its logs are changed in many ways. OTHER is put in its place at the end. Whatever the bytes, no tool may crash.
Turned bits are noticed all: heddle seals the logs when the recording is complete.
"""
import argparse
import os
import random
import shutil
import subprocess
import sys

RIGHT, CHANGED = "right.rec", "changed.rec"


def tool(name):
    return os.path.join(os.environ["HEDDLE_BUILD"], "test-tools", name) if "HEDDLE_BUILD" in os.environ else name


def run(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def trace(recording):
    return run(tool("trace_of"), recording, "--text")


def cut(content, rng):
    return content[:rng.randrange(len(content))]


def turn(content, rng):
    """One bit of what was written."""
    places = [i for i, byte in enumerate(content) if byte]
    content = bytearray(content)
    content[rng.choice(places)] ^= 1 << rng.randrange(8)
    return bytes(content)


def change(rng, edit):
    """The name of the log that was changed."""
    shutil.rmtree(CHANGED, ignore_errors=True)
    shutil.copytree(RIGHT, CHANGED)
    name = rng.choice(sorted(file for file in os.listdir(os.path.join(CHANGED, "threads")) if file.endswith(".log")))
    path = os.path.join(CHANGED, "threads", name)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(edit(content, rng))
    return name


def check(rng, edit, expected):
    """What is wrong; none if nothing is."""
    name = change(rng, edit)
    code, text = trace(CHANGED)
    if code not in (0, 1):
        return f"{edit.__name__} {name}: trace_of ends with code {code}: {text[-300:]}"
    if code == 0 and text != expected:
        return f"{edit.__name__} {name}: another trace comes of it"
    if code == 1 and name not in text and name.removesuffix(".log") not in text:
        return f"{edit.__name__} {name}: nobody says where: {text}"
    for command in (("heddle", "show", "--paths", CHANGED), ("heddle", "reproduce", "--time", "2s", "--no-shorten", CHANGED)):
        code, text = run(*command)
        if code < 0 or code == 70:
            return f"{edit.__name__} {name}: {' '.join(command)} ends with code {code}: {text[-300:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("other")
    parser.add_argument("--tries", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    shutil.rmtree(RIGHT, ignore_errors=True)
    run("heddle", "record", "-q", "--keep-passing", "-o", RIGHT, "--", os.path.abspath(options.program))
    code, expected = trace(RIGHT)
    problems = [f"the right recording: {expected}"] if code != 0 else []
    for i in range(options.tries):
        problem = check(rng, (cut, turn)[i % 2], expected)
        if problem:
            problems.append(problem)
    shutil.copy(options.other, options.program)
    for command in ((tool("trace_of"), RIGHT), ("heddle", "reproduce", RIGHT), ("heddle", "show", "--paths", RIGHT)):
        code, text = run(*command)
        if code in (0, 70) or code < 0 or "another program" not in text:
            problems.append(f"another program in its place: {' '.join(command)}: code {code}: {text[-300:]}")
    for problem in problems:
        print(problem)
    print(f"{options.tries} recordings, {len(problems)} errors")
    sys.exit(1 if problems else 0)


main()
