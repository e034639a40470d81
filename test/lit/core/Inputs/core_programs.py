#!/usr/bin/env python3
"""Cores of native runs of programs with known bugs, and what heddle core makes of them.

  core_programs.py [--seconds S] [--orders temporal,dependence,chess] [--flags "-O1"] PROGRAMS-FOLDER WORK-FOLDER NAME...

Each program is compiled with heddle cc and run natively by heddle record --mode core --chaos until it crashes or hangs. heddle core must find
a schedule that fails in the same way, and heddle replay must show it. Prints one line for each program; a program that does not fail natively
within the time is named and skipped, unless it must fail (--must NAME).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys


def compile_program(source, out, flags):
    cxx = source.endswith(".cpp")
    command = ["heddle-c++" if cxx else "heddle-cc", "-std=c++20" if cxx else "-std=c11"] + flags + ["-pthread", source, "-o", out]
    subprocess.run(command, check=True)


def arguments_of(source):
    with open(source) as file:
        for line in file:
            if line.startswith("// HEDDLE-ARGS:"):
                return line.split(":", 1)[1].split()
    return []


def native_core(command, folder, seconds):
    """The core of a native failure, how many runs it took, and how the program failed."""
    os.makedirs(folder, exist_ok=True)
    core = os.path.join(folder, "failure")
    done = subprocess.run(["heddle", "record", "--mode", "core", "--json", "--chaos", "--time", f"{seconds}s", "--hang-timeout", "2s", "-o",
                           core, "--"] + command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          text=True)
    told = json.loads(done.stdout)
    if told["verdict"] != "failure":
        return None, told["runs"], "no failure"
    return core, told["runs"], "hang" if told["hang"] else f"signal {told['signal']}"


def run_core(command, core, order, output, seconds):
    done = subprocess.run(["heddle", "core", "--json", "--order", order, "--time", f"{seconds}s", "--no-shorten", "-o", output, core,
                           "--"] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        return done.returncode, {}, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--search-seconds", type=int, default=30)
    parser.add_argument("--orders", default="temporal")
    parser.add_argument("--flags", default="-O1")
    parser.add_argument("--must", action="append", default=[])
    parser.add_argument("programs")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    orders = options.orders.split(",")
    bad = 0
    names = options.names or sorted(n for n in os.listdir(options.programs) if n.endswith((".c", ".cpp")))
    for name in names:
        stem = name.rsplit(".", 1)[0]
        folder = os.path.join(options.work, stem)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        app = os.path.join(folder, stem)
        compile_program(os.path.join(options.programs, name), app, options.flags.split())
        command = [app] + arguments_of(os.path.join(options.programs, name))
        core, runs, how = native_core(command, os.path.join(folder, "run"), options.seconds)
        if core is None:
            print(f"{name}: {how} in {runs} native runs", flush=True)
            bad += name in options.must
            continue
        line = f"{name}: {how} in native run {runs};"
        for order in orders:
            schedule = os.path.join(folder, order + ".heddle")
            code, told, errors = run_core(command, core, order, schedule, options.search_seconds)
            if code != 0:
                line += f" {order}: NOT FOUND ({told.get('tries', '?')} tries, {told.get('search', errors.strip()[:200])})"
                bad += order != "chess"
                continue
            replayed = subprocess.run(["heddle", "replay", schedule, "--times", "5"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode
            line += f" {order}: {told['tries']} tries, {len(told['critical'])} critical, {'exact' if told['exact'] else 'closest'};"
            if replayed != 0:
                line += " NOT REPLAYED"
                bad += 1
        print(line, flush=True)
    return 1 if bad else 0


sys.exit(main())
