"""Imports of each format that can resume, killed at random moments: no record is lost or repeated.

After every kill, the records that the lake has are the first ones, each once. When an import has
ended at last, it has all of them, and another one adds nothing.
"""

import multiprocessing
import random
import shutil
import sys
import time
from traceback import format_exception

import pytest

import deeplake_lite as dl
from tests.ingest.every_format import APART, FORMATS

KILLS = 100
RECORDS = 400
ROWS = 16
"""Rows of a block, and of a commit."""

NAMES = (
    *("mds", "litdata", "tfrecord", "arrayrecord", "webdataset", "parquet", "huggingface", "coco"),
    *("lance", "hdf5", "zarr", "numpy", "npz", "csv"),
)

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["deeplake_lite.dataset.opening", "deeplake_lite.ingest.writer"])


def form_of(name):
    return {**FORMATS, **APART}[name]


def write(name, folder, said):
    """Write a dataset; say where it is."""
    said.send(form_of(name).write(folder, RECORDS))


def shrink_blocks():
    """Make the blocks of all sources small, so that there are many commits."""
    for name, module in [*sys.modules.items()]:
        for size in (
            ("BLOCK_ROWS", "BATCH_ROWS", "FILE_ROWS") if "deeplake_lite.ingest" in name else ()
        ):
            if hasattr(module, size):
                setattr(module, size, ROWS)


def run(name, path, url, said):
    """Run an import, which this process is killed in; say when it begins and what it has added."""
    form = form_of(name)
    form.ingest  # noqa: B018 - loads the modules whose constants are changed
    shrink_blocks()
    said.send("begin")
    try:
        ds = form.ingest(path, url, commit_every=ROWS, progress=False)
    except Exception as error:
        said.send("".join(format_exception(error)))
        raise
    said.send(ds.ingested.added)


def started(target, *args):
    """Start a process; return it and the connection to which it says something."""
    told, said = processes.Pipe(duplex=False)
    process = processes.Process(target=target, args=(*args, said), daemon=True)
    process.start()
    said.close()
    return process, told


def heard(told, seconds=120):
    """Return what a process says next; None if it ends without a word."""
    try:
        assert told.poll(seconds), "nothing was said in time"
        return told.recv()
    except EOFError:
        return None


def whole_run(name, path, url):
    """Run an import to its end; return the rows that it has added, and how long it took."""
    process, told = started(run, name, path, url)
    assert heard(told) == "begin"
    begun = time.perf_counter()
    added = heard(told)
    process.join()
    assert isinstance(added, int), added
    return added, time.perf_counter() - begun


def killed_run(name, path, url, seconds):
    """Kill an import after some seconds; return whether it had ended by itself."""
    process, told = started(run, name, path, url)
    assert heard(told) == "begin"
    time.sleep(seconds)
    process.kill()
    process.join()
    outcome = heard(told)
    assert outcome is None or isinstance(outcome, int), outcome
    return outcome is not None


def check(form, url, known):
    """Check that a lake has the first records, each once, and no fewer than before."""
    if not dl.exists(url):
        return 0
    ds = dl.open(url)
    numbers = form.numbers(ds) if form.column in ds.columns else []
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= known
    assert ds.verify()
    return len(numbers)


@pytest.mark.parametrize("name", NAMES)
def test_killed_imports_neither_lose_nor_repeat_records(name, tmp_path, trials):
    form, url, chance = form_of(name), str(tmp_path / "lake"), random.Random(name)
    process, told = started(write, name, tmp_path / "data")
    path = heard(told)
    process.join()
    added, seconds = whole_run(name, path, url)
    assert added == RECORDS == check(form, url, 0)
    shutil.rmtree(url)
    known, imports, resumed = 0, 0, 0
    kills = trials(KILLS)
    for kill in range(kills):
        ended = killed_run(name, path, url, chance.uniform(0, seconds))
        count = check(form, url, known)
        resumed += 0 < count < RECORDS
        known = count
        is_last = kill == kills - 1
        if ended or known == RECORDS or is_last or chance.random() < 0.25:
            whole_run(name, path, url)
            assert check(form, url, known) == RECORDS
            assert whole_run(name, path, url)[0] == 0
            shutil.rmtree(url)
            known, imports = 0, imports + 1
    print(f"{name}: {imports} imports were completed, {resumed} kills left some rows")  # noqa: T201
