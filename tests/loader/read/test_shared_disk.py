"""Trainers on one machine share the disk cache: one download, one limit, and safe when killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.testing.slow_store import SlowStore

from ..watching import eventually
from . import sharer

ROWS = 320
TOTAL = sum(range(ROWS))
NBYTES = 4_096
"""Size of a row. A block has as many bytes as a chunk of the lake, so that no two share a chunk."""

BLOCKS = ROWS // sharer.BLOCK


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A lake whose values are read from the store one range at a time."""
    folder = tmp_path_factory.mktemp("store")
    ds = dl.create(str(folder / "lake"), {"row": "int64", "data": "bytes"})
    rng = np.random.default_rng(0)
    ds.append({"row": range(ROWS), "data": [rng.bytes(NBYTES) for _ in range(ROWS)]})
    ds.commit("rows")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of the blocks."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "deeplake_lite" / "blocks"


@pytest.fixture
def train(tmp_path, cache):  # noqa: ARG001 (trainers inherit the environment)
    """Prepare trainers in other processes, which are killed at the end of the test."""
    trainers = []

    def train(store, count=1, **options):
        prepared = [
            Trainer(store, tmp_path / f"start {len(trainers)} {seed}", seed, options)
            for seed in range(count)
        ]
        trainers.extend(prepared)
        for trainer in prepared:
            trainer.wait_until_ready()
        return prepared

    yield train
    for trainer in trainers:
        trainer.kill()


class Trainer:
    """A process that trains once it is told to."""

    def __init__(self, store, start, seed, options):
        options, self._start = {"seed": seed, "epochs": 1, **options}, start
        command = [sys.executable, sharer.__file__, "s3://lakes/lake"]
        arguments = [store.endpoint, str(start), json.dumps(options)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [*command, *arguments], stdout=pipe, stderr=pipe, text=True
        )

    def wait_until_ready(self):
        assert self._process.stdout.readline() == "ready\n", self._process.stderr.read()

    def start(self):
        self._start.touch()

    @property
    def is_running(self):
        return self._process.poll() is None

    def kill(self):
        self._process.kill()
        self._process.communicate()

    def finish(self):
        """Wait for the end, and return the sum of the rows of each epoch."""
        out, error = self._process.communicate(timeout=120)
        assert self._process.returncode == 0, error
        return [int(line) for line in out.split()]


class HeldStore(SlowStore):
    """A store that sends no replies while it is held."""

    held = False

    async def reply(self, request):
        while self.held:
            await asyncio.sleep(0.01)
        return await super().reply(request)


def run(*trainers):
    """Run trainers at the same time, and return the sums of the rows of all epochs."""
    for trainer in trainers:
        trainer.start()
    return [total for trainer in trainers for total in trainer.finish()]


def files_in(cache, *suffixes):
    """Return the blocks, or the files with some suffixes."""
    files = [path for path in cache.rglob("*") if path.is_file()]
    if suffixes:
        return [path for path in files if path.name.endswith(suffixes)]
    return [path for path in files if not path.name.startswith(".")]


def size_of(cache):
    """Return the size of all blocks, including unfinished ones, or None if they change meanwhile.

    The files of other loaders are not blocks.
    """
    try:
        return sum(path.stat().st_size for path in [*files_in(cache), *files_in(cache, ".new")])
    except OSError:
        return None


@pytest.mark.parametrize("options", [{"shuffle": True}, {"seed": 0}], ids=str)
def test_trainers_that_start_together_download_each_block_once(folder, cache, train, options):
    with SlowStore(folder, latency=0.05) as store:
        trainers = train(store, 2, **options)
        before = store.bytes
        assert run(*trainers) == [TOTAL] * 2
        assert NBYTES * ROWS <= store.bytes - before <= 1.1 * NBYTES * ROWS
        assert len(files_in(cache)) == BLOCKS


def test_next_trainer_downloads_nothing(folder, train):
    with SlowStore(folder, latency=0) as store:
        first, second = train(store, 2, epochs=2, shuffle=True)
        assert run(first) == [TOTAL] * 2
        before = store.bytes
        assert run(second) == [TOTAL] * 2
        assert store.bytes - before < 0.1 * NBYTES * ROWS


def test_trainer_takes_over_the_download_of_a_killed_one(folder, cache, train):
    with HeldStore(folder, latency=0) as store:
        first, second = train(store, 2, seed=0)
        store.held = True
        first.start()
        assert eventually(lambda: files_in(cache, ".reading"))
        second.start()
        assert eventually(lambda: len(files_in(cache, ".loader")) == 2)
        assert second.is_running
        first.kill()
        store.held = False
        assert second.finish() == [TOTAL]
        assert len(files_in(cache)) == BLOCKS
        assert not files_in(cache, ".reading", ".new")


def test_killed_trainers_leave_no_partial_blocks(folder, cache, train):
    with SlowStore(folder, latency=0.02) as store:
        first, second, last = train(store, 3, shuffle=True)
        for killed, count in ((first, 1), (second, 10)):
            killed.start()
            assert eventually(lambda count=count: len(files_in(cache)) >= count)
            killed.kill()
        assert run(last) == [TOTAL]
    assert len(files_in(cache)) == BLOCKS
    assert not files_in(cache, ".reading", ".new", ".loader", ".uses")


@pytest.mark.parametrize("shuffle", ["block", "exact"])
def test_trainers_together_stay_within_the_smallest_budget(folder, cache, train, shuffle):
    budget = NBYTES * ROWS // 3
    with SlowStore(folder, latency=0.005) as store:
        trainers = train(store, 2, epochs=2, shuffle=shuffle, disk_budget=budget)
        for trainer in trainers:
            trainer.start()
        sizes = []
        while any(trainer.is_running for trainer in trainers):
            sizes.append(size_of(cache))
            time.sleep(0.002)
        assert [trainer.finish() for trainer in trainers] == [[TOTAL] * 2] * 2
    measured = [size for size in sizes if size is not None]
    assert budget / 2 < max(measured) <= budget
