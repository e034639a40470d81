#!/usr/bin/env python3
"""Does recorded code synchronise? Looks at the machine code of a program's record variant (decision D3).

    inspect_code.py PROGRAM VARIANT

PROGRAM must have no atomic operations of its own. Then, in the variant's functions of the program and in those of the runtime that run on the
recording path, there must be
- no lock prefix, no xchg with memory (which locks by itself), no fence, no instruction that serialises;
- no store to a writable global that the same function of PROGRAM does not store to: what is recorded goes to memory of the thread.
"""
import re
import subprocess
import sys

# What runs while a thread records. Functions that these call only at the beginning and end of chunks, threads and files may synchronise.
HOT = ["heddle_record_next_word", "heddle_record_next_data", "heddle_record_enter", "heddle_record_landed", "heddle_record_twice_begin",
       "heddle_record_twice", "heddle_record_foreign", "heddle_record_sync", "heddle_record_returned", "heddle_record_range"]
SYNCHRONISES = re.compile(r"^(lock\b|mfence|sfence|lfence|serialize|cpuid|xchg\w*\s.*\(|xadd|cmpxchg)")
# In AT&T syntax the last operand is written, but for these.
READS_ONLY = re.compile(r"^(cmp|test|bt|ucomi|comi|vucomi|vcomi|push|call|jmp|nop|prefetch|mul|imul|div|idiv|fld|fild)")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def functions(binary):
    """Instructions of each function by name: [(text, target address or None)]."""
    found, current = {}, None
    for line in output("llvm-objdump-19", "-d", "--no-show-raw-insn", "--no-leading-addr", binary).splitlines():
        head = re.match(r"^<(.+)>:$", line)
        if head:
            current = found.setdefault(head[1], [])
        elif current is not None and line.startswith((" ", "\t")) and line.strip():
            text, _, comment = line.strip().partition("#")
            target = re.search(r"0x([0-9a-f]+)", comment)
            current.append((re.sub(r"\s+", " ", text.strip()), int(target[1], 16) if target else None))
    return found


def writable_symbols(binary):
    """[(start, end, name)] of data that the program may write."""
    sections = {}
    for line in output("readelf", "-SW", binary).splitlines():
        match = re.match(r"\s*\[\s*(\d+)\]\s+(\S+)\s+\S+\s+([0-9a-f]+)\s+\S+\s+([0-9a-f]+)", line)
        if match and match[2] in (".data", ".bss"):
            sections[match[2]] = (int(match[3], 16), int(match[3], 16) + int(match[4], 16))
    symbols = []
    for line in output("nm", "-S", "--defined-only", binary).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "dDbB":
            symbols.append((int(words[0], 16), int(words[0], 16) + int(words[1], 16), words[3]))
    return list(sections.values()), symbols


class Binary:
    def __init__(self, path):
        self.path = path
        self.functions = functions(path)
        self.sections, self.symbols = writable_symbols(path)

    def name_of(self, address):
        for start, end, name in self.symbols:
            if start <= address < end:
                return name
        return None

    def global_stores(self, name):
        """[(what is stored to, instruction)]: stores to an address that the instruction names. What is not inside a symbol is named by its address."""
        stores = []
        for text, target in self.functions.get(name, []):
            if "(%rip)" not in text or target is None or READS_ONLY.match(text) or not text.endswith("(%rip)"):
                continue
            if any(start <= target < end for start, end in self.sections):
                stores.append((self.name_of(target) or hex(target), text))
        return stores


def plain(name):
    """The name of a function without what a variant adds to it."""
    return re.split(r"\.(?=[a-z_]*heddle|entry|body)", name)[0]


def main(program_path, variant_path):
    program, variant = Binary(program_path), Binary(variant_path)
    own = {name for name in program.functions if not name.startswith("_") and "@" not in name and name not in
           ("deregister_tm_clones", "register_tm_clones", "frame_dummy")}
    inspected = [name for name in variant.functions if plain(name) in own]
    errors = [f"{name} of the program is not in the variant" for name in sorted(own) if name not in {plain(other) for other in inspected}]
    errors += [f"{name} of the runtime is not in the variant" for name in HOT if name not in variant.functions]
    for name in own:
        errors += [f"{name} of the program itself synchronises: {text}" for text, _ in program.functions[name] if SYNCHRONISES.match(text)]
    hooks = 0
    for name in [*inspected, *HOT]:
        code = variant.functions.get(name, [])
        hooks += sum("heddle_record_" in text or "%fs:" in text for text, _ in code)
        errors += [f"{name}: {text}" for text, _ in code if SYNCHRONISES.match(text)]
        known = {symbol for symbol, _ in program.global_stores(plain(name))}
        errors += [f"{name}: stores to {symbol}: {text}" for symbol, text in variant.global_stores(name) if symbol not in known]
    print("\n".join(errors))
    instructions = sum(len(variant.functions.get(name, [])) for name in [*inspected, *HOT])
    print(f"{len(inspected)} functions of the program, {len(HOT)} of the runtime, {instructions} instructions, {hooks} of them record, {len(errors)} errors")
    return 1 if errors or not hooks else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
