"""Parcels sent through a socket, and the file descriptors that stay open."""

import os
import socket

import numpy as np
import pytest

from deeplake_lite.loader.workers.channel import INLINE_BYTES, Channel

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Linux counts so")


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def lanes():
    ends = socket.socketpair()
    result = [Channel(end) for end in ends]
    yield result
    for lane in result:
        lane.close()


def test_parcel_arrives_and_its_memory_is_returned(lanes):
    here, there = lanes
    before = open_files()
    for _ in range(3):
        here.send({"x": np.arange(INLINE_BYTES)})
        assert there.receive()["x"].sum() == np.arange(INLINE_BYTES).sum()
    here._forget()
    assert open_files() == before


def test_truncated_parcel_leaves_no_memory_open(lanes):
    here, there = lanes
    write, lane_write = here._write, here._write_with

    def cut(_):
        here.hang_up()

    before = open_files()
    here._write = cut
    here._write_with = lambda data, memory: (setattr(here, "_write", write),
                                             lane_write(data, memory),
                                             setattr(here, "_write", cut))  # fmt: skip
    here.send({"x": np.arange(INLINE_BYTES)})
    with pytest.raises(EOFError):
        there.receive()
    here._forget()
    assert open_files() == before
