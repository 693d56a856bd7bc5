"""Sums are exact where a narrow accumulator would overflow."""

import numpy as np
import pytest

from deeplake_lite.query.functions.sums import total


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize(
    "shape", [(200_000,), (70_000, 3), (257, 3, 2), (256, 5), (4, 5, 8), (3, 256, 2), ()]
)
@pytest.mark.parametrize("extreme", ["min", "max"])
def test_extreme_values_do_not_wrap_around(dtype, shape, extreme):
    value = dtype == "bool" or getattr(np.iinfo(dtype), extreme)
    array = np.full(shape, value, dtype)
    chosen = {(), tuple(range(len(shape))), *((a,) for a in range(len(shape)))}
    for over in [*chosen, *([(0, 2)] if len(shape) == 3 else [])]:
        result = total(array, over)
        expected = np.sum(array, axis=over, dtype=np.int64)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_image_with_more_than_16_million_values_is_summed_in_blocks():
    assert total(np.full((1 << 24) + 5, 255, "uint8"), (0,)) == 255 * ((1 << 24) + 5)
