#!/usr/bin/env python3
"""Checks the includes of src/ against the layers of ARCHITECTURE.md.

A folder may include folders of lower layers only, never one of its own layer; each third-party library is visible in
the folders named for it. Tests beside the sources may use GoogleTest and whatever their folder may.

Types in namespace heddle have names of their own: two of one name in one executable compile and link, and then share their
inline functions, with whatever crash comes of it.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")

LAYERS = {
    "base": 0, "abi": 0,
    "runtime": 1, "image": 1, "schedule": 1, "library_models": 1,
    "program": 2,
    "instrument": 3, "recording": 3,
    "wrapper": 4, "build": 4, "trace": 4,
    "symex": 5, "pt": 5, "replay": 5, "smt": 5, "coredump": 5,
    "solve": 6, "explore": 6, "report": 6,
    "doctor": 6,
    "driver": 7,
    "cli": 8,
}

# Header prefix -> folders that may include it.
THIRD_PARTY = {
    "llvm/": {"program", "instrument", "recording", "build", "trace", "symex", "pt", "coredump", "driver"},
    "zstd.h": {"base"},
    "nlohmann/": {"base"},
    "gelf.h": {"image"}, "libelf.h": {"image"}, "dwarf.h": {"image"}, "elfutils/": {"image", "coredump"},
    "z3": {"smt"},
    "intel-pt.h": {"pt"},
    "CLI/": {"cli"},
}


def problems_of(path, folder):
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        quoted, header = match.group(1) == '"', match.group(2)
        where = f"{os.path.relpath(path, os.path.dirname(ROOT))}:{number}"
        target = header.split("/")[0]
        if quoted and "/" in header and target in LAYERS and target != folder:
            if folder == "runtime" and target != "abi":
                yield f"{where}: a runtime may include abi only, not {header}"
            elif LAYERS[target] >= LAYERS[folder]:
                yield f"{where}: {folder} (layer {LAYERS[folder]}) includes {header} (layer {LAYERS[target]})"
        elif quoted and "/" not in header:
            yield f"{where}: write the folder too: {header}"
        for prefix, allowed in THIRD_PARTY.items():
            if not quoted and header.startswith(prefix) and folder not in allowed:
                yield f"{where}: {prefix} is not for {folder}"


def types_in(path):
    """Names of types in namespace heddle itself, not in an unnamed namespace or one below."""
    text = open(path, encoding="utf-8").read()
    if not re.search(r"^namespace heddle \{$", text, re.M):
        return
    text = re.sub(r"^namespace \{$.*?^\}  // namespace$", "", text, flags=re.M | re.S)
    for match in re.finditer(r"^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^{;]*)? \{", text, re.M):
        yield match.group(1)


def main():
    found = []
    types = {}
    for base, _, files in os.walk(ROOT):
        folder = os.path.relpath(base, ROOT).split(os.sep)[0]
        for name in sorted(files):
            if not name.endswith((".h", ".cpp", ".c")):
                continue
            if folder not in LAYERS:
                found.append(f"src/{folder} is not in the table of layers")
                break
            found += problems_of(os.path.join(base, name), folder)
            for each in types_in(os.path.join(base, name)):
                there = types.setdefault(each, f"src/{folder}/{name}")
                if there != f"src/{folder}/{name}":
                    found.append(f"src/{folder}/{name}: there is another heddle::{each} in {there}")
    print("\n".join(found) if found else "layers: includes point down only, types have names of their own")
    sys.exit(1 if found else 0)


main()
