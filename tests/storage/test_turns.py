"""The order in which writers get a lock."""

import os
import subprocess
import sys
import threading
import time

import pytest

from deeplake_lite.storage.repo import locks, turns
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.repo.turns import lock_in_turn, tickets

HOLD = """
import pathlib, runpy, sys, time  # the module by itself: importing the package takes a second
lock_in_turn = runpy.run_path(sys.argv[2])["lock_in_turn"]
with lock_in_turn(pathlib.Path(sys.argv[1]), "commit"):
    print("held", flush=True)
    time.sleep(600)
"""


def wait_until(condition):
    """Wait for another thread or process."""
    for _ in range(6_000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen within a minute")


def waiting(folder):
    return len(tickets(folder, "commit"))


class Line:
    """Threads that queue for a lock, and record when they get it."""

    def __init__(self, folder):
        self.folder, self.order, self.threads = folder, [], []

    def join(self, name):
        """Add a thread that requests the lock now."""

        def work():
            with lock_in_turn(self.folder, "commit"):
                self.order.append(name)

        before = waiting(self.folder)
        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()
        wait_until(lambda: waiting(self.folder) > before)

    def end(self):
        for thread in self.threads:
            thread.join(60)
        return self.order


def test_writers_get_a_lock_in_the_order_of_their_requests(tmp_path):
    line = Line(tmp_path)
    with lock_in_turn(tmp_path, "commit"):
        for name in "abcde":
            line.join(name)
    assert line.end() == list("abcde")
    assert waiting(tmp_path) == 0


def test_writer_that_requests_again_queues_behind_those_waiting(tmp_path):
    order, rounds = [], 4

    def work(name):
        for _ in range(rounds):
            with lock_in_turn(tmp_path, "commit"):
                order.append(name)  # and do not finish before the last one has requested it again
                wait_until(lambda: waiting(tmp_path) == min(2, 3 * rounds - len(order)))

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert order == order[:3] * rounds
    assert sorted(order[:3]) == list("abc")


def test_no_ticket_is_visible_before_its_owner_has_locked_it(tmp_path, monkeypatch):
    """Otherwise, another process would take it for the ticket of a dead writer."""
    opened, go_on = threading.Event(), threading.Event()
    lock = locks._lock

    def late(descriptor):
        if threading.current_thread().name == "late" and os.readlink(
            f"/proc/self/fd/{descriptor}"
        ).endswith(".ticket"):
            opened.set()
            go_on.wait(1_800)
        return lock(descriptor)

    monkeypatch.setattr(locks, "_lock", late)
    order = []

    def work(name):
        with lock_in_turn(tmp_path, "commit"):
            order.append(name)

    threads = [threading.Thread(target=work, args=(name,), name=name) for name in ("late", "next")]
    threads[0].start()
    assert opened.wait(1_800)
    threads[1].start()
    threads[1].join(0.2)
    assert order == []
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert order == ["late", "next"]


def test_deleted_ticket_is_not_recreated(tmp_path):
    gone = tmp_path / "commit-1.ticket"
    with pytest.raises(FileNotFoundError):
        take_lock(gone, create=False)
    assert not gone.exists()


def test_locks_for_other_purposes_have_their_own_queues(tmp_path):
    with lock_in_turn(tmp_path, "commit"), lock_in_turn(tmp_path, "claims"):
        names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}{end}.lock" for name in ("commit", "claims") for end in ("", "-line")}


def test_error_leaves_the_queue(tmp_path):
    with pytest.raises(ZeroDivisionError), lock_in_turn(tmp_path, "commit"):
        raise ZeroDivisionError
    assert waiting(tmp_path) == 0
    with lock_in_turn(tmp_path, "commit"):
        pass


def test_writers_queued_behind_killed_ones_proceed(tmp_path):
    def start():
        return subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path), turns.__file__], stdout=subprocess.PIPE
        )

    holder, in_line = start(), []
    assert holder.stdout.readline() == b"held\n"
    for length in (1, 2):
        in_line.append(start())
        wait_until(lambda: waiting(tmp_path) == length)  # noqa: B023 - at once
    line = Line(tmp_path)
    line.join("a")
    in_line[1].kill()  # one that is waiting, ahead of us and behind another
    in_line[1].wait()
    assert line.order == []
    holder.kill()
    holder.wait()
    assert in_line[0].stdout.readline() == b"held\n"
    assert line.order == []
    in_line[0].kill()
    in_line[0].wait()
    assert line.end() == ["a"]
    assert waiting(tmp_path) == 0
    for process in (holder, *in_line):
        process.stdout.close()


def test_clock_set_back_never_admits_two_writers_at_once(tmp_path, monkeypatch):
    times = iter(range(10**9, 0, -1))
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    inside, most = [], []

    def work():
        for _ in range(5):
            with lock_in_turn(tmp_path, "commit"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [1] * 20
    assert waiting(tmp_path) == 0
