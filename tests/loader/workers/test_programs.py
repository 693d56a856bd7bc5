"""Whole programs with worker processes: how they start, end, fork and are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from ..watching import eventually, shared_files


@pytest.fixture(autouse=True)
def nothing_left():
    """Check that no file in shared memory is left after a test."""
    before = shared_files()
    yield
    assert eventually(lambda: shared_files() <= before)  # other tests on this machine have some too


HEAD = """
import os, signal, sys, tempfile, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
import deeplake_lite as dl
from deeplake_lite.testing import transforms

FOLDER = sys.argv[1]

def lake():
    ds = dl.create(os.path.join(FOLDER, "program.lake"), {"x": "int32"})
    ds.append({"x": range(40)})
    return ds
"""


def program(path, text, *flags):
    """Write a program, and return the command that runs it."""
    file = path / "program.py"
    file.write_text(HEAD + text)
    shutil.rmtree(path / "program.lake", ignore_errors=True)
    return [sys.executable, *flags, str(file), str(path)]


def ran(path, text, *flags, seconds=120, **options):
    """Run a program to its end."""
    return subprocess.run(
        program(path, text, *flags), capture_output=True, text=True, timeout=seconds, check=False,
        **options,
    )  # fmt: skip


def of_program(pid):
    """Return the processes whose parent is, or was, a program."""
    lines = subprocess.run(
        ["ps", "-wweo", "pid,ppid,pgid,args"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [line for line in lines if line.split()[2] == str(pid) and line.split()[0] != str(pid)]


def test_program_needs_no_guard_for_transforms_of_a_module(tmp_path):
    text = """
loader = lake().batches(8, workers="processes", num_workers=2, transform=transforms.with_process)
print(sum(len(batch["x"]) for batch in loader))
"""
    done = ran(tmp_path, text)
    assert (done.stdout, done.stderr) == ("40\n", "")


def test_missing_main_guard_is_reported_where_one_is_needed(tmp_path):
    text = """
def mine(sample):
    return {"x": sample["x"] + 1}

GUARD
    loader = lake().batches(40, workers="processes", num_workers=1, transform=mine)
    for batch in loader:
        print(batch["x"].sum())
"""
    done = ran(tmp_path, text.replace("GUARD", "if True:"))
    assert done.returncode == 1
    assert "LoaderError: A worker process imports the main module" in done.stderr
    assert 'if __name__ == "__main__":' in done.stderr
    done = ran(tmp_path, text.replace("GUARD", 'if __name__ == "__main__":'))
    assert (done.stdout, done.stderr) == ("820\n", "")


MINE = """
def mine(sample):
    return {"x": sample["x"] + 1}

def opened():
    if not os.path.exists(os.path.join(FOLDER, "program.lake")):
        lake().commit("rows")
    return dl.open(os.path.join(FOLDER, "program.lake"))

"""
AT_THE_TOP = """
loader = opened().batches(40, workers="processes", num_workers=1, transform=mine)
for batch in loader: pass  # HERE
"""
IN_A_FUNCTION = """
def train():
    loader = opened().batches(40, workers="processes", num_workers=1, transform=mine)
    return list(loader)  # LAST

train()  # HERE
"""
IN_A_MODULE = """
sys.path.insert(0, FOLDER)
import training
training.train(opened(), mine)  # HERE
"""
IN_AN_IMPORT = """
opened()
import sys
sys.path.insert(0, FOLDER)
sys.modules["mine"] = sys.modules[__name__]
import trains_when_imported  # HERE
"""
TRAINING = """
def train(ds, transform):
    for batch in ds.batches(40, workers="processes", num_workers=1, transform=transform):  # LAST
        pass
"""
TRAINS = """
from training import train
import mine
train(mine.opened(), mine.mine)
"""
FAILS = """
loader = opened().batches(40, workers="processes", num_workers=1, transform=mine)
if __name__ != "__main__":
    raise OSError("no\\nwhere.")  # HERE
list(loader)
"""


@pytest.mark.parametrize(
    ("text", "got"),
    [
        (AT_THE_TOP, "which would itself start workers. Put"),
        (IN_A_FUNCTION, "which would itself start workers, at LAST. Put"),
        (IN_A_MODULE, "which would itself start workers, at LAST. Put"),
        (IN_AN_IMPORT, "which would itself start workers, at LAST. Put"),
        (FAILS, "which fails: OSError: no. Put"),
    ],
    ids=["at the top", "in a function", "in a module", "in an import", "another error"],
)
def test_line_that_needs_a_guard_is_quoted(tmp_path, text, got):
    (tmp_path / "training.py").write_text(TRAINING)
    (tmp_path / "trains_when_imported.py").write_text(TRAINS)
    files = {"training.py": TRAINING, "program.py": HEAD + MINE + text}  # the program's lines win
    marked = {
        mark: f"{file}, line {number}, `{line.strip()}`"
        for file, content in files.items()
        for number, line in enumerate(content.splitlines(), 1)
        for mark in ("HERE", "LAST")
        if line.endswith(mark)
    }
    done = ran(tmp_path, MINE + text)
    assert done.returncode == 1
    said = f"and so runs {marked['HERE']}, {got.replace('LAST', marked.get('LAST', ''))}"
    assert said in done.stderr


def test_notebook_functions_are_sent_by_value(tmp_path):
    text = (
        HEAD
        + """
def mine(sample):
    return {"x": sample["x"] + 1}

loader = lake().batches(40, workers="processes", num_workers=1, transform=mine)
for batch in loader:
    print(batch["x"].sum())
"""
    )
    command = [sys.executable, "-c", text, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1_800, check=False)
    assert (done.stdout, done.stderr) == ("820\n", "")


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_program_ends_at_once_in_the_middle_of_an_epoch(tmp_path, workers):
    text = f"""
loader = lake().batches(4, workers={workers!r}, num_workers=2, transform=transforms.rest)
batches = iter(loader)
next(batches)
print(time.time())
"""
    done = ran(tmp_path, text, "-W", "error", start_new_session=True)
    assert done.stderr == ""
    assert time.time() - float(done.stdout) < 10


def started(path, text):
    """Start a program in a session of its own, and wait for its first line."""
    command = program(path, text)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    line = process.stdout.readline()
    assert line == "begun\n", process.communicate()
    return process


WAITING = """
loader = lake().batches(40, workers="processes", num_workers=2, transform=transforms.sleep)
import threading
threading.Timer(SECONDS, lambda: print("begun", flush=True)).start()
for batch in loader:
    pass
"""


@pytest.mark.parametrize("seconds", [0.1, 1.0])
def test_interrupt_ends_a_program_and_its_processes(tmp_path, seconds):
    process = started(tmp_path, WAITING.replace("SECONDS", str(seconds)))
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=1_800)
    assert process.returncode == -signal.SIGINT
    assert err.count("KeyboardInterrupt") == 1, err
    assert eventually(lambda: not of_program(process.pid))


def test_processes_end_with_a_killed_program(tmp_path):
    process = started(tmp_path, WAITING.replace("SECONDS", "1"))
    assert of_program(process.pid)
    process.kill()
    process.communicate()
    assert eventually(lambda: not of_program(process.pid))


def test_fork_cannot_use_the_loader_and_leaves_its_processes_alone(tmp_path):
    text = """
loader = lake().batches(4, workers=WORKERS, num_workers=1)
print(len(list(loader)), flush=True)
pid = os.fork()
if pid == 0:
    try:
        next(iter(loader))
    except dl.ForkedError as error:
        print(error, flush=True)
    loader.close()
    sys.exit()
os.waitpid(pid, 0)
print(len(list(loader)))
"""
    for workers in ("'threads'", "'processes'"):
        done = ran(tmp_path, text.replace("WORKERS", workers), "-W", "ignore::DeprecationWarning")
        assert done.stderr == ""
        first, said, last = done.stdout.splitlines()
        assert first == last == "10"
        assert "A loader must be used in the process that created it" in said
