#!/usr/bin/env python3
"""The decode oracle itself: it must notice when a recording and the blocks that ran do not go together.

    tamper.py PROGRAM        (in a scratch folder)

Records a run and changes it in several ways, after each of which record_oracle must find fault.
"""
import os
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import recorded_run  # noqa: E402
from recorded_run import Wrong  # noqa: E402

THREAD = "0.1"
PATH, HEAD, PAGE = 1, 64, 4096


def change(folder, name, edit):
    path = os.path.join(folder, "threads", THREAD + name)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    edit(content)
    with open(path, "wb") as file:
        file.write(content)


def blocks_end(content):
    return content.find(b"\xff\xff\xff\xff" * 4) if b"\xff\xff\xff\xff" * 4 in content else len(content)


def other_block(content):
    content[400:404] = content[404:408] if content[404:408] != content[400:404] else content[408:412]


def one_less(content):
    end = blocks_end(content)
    content[end - 4:end] = b"\xff\xff\xff\xff"


def one_more(content):
    end = blocks_end(content)
    content[end:end + 4] = content[0:4]


def other_path(content):
    """Turns over a bit of the first path word."""
    for at in range(PAGE, len(content), PAGE):
        if content[at + 8:at + 12] == b"chnk" and int.from_bytes(content[at + 12:at + 16], "little") == PATH:
            content[at + HEAD + 1] ^= 4
            return
    raise Wrong("no chunk of the path")


def main(program):
    folder, copy = "right.rec", "changed.rec"
    variant = recorded_run.variant_of(program, "standard")
    if recorded_run.run(variant, [], folder, scratch=".", patience=20) != 0:
        raise Wrong("the program failed")
    recorded_run.decode(program, folder, "standard")
    for name, edit in ((".blocks", other_block), (".blocks", one_less), (".blocks", one_more), (".log", other_path)):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        change(copy, name, edit)
        try:
            recorded_run.decode(program, copy, "standard")
        except Wrong as wrong:
            print(f"{edit.__name__}: {str(wrong).splitlines()[1]}")
        else:
            print(f"{edit.__name__}: not noticed")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
