#!/usr/bin/env python3
"""Is the trace of this program wrong? For one source file, as test/model/racing_programs/shrink.py asks.

    check_source.py [--policy P] [--level -O1] [--tries N] FILE

Exit code 1: the order oracle found fault in one of the tries, and says what; 0: it did not; 2: the file does not compile.
"""
import argparse
import os
import shutil
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", default="standard")
    parser.add_argument("--level", default="1", help="of optimisation")
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--problem", default="", help="the text that the oracle must say")
    parser.add_argument("file")
    options = parser.parse_args()
    executable = os.path.abspath(options.file).removesuffix(".c")
    if subprocess.run(["heddle", "cc", "-std=gnu11", f"-O{options.level}", "-g", "-w", "-pthread", options.file, "-o", executable], capture_output=True, check=False).returncode:
        sys.exit(2)
    variant = "record-order" + ("" if options.policy == "standard" else "-" + options.policy)
    recording = executable + ".rec"
    for _ in range(options.tries):
        shutil.rmtree(recording, ignore_errors=True)
        subprocess.run(["heddle", "record", "-q", "--policy", options.policy, "--variant", variant, "--memory-model", "tso", "--keep-passing", "--hang-timeout", "2s",
                        "-o", recording, "--", executable], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
        tool = os.path.join(os.environ["HEDDLE_BUILD"], "test-tools", "order_oracle") if "HEDDLE_BUILD" in os.environ else "order_oracle"
        done = subprocess.run([tool, recording], capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0 and options.problem in done.stdout:
            print(done.stdout)
            sys.exit(1)


main()
