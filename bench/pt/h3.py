#!/usr/bin/env python3
"""Table H3: constraints and solving time of the smt engine on failures recorded by emulated Intel PT, without facts (as CLAP has it)
and with the order in which cores ran threads (H3's core-based reduction), beside the dissertation's table 6.4; and whether heddle's
own engines reproduce the same failure. The smt engine refuses addresses that may be anywhere: such programs are recorded with --ptwrite,
which tells them, and marked by *. And how fast packets are decoded.

    h3.py BUILD SCRATCH [--time SECONDS] [--only NAME,...]

--time: for each of the two solvings of a program, 20 s by default, so that the whole table takes some minutes; what has none in it is said to.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# name, source, arguments, (variables, read-write constraints of CLAP, its time, of H3, its time) as published
PROGRAMS = [
    ("bbuf", "test/programs/atomicity_bounded_buffer_if.c", [], ("79", "13902", "98 s", "9982", "52 s")),
    ("sbuf", "test/programs/atomicity_string_buffer.c", [], ("102", "302", "1 s", "208", "1 s")),
    ("compressor", "test/programs/order_queue_freed_early.c", [], ("113", "1270", "2 s", "840", "1 s")),
    ("racey 40", "bench/solving/racey.c", ["40"], ("", "", "", "", "")),
    ("racey 500", "bench/solving/racey.c", ["500"], ("15040", "540388", "none in 1 h", "50388", "267 s")),
    ("racey 1000", "bench/solving/racey.c", ["1000"], ("30108", "41607900", "none in 1 h", "200788", "none in 1 h")),
    ("racey 1500", "bench/solving/racey.c", ["1500"], ("67850", "1.3e8", "none in 1 h", "451188", "none in 1 h")),
]


def run(command, timeout, **more):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "takes too long")


def solve(heddle, recording, seconds, words):
    begin = time.monotonic()
    done = run([heddle, "solve", recording, "--engine", "smt", "--time", f"{seconds}s", "--json", *words], seconds * 2 + 30)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return None, f"exit {done.returncode}"
    took = f"{time.monotonic() - begin:.1f} s"
    if answer["verdict"] == "undecided":
        took = f"none in {seconds} s" if answer["why"] == "out of time" else answer["why"]
    return answer["statistics"], took


def measure(args, name, source, arguments, words=()):
    folder = os.path.join(args.scratch, name.replace(" ", "-"))
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    heddle = os.path.join(args.build, "bin", "heddle")
    app, recording = os.path.join(folder, "app"), os.path.join(folder, "run.rec")
    say = lambda what: print(f"  {name}: {what}", file=sys.stderr, flush=True)
    subprocess.run([os.path.join(args.build, "bin", "heddle-cc"), "-O1", "-pthread", os.path.join(ROOT, source), "-o", app], check=True)
    say("recording")
    recorded = run([heddle, "record", "--mode", "pt", "--emulate", *words, "--cores", "2", "--runs", "500", "--time", "40s", "-o", recording,
                    "--", app, *arguments], 90, cwd=folder)
    if recorded.returncode != 10:
        return ["no failure"]
    shown = run([heddle, "show", recording, "--trace"], 60)
    events = sum(int(each) for each in re.findall(r"^thread .*?: (\d+) events", shown.stdout, re.M))
    say("solving without facts")
    plain, plain_time = solve(heddle, recording, args.time, ["--no-clocks"])
    if "may be anywhere" in plain_time and not words:
        return measure(args, name, source, arguments, ["--ptwrite"])
    say("solving with the order of cores")
    cores, cores_time = solve(heddle, recording, args.time, ["--core-facts"])
    say("reproducing")
    begin = time.monotonic()
    reproduced = run([heddle, "reproduce", recording, "--time", f"{args.time}s", "-o", os.path.join(folder, "found.heddle")],
                     args.time * 2 + 30)
    own = f"{time.monotonic() - begin:.1f} s" if reproduced.returncode == 0 else "no"
    count = lambda statistics: str(statistics.get("read-write constraints", "-")) if statistics else "-"
    return [f"{events}{'*' if words else ''}", count(plain), plain_time, count(cores), cores_time, own]


def decoding(args):
    """A loop with calls and branches that is long enough to forget how the image was read."""
    source, app, trace = (os.path.join(args.scratch, each) for each in ("loop.c", "loop", "loop.data"))
    with open(source, "w", encoding="utf-8") as out:
        out.write("unsigned table[256];\n__attribute__((noinline)) unsigned mix(unsigned x) { return x % 3 ? x * 31 + 7 : x / 2 + 1; }\n"
                  "int main(void) { unsigned s = 1; for (unsigned i = 0; i < 20000; ++i) { s = mix(s ^ i); if (s & 1) table[s % 256] += i;"
                  " for (unsigned k = 0; k < 8; ++k) s += table[(s + k) % 256]; } return table[3] == 12345; }\n")
    subprocess.run([os.path.join(args.build, "bin", "heddle-cc"), "-O1", source, "-o", app], check=True)
    tool = os.path.join(args.build, "test-tools", "pt_tool")
    subprocess.run([tool, "emulate", trace, app], check=True, capture_output=True)
    return subprocess.run([tool, "speed", trace, "40"], check=True, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("scratch")
    parser.add_argument("--time", type=int, default=20)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.build, args.scratch = os.path.abspath(args.build), os.path.abspath(args.scratch)
    os.makedirs(args.scratch, exist_ok=True)
    only = args.only.split(",") if args.only else None
    print("H3: read-write constraints and time of the smt engine without facts and with those of cores; published in brackets")
    print(f"{'program':12} {'events':>16} {'plain':>24} {'time':>26} {'cores':>20} {'time':>26} {'heddle reproduce':>18}")
    for name, source, arguments, published in PROGRAMS:
        if only and name not in only:
            continue
        cells = measure(args, name, source, arguments)
        if len(cells) == 1:
            print(f"{name:12} {cells[0]}", flush=True)
            continue
        text = [f"{cell} [{there}]" if there else cell for cell, there in zip(cells, published)]
        print(f"{name:12} {text[0]:>16} {text[1]:>24} {text[2]:>26} {text[3]:>20} {text[4]:>26} {cells[5]:>18}", flush=True)
    if not only or "decoding" in only:
        print(f"decoding, one core: {decoding(args)} (wanted: 50 million)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
