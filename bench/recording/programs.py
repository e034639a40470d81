"""The programs of the table "recording": what they are built from, what they work on and how one run of them goes.

A run is of one executable (the program itself, or a variant of it) in a folder of its own; it ends with an answer that must be
the same for all: what the program printed, and the hash of the file it wrote."""
import contextlib
import hashlib
import os
import random
import subprocess
import threading
import time

LIMIT = 300  # seconds for one run


class Failed(Exception):
    pass


class Run:
    """One run: the seconds that passed and the processor time of the measured process."""

    def __init__(self, command, folder, environment, companion=None):
        """`companion`, a function that takes the port the process announces and gives a command, is started in between."""
        start = time.monotonic()
        with open(os.path.join(folder, "errors"), "w+b") as errors:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=errors)
            guard = threading.Timer(LIMIT, process.kill)
            guard.start()
            try:
                if companion is not None:
                    announced = process.stdout.readline()
                    if announced.startswith(b"port "):
                        done = subprocess.run(companion(int(announced.split()[1])), timeout=LIMIT, check=False)
                    if not announced.startswith(b"port ") or done.returncode != 0:
                        process.kill()  # unless it has ended by itself: its code and its last words are told below
                self.output = process.stdout.read().decode()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            finally:
                guard.cancel()
                if process.returncode is None:
                    process.kill()
                    process.wait()
                process.stdout.close()
            self.passed = time.monotonic() - start
            self.used = usage.ru_utime + usage.ru_stime
            errors.seek(0)
            check(process.returncode == 0, f"{' '.join(command)} ended with {process.returncode}: {errors.read()[-500:]}")


def check(good, problem):
    if not good:
        raise Failed(problem)


def file_hash(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def text(size, seed):
    """Lines of made-up words: compresses and scans like text."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(3000)]
    lines = [" ".join(rng.choices(words, k=12)) + "\n" for _ in range(2000)]
    out = []
    while size > 0:
        out.append(rng.choice(lines))
        size -= len(out[-1])
    return "".join(out).encode()


class Program:
    """`work` is what a run does, as a number; `like` the program of the paper."""
    name = like = ""
    source = ""
    libraries = []
    work = 0
    # Of the paper's table 2: overhead of CLAP and LEAP, size of their logs; the goal for our overhead.
    clap = leap = "too short"
    clap_log = leap_log = ""
    goal = 0.10

    def __init__(self, folder, part):
        """Makes what all runs work on. `part` of the work is done (a number below 1 for a quick look)."""
        self.folder = folder
        self.work = max(1, int(self.work * part))
        os.makedirs(folder)
        self.prepare()

    def prepare(self):
        pass

    def run(self, executable, folder, environment):
        run = Run([executable, str(self.work)], folder, environment)
        return run, run.output


class Sort(Program):
    name, like, source = "sort", "swarm", "sort.cpp"
    work = 12_000_000
    clap, leap, clap_log, leap_log = "48.5 %", "1032 %", "215.6 K", "9.20 M"


class Pblock(Program):
    name, like, source, libraries = "pblock", "pbzip2", "pblock.c", ["-lbz2"]
    work = 12_000_000
    clap, leap, clap_log, leap_log = "9.3 %", "21.4 %", "1.8 K", "19.5 K"

    def prepare(self):
        self.input = os.path.join(self.folder, "input")
        with open(self.input, "wb") as file:
            file.write(text(self.work, 1))

    def run(self, executable, folder, environment):
        output = os.path.join(folder, "output")
        run = Run([executable, self.input, output], folder, environment)
        return run, run.output + file_hash(output)


class Fetch(Program):
    name, like, source = "fetch", "aget", "fetch.c"
    work = 150_000_000
    rate = 32_000_000  # bytes per second and connection: four of them fill a line of a gigabit per second
    clap, leap, clap_log, leap_log = "17 %", "112 %", "24.3 K", "683.8 K"

    def prepare(self):
        self.input = os.path.join(self.folder, "input")
        with open(self.input, "wb") as file:
            file.write(random.Random(1).randbytes(self.work))
        self.hash = file_hash(self.input)

    @contextlib.contextmanager
    def server(self):
        """Its standard input is its life: it ends when we close that, or are gone."""
        with subprocess.Popen([os.path.join(self.folder, "serve"), self.input, str(self.rate)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            try:
                announced = process.stdout.readline()
                check(announced.startswith(b"port "), "serve announced no port")
                yield int(announced.split()[1])
            finally:
                process.stdin.close()
                process.wait(timeout=10)

    def run(self, executable, folder, environment):
        output = os.path.join(folder, "output")
        with self.server() as port:
            run = Run([executable, str(port), output], folder, environment)
        check(file_hash(output) == self.hash, "fetch got another file than serve has")
        os.remove(output)
        return run, run.output


class Scan(Program):
    name, like, source = "scan", "pfscan", "scan.c"
    work = 800  # files
    clap, leap, clap_log, leap_log = "92.6 %", "1172 %", "330.5 K", "1.61 M"

    def prepare(self):
        rng = random.Random(2)
        all_text = text(2_000_000, 3)
        for i in range(self.work):
            folder = os.path.join(self.folder, "tree", str(i % 7), str(i % 31))
            os.makedirs(folder, exist_ok=True)
            size = rng.randint(200_000, 1_000_000)
            begin = rng.randrange(len(all_text) - size)
            with open(os.path.join(folder, f"{i}.txt"), "wb") as file:
                file.write(all_text[begin:begin + size])

    def run(self, executable, folder, environment):
        run = Run([executable, os.path.join(self.folder, "tree"), "warp"], folder, environment)
        return run, run.output


class Cache(Program):
    name, like, source = "cache", "apache", "cache.cpp"
    work = 12_000  # requests of each of four connections
    clap, leap, clap_log, leap_log = "19 %", "34 %", "2.30 M", "15.4 M"

    def run(self, executable, folder, environment):
        load = os.path.join(self.folder, "load")
        run = Run([executable], folder, environment, lambda port: [load, str(port), str(self.work)])
        return run, run.output


class Racey(Program):
    name, like, source = "racey", "racey", "racey.c"
    work = 20_000_000
    clap, leap, clap_log, leap_log = "269 %", "4289 %", "3.81 M", "68.2 M"
    goal = 0.60


class Bbuf(Program):
    name, like, source = "bbuf", "bbuf", "bbuf.c"
    work = 400_000


class SimRace(Program):
    name, like, source = "sim_race", "sim_race", "sim_race.c"
    work = 15_000


class BbufOnce(Program):
    """As short as the paper's, which had 64 accesses: start and end of a recording, and little else."""
    name, like, source = "bbuf-short", "bbuf", "bbuf.c"
    work = 4
    clap_log, leap_log = "1.1 K", "12.2 K"
    goal = None

    def run(self, executable, folder, environment):
        run = Run([executable, "4"], folder, environment)
        return run, run.output


class SimRaceOnce(BbufOnce):
    name, like, source = "sim_race-short", "sim_race", "sim_race.c"
    clap_log, leap_log = "126 B", "448 B"

    def run(self, executable, folder, environment):
        run = Run([executable, "1"], folder, environment)
        return run, run.output


ALL = [Sort, Pblock, Fetch, Scan, Cache, Racey, Bbuf, SimRace, BbufOnce, SimRaceOnce]
COMPANIONS = {"fetch": "serve", "cache": "load"}
