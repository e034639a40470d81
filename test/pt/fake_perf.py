#!/usr/bin/env python3
"""Stands for perf on machines without Intel PT: takes the words of `perf record`, runs the program on virtual cores instead of
real ones, and writes the file and the end of the program where they would be.

    PT_TOOL=... [FAKE_PERF_SEEDS=FILE] fake_perf.py record -o OUT ... -- HEDDLE pt-run END [--hang-timeout=T] -- APP ARGS...

The words are kept in FAKE_PERF_LOG. Each run has the next seed: the number of lines in that log.
"""
import os
import subprocess
import sys


def main():
    words = sys.argv[1:]
    if words[:1] != ["record"]:
        print("perf version 6.1.0")
        return 0
    log = os.environ["FAKE_PERF_LOG"]
    with open(log, "a", encoding="utf-8") as out:
        out.write(" ".join(words) + "\n")
    with open(log, encoding="utf-8") as lines:
        seed = len(lines.readlines())
    output = words[words.index("-o") + 1]
    inner = words[words.index("--") + 1:]
    end, app = inner[2], inner[inner.index("--") + 1:]
    return subprocess.run([os.environ["PT_TOOL"], "emulate", "--seed", str(seed), "--end", end, output, *app],
                          stdout=subprocess.DEVNULL, stderr=9, pass_fds=(9,)).returncode


if __name__ == "__main__":
    sys.exit(main())
