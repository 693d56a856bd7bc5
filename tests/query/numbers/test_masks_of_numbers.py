"""Masks as indices of zero-dimensional arrays, and the shapes in errors about rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable

CELLS = [np.array(5), np.array(-5), np.array([5, -5]), np.array([[1, -1], [2, 3]]), np.array(0)]
INDEXED: dict[str, Callable[[Any], Any]] = {
    "x[x > 0]": lambda x: x[x > 0],
    "x[NOT x > 0]": lambda x: x[~(x > 0)],
    "x[m]": lambda x: x[x > 0],
    "SUM(x[x > 0])": lambda x: x[x > 0].sum(),
    "SIZE(x[x > 0])": lambda x: x[x > 0].size,
    "LEN(x[m])": lambda x: len(x[x > 0]),
    "x[x > 0] * 2": lambda x: x[x > 0] * 2,
    "x[..., None][x[..., None] > 0]": lambda x: x[..., None][x[..., None] > 0],
    "x[m OR true]": lambda x: x[(x > 0) | True],
}


@pytest.fixture
def ds() -> dl.Dataset:
    schema = {
        "x": dl.Array("int64", None), "m": dl.Array("bool", None), "y": dl.Array("int64", (2,)),
        "r": dl.Array("int64", (None,)),
    }  # fmt: skip
    ds = dl.create("memory://masks-of-numbers", schema, overwrite=True)
    masks = [np.asarray(cell > 0) for cell in CELLS]
    ds.append({"x": CELLS, "m": masks, "y": [[1, 2]] * 5, "r": [[1, 2, 3]] * 5})
    return ds


@pytest.mark.parametrize("text", INDEXED)
@pytest.mark.parametrize("size", [1, 5_000])
def test_zero_dimensional_mask_keeps_or_drops_the_value(
    ds: dl.Dataset, text: str, size: int
) -> None:
    if size > 1:  # such rows are computed one by one
        large = np.zeros((size, size // 10), np.int64)
        ds.append({"x": [large], "m": [large > 0], "y": [[1, 2]], "r": [[1]]})
    result = ds.query(f"SELECT {text} AS v")["v"][:]
    cells = [np.asarray(cell) for cell in ds["x"][:]]
    for value, cell in zip(result, cells, strict=True):
        expected = INDEXED[text](cell)
        np.testing.assert_array_equal(value, expected)
        assert np.shape(value) == np.shape(expected)


@pytest.mark.parametrize("mask", [np.array(True), np.array(False)])
def test_zero_dimensional_mask_selects_a_whole_array_as_in_numpy(mask: Any) -> None:
    shapes = {"y": dl.Array("int64", (2,)), "r": dl.Array("int8", (None,))}
    schema = {"m": dl.Array("bool", None), **shapes}
    ds = dl.create("memory://masks-of-arrays", schema, overwrite=True)
    ds.append({"m": [mask], "y": [[1, 2]], "r": [[1, 2, 3]]})
    for name in ("y", "r"):
        [result] = ds.query(f"SELECT {name}[m] AS v")["v"][:]
        np.testing.assert_array_equal(result, np.asarray(ds[name][0])[mask])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y[[true]]", r"along axis 0; .* a row has shape \(2,\)"),
        ("r[[true]]", r"along axis 0; .* a row has shape \(3,\)"),
        ("y[[true, false, true]]", r"along axis 0; .* a row has shape \(2,\)"),
        ("x[[[true]]]", r"along axis 0; .* a row has shape \(2, 2\)"),
        ("SORT(x)", r"axis -1 .*The arguments are int64 \(\)\."),
        ("SUM(x, axis=0)", r"axis 0 .*The arguments are int64 \(\)\."),
        ("r + [1, 2]", r"shapes \(3,\) \(2,\)\. The arguments are int64 \(3,\), int64 \(2,\)\."),
        ("RESHAPE(r, [2])", r"size 3 into shape \(2,\)\. The arguments are int64 \(3,\)\."),
    ],
)
def test_errors_show_the_shape_of_a_row(ds: dl.Dataset, text: str, message: str) -> None:
    with pytest.raises(dl.QueryError, match=message):
        ds.query(f"SELECT {text} AS v")["v"][:]
