#!/usr/bin/env python3
"""Real cores of native runs of programs with known bugs, and what heddle core makes of them.

  core_programs.py [--seconds S] [--orders temporal,chess] [--table] [--flags "-O1"] PROGRAMS-FOLDER WORK-FOLDER NAME...

Each program is compiled with heddle cc and run natively, again and again, until the kernel writes a core, or until a run does not end: then
gcore takes one. Where cores go elsewhere (core_pattern), the program runs under gdb, which writes the core at the signal. heddle core must
find a schedule that fails in the same way, and heddle replay must show it. Prints one line for each program; a program that does not fail
natively within the time is named and skipped, unless it must fail (--must NAME).
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time


def compile_program(source, out, flags):
    cxx = source.endswith(".cpp")
    command = ["heddle-c++" if cxx else "heddle-cc", "-std=c++20" if cxx else "-std=c11"] + flags + ["-pthread", source, "-o", out]
    subprocess.run(command, check=True)


def kernel_writes_here():
    return open("/proc/sys/kernel/core_pattern").read().strip() in ("core", "core.%p")


def native_core(app, folder, seconds):
    """The core of a native failure, how many runs it took, and how the program failed."""
    import resource
    os.makedirs(folder, exist_ok=True)

    def with_cores():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

    end = time.time() + seconds
    runs = 0
    while time.time() < end:
        runs += 1
        process = subprocess.Popen([app], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   stdin=subprocess.DEVNULL, preexec_fn=with_cores)
        try:
            code = process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            subprocess.run(["gcore", "-o", os.path.join(folder, "hang"), str(process.pid)], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            process.kill()
            process.wait()
            core = os.path.join(folder, f"hang.{process.pid}")
            return (core, runs, "hang") if os.path.exists(core) else (None, runs, "hang, and gcore failed")
        for name in os.listdir(folder):
            if name.startswith("core"):
                core = os.path.join(folder, "failure")
                os.rename(os.path.join(folder, name), core)
                return core, runs, f"signal {-code}"
    return None, runs, "no failure"


def run_core(app, core, order, output, seconds):
    done = subprocess.run(["heddle", "core", "--json", "--order", order, "--time", f"{seconds}s", "--no-shorten", "-o", output, core,
                           "--", app], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        return done.returncode, {}, done.stderr


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--search-seconds", type=int, default=30)
    parser.add_argument("--orders", default="temporal")
    parser.add_argument("--flags", default="-O1")
    parser.add_argument("--must", action="append", default=[])
    parser.add_argument("programs")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    orders = options.orders.split(",")
    if not kernel_writes_here():
        print("skipped: the kernel does not write cores into the working folder (core_pattern)")
        return 0
    bad = 0
    names = options.names or sorted(n for n in os.listdir(options.programs) if n.endswith((".c", ".cpp")))
    for name in names:
        stem = name.rsplit(".", 1)[0]
        folder = os.path.join(options.work, stem)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        app = os.path.join(folder, stem)
        compile_program(os.path.join(options.programs, name), app, options.flags.split())
        core, runs, how = native_core(app, os.path.join(folder, "run"), options.seconds)
        if core is None:
            print(f"{name}: {how} in {runs} native runs", flush=True)
            bad += name in options.must
            continue
        line = f"{name}: {how} in native run {runs};"
        for order in orders:
            schedule = os.path.join(folder, order + ".heddle")
            code, told, errors = run_core(app, core, order, schedule, options.search_seconds)
            if code != 0:
                line += f" {order}: NOT FOUND ({told.get('tries', '?')} tries, {told.get('search', errors.strip()[:200])})"
                bad += order == "temporal"
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
