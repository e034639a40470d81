"""Random litmus tests, the same ones for the same seed: two or three threads, two to four operations each, two or three variables, any
orders and sizes."""
import random

from emit_c import MOST_OUTCOMES, outcomes
from memory_models import Op, Test, WORD, allowed

STORE_ORDERS = ["plain", "plain", "rlx", "rlx", "rel", "sc"]
LOAD_ORDERS = ["plain", "plain", "rlx", "acq", "sc"]
FENCES = ["sc", "rel", "ar", "acq"]
UPDATES = ["rlx", "acq", "rel", "ar", "sc"]


def random_place(source, names, mixed):
    place = {"place": source.choice(names)}
    if mixed and source.random() < 0.5:
        size = source.choice([1, 1, 2])
        place.update(size=size, offset=source.choice(range(0, WORD, size)))
    return place


def random_op(source, names, mixed, value, register):
    place = random_place(source, names, mixed)
    size = place.get("size", WORD)
    number = int.from_bytes(bytes([value]) * size, "little") if mixed else value
    what = source.random()
    if what < 0.42:
        return Op("store", order=source.choice(STORE_ORDERS), value=number, **place)
    if what < 0.84:
        return Op("load", order=source.choice(LOAD_ORDERS), register=register, **place)
    if what < 0.92:
        return Op("fence", order=source.choice(FENCES))
    kind = source.choice(["xchg", "add", "cas"])
    return Op(kind, order=source.choice(UPDATES), value=number, register=register, **place)


def random_test(seed):
    """A test with at least two outcomes, few enough for an exit code; mostly one that tells the models apart."""
    source = random.Random(seed)
    while True:
        threads = source.choice([2, 2, 2, 3])
        names = ["x", "y", "z"][:source.choice([2, 2, 3])]
        mixed = source.random() < 0.3
        values = iter(range(1, 100))
        registers = iter("abcdefghijklmnop")
        longest = 4 if threads == 2 else 3
        body = tuple(tuple(random_op(source, names, mixed, next(values), next(registers)) for _ in range(source.randint(2, longest)))
                     for _ in range(threads))
        used = {op.place for thread in body for op in thread if op.kind in ("store", "xchg", "add", "cas")}
        test = Test(f"random-{seed}", body, tuple(sorted(used))[:2])
        try:
            count = len(outcomes(test))
            if 2 <= count <= MOST_OUTCOMES and (count > len(allowed(test, "sc")) or source.random() < 0.1):
                return test
        except OverflowError:
            continue
