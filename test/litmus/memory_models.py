"""Litmus tests as data, and all their outcomes under SC, TSO and PSO by exhaustive search.

This is an oracle for the control runtime, so it shares nothing with it: it is written from the definition alone.

  sc    a store is visible at once
  tso   each thread has a queue of stores; the oldest one may become visible at any time
  pso   ... any one that no older store of the thread overlaps, and that waits for none (see below)

A load takes each byte from the youngest store in the thread's own buffer that has it, otherwise from memory. The buffer is empty when
a seq_cst fence, a read-modify-write (of any order, also a compare-exchange that fails), a seq_cst store (which is then visible at once) or
a synchronisation operation happens, and when the thread ends. Under PSO a release store waits for all earlier stores of its thread, and
all stores behind a release or acq_rel fence wait for all those before it. Loads of any order need nothing.

A thread is written as operations separated by semicolons:

  x=1         plain store; x.rlx=1, x.rel=1, x.sc=1 atomic ones     a=x   a=x.acq   loads into register a
  x[2]=1      one byte at offset 2; x[1:2]=5 two bytes at offset 1 (little-endian, not aligned)
  fence.sc    also acq, rel, ar                                       lock m   unlock m
  a=xchg.rlx x 1      a=add.sc x 1      a=cas.ar x 0 1                 the register may be left out: xchg.rel x 1

Variables hold 4 bytes and begin as 0. An outcome is the values of all registers and of the variables that the test observes at the end.
"""
import dataclasses
import functools
import re

MODELS = ("sc", "tso", "pso")
ORDERS = ("plain", "rlx", "acq", "rel", "ar", "sc")
WORD = 4


@dataclasses.dataclass(frozen=True)
class Op:
    kind: str  # store, load, xchg, add, cas, fence, lock, unlock
    place: str = ""
    offset: int = 0
    size: int = WORD
    order: str = "plain"
    value: int = 0
    expected: int = 0
    register: str = ""

    @property
    def updates(self):
        return self.kind in ("xchg", "add", "cas")

    @property
    def empties_buffer(self):
        return self.updates or self.kind in ("lock", "unlock") or (self.kind in ("fence", "store") and self.order == "sc")

    def text(self):
        place = self.place if self.size == WORD else \
            f"{self.place}[{self.offset}]" if self.size == 1 else f"{self.place}[{self.offset}:{self.size}]"
        dot = "" if self.order == "plain" else f".{self.order}"
        into = f"{self.register}=" if self.register else ""
        return {"store": f"{place}{dot}={self.value}", "load": f"{into}{place}{dot}", "fence": f"fence{dot}",
                "lock": f"lock {place}", "unlock": f"unlock {place}", "xchg": f"{into}xchg{dot} {place} {self.value}",
                "add": f"{into}add{dot} {place} {self.value}",
                "cas": f"{into}cas{dot} {place} {self.expected} {self.value}"}[self.kind]


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    threads: tuple  # of tuples of Op
    final: tuple = ()  # variables whose last value is part of the outcome

    def places(self):
        return sorted({op.place for thread in self.threads for op in thread if op.place and op.kind not in ("lock", "unlock")})

    def locks(self):
        return sorted({op.place for thread in self.threads for op in thread if op.kind == "lock"})

    def registers(self):
        """By thread, in the order of the operations."""
        return [[op.register for op in thread if op.register] for thread in self.threads]

    def observed(self):
        return tuple(name for thread in self.registers() for name in thread) + tuple(f"final {name}" for name in self.final)

    def text(self):
        threads = "  ||  ".join("; ".join(op.text() for op in thread) for thread in self.threads)
        return f"{threads}{'   observed: ' + ', '.join(self.final) if self.final else ''}"


PLACE = re.compile(r"^([a-z]\w*)(?:\[(\d)(?::(\d))?\])?(?:\.(\w+))?$")


def parse_place(text):
    match = PLACE.match(text)
    if not match or (match[4] or "plain") not in ORDERS:
        raise ValueError(f"not a variable: {text}")
    size = WORD if match[2] is None else int(match[3] or 1)
    offset = int(match[2] or 0)
    assert size in (1, 2, 4) and offset + size <= WORD, text
    return {"place": match[1], "offset": offset, "size": size, "order": match[4] or "plain"}


def parse_op(text):
    register, equals, right = text.partition("=")
    words = (right if equals else text).split()
    name, _, order = words[0].partition(".")
    if name == "fence":
        return Op("fence", order=order)
    if name in ("lock", "unlock"):
        return Op(name, place=words[1])
    if name in ("xchg", "add", "cas"):
        place = dict(parse_place(words[1]), order=order or "sc")
        numbers = [int(word, 0) for word in words[2:]]
        expected = numbers.pop(0) if name == "cas" else 0
        return Op(name, **place, value=numbers[0], expected=expected, register=register if equals else "")
    if re.match(r"^[0-9]", right):
        return Op("store", **parse_place(register), value=int(right, 0))
    return Op("load", **parse_place(right), register=register)


def parse(name, text, final=""):
    """`text`: threads separated by ||."""
    threads = tuple(tuple(parse_op(op.strip()) for op in thread.split(";") if op.strip()) for thread in text.split("||"))
    return Test(name, threads, tuple(final.split()))


# ---- The search. A state is (positions, registers, memory, buffers, lock owners), all tuples.
# A buffered store is (place, offset, bytes, number, barrier): it may become visible when no older one overlaps it and none with a number
# below `barrier` is left.

def overlap(a, b):
    return a[0] == b[0] and a[1] < b[1] + len(b[2]) and b[1] < a[1] + len(a[2])


def may_flush(buffer, index, model):
    if model == "tso":
        return index == 0
    store = buffer[index]
    return not any(overlap(older, store) or older[3] < store[4] for older in buffer[:index])


def write(memory, place, offset, data):
    old = memory[place]
    return memory[:place] + (old[:offset] + data + old[offset + len(data):],) + memory[place + 1:]


def read(memory, buffer, place, offset, size):
    data = bytearray(memory[place][offset:offset + size])
    for there, begin, stored, _, _ in buffer:  # oldest first: the youngest wins
        if there == place:
            for i, byte in enumerate(stored):
                if offset <= begin + i < offset + size:
                    data[begin + i - offset] = byte
    return int.from_bytes(data, "little")


def put(values, index, value):
    return values[:index] + (value,) + values[index + 1:]


class Search:
    def __init__(self, test, model):
        self.test, self.model = test, model
        self.places = {name: i for i, name in enumerate(test.places())}
        self.locks = {name: i for i, name in enumerate(test.locks())}

    def start(self):
        n = len(self.test.threads)
        return ((0,) * n, ((),) * n, (bytes(WORD),) * len(self.places), ((),) * n, (None,) * len(self.locks), (0,) * n)

    def next_states(self, state):
        positions, registers, memory, buffers, owners, barriers = state
        for t, thread in enumerate(self.test.threads):
            for i, store in enumerate(buffers[t]):
                if may_flush(buffers[t], i, self.model):
                    yield (positions, registers, write(memory, store[0], store[1], store[2]),
                           put(buffers, t, buffers[t][:i] + buffers[t][i + 1:]), owners, barriers)
            if positions[t] < len(thread):
                after = self.perform(state, t, thread[positions[t]])
                if after is not None:
                    yield after

    def perform(self, state, t, op):
        positions, registers, memory, buffers, owners, barriers = state
        if op.empties_buffer and buffers[t]:
            return None
        value = None
        if op.kind == "load":
            value = read(memory, buffers[t], self.places[op.place], op.offset, op.size)
        elif op.kind == "store":
            data = op.value.to_bytes(op.size, "little")
            if self.model == "sc" or op.order == "sc":
                memory = write(memory, self.places[op.place], op.offset, data)
            else:
                number = positions[t]
                barrier = number if op.order == "rel" else barriers[t]
                buffers = put(buffers, t, buffers[t] + ((self.places[op.place], op.offset, data, number, barrier),))
        elif op.kind == "fence":
            if op.order in ("rel", "ar"):
                barriers = put(barriers, t, positions[t])
        elif op.kind == "lock":
            if owners[self.locks[op.place]] is not None:
                return None
            owners = put(owners, self.locks[op.place], t)
        elif op.kind == "unlock":
            assert owners[self.locks[op.place]] == t, "unlock by another thread"
            owners = put(owners, self.locks[op.place], None)
        else:
            value = read(memory, (), self.places[op.place], op.offset, op.size)
            new = {"xchg": op.value, "add": (value + op.value) % 256 ** op.size,
                   "cas": op.value if value == op.expected else value}[op.kind]
            memory = write(memory, self.places[op.place], op.offset, new.to_bytes(op.size, "little"))
        if op.register:
            registers = put(registers, t, registers[t] + (value,))
        return put(positions, t, positions[t] + 1), registers, memory, buffers, owners, barriers

    def outcome(self, state):
        _, registers, memory, _, _, _ = state
        return tuple(v for thread in registers for v in thread) + \
            tuple(int.from_bytes(memory[self.places[name]], "little") for name in self.test.final)

    def outcomes(self, limit):
        found, seen, todo = set(), {self.start()}, [self.start()]
        while todo:
            state = todo.pop()
            last = True
            for after in self.next_states(state):
                last = False
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
            if len(seen) > limit:
                raise OverflowError(f"{self.test.name}: more than {limit} states under {self.model}")
            if last:
                assert all(p == len(thread) for p, thread in zip(state[0], self.test.threads)), "deadlock"
                found.add(self.outcome(state))
        return frozenset(found)


@functools.lru_cache(maxsize=None)
def allowed(test, model, limit=400000):
    """All outcomes of the test under the model: tuples in the order of test.observed()."""
    return Search(test, model).outcomes(limit)
