#!/usr/bin/env python3
"""gcore_of.py OUT SECONDS APP ARGS...: starts APP until a run still goes on after so many seconds, takes its core with gcore, and ends it."""
import os
import subprocess
import sys

out, seconds, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
for _ in range(200):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
        continue
    except subprocess.TimeoutExpired:
        pass
    try:
        subprocess.run(["gcore", "-o", out, str(process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.rename(f"{out}.{process.pid}", out)
        sys.exit(0)
    finally:
        process.kill()
        process.wait()
sys.exit("no run hung")
