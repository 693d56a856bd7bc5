"""A running epoch: which batches are delivered when one fails or the loader is closed."""

from __future__ import annotations

import threading
from concurrent.futures import wait

import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader import Loader, Options
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.make import decode
from deeplake_lite.loader.make.recipe import Recipe
from deeplake_lite.loader.read.samples import ViewSamples

from ..watching import eventually


def handed_over(batches, seen):
    """Iterate over batches; return the first number of each, and how the iteration ended."""
    for batch in batches:
        seen.append(int(batch["x"][0]))


@pytest.mark.parametrize("refused", range(30, 40))
def test_batches_before_one_that_a_framework_refuses_are_delivered(numbers, monkeypatch, refused):
    class Picky(Framework):
        def convert(self, batch, resources):  # noqa: ARG002
            if batch["x"][0] == refused:
                raise LoaderError("not this one")
            return batch

    monkeypatch.setattr(
        "deeplake_lite.loader.workers.run.SHORT_TASK", 60.0
    )  # many batches at a time
    seen = []
    with pytest.raises(LoaderError, match="not this one"):
        handed_over(Loader(numbers, Options.of(batch_size=1, num_workers=1), Picky()), seen)
    assert seen == list(range(refused))


def test_batch_that_fails_once_is_an_error_and_not_skipped(ds, monkeypatch):
    decode_into, failed = decode.decode_into, []

    def flaky(*args):
        if not failed:
            failed.append(True)
            raise OSError("the network is down")
        decode_into(*args)

    monkeypatch.setattr(decode, "decode_into", flaky)
    with pytest.raises(LoaderError, match="the network is down"):
        list(ds.batches(8, num_workers=1))


def test_failed_task_is_not_ready_and_earlier_batches_are_delivered(numbers, monkeypatch):
    make_all = Recipe.make_all

    def dying(recipe, jobs, epoch):
        if any(20 in job.cells["x"].values for job in jobs):
            raise LoaderError("the worker process died")
        return make_all(recipe, jobs, epoch)

    class Looking(Framework):
        def hand_over(self, run):
            for made in run.batches():
                wait(run._pending)
                ready.append(run.ready)
                yield made

    monkeypatch.setattr(Recipe, "make_all", dying)
    monkeypatch.setattr("deeplake_lite.loader.workers.run.SHORT_TASK", 0.0)  # one batch at a time
    seen, ready = [], []
    with pytest.raises(LoaderError, match="died"):
        handed_over(Loader(numbers, Options.of(batch_size=1, num_workers=1), Looking()), seen)
    assert seen == list(range(20))
    assert not ready[-1]


def test_closing_the_loader_raises_a_loader_error_in_waiting_reads(make_lake, monkeypatch):
    monkeypatch.setattr("deeplake_lite.loader.order.block_rows.BLOCK_BYTES", 64)
    monkeypatch.setattr("deeplake_lite.loader.read.blocks.EARLY", 0)
    lake = make_lake({"x": "int32"}, x=range(2000))
    read, reading, go_on, ends = ViewSamples.read, threading.Event(), threading.Event(), []

    def slow(*args):
        reading.set()
        go_on.wait(60)
        return read(*args)

    def train():
        try:
            list(loader)
        except Exception as error:
            ends.append(error)

    loader = lake.batches(1000, num_workers=1)
    monkeypatch.setattr(ViewSamples, "read", slow)
    user = threading.Thread(target=train, daemon=True)
    user.start()
    assert reading.wait(60)
    assert eventually(lambda: all(run._next and not run._pending for run in loader._runs))
    loader.close()
    go_on.set()
    user.join(60)
    assert [type(error) for error in ends] == [LoaderError]


@pytest.mark.parametrize("part", ["pool", "readers"])
def test_epoch_that_requests_more_while_the_loader_is_closed_gets_a_loader_error(
    numbers, monkeypatch, part
):
    loader = numbers.batches(1, num_workers=1)
    batches = iter(loader)
    next(batches)
    (run,) = loader._runs
    begin, pool = run._start_tasks, getattr(loader.resources, part)

    def closing():
        loader.close()  # as another thread may do at this very moment
        begin()
        pool.submit(int)

    monkeypatch.setattr(run, "_start_tasks", closing)
    with pytest.raises(LoaderError, match="The loader was closed"):
        list(batches)
