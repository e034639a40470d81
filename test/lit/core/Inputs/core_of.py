#!/usr/bin/env python3
"""core_of.py APP OUT: runs APP natively until it crashes, and keeps its core as OUT. Where the kernel's cores go elsewhere (core_pattern), gdb
takes it at the signal."""
import os
import resource
import subprocess
import sys
import tempfile

app, out = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
here = open("/proc/sys/kernel/core_pattern").read().strip() == "core"
for _ in range(50):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(out)) as folder:
        if here:
            subprocess.run([app], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            names = [name for name in os.listdir(folder) if name.startswith("core")]
            core = os.path.join(folder, names[0]) if names else None
        else:
            core = os.path.join(folder, "core")
            subprocess.run(["gdb", "-batch", "-ex", "run", "-ex", f"generate-core-file {core}", app], cwd=folder,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            core = core if os.path.exists(core) else None
        if core:
            os.rename(core, out)
            sys.exit(0)
sys.exit("no crash in 50 runs")
