#!/usr/bin/env python3
"""Cores of native runs of programs with known bugs, and what heddle core makes of them.

  core_programs.py [--seconds S] [--orders temporal,dependence,chess,instructions] [--flags "-O1"] [--budget S] PROGRAMS-FOLDER WORK-FOLDER NAME...

Each program is compiled with heddle cc and run natively by heddle record --mode core --chaos until it crashes or hangs. heddle core must find
a schedule that fails in the same way, and heddle replay must show it. Prints one line for each program; a program that does not fail natively
within the time is named and skipped, unless it must fail (--must NAME). Order "instructions" is temporal with the aligned point by instruction
count (the paper's table 5); the count is that of the failing thread in the schedule that was found before. Behind the budget no program is begun.
With --summary a table of all that failed natively ends the output. A command that does not end, or says nothing, is named with its exit code and
what it wrote last; the other programs follow all the same.
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
    command = ["heddle-c++" if cxx else "heddle-cc", "-std=c++20" if cxx else "-std=gnu11"] + flags + ["-pthread", source, "-o", out]
    subprocess.run(command, check=True)


def say(command, patience, **options):
    """(exit code, standard output, standard error) of a heddle command; "timeout" in place of the code when it did not end."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=patience,
                              errors="replace", **options)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return "timeout", "", (late.stderr or b"").decode(errors="replace")
    except OSError as error:  # heddle itself is being built anew, most of all
        return "not started", "", str(error)


def told_by(out):
    try:
        return json.loads(out)
    except json.JSONDecodeError:
        return None


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
    command = ["heddle", "record", "--mode", "core", "--json", "--chaos", "--time", f"{seconds}s", "--hang-timeout", "2s", "-o", core, "--"] + command
    for _ in range(2):
        code, out, errors = say(command, 10 * seconds + 60, cwd=folder)
        told = told_by(out)
        if told is not None:
            break
        # Once more, but not in silence: it should not happen.
        print(f"  {os.path.basename(command[-1])}: record said nothing (exit code {code}): {errors.strip()[-300:]}", flush=True)
    else:
        return None, 0, f"NOT RECORDED ({code}: {errors.strip()[-300:]})"
    if told["verdict"] != "failure":
        return None, told["runs"], "no failure"
    return core, told["runs"], "hang" if told["hang"] else f"signal {told['signal']}"


def run_core(command, core, order, output, seconds, count):
    way = ["--order", "temporal", "--instructions", str(count)] if order == "instructions" else ["--order", order]
    code, out, errors = say(["heddle", "core", "--json", *way, "--time", f"{seconds}s", "--no-shorten", "-o", output, core, "--"] + command,
                            10 * seconds + 120)
    return code, told_by(out) or {}, errors


def tries_of(row, order):
    text = row.get(order, "-")
    return None if text == "-" else int(text[2:]) + 1 if text.startswith("> ") and text[2:].isdigit() else int(text) if text.isdigit() else None


def summarise(rows, orders):
    columns = ["program", *orders]
    widths = [max(len(str(row.get(c, "-"))) for row in [{c: c for c in columns}] + rows) for c in columns]
    print("\n" + "  ".join(c.ljust(w) if c == "program" else c.rjust(w) for c, w in zip(columns, widths)))
    for row in rows:
        print("  ".join(str(row.get(c, "-")).ljust(w) if c == "program" else str(row.get(c, "-")).rjust(w) for c, w in zip(columns, widths)))
    guided = orders[0]
    few = sum(1 for row in rows if not row.get(guided, ">").startswith(">") and int(row[guided]) <= 10)
    print(f"{guided}: at most 10 tries in {few} of {len(rows)}")
    if "chess" in orders and guided != "chess":
        both = [(tries_of(row, guided), tries_of(row, "chess")) for row in rows]
        both = [(one, other) for one, other in both if one is not None and other is not None]
        print(f"against chess: fewer in {sum(a < b for a, b in both)}, as many in {sum(a == b for a, b in both)} "
              f"(at most one try in {sum(a == b and a <= 1 for a, b in both)}), more in {sum(a > b for a, b in both)}")
    print("the paper's table 4 (chess, dependence, temporal): 1028 832 644; 63 34 27; 760 4 4; 421 5 5; 712 7 7; 619 6 6; 562 6 6 "
          "(chess found only the second); its table 5, instruction count: 1329, 54, 50, 36, 30, 28, 33 (found: the second and the fourth)", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--search-seconds", type=int, default=30)
    parser.add_argument("--orders", default="temporal")
    parser.add_argument("--flags", default="-O1")
    parser.add_argument("--budget", type=int, default=1 << 30)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--must", action="append", default=[])
    parser.add_argument("programs")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    orders = options.orders.split(",")
    bad, rows, begin = 0, [], time.monotonic()
    names = options.names or sorted(n for n in os.listdir(options.programs) if n.endswith((".c", ".cpp")))
    for number, name in enumerate(names):
        if time.monotonic() - begin > options.budget:
            print(f"the time is over: {len(names) - number} programs were not begun", flush=True)
            break
        stem = name.rsplit(".", 1)[0]
        folder = os.path.join(options.work, stem)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        app = os.path.join(folder, stem)
        try:
            compile_program(os.path.join(options.programs, name), app, options.flags.split())
        except subprocess.CalledProcessError as error:
            print(f"{name}: NOT COMPILED ({error.returncode})", flush=True)
            bad += 1
            continue
        command = [app] + arguments_of(os.path.join(options.programs, name))
        core, runs, how = native_core(command, os.path.join(folder, "run"), options.seconds)
        if core is None:
            print(f"{name}: {how} in {runs} native runs", flush=True)
            bad += name in options.must or how.startswith("NOT")
            continue
        line = f"{name}: {how} in native run {runs};"
        row, count = {"program": stem}, None
        rows.append(row)
        for order in orders:
            if order == "instructions" and count is None:
                row[order] = "-"  # nothing says how many
                continue
            schedule = os.path.join(folder, order + ".heddle")
            code, told, errors = run_core(command, core, order, schedule, options.search_seconds, count)
            if code != 0 or "tries" not in told:
                line += f" {order}: NOT FOUND ({told.get('tries', '?')} tries, {told.get('search') or f'exit code {code}: ' + errors.strip()[-200:]})"
                row[order] = f"> {told.get('tries', '?')}"
                bad += order not in ("chess", "instructions")
                continue
            row[order] = str(told["tries"])
            count = told.get("instructions", count)
            replayed, _, _ = say(["heddle", "replay", schedule, "--times", "5"], 120)
            line += f" {order}: {told['tries']} tries, {len(told['critical'])} critical, {'exact' if told['exact'] else 'closest'}, {told['match']};"
            if replayed != 0:
                line += " NOT REPLAYED"
                bad += 1
        print(line, flush=True)
    if options.summary and rows:
        summarise(rows, orders)
    return 1 if bad else 0


sys.exit(main())
