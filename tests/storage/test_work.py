"""Asynchronous work that threads wait for, and its cleanup when they are interrupted."""

import asyncio
import gc
import signal
import threading
import time

import pytest

from deeplake_lite.storage.repo import gather, in_thread, run, start, stream
from deeplake_lite.storage.repo.work import MAX_IGNORED_INTERRUPTS
from deeplake_lite.testing.interrupts import interrupt_everywhere


def interrupt():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


@pytest.fixture(autouse=True)
def ctrl_c():
    """Have SIGINT raise KeyboardInterrupt, which a background shell disables."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


async def waits(log):
    try:
        interrupt()
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.02)
        log.append("ended")


async def in_a_thread(log):
    def work():
        interrupt()
        time.sleep(0.05)
        log.append("ended")

    await in_thread(work)


async def gathered(log):
    await gather([waits(log), asyncio.sleep(60)])


async def streamed(log):
    await stream((waits(log) if i == 0 else asyncio.sleep(60) for i in range(3)), 2)


async def interrupted_twice(log):
    try:
        await waits(log)
    finally:
        log.clear()
        interrupt()
        await asyncio.sleep(0.05)
        log.append("ended")


@pytest.mark.parametrize("work", [waits, in_a_thread, gathered, streamed, interrupted_twice])
def test_work_has_ended_when_its_interrupt_is_raised(work):
    log = []
    with pytest.raises(KeyboardInterrupt):
        run(work(log))
    assert log == ["ended"]


def test_running_work_has_ended_after_it_was_stopped():
    log = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            log.append("ended")

    running = start(work())
    run(asyncio.sleep(0))
    running.stop()
    assert log == ["ended"]
    running.stop()


def test_finished_work_keeps_its_result_when_it_is_stopped():
    async def work():
        return 5

    running = start(work())
    assert running.result() == 5
    running.stop()
    assert running.result() == 5


def test_simultaneous_failures_of_pieces_are_all_retrieved(caplog):
    """Otherwise asyncio logs a line for each, thousands for a lake with many damaged chunks."""

    async def fails(number, later):
        if later:
            await asyncio.sleep(0)
        raise ZeroDivisionError(number)

    for pieces in ([fails(i, False) for i in range(9)], [fails(i, i % 2) for i in range(9)]):
        with pytest.raises(ZeroDivisionError):
            run(gather(pieces))
    gc.collect()
    run(asyncio.sleep(0))
    assert not caplog.records


def test_error_of_work_is_raised_to_the_waiter():
    async def work():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(work())
    running = start(work())
    with pytest.raises(ZeroDivisionError):
        running.result()


def test_work_in_the_loop_that_would_wait_for_other_work_is_refused_and_closed():
    async def inner():
        raise AssertionError("never begun")

    async def work():
        run(inner())

    with pytest.raises(RuntimeError, match="must await"):
        run(work())


def test_interrupt_at_any_point_leaves_the_event_loop_running():
    begun = []

    async def work():
        await asyncio.sleep(0.001)

    def begin():
        begun.append(work())
        run(begun[-1])

    assert interrupt_everywhere(begin, lambda _: run(asyncio.sleep(0))) > 10
    for coroutine in begun:
        coroutine.close()  # an interrupt may come before it is awaited


def test_unstoppable_work_is_abandoned_after_repeated_ctrl_c():
    ended = threading.Event()

    async def work():
        for _ in range(MAX_IGNORED_INTERRUPTS + 1):
            asyncio.get_running_loop().call_later(0.05, interrupt)
            await in_thread(time.sleep, 0.1)
        ended.set()

    async def stubborn():
        running = asyncio.ensure_future(work())
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            await running

    with pytest.raises(KeyboardInterrupt):
        run(stubborn())
    assert not ended.is_set()
    assert ended.wait(1_800)
