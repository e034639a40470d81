"""The named litmus tests: classical shapes, each with plain, relaxed, release/acquire and seq_cst accesses, with fences and with
read-modify-writes; then tests of single properties (store forwarding, mixed sizes, locks, one kind of fence).

KNOWN says by hand, from the literature, which outcomes the models allow: the search in memory_models.py is checked against it.
"""
from dataclasses import replace

from memory_models import Op, Test, parse

# name: (threads, variables observed at the end)
SHAPES = {
    "SB": ("x=1; a=y || y=1; b=x", ""),
    "MP": ("x=1; y=1 || a=y; b=x", ""),
    "LB": ("a=x; y=1 || b=y; x=1", ""),
    "R": ("x=1; y=1 || y=2; a=x", "y"),
    "S": ("x=2; y=1 || a=y; x=1", "x"),
    "2+2W": ("x=1; y=2 || y=1; x=2", "x y"),
    "IRIW": ("x=1 || y=1 || a=x; b=y || c=y; d=x", ""),
    "WRC": ("x=1 || a=x; y=1 || b=y; c=x", ""),
    "RWC": ("x=1 || a=x; b=y || y=1; c=x", ""),
    "WWC": ("x=2 || a=x; y=1 || b=y; x=1", "x"),
    "W+RWC": ("x=1; y=1 || a=y; b=z || z=1; c=x", ""),
    "ISA2": ("x=1; y=1 || a=y; z=1 || b=z; c=x", ""),
    "Z6.3": ("x=1; y=1 || y=2; z=1 || a=z; b=x", "y"),
    "3.SB": ("x=1; a=y || y=1; b=z || z=1; c=x", ""),
    "CoRR": ("x=1 || a=x; b=x", ""),
    "CoWW": ("x=1; x=2 || a=x; b=x", "x"),
    "CoRW": ("x=1 || a=x; x=2", "x"),
    "CoWR": ("x=1; a=x || x=2", "x"),
    "n4": ("a=x; x=1 || b=x; x=2", "x"),
    "n5": ("x=1; a=x || x=2; b=x", "x"),
    "n6": ("x=1; a=x; b=y || y=2; x=2", "x"),
    "SB+rfi": ("x=1; a=x; b=y || y=1; c=y; d=x", ""),
    "MP3": ("x=1; y=1; z=1 || a=z; b=y; c=x", ""),
}


def with_orders(load, store):
    return lambda thread: [replace(op, order=load if op.kind == "load" else store) for op in thread]


def with_fences(order):
    """Relaxed accesses, a fence between any two."""
    def change(thread):
        ops = []
        for op in with_orders("rlx", "rlx")(thread):
            ops += [Op("fence", order=order), op] if ops else [op]
        return ops
    return change


def with_updates(thread):
    return [replace(op, kind="xchg", order="rlx") if op.kind == "store" else replace(op, order="rlx") for op in thread]


VARIANTS = {
    "": with_orders("plain", "plain"),
    "+rlx": with_orders("rlx", "rlx"),
    "+rel-acq": with_orders("acq", "rel"),
    "+seq_cst": with_orders("sc", "sc"),
    "+mfences": with_fences("sc"),
    "+fences-ar": with_fences("ar"),
    "+rmw": with_updates,
}

# Shapes of one location, where fences and the like change nothing new, come in the first three variants only.
COHERENCE = {"CoRR", "CoWW", "CoRW", "CoWR", "n4", "n5"}

SINGLE = {
    # One kind of fence, or one release, in one place.
    "MP+fence.rel": ("x=1; fence.rel; y=1 || a=y; b=x", ""),
    "MP+fence.acq": ("x=1; fence.acq; y=1 || a=y; b=x", ""),
    "MP+rel-only": ("x=1; y.rel=1 || a=y; b=x", ""),
    "MP+rel-first": ("x.rel=1; y.rlx=1 || a=y; b=x", ""),
    "MP+fence.rel-early": ("fence.rel; x=1; y=1 || a=y; b=x", ""),
    "MP3+rel-last": ("x=1; y=1; z.rel=1 || a=z; b=y; c=x", ""),
    "MP3+rel-middle": ("x=1; y.rel=1; z=1 || a=z; b=y; c=x", ""),
    "MP3+fence.rel": ("x=1; fence.rel; y=1; z=1 || a=z; b=y; c=x", ""),
    "SB+one-mfence": ("x=1; fence.sc; a=y || y=1; b=x", ""),
    "SB+fences.rel": ("x=1; fence.rel; a=y || y=1; fence.rel; b=x", ""),
    "SB+sc-loads": ("x.rlx=1; a=y.sc || y.rlx=1; b=x.sc", ""),
    "SB+sc-stores": ("x.sc=1; a=y.rlx || y.sc=1; b=x.rlx", ""),
    "SB+rmw-other": ("x=1; xchg.rlx z 1; a=y || y=1; xchg.rlx w 1; b=x", ""),
    "SB+cas-fails": ("x=1; cas.rlx z 5 1; a=y || y=1; cas.rlx w 5 1; b=x", ""),
    "SB+add": ("add.rlx x 1; a=y.rlx || add.rlx y 1; b=x.rlx", ""),
    "SB+locks": ("x=1; lock m; unlock m; a=y || y=1; lock n; unlock n; b=x", ""),
    "SB+locked": ("lock m; x=1; a=y; unlock m || lock m; y=1; b=x; unlock m", ""),
    "MP+unlock": ("lock m; x=1; unlock m; y=1 || a=y; b=x", ""),
    "R+sc-store": ("x=1; y=1 || y.sc=2; a=x", "y"),
    "Counter+add": ("add.rlx x 1; add.rlx x 1 || a=add.rlx x 1; b=x", "x"),
    "Counter+racy": ("a=x; x=1; b=y || c=x; x=2; y=1", "x"),
    "CAS+once": ("a=cas.rlx x 0 1 || b=cas.acq x 0 2 || c=cas.sc x 0 3", "x"),
    "PPOCA": ("x=1; y.rel=1 || a=y.acq; z=1; b=z; c=x", ""),
    "SB+rfi-twice": ("x=1; x=2; a=x; b=y || y=1; c=x; d=x", "x"),
    "2W+obs": ("x=1; y=1 || a=x; b=y || c=y; d=x", ""),
    # Mixed sizes: a word and its bytes.
    "MS-word-bytes": ("x=0x02010101 || a=x[0]; b=x[3]", ""),
    "MS-bytes-word": ("x[0]=1; x[1]=1 || a=x", ""),
    "MS-forward": ("x[0]=1; a=x; b=y || x[1]=1; c=x; y=1", "x"),
    "MS-forward-halves": ("x[0:2]=0x101; a=x; b=x[1] || x[2:2]=0x202; c=x; d=x[2]", "x"),
    "MS-SB": ("x=0x01010101; a=y[2] || y=0x01010101; b=x[1]", ""),
    "MS-SB-own-byte": ("x[1]=1; a=x; b=y || y=1; c=x", ""),
    "MS-overlap": ("x=0x01010101; x[2]=2; y=1 || a=y; b=x", "x"),
    "MS-overlap-order": ("x[1]=1; x=0x02020202; x[1]=3 || a=x; b=x[1]", "x"),
    "MS-unaligned": ("x[1:2]=0x0101; a=x || x=0x02020202; b=x[1:2]", "x"),
    "MS-MP-bytes": ("x[0]=1; x[3]=1 || a=x[3]; b=x[0]", ""),
    "MS-MP-bytes+rel": ("x[0]=1; x[3].rel=1 || a=x[3].acq; b=x[0]", ""),
    "MS-rmw-byte": ("x=0x01010101; a=xchg.rlx x[1] 2; b=y || y=1; c=x", "x"),
    "MS-three": ("x[0]=1; x[1]=2; x[0:2]=0x0403 || a=x[0:2]; b=x", "x"),
}

# (test, condition on the outcome, models that allow it)
KNOWN = [
    ("SB", "a=0 b=0", "tso pso"), ("SB+rlx", "a=0 b=0", "tso pso"), ("SB+rel-acq", "a=0 b=0", "tso pso"),
    ("SB+seq_cst", "a=0 b=0", ""), ("SB+mfences", "a=0 b=0", ""), ("SB+rmw", "a=0 b=0", ""),
    ("SB+fences-ar", "a=0 b=0", "tso pso"), ("SB+one-mfence", "a=0 b=0", "tso pso"), ("SB+locks", "a=0 b=0", ""),
    ("SB+sc-loads", "a=0 b=0", "tso pso"), ("SB+sc-stores", "a=0 b=0", ""), ("SB+rmw-other", "a=0 b=0", ""),
    ("MP", "a=1 b=0", "pso"), ("MP+rlx", "a=1 b=0", "pso"), ("MP+rel-acq", "a=1 b=0", ""), ("MP+mfences", "a=1 b=0", ""),
    ("MP+fences-ar", "a=1 b=0", ""), ("MP+fence.rel", "a=1 b=0", ""), ("MP+fence.acq", "a=1 b=0", "pso"),
    ("MP+rel-only", "a=1 b=0", ""), ("MP+rel-first", "a=1 b=0", "pso"), ("MP+fence.rel-early", "a=1 b=0", "pso"),
    ("MP+unlock", "a=1 b=0", ""), ("MP3+rel-middle", "a=1 b=0 c=0", "pso"), ("MP3+rel-middle", "a=0 b=1 c=0", ""),
    ("LB", "a=1 b=1", ""), ("LB+rlx", "a=1 b=1", ""), ("R", "y=2 a=0", "tso pso"), ("R+mfences", "y=2 a=0", ""),
    ("R+sc-store", "y=2 a=0", "pso"), ("S", "a=1 x=2", "pso"), ("S+rel-acq", "a=1 x=2", ""),
    ("2+2W", "x=1 y=1", "pso"), ("2+2W+rel-acq", "x=1 y=1", ""), ("2+2W+fences-ar", "x=1 y=1", ""),
    ("IRIW", "a=1 b=0 c=1 d=0", ""), ("IRIW+rlx", "a=1 b=0 c=1 d=0", ""), ("WRC", "a=1 b=1 c=0", ""),
    ("RWC", "a=1 b=0 c=0", "tso pso"), ("RWC+seq_cst", "a=1 b=0 c=0", ""), ("W+RWC", "a=1 b=0 c=0", "tso pso"),
    ("ISA2", "a=1 b=1 c=0", "pso"), ("ISA2+rel-acq", "a=1 b=1 c=0", ""), ("3.SB", "a=0 b=0 c=0", "tso pso"),
    ("CoRR", "a=1 b=0", ""), ("CoWW", "a=2 b=1", ""), ("CoWR", "a=0", ""), ("CoRW", "a=2", ""),
    ("n4", "a=2 b=1", ""), ("n5", "a=2 b=1", ""), ("n6", "a=1 b=0 x=1", "tso pso"),
    ("SB+rfi", "a=1 b=0 c=1 d=0", "tso pso"), ("SB+rfi+mfences", "a=1 b=0 c=1 d=0", ""),
    ("Counter+racy", "a=0 c=0", "sc tso pso"), ("CAS+once", "a=0 b=0", ""),
    ("MS-word-bytes", "a=0 b=2", "sc tso pso"), ("MS-word-bytes", "a=1 b=0", ""), ("MS-bytes-word", "a=256", "pso"), ("MS-MP-bytes", "a=1 b=0", "pso"),
    ("MS-MP-bytes+rel", "a=1 b=0", ""), ("MS-forward", "a=1 c=256", "tso pso"),
    ("MS-overlap", "a=1 b=0x01010101", "pso"), ("MS-overlap", "x=0x01010101", ""), ("MS-rmw-byte", "b=0 c=0", "tso pso"),
]


def catalogue():
    """All tests, by name."""
    tests = {}
    for shape, (text, final) in SHAPES.items():
        base = parse(shape, text, final)
        for i, (suffix, change) in enumerate(VARIANTS.items()):
            if shape not in COHERENCE or i < 3:
                tests[shape + suffix] = Test(shape + suffix, tuple(tuple(change(list(t))) for t in base.threads), base.final)
    for name, (text, final) in SINGLE.items():
        tests[name] = parse(name, text, final)
    return tests


def known_errors(tests, allowed, models):
    """Where the search disagrees with KNOWN; `allowed` is memory_models.allowed."""
    errors = []
    for name, condition, where in KNOWN:
        test = tests[name]
        wanted = {key: int(value, 0) for key, _, value in (part.partition("=") for part in condition.split())}
        names = [observed.removeprefix("final ") for observed in test.observed()]
        for model in models:
            found = any(all(dict(zip(names, outcome))[key] == value for key, value in wanted.items())
                        for outcome in allowed(test, model))
            if found != (model in where.split()):
                errors.append(f"{name} under {model}: {condition} is {'' if found else 'not '}found by the search")
    return errors
