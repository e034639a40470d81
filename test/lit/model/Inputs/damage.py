"""Damages the model inside a program again and again; heddle show must end with 0 and the same text, or with 3."""
import random
import subprocess
import sys

path, rounds = sys.argv[1], int(sys.argv[2])
whole = open(path, "rb").read()
good = subprocess.run(["heddle", "show", path], capture_output=True, text=True)
assert good.returncode == 0, good.stderr
sections = []
for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.splitlines():
    fields = line.replace("[ ", "[").split()
    if len(fields) > 5 and fields[1].startswith(".heddle"):
        sections.append((int(fields[4], 16), int(fields[5], 16)))
assert len(sections) == 2, sections

random.seed(20)
errors = 0
for round_number in range(rounds):
    data = bytearray(whole)
    kind = round_number % 5
    if kind == 0:
        data = data[: random.randrange(len(data))]
    else:
        for _ in range(random.choice([1, 1, 2, 8])):
            start, size = random.choice(sections)
            data[start + random.randrange(size)] ^= 1 << random.randrange(8)
        if kind == 1:  # damage the section headers too
            at = len(data) - 1 - random.randrange(min(len(data), 2300))
            data[at] ^= 1 << random.randrange(8)
    open("damaged", "wb").write(data)
    end = subprocess.run(["heddle", "show", "damaged"], capture_output=True, text=True, errors="replace")
    if end.returncode == 0:
        # What follows the first two lines (name and model id) is what heddle understood.
        if kind != 1:
            assert end.stdout.splitlines()[2:] == good.stdout.splitlines()[2:], end.stdout
    else:
        assert end.returncode == 3 and end.stderr.startswith("heddle: "), (end.returncode, end.stderr)
        errors += 1
assert errors > rounds / 2, errors
print(f"{rounds} damaged files, {errors} refused")
