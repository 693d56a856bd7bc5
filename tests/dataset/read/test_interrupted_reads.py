"""Interrupted reads stop, and the next read with the same handle is complete."""

import asyncio
import contextlib
import signal
import threading
import time
from itertools import count
from unittest.mock import patch

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.chunk_files import ChunkFiles
from deeplake_lite.storage.repo import Session

ROWS = 200
COLUMNS = {
    "n": ("int32", list(range(ROWS))),
    "wide": (dl.Array("uint8", (70, 70)), [np.full((70, 70), i, np.uint8) for i in range(ROWS)]),
    "t": (dl.Text(nullable=True), [None if i % 7 == 0 else f"text {i}" for i in range(ROWS)]),
    "b": (dl.Bytes(), [bytes([i]) * 90 for i in range(ROWS)]),
    "s": (dl.Sequence("int32"), [list(range(i % 5)) for i in range(ROWS)]),
}
SEAMS = [(ChunkFiles, "read_manifests"), (ChunkFiles, "read_whole"), (ChunkFiles, "read_all")]


@pytest.fixture
def url(tmp_path, tiny):  # noqa: ARG001
    ds = dl.create(str(tmp_path / "a.lake"), {name: htype for name, (htype, _) in COLUMNS.items()})
    ds.append({name: values for name, (_, values) in COLUMNS.items()})
    ds.commit("rows")
    return ds.url


@contextlib.contextmanager
def interrupted_at(number):
    """Interrupt the main thread at a call that reads; yield an event that tells whether it did."""
    calls, reached = count(1), threading.Event()

    def interrupt():
        if next(calls) == number:
            reached.set()
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            return True
        return False

    def counted(function):
        def call(*args, **options):
            interrupt()
            return function(*args, **options)

        return call

    get = Session.get

    async def counted_get(*args, **options):
        if interrupt():
            await asyncio.sleep(60)
        return await get(*args, **options)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.ExitStack() as stack:
        for owner, name in SEAMS:
            stack.enter_context(patch.object(owner, name, counted(getattr(owner, name))))
        stack.enter_context(patch.object(Session, "get", counted_get))
        yield reached
    signal.signal(signal.SIGINT, before)


def plain(values):
    if isinstance(values, np.ndarray | np.generic):
        return values.tolist()
    return list(map(plain, values)) if isinstance(values, list) else values


@pytest.mark.parametrize("name", COLUMNS)
def test_read_after_an_interrupted_read_is_complete(url, name):
    expected, number, reached = plain(COLUMNS[name][1]), 0, True
    while reached:
        number += 1 + number // 2
        ds = dl.open(url)
        with interrupted_at(number) as event, contextlib.suppress(KeyboardInterrupt):
            ds[name][:]
            ds[name][::-3]
        reached = event.is_set()
        assert plain(ds[name][:]) == expected
        assert plain(ds[name][::-3]) == expected[::-3]
    assert number > 1


def test_interrupted_read_of_many_chunks_stops_early(url):
    ds, calls, read_whole = dl.open(url), count(), ChunkFiles.read_whole

    def interrupting(*args):
        if next(calls) == 3:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            time.sleep(0.5)  # the rest of this thread's chunks are skipped
        return read_whole(*args)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with (
        patch.object(ChunkFiles, "read_whole", interrupting),
        pytest.raises(KeyboardInterrupt),
    ):
        ds["wide"][:]
    signal.signal(signal.SIGINT, before)
    assert next(calls) < ROWS
    np.testing.assert_array_equal(ds["wide"][:], np.stack(COLUMNS["wide"][1]))
