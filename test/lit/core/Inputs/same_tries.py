#!/usr/bin/env python3
"""same_tries.py CORE APP [ARGUMENT...]: heddle core with and without snapshots must make the same tries and find the same schedule. Prints what
was done with snapshots, for each order of tries."""
import json
import os
import subprocess
import sys

core, command = sys.argv[1], sys.argv[2:]
COMPARED = ("verdict", "search", "tries", "events", "prefix_events", "candidates", "match")
for order in ("temporal", "dependence", "chess"):
    told = {}
    for way in ("off", "on"):
        schedule = f"{order}.{way}.heddle"
        if os.path.exists(schedule):
            os.remove(schedule)
        done = subprocess.run(["heddle", "core", "--json", "--no-shorten", "--tries", "300", "--order", order, "--snapshots", way, "-o", schedule,
                               core, "--"] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if not done.stdout:
            sys.exit(f"{order}, snapshots {way}: {done.stderr}")
        told[way] = json.loads(done.stdout)
        told[way]["steps"] = open(schedule).read() if os.path.exists(schedule) else ""
    for key in (*COMPARED, "steps"):
        if told["off"].get(key) != told["on"].get(key):
            sys.exit(f"{order}: {key} differs: {told['off'].get(key)} without snapshots, {told['on'].get(key)} with them")
    if told["off"]["snapshots"]["taken"] != 0:
        sys.exit(f"{order}: snapshots were taken though they are off")
    print(f"{order}: {told['on']['verdict']} by {told['on']['tries']} tries, {told['on']['snapshots']['taken']} snapshots taken, "
          f"{told['on']['snapshots']['runs']} runs from them")
