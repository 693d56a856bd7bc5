"""Memory of batches: aligned, and used again."""

import gc

import numpy as np
import pytest

from deeplake_lite.loader.memory import LARGE, _Pool, aligned


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 4), (5, 3, 2), ()])
@pytest.mark.parametrize("dtype", ["uint8", "float64", "datetime64[ms]", "bool", "complex64"])
def test_aligned_arrays_begin_where_they_can_be_shared(shape, dtype):
    array = aligned(shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.ctypes.data % 64 == 0 or not array.size
    assert array.flags.c_contiguous


def test_memory_goes_to_the_next_batch_only_when_nobody_holds_the_last():
    first = aligned((LARGE,), np.dtype("uint8"))
    first[:] = 7
    place, part = first.ctypes.data, first[10:20]
    del first
    gc.collect()
    second = aligned((LARGE,), np.dtype("uint8"))
    second[:] = 9
    assert second.ctypes.data != place
    assert (part == 7).all()
    del part
    gc.collect()
    assert aligned((LARGE,), np.dtype("uint8")).ctypes.data == place


def test_memory_can_be_written_and_is_aligned_when_it_is_used_again():
    for _ in range(3):
        array = aligned((LARGE // 8, 2), np.dtype("float64"))
        assert array.flags.writeable
        assert array.flags.c_contiguous
        assert array.ctypes.data % 64 == 0
        array[...] = 1


def test_memory_that_is_given_back_while_the_same_thread_takes_some_is_let_go():
    pool = _Pool()
    with pool._lock:  # as when the garbage collector runs within `take`
        pool.give(np.empty(LARGE, np.uint8))
    assert pool._held() == 0
