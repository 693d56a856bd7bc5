"""Reader threads work in order and stop at the end."""

import threading

import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.read.readers import LEAST, Readers

from ..watching import eventually, threads


def test_waiting_reads_end_when_the_readers_are_closed():
    others = threads()
    readers, go_on, done = Readers(), threading.Event(), []
    running = [readers.submit(go_on.wait, 60) for _ in range(LEAST)]
    waiting = [readers.submit(done.append, i) for i in range(5)]
    assert eventually(lambda: len(readers._waiting) == 5)
    readers.close()
    for read in waiting:
        with pytest.raises(LoaderError, match="The loader was closed"):
            read.result(10)
    assert not any(read.done() for read in running)
    go_on.set()
    assert [read.result(10) for read in running] == [True] * LEAST
    assert done == []
    assert eventually(lambda: threads() <= others)


def test_reads_run_in_the_order_of_their_requests():
    readers, order = Readers(), []
    reads = [readers.submit(order.append, i) for i in range(50)]
    for read in reads:
        read.result(10)
    readers.close()
    assert sorted(order) == list(range(50))
    with pytest.raises(RuntimeError):
        readers.submit(order.append, 50)
