"""What the checks of Intel PT have in common: their arguments, and how they compile and run programs."""
import argparse
import os
import subprocess


def run(command, timeout, **more):
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "takes too long")


def compile_program(build, source, level, app, *more):
    compiler = ["heddle-c++", "-std=c++20"] if source.endswith((".cpp", ".cc")) else ["heddle-cc"]
    return run([os.path.join(build, "bin", compiler[0]), *compiler[1:], f"-O{level}", "-pthread", os.path.abspath(source), *more, "-o", app],
               180)


def argument_parser(programs="+"):
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("scratch", type=os.path.abspath)
    parser.add_argument("programs", nargs=programs)
    return parser


def each_way(args):
    """Of programs that are checked at several levels of optimisation, on several numbers of cores."""
    for source in args.programs:
        for level in args.levels.split(","):
            for cores in args.cores.split(","):
                yield source, level, cores
