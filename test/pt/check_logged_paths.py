#!/usr/bin/env python3
"""Paths recovered from emulated Intel PT against those that instrumentation logged in the same stepped execution: the program is
compiled with a call in each block (-fsanitize-coverage=trace-pc-guard,no-prune) that logs its number, and stepped; its trace must
give the same blocks in the same order, for every thread. Numbers of both sides need only belong together one to one.

    check_logged_paths.py BUILD SCRATCH [--levels 0,1,2] [--cores 1,2,4] [--limit SECONDS] [--seeds FIRST-LAST] [--racing FIRST-LAST]
                          [PROGRAM...]

--seeds: also random programs in C and C++ (test/record/random_programs), without their timers: stepping takes so long that handlers
would be all that runs. --racing: also those of test/model/racing_programs.
"""
import array
import os
import shutil
import subprocess
import sys

from pt_checks import argument_parser, compile_program, each_way, run

for folder in (("record", "random_programs"), ("model",)):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *folder))
import generate  # noqa: E402
from racing_programs import program  # noqa: E402


def compare(logged, recovered, partner):
    """Of one thread. partner: from logged numbers to recovered ones, of all threads."""
    for i, (ours, theirs) in enumerate(zip(recovered, logged)):
        if partner.setdefault(("log", theirs), ours) != ours or partner.setdefault(("pt", ours), theirs) != theirs:
            return f"block {i} of {len(logged)} differs"
    # A thread that was killed may have gone into one more block than its log says, or logged one that it died in.
    if abs(len(logged) - len(recovered)) > 1:
        return f"{len(recovered)} blocks recovered, {len(logged)} logged"
    return None


def compile_with_guards(args, source, level, app):
    """Without optimisation clang puts the calls in behind the plugin that embeds the program: they must be there before."""
    # Without the sanitizers' own runtime: it has signal handlers.
    guards = ["-g", "-fsanitize-coverage=trace-pc-guard,no-prune", "-fno-sanitize-link-runtime"]
    if level != "0":
        return compile_program(args.build, source, level, app, *guards, args.logger)
    cpp = source.endswith((".cpp", ".cc"))
    bitcode = app + ".bc"
    done = run(["clang++-19" if cpp else "clang-19", *(["-std=c++20"] if cpp else []), "-O0", "-pthread", *guards, "-emit-llvm", "-c",
                os.path.abspath(source), "-o", bitcode], 180)
    if done.returncode != 0:
        return done
    return run([os.path.join(args.build, "bin", "heddle-c++" if cpp else "heddle-cc"), "-O0", "-pthread", "-g", bitcode, args.logger,
                "-o", app], 180)


def check(args, source, level, cores):
    name = os.path.basename(source).rsplit(".", 1)[0]
    app, trace, logs = (os.path.join(args.scratch, each) for each in (name, "trace.data", "logs"))
    if args.compiled != (source, level):
        compiled = compile_with_guards(args, source, level, app)
        if compiled.returncode != 0:
            return "broken", compiled.stderr[:300]
        args.compiled = source, level
    shutil.rmtree(logs, ignore_errors=True)
    os.makedirs(logs)
    emulated = run([os.path.join(args.build, "test-tools", "pt_tool"), "emulate", "--cores", cores, "--limit", str(args.limit),
                    trace, app], args.limit + 60, cwd=args.scratch, env=dict(os.environ, LOG_BLOCKS=logs))
    if emulated.returncode != 0:
        return "not recorded", emulated.stderr[:200]
    paths = run([os.path.join(args.build, "test-tools", "pt_paths"), app, trace], 300)
    if paths.returncode != 0:
        return "not recovered", paths.stderr[:200]
    recovered, troubles = {}, {}
    for line in paths.stdout.splitlines():
        words = line.split(None, 2)
        if words[0] == "trouble":
            troubles[words[1]] = words[2]
        else:
            recovered.setdefault(words[0], []).append(int(words[1]))
    partner, blocks = {}, 0
    for tid in sorted(set(os.listdir(logs)) | set(recovered)):
        logged = array.array("I")
        if os.path.exists(os.path.join(logs, tid)):
            with open(os.path.join(logs, tid), "rb") as file:
                logged.frombytes(file.read())
        numbers = logged.tolist()
        while numbers and numbers[-1] == 0:
            numbers.pop()
        ours = recovered.get(tid, [])
        if tid in troubles:  # what there is must be right
            numbers = numbers[:len(ours)]
        if problem := compare(numbers, ours, partner):
            return "differs", f"thread {tid}: {problem}"
        blocks += len(ours)
    return ("ends early", "; ".join(sorted(set(troubles.values())))) if troubles else ("same", str(blocks))


def random_programs(args):
    """Their names and texts."""
    def each(seeds):
        first, _, last = seeds.partition("-")
        return range(int(first), int(last or first) + 1) if seeds else ()

    for seed in each(args.seeds):
        text, suffix, _ = generate.generate(seed)
        yield f"random{seed}{suffix}", text.replace("setitimer(ITIMER_REAL, &timer, NULL)", "(void)timer")
    for seed in each(args.racing):
        yield f"racing{seed}.c", program.file_of([("p_", program.make(seed, "p_"))])


def main():
    parser = argument_parser("*")
    parser.add_argument("--levels", default="0,1,2")
    parser.add_argument("--cores", default="1,2,4")
    parser.add_argument("--limit", type=int, default=8)
    parser.add_argument("--seeds", default="")
    parser.add_argument("--racing", default="")
    args = parser.parse_intermixed_args()
    os.makedirs(args.scratch, exist_ok=True)
    for name, text in random_programs(args):
        args.programs.append(os.path.join(args.scratch, name))
        with open(args.programs[-1], "w", encoding="utf-8") as out:
            out.write(text)
    args.logger = os.path.join(args.scratch, "log_blocks.o")
    subprocess.run(["clang-19", "-O1", "-fPIC", "-c", os.path.join(os.path.dirname(os.path.abspath(__file__)), "log_blocks.c"), "-o",
                    args.logger], check=True)
    args.compiled = None
    counts, blocks = {}, 0
    for source, level, cores in each_way(args):
        verdict, text = check(args, source, level, cores)
        counts[verdict] = counts.get(verdict, 0) + 1
        if verdict == "same":
            blocks += int(text)
        else:
            print(f"{os.path.basename(source)} -O{level} {cores} cores: {verdict}: {text}", flush=True)
    print(", ".join(f"{counts[each]} {each}" for each in sorted(counts)) + f"; {blocks} blocks")
    return 1 if set(counts) - {"same", "ends early"} else 0


if __name__ == "__main__":
    sys.exit(main())
