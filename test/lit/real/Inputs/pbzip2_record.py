#!/usr/bin/env python3
"""Records pbzip2 with all policies: its results are right, and the recordings are exact.

    pbzip2_record.py PROGRAM DATA NATIVE-RESULT        (in a scratch folder)
"""
import filecmp
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HEDDLE_ROOT"], "test", "record"))
import recorded_run  # noqa: E402


def check(program, policy, arguments, result, expected):
    folder = f"{policy}.rec"
    variant = recorded_run.variant_of(program, policy)
    code = recorded_run.run(variant, arguments, folder, scratch=".", patience=60)
    if code != 0 or not filecmp.cmp(result, expected, shallow=False):
        sys.exit(f"{policy}, {arguments}: exit code {code}\n{recorded_run.output_of(folder)}")
    print(f"{policy}, {' '.join(arguments)}: {recorded_run.decode(program, folder, policy)}")


def main(program, data, native):
    for policy in recorded_run.VARIANTS:
        shutil.copy(data, "in")
        check(program, policy, ["-k", "-f", "-p4", "-b1", "in"], "in.bz2", native)
        os.remove("in")
        check(program, policy, ["-d", "-k", "-f", "-p4", "in.bz2"], "in", data)


if __name__ == "__main__":
    main(*sys.argv[1:4])
