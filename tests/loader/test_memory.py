"""Batch memory is aligned and reused."""

import gc
import os
import subprocess
import sys
from concurrent.futures import wait

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.memory import LARGE, _Pool, allocate_aligned


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 4), (5, 3, 2), ()])
@pytest.mark.parametrize("dtype", ["uint8", "float64", "datetime64[ms]", "bool", "complex64"])
def test_aligned_arrays_start_where_they_can_be_shared(shape, dtype):
    array = allocate_aligned(shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.ctypes.data % 64 == 0 or not array.size
    assert array.flags.c_contiguous


def test_memory_is_reused_only_when_nobody_holds_the_last_batch():
    first = allocate_aligned((LARGE,), np.dtype("uint8"))
    first[:] = 7
    place, part = first.ctypes.data, first[10:20]
    del first
    gc.collect()
    second = allocate_aligned((LARGE,), np.dtype("uint8"))
    second[:] = 9
    assert second.ctypes.data != place
    assert (part == 7).all()
    del part
    gc.collect()
    assert allocate_aligned((LARGE,), np.dtype("uint8")).ctypes.data == place


def test_reused_memory_is_writable_and_aligned():
    for _ in range(3):
        array = allocate_aligned((LARGE // 8, 2), np.dtype("float64"))
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
        array[...] = 1


# ---- the budget of a loader


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Make a lake of 48 rows of 256 KiB, in a folder."""
    rows = np.random.default_rng(0).integers(0, 255, (48, 512, 512), np.uint8)
    schema = {
        "dense": dl.Array("uint8", (512, 512)),
        "ragged": dl.Array("uint8", (None, 512)),
        "packed": dl.Array("uint8", (None, 512), "zstd"),
    }
    ds = dl.create(str(tmp_path_factory.mktemp("large") / "a.lake"), schema)
    ds.append({"dense": rows, "ragged": list(rows), "packed": list(rows)})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("budget", [1, 6, 10, 40])
@pytest.mark.parametrize("shuffle", [False, "exact", "block"])
@pytest.mark.parametrize("column", ["dense", "ragged", "packed"])
def test_budget_or_three_batches_are_the_limit(large, monkeypatch, column, shuffle, budget):
    monkeypatch.setattr("deeplake_lite.loader.options.MIN_BUDGET", 1)
    batch = 2 * 4 * 2**18  # rows as they are stored, and decoded
    for options in ({}, {"cache": None}, {"num_workers": 4}, {"collate": "list"}):
        how = {"columns": [column], "shuffle": shuffle, "memory_budget": budget * 2**20, **options}
        loader = large.batches(4, **how)
        seen = sum(len(b[column]) for _ in range(2) for b in loader)
        assert seen == 2 * 48
        assert loader.stats().peak_bytes <= max(budget * 2**20, 3 * batch), options


MEASURED = """
import sys
import numpy as np
import deeplake_lite as dl

def anonymous():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))

ds = dl.open(sys.argv[1])
for batch in ds[:8].batches(2):
    pass
del batch
before, most = anonymous(), 0
for _ in range(2):
    for batch in ds.batches(8, memory_budget=int(sys.argv[2]), shuffle=True):
        most = max(most, anonymous() - before)
print(most)
"""


@pytest.mark.parametrize("shape", [(2048, 2048), (None, 2048)])
def test_process_takes_little_more_than_the_budget_for_large_rows(tmp_path, shape):
    """Rows of 4 MB: the loader does not count everything, and a cache under it would double them.

    The C library may retain 80 MB of freed memory, depending on how threads take turns: here it
    returns large blocks at once.
    """
    url, budget, row = str(tmp_path / "rows.lake"), 128 << 20, 4 << 20
    ds = dl.create(url, {"x": dl.Array("uint8", shape)})
    rng = np.random.default_rng(0)
    for _ in range(8):
        ds.append({"x": list(rng.integers(0, 255, (12, 2048, 2048), np.uint8))})
    ds.commit("rows")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, url, str(budget)],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": str(LARGE)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= budget + 2 * 8 * row


def test_concurrent_epochs_release_only_their_own_rows(large):
    loader = large.batches(4, columns=["ragged"], cache=None, num_workers=1)
    first, second = iter(loader), iter(loader)
    next(first)
    next(second)
    wait(list(loader.resources.blocks._alone), 60)
    (run, *_) = [run for run in loader._runs if run._epoch == 1]
    asked = {request.alone for request in run._outstanding}
    first.close()
    assert asked <= {*loader.resources.blocks._alone}
    assert len(list(second)) == 11


def test_small_budget_holds_little_memory_for_reuse():
    pool = _Pool()
    for _ in range(3):
        pool.give(np.empty(10 * LARGE, np.uint8))
    pool.limit(20 * LARGE)
    assert pool._nbytes() == 20 * LARGE
    pool.limit(0)
    assert pool._nbytes() == 0
    pool.give(np.empty(2 * LARGE, np.uint8))
    assert pool._nbytes() == 2 * LARGE


def test_memory_returned_during_take_in_the_same_thread_is_released():
    pool = _Pool()
    with pool._lock:  # as if the garbage collector ran inside `take`
        pool.give(np.empty(LARGE, np.uint8))
    assert pool._nbytes() == 0
