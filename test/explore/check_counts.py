#!/usr/bin/env python3
"""heddle check on the programs of bench/exploration: as many outcomes as the enumeration of the operational machine has counted, and as many
executions of se-mcr, none of which is like another.

    check_counts.py SCRATCH MOST

MOST: programs of so many outcomes are left out."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "exploration"))
import shapes  # noqa: E402

scratch, most = sys.argv[1], int(sys.argv[2])
shutil.rmtree(scratch, ignore_errors=True)
os.makedirs(scratch)
wrong, checked = [], 0
for program in shapes.PROGRAMS:
    if any(outcomes is None or outcomes >= most for outcomes in program.outcomes) or (program.shape, program.size) == ("indep", 5):
        continue  # of indep(5) the interleavings are too many, though not the outcomes
    executable = shapes.build(program, "heddle-cc", scratch)
    for model, outcomes in zip(shapes.MODELS, program.outcomes):
        for algorithm in ("trees", "se-mcr"):
            answer = shapes.check("heddle", executable, model, algorithm, 120, "--count-outcomes")
            seen = (answer["verdict"], answer["outcomes"]) + ((answer["executions"], answer["redundant"]) if algorithm == "se-mcr" else ())
            expected = ("safe", outcomes) + ((outcomes, 0) if algorithm == "se-mcr" else ())
            checked += 1
            if seen != expected:
                wrong.append(f"{shapes.name_of(program)} {model} {algorithm}: {seen}, expected {expected}")
print(f"{checked} explorations, {len(wrong)} wrong")
sys.exit("\n".join(wrong) if wrong or checked < 60 else 0)
