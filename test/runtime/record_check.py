#!/usr/bin/env python3
"""The record runtime by itself: runs test/runtime/record_hooks and compares the recordings, read here after
src/abi/record.h and nothing else, with what the program noted.

usage: record_check.py PROGRAM SCRATCH [KILLS]
"""
import functools
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

PAGE, HEAD, FILES = 4096, 64, 8192
LOG_MAGIC, PROCESS_MAGIC, CHUNK_MAGIC = 0x676F6C656C646468, 0x636F7270656C6468, 0x6B6E6863
PATH, DATA = 1, 2
CLOCK, CHAOS = 1, 2
PROCESS = struct.Struct("<QIiQQQQQQQQIIIiii256sQQQ1024s1024sIII")
PROCESS_FIELDS = ("magic format pid load_base begin_tsc begin_ns end_tsc end_ns options keep chaos_seed failed failure_seen "
                  "failure signal code tid thread address pc sp text text2 forks files lost_logs").split()
LOG = struct.Struct("<QII256siIQQQQQQ")
LOG_FIELDS = "magic format level name tid stop begin_tsc end_tsc state stack_low stack_high tls".split()
CHUNK = struct.Struct("<QIIQQQQQQ")


class Wrong(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def zero_ended(raw):
    return raw.split(b"\0")[0].decode()


def process_of(folder):
    with open(os.path.join(folder, "process"), "rb") as file:
        process = dict(zip(PROCESS_FIELDS, PROCESS.unpack(file.read(PROCESS.size))))
    for name in ("thread", "text", "text2"):
        process[name] = zero_ended(process[name])
    return process


class Log:
    """Chunks and streams of one log file."""

    def __init__(self, path, clock):
        with open(path, "rb") as file:
            raw = file.read()
        expect(os.stat(path).st_mode & 0o777 == 0o600, f"{path}: readable by others")
        self.path = path
        self.clock = clock
        for field, value in zip(LOG_FIELDS, LOG.unpack_from(raw)):
            setattr(self, field, value)
        expect(self.magic == LOG_MAGIC and self.format == 5, f"{path}: no log")
        self.name = zero_ended(self.name)
        chunks = {PATH: [], DATA: []}
        at = PAGE
        while at + HEAD <= len(raw):
            used, magic, stream, size, sequence, begin, end, _, _ = CHUNK.unpack_from(raw, at)
            if size == 0:
                at += PAGE
                continue
            expect(size % PAGE == 0 and HEAD <= used <= size, f"{path}: chunk at {at}")
            if magic == CHUNK_MAGIC:
                expect(at + size <= len(raw), f"{path}: chunk at {at}")
                copy = [chunk for chunk in chunks[stream] if chunk[0] == sequence]
                expect(all(chunk[1][HEAD:used] == raw[at + HEAD:at + used] for chunk in copy), f"{path}: two chunks {sequence}")
                if not copy:
                    chunks[stream].append((sequence, raw[at:at + size], used, begin, end))
            at += size
        for stream in chunks.values():
            stream.sort(key=lambda chunk: chunk[0])
            numbers = [chunk[0] for chunk in stream]
            expect(numbers == list(range(numbers[0], numbers[0] + len(numbers))), f"{path}: sequence {numbers}")
            for chunk in stream[:-1]:
                expect((chunk[4] != 0) == clock, f"{path}: a chunk before the last has no end")
        self.chunks = chunks
        self.words = [word for chunk in chunks[PATH] for word in self.words_of(chunk)]
        self.data = b"".join(chunk[1][HEAD:chunk[2]] for chunk in chunks[DATA])

    def bytes_of(self, stream):
        return sum(len(chunk[1]) for chunk in self.chunks[stream])

    def words_of(self, chunk):
        raw = [word[0] for word in struct.iter_unpack("<Q", chunk[1][HEAD:])]
        words = []
        i = 0
        while i < len(raw) and raw[i] != 0:
            following = raw[i + 1] if i + 1 < len(raw) else 0
            if raw[i] == 1 and following != 0:
                expect(words, f"{self.path}: a chunk begins with a repetition")
                words.extend([words[-1]] * following)
                i += 2
                continue
            words.append(raw[i])
            if i + 1 < len(raw) and following != 0:
                expect(raw[i] != 1, f"{self.path}: an empty word inside")
            i += 1
        return words

    def bits(self):
        return "".join(bin(word)[3:] for word in self.words)


class Data:
    """Reads the data stream with the notes as a guide."""

    def __init__(self, log):
        self.log = log
        self.raw = log.data
        self.at = 0
        self.table = [0] * 255
        self.errno = 0
        self.time = log.begin_tsc
        self.first_twice = None
        self.boundaries = []  # of entries; inside bytes everything is one
        self.signals = []

    def more(self):
        return self.at < len(self.raw)

    def take(self, count):
        if self.at + count > len(self.raw):
            raise EOFError
        self.at += count
        return self.raw[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def fixed(self, count):
        return int.from_bytes(self.take(count), "little")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def reference(self):
        place = self.byte()
        if place < 255:
            return self.table[place]
        address = self.fixed(8)
        self.table[(address >> 3) % 255] = address
        return address

    def stamp(self):
        self.time += 32 * self.varint()

    def tag(self, wanted):
        got = self.byte()
        expect(got == wanted, f"{self.log.path}: data at {self.at - 1}: tag {got}, not {wanted}")

    def equal(self, got, wanted, what):
        expect(got == wanted, f"{self.log.path}: data at {self.at}: {what} {got}, not {wanted}")

    def entry(self, words):
        kind = words[0]
        begin = self.at
        self.boundaries.append((begin, begin))
        if kind == "bare":
            self.equal(self.fixed(int(words[1])), int(words[2], 16) & (1 << 8 * int(words[1])) - 1, kind)
        elif kind in ("enter", "landed", "child", "outside"):
            self.tag({"enter": 1, "landed": 2, "child": 8, "outside": 11}[kind])
            self.equal(self.varint(), int(words[1]), kind)
        elif kind == "foreign":
            self.tag(4)
            self.equal(self.reference(), int(words[1], 16), kind)
        elif kind == "sync":
            self.tag(128 + int(words[1]))
            for wanted in words[4:]:
                self.equal(self.reference(), int(wanted, 16), "object")
            if self.log.clock and words[3] == "releases":
                self.stamp()
        elif kind == "returned":
            size, flags = int(words[1]), int(words[3])
            tag = self.byte()
            expect(tag & ~7 == 16, f"{self.log.path}: data at {begin}: tag {tag}")
            if tag & 1:
                self.errno = self.varint()
            if flags & 1:
                self.equal(self.errno, int(words[4]), "errno")
            self.equal(bool(tag & 2), bool(flags & 2) and self.log.clock, "stamp")
            if tag & 2:
                self.stamp()
            result = int(words[2], 16)
            self.equal(bool(tag & 4), size != 0 and result == 0, "zero")
            if result != 0:
                self.equal(self.fixed(size), result, kind)
        elif kind == "bytes":
            self.tag(6)
            wanted = bytes.fromhex(words[1] if len(words) > 1 else "")
            self.equal(self.varint(), len(wanted), "count")
            self.boundaries.append((self.at, self.at + len(wanted)))
            there = self.raw[self.at:self.at + len(wanted)]
            expect(there == wanted[:len(there)], f"{self.log.path}: data at {self.at}: other bytes")
            self.take(len(wanted))
        elif kind == "file":
            self.tag(7)
            self.equal([self.varint(), self.varint(), self.varint()], [int(word) for word in words[1:]], kind)
        elif kind == "twice":
            self.tag(3)
            self.equal(self.varint(), int(words[1]), "call")
            count = self.varint()
            self.equal(count, int(words[2]), "returns")
            if count == 0:
                self.first_twice = begin
            else:
                self.equal(begin - self.varint(), self.first_twice, "distance")
            self.equal(self.fixed(4), int(words[3]), kind)
        elif kind == "signal":
            self.tag(9)
            self.equal(self.varint(), int(words[1]), kind)
            self.fixed(8)
            self.signals.append((self.varint(), self.fixed(8), self.varint(), self.varint()))
        elif kind == "signal_end":
            self.tag(10)
        else:
            raise Wrong(f"note {words}")


@functools.lru_cache(maxsize=8)
def read_notes(path):
    """All bits of the path, and the entries of the data stream."""
    bits, entries = [], []
    with open(path) as file:
        lines = file.read().splitlines()
    expect(lines[-1] == "end", f"{path}: not to its end")
    for line in lines[:-1]:
        words = line.split()
        if words[0] == "p":
            bits.append(format(int(words[2], 16), f"0{words[1]}b"))
        else:
            entries.append(words[1:])
    return "".join(bits), entries


def compare(log, notes, whole):
    """A log against its notes; `whole`: all of it must be there."""
    bits, entries = read_notes(notes)
    data = Data(log)
    for words in entries:
        if not data.more() and not whole:
            break
        try:
            data.entry(words)
        except EOFError:
            expect(not whole, f"{log.path}: the data ends before {words}")
            expect(words[0] == "bytes", f"{log.path}: cut inside {words}")
            data.at = len(data.raw)
    expect(not data.more(), f"{log.path}: more data than notes: {data.raw[data.at:data.at + 20].hex()}")
    got = log.bits()
    expect(bits == got if whole else bits.startswith(got), f"{log.path}: path differs, {len(got)} bits of {len(bits)}")
    return data


def compare_positions(below, below_data, data):
    """Where handlers interrupted the log below."""
    boundaries = sorted(below_data.boundaries) + [(len(below_data.raw), len(below_data.raw))]
    allowed = set(begin for begin, _ in boundaries)
    inside = [(begin, end) for begin, end in boundaries if end > begin]
    for words, word, _, position in data.signals:
        expect(words < len(below.words), f"{below.path}: interrupted at word {words} of {len(below.words)}")
        expect(bin(below.words[words])[2:].startswith(bin(word)[2:]), f"{below.path}: word {words} was never {word:x}")
        expect(position in allowed or any(begin <= position <= end for begin, end in inside),
               f"{below.path}: interrupted inside an entry, at {position}")


class Test:
    def __init__(self, program, scratch):
        self.program, self.scratch = program, scratch
        self.count = 0

    def run(self, *arguments, options=CLOCK, keep=0, name=None, kill_after=None, wanted=0, folder=None, setup=None):
        self.count += 1
        base = os.path.join(self.scratch, name or f"{self.count}-{arguments[0]}")
        shutil.rmtree(base, ignore_errors=True)
        folder = folder or os.path.join(base, "recording")
        notes = os.path.join(base, "notes")
        os.makedirs(os.path.join(folder, "threads"))
        os.makedirs(notes)
        head = [0] * len(PROCESS_FIELDS)
        for field in ("thread", "text", "text2"):
            head[PROCESS_FIELDS.index(field)] = b""
        for field, value in (("options", options), ("keep", keep), ("chaos_seed", 5), ("failure_seen", 1)):
            head[PROCESS_FIELDS.index(field)] = value
        with open(os.path.join(folder, "process"), "wb") as file:
            file.write(PROCESS.pack(*head).ljust(FILES, b"\0"))
        environment = dict(os.environ, HEDDLE_RECORD_FOLDER=folder, RECORD_NOTES=notes,
                           RECORD_INPUT=os.path.join(self.scratch, "input"))
        process = subprocess.Popen([self.program] + [str(a) for a in arguments], env=environment, preexec_fn=setup,
                                   stderr=subprocess.PIPE)
        if kill_after is not None:
            time.sleep(kill_after)
            process.kill()
        try:
            error = process.communicate(timeout=120)[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            raise Wrong(f"{arguments}: does not come to its end") from None
        if kill_after is None:
            expect(process.returncode == wanted, f"{arguments}: {process.returncode}\n{error}")
        return folder, notes

    def logs(self, folder, options=CLOCK):
        threads = os.path.join(folder, "threads")
        logs = {}
        for name in os.listdir(threads):
            if not name.endswith(".log"):
                continue
            log = Log(os.path.join(threads, name), bool(options & CLOCK))
            expect(name == log.name + (f"@{log.level}" if log.level else "") + ".log", f"{name} is called {log.name}")
            logs[name[:-4]] = log
        return logs

    def check(self, folder, notes, options=CLOCK, whole=True):
        logs = self.logs(folder, options)
        names = [name for name in os.listdir(notes) if not name.startswith(".")]
        expect(not whole or sorted(names) == sorted(logs), f"{folder}: logs {sorted(logs)}, notes {sorted(names)}")
        data = {name: compare(log, os.path.join(notes, name), whole) for name, log in logs.items()}
        for name, log in logs.items():
            if log.level > 0 and whole:
                below = log.name + (f"@{log.level - 1}" if log.level > 1 else "")
                compare_positions(logs[below], data[below], data[name])
        process = process_of(folder)
        expect(process["magic"] == PROCESS_MAGIC, "no process")
        return logs, process

    # ---- scenarios
    def mixed(self):
        for options in (CLOCK, 0, CLOCK | CHAOS):
            folder, notes = self.run("mixed", 400 if options & CHAOS else 16000, options=options)
            logs, process = self.check(folder, notes, options)
            expect(all((log.end_tsc != 0) == (name != "0") for name, log in logs.items()), "ends of threads")
            expect(process["end_ns"] > process["begin_ns"] > 0, "times of the process")
            if not options & CHAOS:
                expect(len(logs["0"].chunks[PATH]) > 2 and len(logs["0"].chunks[DATA]) > 2, "several chunks")
                raw = sum(chunk[2] for chunk in logs["0"].chunks[PATH]) // 8
                expect(raw < len(logs["0"].words), "nothing was repeated")

    def without_folder(self):
        notes = os.path.join(self.scratch, "no-folder")
        os.makedirs(notes, exist_ok=True)
        environment = dict(os.environ, RECORD_NOTES=notes)
        environment.pop("HEDDLE_RECORD_FOLDER", None)
        subprocess.run([self.program, "mixed", "500"], env=environment, check=True, timeout=60)

    def crowd(self):
        folder, notes = self.run("crowd", 1000)
        logs, process = self.check(folder, notes)
        expect(len(logs) == 1001 and process["lost_logs"] == 0, "all threads")

    def others(self):
        for arguments in (("c11",), ("signals", 60), ("interrupted", 2000)):
            folder, notes = self.run(*arguments)
            self.check(folder, notes)
        folder, notes = self.run("forked", wanted=0)
        process = self.check(folder, notes)[1]
        expect(process["forks"] == 3 and process["failed"] == 0, "forks")
        folder, notes = self.run("ranges")
        process = self.check(folder, notes)[1]
        expect(process["files"] == 1, "files")
        with open(os.path.join(folder, "process"), "rb") as file:
            file.seek(FILES)
            entry = file.read(4096)
        expect(zero_ended(entry[:4000]) == os.path.join(self.scratch, "input"), "path of the file")
        status = os.stat(os.path.join(self.scratch, "input"))
        expect(struct.unpack_from("<QQQqq", entry, 4000) == (status.st_dev, status.st_ino, status.st_size,
                                                            status.st_mtime_ns // 10**9, status.st_mtime_ns % 10**9), "the file")

    def nested(self):
        folder, notes = self.run("nested", 3000)
        logs = self.logs(folder)
        expect("0@2" in logs, "no handler interrupted another")
        below_data = compare(logs["0"], os.path.join(notes, "0"), True)
        for name, log in logs.items():
            data = Data(log)
            while log.level > 0 and data.more():
                number = data.raw[data.at + 1]
                for entry in (["signal", number], ["outside", 5], ["landed", 6], ["signal_end"]):
                    data.entry(entry)
            if log.level == 1:
                compare_positions(logs["0"], below_data, data)

    def last(self):
        folder, notes = self.run("last")
        logs = self.logs(folder)
        expect(sorted(logs) == ["0", "0.1"], f"logs {sorted(logs)}")
        expect(logs["0.1"].data.endswith(b"\x0b" + bytes([0xD2, 0x09])), "exit handlers run in the last thread")

    def blocks(self):
        folder, _ = self.run("blocks", 100000)
        for name, wanted in (("0", [77]), ("0.1", [3 * i for i in range(100000)])):
            with open(os.path.join(folder, "threads", name + ".blocks"), "rb") as file:
                ids = [word[0] for word in struct.iter_unpack("<I", file.read())]
            expect(ids[:len(wanted)] == wanted and set(ids[len(wanted):]) == {0xFFFFFFFF}, f"{name}: blocks")

    def keep(self):
        keep = 1 << 16
        whole, notes = self.run("mixed", 8000, options=0)
        self.check(whole, notes, 0)
        part, _ = self.run("mixed", 8000, options=0, keep=keep)
        whole, part = self.logs(whole, 0), self.logs(part, 0)
        for name, log in part.items():
            for stream in (PATH, DATA):
                expect(log.chunks[stream][0][0] > 0, f"{name}: nothing was dropped")
                expect(keep // 2 <= log.bytes_of(stream) <= keep, f"{name}: {log.bytes_of(stream)} bytes kept")
            expect(whole[name].bits().endswith(log.bits()), f"{name}: another path")
            expect(whole[name].data.endswith(log.data), f"{name}: other data")

    def full(self):
        import resource
        limit = 5 << 15
        setup = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        full_notes = self.run("mixed", 5000, options=0)[1]
        # The notes are files too: they are lost here, and those of the other run hold.
        folder = os.path.join(self.scratch, "limited")
        os.makedirs(os.path.join(folder, "threads"))
        nowhere = os.path.join(self.scratch, "null")
        environment = dict(os.environ, HEDDLE_RECORD_FOLDER=folder, RECORD_NOTES=nowhere)
        os.makedirs(nowhere)
        for i in ["0"] + [f"0.{i}" for i in range(1, 5)]:
            os.symlink("/dev/null", os.path.join(nowhere, i))
        subprocess.run([self.program, "mixed", "5000"], env=environment, check=True, timeout=60, preexec_fn=setup)
        logs = self.logs(folder, 0)
        expect(len(logs) == 5, "logs")
        for name, log in logs.items():
            expect(log.stop == 1, f"{name}: stop {log.stop}")
            compare(log, os.path.join(full_notes, name), False)

    def failures(self):
        for how, number, failure in (("null", signal.SIGSEGV, 1), ("assert", signal.SIGABRT, 2),
                                     ("abort", signal.SIGABRT, 1), ("trap", signal.SIGTRAP, 1),
                                     ("overflow", signal.SIGSEGV, 1)):
            folder, notes = self.run("failing", how, wanted=-number)
            process = self.check(folder, notes)[1]
            expect((process["failed"], process["failure"], process["signal"]) == (1, failure, number),
                   f"{how}: {process['failure']} {process['signal']}")
            expect(process["thread"] == "0.1" and process["pc"] != 0, f"{how}: thread {process['thread']}")
            if how == "null":
                expect(process["address"] == 0x18, "address")
            if how == "assert":
                expect((process["text"], process["text2"]) == ("x == 2", "file.c:12: failing"), "texts")

    def kills(self, count):
        _, notes = self.run("mixed", 20000, options=0, name="kill-notes")
        generator = random.Random(7)
        reached = 0
        for i in range(count):
            keep = 0 if i % 4 else 1 << 17
            folder, _ = self.run("mixed", 20000, options=0, keep=keep, name="killed", kill_after=generator.uniform(0.005, 0.35))
            threads = os.path.join(folder, "threads")
            for name in os.listdir(threads):
                path = os.path.join(threads, name)
                with open(path, "rb") as file:
                    if file.read(8) != struct.pack("<Q", LOG_MAGIC):
                        continue  # killed before its first entry
                log = Log(path, False)
                reached += 1
                if log.chunks[DATA][0][0] == 0 and log.chunks[PATH][0][0] == 0:
                    compare(log, os.path.join(notes, name[:-4]), False)
        expect(reached > count, f"{reached} logs in {count} killed runs")


def main():
    program, scratch = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    with open(os.path.join(scratch, "input"), "wb") as file:
        file.write(random.Random(1).randbytes(70000))
    test = Test(program, scratch)
    for name in ("mixed", "without_folder", "crowd", "others", "nested", "last", "blocks", "keep", "full", "failures"):
        try:
            getattr(test, name)()
        except Wrong as wrong:
            sys.exit(f"{name}: {wrong}")
        print(f"{name}: right", flush=True)
    try:
        test.kills(kills)
    except Wrong as wrong:
        sys.exit(f"kills: {wrong}")
    print(f"{kills} killed runs: right")


if __name__ == "__main__":
    main()
