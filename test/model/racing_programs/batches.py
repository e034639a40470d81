"""Racing programs, some in one executable: the work of compiling and linking is shared. Whoever looks at a recording reads and analyses the whole executable,
so more than a few cost more than they save."""
from racing_programs import program

SIZE = 2
LEVELS = ["-O0", "-O1", "-O2"]


def parse(text):
    """FIRST-LAST as a range."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def jobs(seeds, make_job):
    """A job for each batch, with the name and the arguments of each run. A seed is compiled at the same level always."""
    for level in range(len(LEVELS)):
        chosen = [seed for seed in parse(seeds) if seed % len(LEVELS) == level]
        for start in range(0, len(chosen), SIZE):
            batch = chosen[start:start + SIZE]
            name = f"racing{batch[0]}_{batch[-1]}"
            job = make_job(name, name + ".c", ["cc", "-std=gnu11", LEVELS[level], "-g"])
            job.text = program.file_of([(f"p{seed}_", program.make(seed, f"p{seed}_")) for seed in batch])
            job.runs = [(f"racing{seed}", [str(i)]) for i, seed in enumerate(batch)]
            yield job
