"""Arrays of several rows are padded, or concatenated."""

import numpy as np
import pytest

from deeplake_lite.loader.make.arrays import RaggedBatch, concatenate, pad


def test_times_and_dtypes_are_preserved():
    days = [np.array(["2026-01-02"], "M8[D]"), np.array([], "M8[D]")]
    value, mask = pad("d", days, 1)
    assert value.dtype == np.dtype("M8[D]")
    assert mask.tolist() == [[True], [False]]
    assert pad("a", [np.ones(1, np.uint8), np.ones(2, np.uint16)], 1)[0].dtype == np.uint16
    assert concatenate("a", [np.ones(1, np.int8), []]).values.dtype == np.int8


def test_rows_of_a_batch_are_ragged_values_and_out_of_range_is_an_error():
    batch = RaggedBatch(np.arange(5), np.array([2, 0, 3]))
    assert [batch[i].tolist() for i in (-3, -2, -1)] == [row.tolist() for row in batch]
    for wrong in (3, -4):
        with pytest.raises(IndexError, match=f"A batch of 3 rows has no row {wrong}"):
            batch[wrong]
    with pytest.raises(IndexError, match="of 0 rows has no row 0"):
        RaggedBatch(np.empty(0), np.empty(0, np.int64))[0]
