"""Edits that fail or are interrupted at any point leave the handle unchanged and usable."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import signal
import threading
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.write import blocks, columns, updates, upserts
from deeplake_lite.storage.arrays import SlotArray
from deeplake_lite.storage.column import Column
from deeplake_lite.storage.heap import Heap
from deeplake_lite.storage.repo import Session
from deeplake_lite.storage.rows import Rows

SEAMS = [
    (Session, "put"),
    (Session, "has"),
    (Session, "resize"),
    (Session, "create_array"),
    (SlotArray, "append"),
    (SlotArray, "set"),
    (SlotArray, "spill"),
    (Column, "put"),
    (Heap, "append"),
    (Rows, "append"),
    (Rows, "delete"),
    *((module, "encode_column") for module in (blocks, updates, upserts)),
    (columns, "fill_column"),
]
"""Functions after each call of which an edit is made to fail."""


def fail():
    raise dl.StorageError("disk full")


def interrupt():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


FAILURES = [(fail, dl.StorageError), (interrupt, KeyboardInterrupt)]


@contextlib.contextmanager
def failing_at(number, failure):
    """Fail after the call of that number; yield an event that tells whether it was reached."""
    calls, reached = count(1), threading.Event()

    def counted(function):
        async def wait(*args, **options):
            done = await function(*args, **options)
            if next(calls) == number:
                reached.set()
                failure()
                await asyncio.sleep(60)  # an edit that is interrupted does not wait for this
            return done

        def call(*args, **options):
            done = function(*args, **options)
            if next(calls) == number:
                reached.set()
                failure()
            return done

        return functools.wraps(function)(wait if inspect.iscoroutinefunction(function) else call)

    with contextlib.ExitStack() as stack:
        for owner, name in SEAMS:
            stack.enter_context(patch.object(owner, name, counted(getattr(owner, name))))
        yield reached


@pytest.fixture(autouse=True)
def ctrl_c():
    """Have SIGINT raise KeyboardInterrupt, which a background shell disables."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def some_bytes(number, size):
    return np.random.default_rng(number).bytes(size)


LAYOUTS = {
    "dense": (dl.Scalar("int32"), lambda i: i * 7),
    "nullable": (dl.Scalar("float64", nullable=True), lambda i: None if i % 3 == 0 else i / 2),
    "text": (dl.Text(), lambda i: some_bytes(i, 3 + i % 20).hex()),
    "nullable bytes": (
        dl.Bytes(nullable=True),
        lambda i: None if i % 4 == 1 else some_bytes(i, 5 + i * 11 % 90),
    ),
    "image": (dl.Image("png"), lambda i: np.full((2, 1 + i % 3, 3), i % 256, np.uint8)),
    "sequence": (
        dl.Sequence("bytes"),
        lambda i: [some_bytes(10 * i + j, 20 + j) for j in range(i % 4)],
    ),
}
"""By layout, a type and a function from numbers to its values."""


class Handle:
    """A dataset and the rows that it should have, as numbers of values by column."""

    def __init__(self, url, layout):
        self.htype, self.value = LAYOUTS[layout]
        self.ds = dl.create(url, {"k": "int32", "v": self.htype})
        self.rows, self.numbers = {"k": [], "v": []}, count(1000)

    def cells(self, rows):
        """Return the values of rows."""
        return {
            name: numbers if name == "k" else [self.value(i) for i in numbers]
            for name, numbers in rows.items()
        }

    def new(self, rows):
        """Return rows with new values."""
        numbers = [next(self.numbers) for _ in range(rows)]
        return dict.fromkeys(self.rows, numbers)

    def append(self, rows):
        """Append some rows, which must succeed."""
        new = self.new(rows)
        self.ds.append(self.cells(new))
        self.rows = {name: numbers + new[name] for name, numbers in self.rows.items()}

    def check(self, ds=None):
        """Compare a handle, or this one, with the expected rows."""
        ds = self.ds if ds is None else ds
        expected = self.cells(self.rows)
        assert set(ds.columns) == set(expected)
        assert len(ds) == len(expected["k"])
        for name, values in expected.items():
            assert plain(ds[name][:]) == plain(values), name


def plain(values):
    """Return values as lists, for comparison."""
    if isinstance(values, np.ndarray | np.generic):
        return values.tolist()
    return list(map(plain, values)) if isinstance(values, list | tuple) else values


def append(handle):
    new = handle.new(14)
    handle.ds.append(handle.cells(new))
    return {name: numbers + new[name] for name, numbers in handle.rows.items()}


def append_rows(handle):
    new = handle.new(14)
    cells = handle.cells(new)
    handle.ds.append(
        dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)
    )
    return {name: numbers + new[name] for name, numbers in handle.rows.items()}


def update(handle):
    new = handle.new(len(handle.ds))
    handle.ds.update(range(len(handle.ds)), handle.cells({"v": new["v"]}))
    return {**handle.rows, "v": new["v"]}


def set_cells(handle):
    number = next(handle.numbers)
    handle.ds["v"][1] = handle.value(number)
    return {**handle.rows, "v": [handle.rows["v"][0], number, *handle.rows["v"][2:]]}


def upsert(handle):
    fresh, changed = handle.new(9), handle.new(5)["v"]
    keys = handle.rows["k"][-5:]
    given = {"k": keys + fresh["k"], "v": changed + fresh["v"]}
    handle.ds.upsert(handle.cells(given), on="k")
    return {
        "k": handle.rows["k"] + fresh["k"],
        "v": handle.rows["v"][:-5] + changed + fresh["v"],
    }


def add_column(handle):
    name = f"w{next(handle.numbers)}"
    new = handle.new(len(handle.ds))["v"]
    handle.ds.add_column(name, handle.htype, values=handle.cells({name: new})[name])
    return {**handle.rows, name: new}


def delete(handle):
    handle.ds.delete([0, 2])
    return {name: [numbers[1], *numbers[3:]] for name, numbers in handle.rows.items()}


EDITS = [append, append_rows, update, set_cells, upsert, add_column, delete]


@pytest.mark.filterwarnings(  # Zarr, cancelled between creating coroutines and awaiting them
    "ignore:Exception ignored in. <coroutine object:pytest.PytestUnraisableExceptionWarning",
    "ignore:coroutine '.*' was never awaited:RuntimeWarning",
)
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(("failure", "error"), FAILURES)
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_edit_that_fails_anywhere_changes_nothing(new_url, layout, edit, failure, error):
    handle = Handle(new_url(), layout)
    handle.append(7)
    number = 0
    for tries in count():
        number += 1 + number // 3
        if tries % 3 == 0:
            handle.ds.commit("so far")  # or there are pending rows, in memory and in chunks
        with failing_at(number, failure) as reached, contextlib.suppress(error):
            rows = edit(handle)
        if not reached.is_set():
            break
        handle.check()
        handle.append(tries % 3)
        handle.check()
    assert number > 1
    handle.rows = rows
    handle.check()
    handle.ds.commit("the edit")
    handle.ds = dl.open(handle.ds.url)
    handle.check()
    assert handle.ds.verify()
    if set(handle.ds.columns) == {"k", "v"}:
        handle.append(40)
        handle.ds.commit("another writer has room")
        handle.check(dl.open(handle.ds.url))
        assert handle.ds.verify()


BAD = {
    "bytes": (dl.Bytes(), lambda i: some_bytes(i, 90), 5),
    "text": (dl.Text(), lambda i: some_bytes(i, 40).hex(), 5),
    "image": (dl.Image("png"), lambda i: some_pixels(i), b"no picture"),
    "ragged": (dl.Array("int16", (None,)), lambda i: np.full(60, i, "int16"), "x"),
    "sequence": (dl.Sequence("bytes"), lambda i: [some_bytes(i, 30)] * 4, [b"x", 5]),
}
"""A type, a function from numbers to its values, and a value that it refuses."""


def some_pixels(number):
    return np.random.default_rng(number).integers(0, 255, (5, 7, 3), np.uint8)


def broken(rows):
    """Yield rows, then raise."""
    yield from rows
    raise ZeroDivisionError


def refused_columns(ds, good, bad):
    ds.append({"v": [*good, bad]})


def refused_rows(ds, good, bad):
    ds.append([{"v": v} for v in [*good, bad]])


def broken_rows(ds, good, bad):  # noqa: ARG001
    ds.append(broken({"v": v} for v in good))


def refused_update(ds, good, bad):
    ds.update(range(len(ds)), {"v": [*good[: len(ds) - 1], bad]})


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("edit", [refused_columns, refused_rows, broken_rows, refused_update])
@pytest.mark.parametrize("layout", BAD)
def test_batch_refused_late_does_not_block_large_writes(tmp_path, layout, edit):
    htype, value, bad = BAD[layout]
    url, good = str(tmp_path / "a.lake"), list(map(value, range(30)))
    ds = dl.create(url, {"v": htype})
    ds.append({"v": good})
    ds.commit("good")
    for expected in (good, good[:10]):
        with pytest.raises((dl.InvalidValueError, ZeroDivisionError)):
            edit(ds, good, bad)
        assert plain(ds["v"][:]) == plain(expected)
        ds.delete(range(10, len(ds)))  # an edit is open in the next iteration
    ds.commit("the rest")
    other = dl.open(url)
    other.append({"v": good * 3})
    other.commit("large")
    assert plain(dl.open(url)["v"][:]) == plain(good[:10] + good * 3)
    assert dl.open(url).verify()


@pytest.mark.parametrize("edit", ["append", "update"])
@pytest.mark.parametrize("trial", range(6))
def test_ctrl_c_during_a_large_edit_leaves_all_of_it_or_nothing(tmp_path, edit, trial):
    blobs = [some_bytes(i, 2**20) for i in range(12)]
    old = [1] * 12, [b"old"] * 12
    new = [2] * 12, blobs
    ds = dl.create(str(tmp_path / "a.lake"), {"n": "int32", "b": dl.Bytes()})
    ds.append({"n": old[0], "b": old[1]})
    ds.commit("old")
    sent = threading.Timer(0.002 + 0.008 * trial, interrupt)
    with contextlib.suppress(KeyboardInterrupt):
        sent.start()
        if edit == "append":
            ds.append({"n": new[0], "b": new[1]})
        else:
            ds.update(range(12), {"n": new[0], "b": new[1]})
        sent.join()
    result = ds["n"][:].tolist(), ds["b"][:]
    done = (old[0] + new[0], old[1] + new[1]) if edit == "append" else new
    assert result in (old, done)
    ds.append({"n": [3] * 8, "b": blobs[4:]})
    ds.commit("new")
    again = dl.open(ds.url)
    assert again["n"][:].tolist() == result[0] + [3] * 8
    assert again["b"][:] == result[1] + blobs[4:]
    assert again.verify()
