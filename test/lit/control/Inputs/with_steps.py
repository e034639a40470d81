#!/usr/bin/env python3
"""with_steps.py SCHEDULE STEP...: the schedule with these steps instead of its own, and without what depends on them, on standard output."""
import sys

DEPENDENT = ("events", "values", "run", "flush", "wake", "timeout", "end")

with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        words = line.split()
        if not words or words[0] not in DEPENDENT:
            print(line, end="")
for step in sys.argv[2:]:
    print(step)
print(f"end {len(sys.argv) - 2}")
