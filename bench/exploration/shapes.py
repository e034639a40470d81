"""Programs of the shapes of the thesis's tables 3.4, 5.1 and 5.2 (shapes.c), what is known of them, and heddle check on them.

Outcomes: different maps from each thread's n-th read to its value, counted by enumerating the operational machine (SC, TSO, PSO; None: not
counted). Peers: executions and processor seconds of Nidhugg 0.4 (SC: reads-from) and GenMC 0.11.0 on the same programs; None: not in 60 s.
GenMC has no PSO."""
import collections
import json
import os
import resource
import subprocess

MODELS = ("sc", "tso", "pso")
Program = collections.namedtuple("Program", "shape size outcomes peers")
# fmt: off
PROGRAMS = [
    Program("dekker", 0, (38, 40, 62), {'sc': ((54, 0.02), (54, 0.05)), 'tso': ((62, 0.02), (62, 0.05)), 'pso': ((140, 0.03),)}),
    Program("peterson", 0, (32, 46, 62), {'sc': ((33, 0.02), (34, 0.05)), 'tso': ((74, 0.03), (74, 0.05)), 'pso': ((134, 0.03),)}),
    Program("lamport", 0, (49, 51, 173), {'sc': ((58, 0.02), (76, 0.05)), 'tso': ((112, 0.03), (112, 0.05)), 'pso': ((600, 0.16),)}),
    Program("bakery", 0, (75, 179, 429), {'sc': ((84, 0.03), (84, 0.05)), 'tso': ((255, 0.04), (255, 0.06)), 'pso': ((1205, 0.18),)}),
    Program("rvexample", 1, (8, 8, 10), {'sc': ((15, 0.02), (20, 0.05)), 'tso': ((20, 0.02), (20, 0.05)), 'pso': ((30, 0.02),)}),
    Program("rvexample", 2, (107, 107, 137), {'sc': ((870, 0.1), (1959, 0.07)), 'tso': ((2122, 0.19), (2122, 0.07)), 'pso': ((4996, 0.48),)}),
    Program("account", 4, (87, 87, 87), {'sc': ((172, 0.03), (288, 0.06)), 'tso': ((288, 0.04), (288, 0.06)), 'pso': ((288, 0.04),)}),
    Program("account", 6, (3852, 3852, 3852), {'sc': ((22608, 3.6), (86400, 3.04)), 'tso': ((86400, 12.9), (86400, 3.17)), 'pso': ((86400, 15.69),)}),
    Program("airline", 3, (55, 55, 55), {'sc': ((67, 0.02), (108, 0.07)), 'tso': ((108, 0.05), (108, 0.07)), 'pso': ((108, 0.04),)}),
    Program("airline", 4, (1097, 1097, 1097), {'sc': ((1797, 0.27), (4320, 0.19)), 'tso': ((4320, 0.77), (4320, 0.18)), 'pso': ((4320, 0.62),)}),
    Program("airline", 5, (34331, None, None), {'sc': ((82141, 15.24), (324000, 12.9)), 'tso': (None, (324000, 16.42)), 'pso': (None,)}),
    Program("bubblesort", 3, (73, 73, 79), {'sc': ((144, 0.04), (178, 0.06)), 'tso': ((178, 0.04), (178, 0.06)), 'pso': ((186, 0.04),)}),
    Program("bubblesort", 4, (None, None, None), {'sc': (None, None), 'tso': (None, None), 'pso': (None,)}),
    Program("pingpong", 2, (7, 7, 7), {'sc': ((11, 0.02), (24, 0.06)), 'tso': ((24, 0.03), (24, 0.06)), 'pso': ((24, 0.03),)}),
    Program("pingpong", 3, (37, 37, 37), {'sc': ((424, 0.06), (3168, 0.09)), 'tso': ((3168, 0.32), (3168, 0.1)), 'pso': ((3168, 0.38),)}),
    Program("pingpong", 4, (175, 175, 175), {'sc': ((37041, 7.11), (1366560, 18.14)), 'tso': (None, (1366560, 18.34)), 'pso': (None,)}),
    Program("stack", 2, (6, 6, 6), {'sc': ((6, 0.02), (6, 0.06)), 'tso': ((6, 0.02), (6, 0.06)), 'pso': ((6, 0.02),)}),
    Program("stack", 3, (20, 20, 20), {'sc': ((20, 0.03), (20, 0.06)), 'tso': ((20, 0.02), (20, 0.06)), 'pso': ((20, 0.02),)}),
    Program("stack", 5, (252, 252, 252), {'sc': ((252, 0.1), (252, 0.14)), 'tso': ((252, 0.1), (252, 0.12)), 'pso': ((252, 0.06),)}),
    Program("stringbuffer", 1, (3, 3, 3), {'sc': ((6, 0.02), (6, 0.06)), 'tso': ((6, 0.02), (6, 0.05)), 'pso': ((6, 0.02),)}),
    Program("counter", 2, (26, 26, 26), {'sc': ((26, 0.02), (34, 0.06)), 'tso': ((34, 0.02), (34, 0.07)), 'pso': ((34, 0.03),)}),
    Program("counter", 3, (192, 192, 192), {'sc': ((192, 0.03), (328, 0.06)), 'tso': ((328, 0.04), (328, 0.06)), 'pso': ((328, 0.03),)}),
    Program("counter", 5, (11946, 11946, 11946), {'sc': ((12092, 1.71), (34904, 0.88)), 'tso': ((34904, 4.0), (34904, 1.13)), 'pso': ((34904, 3.47),)}),
    Program("example", 1, (2, 2, 5), {'sc': ((3, 0.02), (3, 0.08)), 'tso': ((3, 0.03), (3, 0.09)), 'pso': ((11, 0.03),)}),
    Program("example", 2, (16, 16, 25), {'sc': ((50, 0.03), (50, 0.07)), 'tso': ((50, 0.03), (50, 0.08)), 'pso': ((831, 0.14),)}),
    Program("example", 3, (98, 98, 125), {'sc': ((984, 0.14), (984, 0.07)), 'tso': ((984, 0.15), (984, 0.07)), 'pso': ((90866, 9.87),)}),
    Program("example", 4, (544, 544, 625), {'sc': ((20347, 2.43), (20347, 0.33)), 'tso': ((20347, 1.88), (20347, 0.36)), 'pso': (None,)}),
    Program("indep", 2, (4, 4, 4), {'sc': ((4, 0.02), (4, 0.07)), 'tso': ((4, 0.03), (4, 0.07)), 'pso': ((4, 0.03),)}),
    Program("indep", 3, (8, 8, 8), {'sc': ((8, 0.03), (8, 0.06)), 'tso': ((8, 0.03), (8, 0.07)), 'pso': ((8, 0.03),)}),
    Program("indep", 4, (16, 16, 16), {'sc': ((16, 0.02), (16, 0.07)), 'tso': ((16, 0.02), (16, 0.07)), 'pso': ((16, 0.02),)}),
    Program("indep", 5, (32, 32, 32), {'sc': ((32, 0.03), (32, 0.07)), 'tso': ((32, 0.02), (32, 0.07)), 'pso': ((32, 0.02),)}),
]
# fmt: on
ALGORITHMS = ("se-mcr", "mcr", "mcr-s", "mcr-s+", "dpor", "icb")
DEFAULT_SECONDS, OTHER_SECONDS = 60, 2  # at most: of the default algorithm; of each of the others
FOLDER = os.path.dirname(os.path.abspath(__file__))


def name_of(program):
    return f"{program.shape}({program.size})" if program.size else program.shape


def build(program, compiler, folder):
    """The executable."""
    out = os.path.join(folder, f"{program.shape}{program.size}")
    subprocess.run([compiler, "-O1", "-g", "-pthread", f"-DSHAPE_{program.shape}", f"-DN={max(program.size, 1)}",
                    os.path.join(FOLDER, "shapes.c"), "-o", out], check=True)
    return out


def check(heddle, executable, model, algorithm, seconds, *options):
    """What it says, and the processor seconds of all that it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([heddle, "check", "--json", "--memory-model", model, "--algorithm", algorithm, "--time", f"{seconds}s", *options, "--", executable],
                          capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = json.loads(done.stdout)
    answer["processor"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return answer


def outcomes_of(answer):
    if answer["verdict"] != "safe":
        return answer["verdict"]
    return answer["outcomes"] if answer["outcomes_counted"] else "not counted"


def bench(heddle, compiler, folder, table, say):
    os.makedirs(folder)
    rows = []
    for program in PROGRAMS:
        executable = build(program, compiler, folder)
        check(heddle, executable, "sc", "trees", 1)  # heddle reads the executable once, and keeps what it finds
        for model, outcomes in zip(MODELS, program.outcomes):
            default = check(heddle, executable, model, "trees", DEFAULT_SECONDS)
            counts = []
            for algorithm in ALGORITHMS:
                answer = check(heddle, executable, model, algorithm, OTHER_SECONDS)
                counts.append(str(answer["executions"]) if answer["verdict"] == "safe" else f"> {answer['executions']}")
            peers = [f"{each[0]} / {each[1]:.2f}" if each else "none in 60 s" for each in program.peers[model]]
            rows.append([f"{name_of(program)} {model}", outcomes or "", outcomes_of(default),
                         default["executions"], default["states"], f"{default['processor']:.2f}", *counts, *peers, *[""] * (2 - len(peers))])
            say("  ".join(str(cell) for cell in rows[-1]))
    table(f"exploration: all interleavings. Executions of each algorithm (> n: not done in {OTHER_SECONDS} s); of trees, the default, also outcomes "
          f"(at most {DEFAULT_SECONDS} s), states and processor seconds",
          ["program", "classes", "outcomes", "trees", "states", "seconds", *ALGORITHMS, "Nidhugg", "GenMC"], rows)
