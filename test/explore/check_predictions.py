#!/usr/bin/env python3
"""heddle check --predict on test/lit/check/Inputs/predict: what the broken programs do not show in their runs is predicted and confirmed; of the repaired ones
nothing is.

    check_predictions.py SCRATCH
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "..", "lit", "check", "Inputs", "predict")
# Name: the kind of what is predicted, how the program fails.
WANTED = {
    "null_check_then_use": ("null dereference", "segv"),
    "null_locked": ("null dereference", "segv"),
    "null_too_early": ("null dereference", "segv"),
    "assert_lost_update": ("assertion", "assert"),
    "assert_order": ("assertion", "assert"),
    "race_behind_lock": ("data race", None),
    "free_while_used": ("use after free", "use-after-free"),
}
scratch = sys.argv[1]
os.makedirs(scratch, exist_ok=True)


def build(name, *options):
    program = os.path.join(scratch, name + "".join(options))
    subprocess.run(["heddle", "cc", "-O1", "-g", "-pthread", *options, os.path.join(FOLDER, name + ".c"), "-o", program], check=True)
    return program


def predict(program, *options):
    done = subprocess.run(["heddle", "check", "--json", "--predict", "--no-shorten", "-o", program + ".heddle", *options, "--", program],
                          capture_output=True, text=True, timeout=120, check=False)
    if not done.stdout:
        sys.exit(f"{program}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


for name, (kind, failure) in WANTED.items():
    broken, repaired = build(name), build(name, "-DFIXED")
    for model in ("sc", "tso", "pso"):
        code, result = predict(broken, "--memory-model", model)
        confirmed = [each for each in result["predictions"] if each["confirmed"] and each["kind"] == kind]
        if failure is None:
            if not result["races"] or any(not side["stack"] for race in result["races"] for side in race["sides"]):
                sys.exit(f"{name} {model}: no race with stacks: {result}")
        elif code != 10 or not confirmed or result["failures"][0]["failure"]["kind"] != failure or result["failures"][0]["confirmed"] != 3:
            sys.exit(f"{name} {model}: not predicted and confirmed: {result}")
        code, result = predict(repaired, "--memory-model", model)
        if code != 12 or result["failures"] or result["races"] or result["predictions"]:
            sys.exit(f"{name} {model}, repaired: {result}")
        print(f"{name} {model}: {len(confirmed)} confirmed; repaired: {result['predictions_tried']} tried, none")

# What a prediction cannot decide is told as not confirmed; the exploration refutes it.
never = build("race_never")
code, result = predict(never)
if code != 12 or [each["confirmed"] for each in result["predictions"]] != [False] or result["races"]:
    sys.exit(f"race_never: {result}")
code = subprocess.run(["heddle", "check", "--races=fail", "--", never], capture_output=True, check=False).returncode
if code != 0:
    sys.exit(f"race_never has no race, but check ends with {code}")
print("race_never: not confirmed")
