"""Cancelled queries end, and none of their work continues."""

import asyncio
import threading
import time

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {"x": "int32", "v": dl.Array("float32", (None,))},
        x=range(3000),
        v=[np.zeros(i % 3) for i in range(3000)],
    )


async def cancelled(query, after):
    """Cancel a query after some seconds, and return how long that took."""
    task = asyncio.ensure_future(query)
    await asyncio.sleep(after)
    started = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    return time.perf_counter() - started


def test_query_can_be_awaited_with_others(ds):
    async def both():
        return await asyncio.gather(
            ds.query_async("SELECT x WHERE x > ? LIMIT 1", [1]),
            ds.query_async("SELECT SUM(x) AS s"),
        )

    one, two = asyncio.run(both())
    assert (one["x"][0], two["s"][0]) == (2, sum(range(3000)))


def test_errors_reach_the_awaiting_caller(ds):
    with pytest.raises(dl.ColumnNotFoundError, match="no column 'y'"):
        asyncio.run(ds.query_async("SELECT y"))


def test_cancelled_query_ends_in_duckdb(ds):
    text = "SELECT COUNT(*) AS n FROM ds AS a, ds AS b, ds AS c WHERE a.x * b.x + c.x = 7"
    assert asyncio.run(cancelled(ds.query_async(text), 0.3)) < 2
    assert len(ds.query("SELECT x LIMIT 3")) == 3


def test_cancelled_query_ends_in_numpy(ds):
    calls, running = [], threading.Event()

    @dl.function(returns="float32")
    def slow(v):  # noqa: ARG001
        running.set()
        time.sleep(0.01)
        calls.append(1)
        return 0.0

    async def run():
        task = asyncio.create_task(ds.query_async("SELECT x WHERE SLOW(v) > 1"))
        await asyncio.to_thread(running.wait, 10)
        return await cancelled(task, 0.05)

    try:
        asyncio.run(run())
        count = -1
        while count < len(calls):  # parts that were running, for as long as they take
            count = len(calls)
            time.sleep(0.5)
        assert count < len(ds) / 2
    finally:
        unregister("slow")
