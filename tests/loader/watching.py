"""Helpers that watch the threads and processes of loaders."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import threading
import time
from pathlib import Path


def children():
    """Return the worker processes of this one."""
    result = subprocess.run(
        ["ps", "-wweo", "pid,ppid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    mine = [line for line in result if "deeplake_lite.loader.workers.worker" in line]
    return [int(line.split()[0]) for line in mine if int(line.split()[1]) == os.getpid()]


def has_ended(pid):
    """Tell whether a child and all its threads have ended; before that, `ps` calls it defunct."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def threads():
    """Return the threads of loaders."""
    return {
        t
        for t in threading.enumerate()
        if t.name.startswith(("deeplake-lite-load", "deeplake-lite-read"))
    }


def eventually(holds, seconds=60.0):
    """Wait until a condition holds, with enough time for a busy machine."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        gc.collect()  # it takes a second when all frameworks are loaded
        time.sleep(0.05)
    return holds()


def shared_files():
    """Return the named files in shared memory, except those of other processes."""
    folder = Path("/dev/shm")
    result = folder.iterdir() if folder.exists() else ()
    return {path for path in result if not _is_of_others(path.name)}


def _is_of_others(name):
    """Tell whether a file belongs to scikit-learn, or to PyTorch in another running process."""
    of_torch = re.match(r"torch_(\d+)_", name)
    pid = int(of_torch[1]) if of_torch else os.getpid()
    is_others = pid not in (os.getpid(), *children()) and Path(f"/proc/{pid}").exists()
    return name.startswith("sem.loky") or is_others
