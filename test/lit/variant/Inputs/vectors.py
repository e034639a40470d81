"""Prints the longest access vector of a file that the variant leap wrote (src/abi/leap.h)."""
import collections
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
at, vectors = 0, []
while at < len(data):
    _, size = struct.unpack_from("<IQ", data, at)
    vectors.append(data[at + 12:at + 12 + size])
    at += 12 + size
assert at == len(data)
longest = max(vectors, key=len)
counts = sorted(collections.Counter(longest).items(), key=lambda item: item[1])
print(f"{len(longest)} accesses: " + ", ".join(f"thread {thread} {count}" for thread, count in counts))
