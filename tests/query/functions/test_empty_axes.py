"""Reductions of tensors with empty axes."""

from __future__ import annotations

import numpy as np
import pytest

from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.functions import REGISTRY, Type

from .harness import bind

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
    "float16", "float32", "float64",
)  # fmt: skip
SHAPES = ((0,), (3, 0), (0, 3), (0, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3))
AXES = (None, 0, -1, (0, 1))
REDUCTIONS = sorted({f.name for f in REGISTRY.values() if f.group == "Reductions"})
OF_NOTHING = {
    "SUM": np.sum, "PROD": np.prod, "ANY": np.any, "ALL": np.all,
    "ALL_STRICT": lambda x, axis: np.any(x, axis) & False,
}  # fmt: skip
"""Reductions that are defined for empty arrays."""


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_of_an_empty_axis_agrees_with_numpy_or_is_null(name, dtype):
    for shape in SHAPES:
        for axis in AXES:
            if isinstance(axis, tuple) and (len(shape) < 2 or name.startswith("ARG")):
                continue
            bound = bind(name, [[]], [Type(dtype, shape)], **{} if axis is None else {"axis": axis})
            value = np.zeros(shape, dtype)
            one, stacked = bound.compute(value, lead=0), bound.compute(value[None], lead=1)
            if name in OF_NOTHING:
                expected = OF_NOTHING[name](value, axis=axis)
                is_unsigned = expected.dtype.kind == "u" and dtype != "uint64"
                assert one.dtype == (np.int64 if is_unsigned else expected.dtype)
                np.testing.assert_array_equal(one, expected)
                np.testing.assert_array_equal(stacked, expected[None])
            elif one is None:
                assert isinstance(stacked, list) or stacked.size
                assert [value is None or np.ma.is_masked(value) for value in stacked] == [True]
            else:
                assert one.shape == stacked[0].shape
                assert one.size == 0


@pytest.mark.parametrize("name", sorted({f.name for f in REGISTRY.values()}))
def test_function_of_an_empty_tensor_has_a_value_or_raises_our_error(name):
    function = REGISTRY[name]
    count = sum("=" not in p and "*" not in p for p in function.signature.split(","))
    for dtype in ("bool", "uint8", "int64", "float32"):
        for shape in ((0,), (3, 0), (0, 4), (0, 0), (2, 0, 3)):
            assert "reshape" not in _complaint(name, np.zeros(shape, dtype), count)


def _complaint(name: str, value: np.ndarray, count: int) -> str:
    """Return the error of a function of so many arguments for a value."""
    try:
        bound = bind(name, [[]] * count, [Type(value.dtype.name, value.shape)] * count)
        bound.compute(*[value] * count, lead=0)
        if bound.stacks:
            bound.compute(*[value[None]] * count, lead=1)
            bound.compute(*[np.ma.MaskedArray(value[None][:0])] * count, lead=1)
    except QueryTypeError as error:
        return str(error)
    return ""
