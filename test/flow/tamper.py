#!/usr/bin/env python3
"""tamper.py REC: changes the hash of the values that the first thread read, in its log."""
import sys

with open(f"{sys.argv[1]}/threads/0.flow", "r+b") as log:
    log.seek(16)
    value = log.read(1)[0]
    log.seek(16)
    log.write(bytes([value ^ 1]))
