"""Arrays of different numbers of axes are combined as NumPy does it row by row."""

from __future__ import annotations

import operator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS = {
    "a": [np.float64(3), np.array([1.0, 2]), np.ones((2, 2)), np.arange(12.0).reshape(3, 2, 2)],
    "b": [np.array([0.5]), np.float64(2), np.array([[2.0], [1]]), np.full((2, 2), 3.0)],
    "ragged": [np.array([1.0]), np.array([4.0, 2]), np.array([1.0]), np.array([7.0, 8])],
    "deep": [np.full((n, 2), n + 0.5) for n in (1, 2, 2, 1)],
    "fixed": [np.array([k + 1.0, 2]) for k in range(4)],
    "single": [np.array([k + 1.0]) for k in range(4)],
    "square": [np.full((2, 2), k + 1.0) for k in range(4)],
    "scalar": [0.5, 1.0, 2.0, -3.0],
}
SHAPES = {
    "a": None, "b": None, "ragged": (None,), "deep": (None, 2), "fixed": (2,), "single": (1,),
    "square": (2, 2),
}  # fmt: skip
PAIRS = [*product(("a", "b"), COLUMNS), *product([c for c in COLUMNS if c not in "ab"], "ab")]
OF_TWO: dict[str, Callable[..., Any]] = {
    "{} + {}": operator.add, "{} - {}": operator.sub, "{} * {}": operator.mul,
    "{} / {}": operator.truediv, "{} // {}": operator.floordiv, "{} % {}": operator.mod,
    "{} ** {}": operator.pow, "{} = {}": operator.eq, "{} <> {}": operator.ne,
    "{} < {}": operator.lt, "{} <= {}": operator.le, "{} > {}": operator.gt,
    "{} >= {}": operator.ge, "{} AND {}": np.logical_and, "{} OR {}": np.logical_or,
    "GREATEST({}, {})": np.maximum, "LEAST({}, {})": np.minimum,
    "CLIP({}, 1, {})": lambda x, y: np.minimum(np.maximum(x, 1), y),
    "CLIP({}, {}, 5)": lambda x, y: np.minimum(np.maximum(x, y), 5),
    "SUM({} + {})": lambda x, y: np.sum(x + y),
    "SQRT(ABS({} - {}))": lambda x, y: np.sqrt(np.abs(x - y)),
    "-({} + {})": lambda x, y: -(x + y), "NOT ({} > {})": lambda x, y: ~np.asarray(x > y),
}  # fmt: skip
OF_ONE: dict[str, Callable[[Any], Any]] = {
    "-{}": operator.neg, "NOT {}": np.logical_not, "ABS({})": np.abs, "EXP({})": np.exp,
    "FLOOR({})": np.floor, "CEIL({})": np.ceil, "SIGN({})": np.sign, "ISNAN({})": np.isnan,
    "ROUND({})": np.round, "CAST({} AS INT32)": lambda x: np.asarray(x).astype("int32"),
    "SUM({})": np.sum, "SUM({}, -1)": lambda x: np.sum(x, -1), "MAX({}, 0)": lambda x: np.max(x, 0),
    "L2_NORM({}, 0)": lambda x: np.sqrt(np.sum(np.square(x), 0)),
    "ARGMAX({}, 0)": lambda x: np.argmax(x, 0), "SORT({})": np.sort, "TRANSPOSE({})": np.transpose,
}  # fmt: skip


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema: dict[str, Any] = {name: dl.Array("float64", shape) for name, shape in SHAPES.items()}
    ds = dl.create(
        "memory://any-axes", {**schema, "scalar": "float64", "id": "int64"}, overwrite=True
    )
    ds.append({**COLUMNS, "id": range(4)})
    ds.commit("rows")
    return ds


def rows_that_fit(*names: str) -> list[int]:
    """Return the rows whose values broadcast in NumPy."""
    result = []
    for row in range(4):
        try:
            np.broadcast_shapes(*(np.shape(COLUMNS[name][row]) for name in names))
        except ValueError:
            continue
        result.append(row)
    return result


def check(ds: dl.Dataset, form: str, of: Callable[..., Any], *names: str) -> None:
    """Check an expression against NumPy row by row, wherever NumPy has a result."""
    rows = rows_that_fit(*names)
    query = f"SELECT id, {form.format(*names)} AS x WHERE id IN ({', '.join(map(str, rows))})"
    result = ds.query(query)["x"][:]
    assert len(result) == len(rows)
    for row, x in zip(rows, result, strict=True):
        with np.errstate(all="ignore"):
            expected = of(*(COLUMNS[name][row] for name in names))
        assert np.shape(x) == np.shape(expected), (form, names, row)
        np.testing.assert_allclose(np.asarray(x), expected, 1e-6, err_msg=f"{form} {names} {row}")


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_operators_broadcast_row_by_row(ds: dl.Dataset, pair: tuple[str, str]) -> None:
    for form, of in OF_TWO.items():
        check(ds, form, of, *pair)
    check(ds, "({} + {}) * {}", lambda x, y, z: (x + y) * z, *pair, "fixed")


@pytest.mark.parametrize("form", OF_ONE)
def test_unary_functions_keep_or_drop_axes(ds: dl.Dataset, form: str) -> None:
    of, computed = OF_ONE[form], form.format("({} + {})")
    check(ds, form.format("{}[None]"), lambda x: of(x[None]), "a")
    check(ds, computed, lambda x, y: of(x + y), "a", "fixed")
    check(ds, form.format("({} > {})"), lambda x, y: of((x > y) * 1), "a", "fixed")


def test_numbers_computed_from_images_still_have_two_or_three_axes() -> None:
    ds = dl.create("memory://any-pictures", {"image": dl.Image("png")})
    ds.append({"image": [np.full((3, 4), 7, "u1"), np.full((3, 4, 3), 9, "u1"),
                         np.full((3, 4, 4), 9, "u1")]})  # fmt: skip
    result = ds.query("SELECT SUM(MEAN(image / 2 + 0, 2), (0, 1)) > 3 AS x WHERE NDIM(image) > 2")
    assert result["x"][:].tolist() == [True, True]
    result = ds.query("SELECT image + [1, 2, 3, 4] AS x WHERE ROW_NUMBER() <> 1")
    assert [x.shape for x in result["x"][:]] == [(3, 4), (3, 4, 4)]
    result = ds.query("SELECT SUM(image[0], 0) AS x")
    assert [x.shape for x in result["x"][:]] == [(), (3,), (4,)]
