"""Arrays that PyTorch accepts unchanged, and conversions of the others."""

import numpy as np
import pytest

from deeplake_lite.loader.frameworks.dtypes import TORCH, for_torch


@pytest.mark.parametrize("name", sorted(TORCH))
def test_common_dtype_is_left_unchanged(name):
    values = np.zeros(3, name)
    assert for_torch(values) is values


@pytest.mark.parametrize("name", ["datetime64[ms]", "datetime64[D]", "timedelta64[s]"])
def test_times_become_counts_of_their_unit_in_the_same_memory(name):
    values = np.array([3, -1, "NaT"], name)
    result = for_torch(values)
    assert result.dtype == np.int64
    assert np.shares_memory(result, values)
    assert result.tolist() == [3, -1, np.iinfo(np.int64).min]


def test_class_numbers_are_int64():
    assert for_torch(np.array([1, 2], np.uint8), classes=True).dtype == np.int64
    wide = np.array([1, 2])
    assert for_torch(wide, classes=True) is wide
    soft = np.array([0.5, 0.5])
    assert for_torch(soft, classes=True) is soft


@pytest.mark.parametrize("name", [">i4", ">f8", ">M8[s]"])
def test_foreign_byte_order_becomes_native(name):
    result = for_torch(np.array([1, 2]).astype(name))
    assert result.dtype.isnative
    assert result.tolist() == [1, 2]


@pytest.mark.parametrize("values", [["text"], [b"bytes"], [None], [np.longdouble(1)]])
def test_dtypes_that_pytorch_lacks_are_left_alone(values):
    assert for_torch(np.array(values)) is None


def test_read_only_and_reversed_arrays_are_copied():
    values = np.arange(4)
    assert for_torch(values[::-1]).strides == (8,)
    values.flags.writeable = False
    result = for_torch(values)
    assert result.flags.writeable
    assert not np.shares_memory(result, values)
