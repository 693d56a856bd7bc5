"""Locks held with files."""

import gc
import os
import time

import pytest

from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.repo.turns import lock_in_turn
from deeplake_lite.testing.interrupts import interrupt_everywhere


def wait_until(condition):
    for _ in range(1_000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen within ten seconds")


def is_free(path):
    try:
        with take_lock(path, timeout=0):
            return True
    except TimeoutError:
        return False


def test_lock_is_held_until_its_file_is_closed(tmp_path):
    path = tmp_path / "a.lock"
    with take_lock(path):
        assert not is_free(path)
        with pytest.raises(TimeoutError, match="Another process holds the lock"):
            take_lock(path, timeout=0.02)
    assert is_free(path)


def test_lock_whose_file_was_removed_is_acquired_again(tmp_path):
    path = tmp_path / "a.lock"
    with take_lock(path):
        path.unlink()
        with take_lock(path, timeout=0):
            assert not is_free(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_fork_does_not_hold_a_lock(tmp_path):
    read, write = os.pipe()
    with take_lock(tmp_path / "a.lock"):
        child = os.fork()
        if not child:
            os.read(read, 1)
            os._exit(0)
        assert not is_free(tmp_path / "a.lock")
    wait_until(lambda: is_free(tmp_path / "a.lock"))  # when the fork has begun
    os.write(write, b"x")
    os.waitpid(child, 0)
    os.close(read)
    os.close(write)


@pytest.fixture
def no_collection():
    """Keep the interrupts out of functions that other packages call for each collection."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.filterwarnings("ignore:.*FileIO:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("no_collection")
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_interrupt_at_any_point_leaves_no_lock_and_no_waiter(tmp_path):
    def hold():
        with lock_in_turn(tmp_path, "commit"):
            pass

    def check(place):
        assert is_free(tmp_path / "commit.lock"), place
        assert is_free(tmp_path / "commit-line.lock"), place
        assert all(is_free(ticket) for ticket in tmp_path.glob("*.ticket")), place

    assert interrupt_everywhere(hold, check) > 50
