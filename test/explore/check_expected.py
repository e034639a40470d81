"""How much of a search is foreseen (`expected`): searches that are cut in their middle, beside the same ones to their end.

usage: check_expected.py FOLDER PROGRAM
"""
import json
import subprocess
import sys


def check(program, algorithm, more):
    command = ["heddle", "check", "--quiet", "--races", "off", "--count-outcomes", "--algorithm", algorithm, *more]
    done = subprocess.run([*command, "--json", "--", program], stdout=subprocess.PIPE, text=True, check=False)
    return json.loads(done.stdout), command


def main():
    folder, source = sys.argv[1:]
    program = f"{folder}/program"
    subprocess.run(["heddle", "cc", "-g", "-O1", source, "-o", program, "-lpthread"], check=True)
    for algorithm, counted, jobs in (("trees", "states", 1), ("trees", "states", 2), ("dpor", "states", 1), ("se-mcr", "executions", 1),
                                     ("se-mcr", "executions", 2), ("mcr", "executions", 1)):
        whole, _ = check(program, algorithm, ["--jobs", str(jobs)])
        assert whole["verdict"] == "safe", whole
        number = whole[counted]
        part, command = check(program, algorithm, ["--jobs", str(jobs), f"--{counted}", str(number * 3 // 5)])
        assert part["verdict"] == "limit", part
        print(f"{algorithm}, {jobs}: {number} {counted}, expected at {part[counted]}: {part['expected']}")
        # With several workers it is chance how much of their work is the same.
        assert part["expected"] > (0.7 * number if jobs == 1 else part[counted]) and part["expected"] < 4 * number, part
    said = subprocess.run([*command, "--", program], stderr=subprocess.PIPE, text=True, check=False).stderr
    assert "executions of about " in said, said


main()
