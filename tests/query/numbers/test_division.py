"""Integer division: scalars truncate, tensors round down, for integers and floats."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

VALUES: dict[str, list[Any]] = {
    "int8": [-7, 7, 3, 0], "uint8": [7, 2, 255, 0], "int64": [-(2**53) - 1, 7, -2, 0],
    "uint64": [2**53 + 1, 7, 2, 0], "float32": [-7.5, 7.5, 2.0, 0.0],
    "float64": [-7.5, 7.5, 2.5, 0.0],
}  # fmt: skip
PAIRS = [*product(VALUES, VALUES)]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema: dict[str, Any] = {f"{side}_{d}": d for d in VALUES for side in "xy"}
    schema |= {f"{side}_{d}_t": dl.Array(d, (1,)) for d in VALUES for side in "xy"}
    ds = dl.create("memory://division", {"id": "int64", **schema}, overwrite=True)
    pairs = [*product(range(4), range(4))]
    rows: dict[str, Any] = {"id": range(16)}
    for dtype, values in VALUES.items():
        for at, side in enumerate("xy"):
            rows[f"{side}_{dtype}"] = [values[pair[at]] for pair in pairs]
            rows[f"{side}_{dtype}_t"] = [[values[pair[at]]] for pair in pairs]
    ds.append(rows)
    ds.commit("rows")
    return ds


def is_float(pair: tuple[str, str]) -> bool:
    return any(dtype.startswith("float") for dtype in pair)


def towards_zero(x: Any, y: Any) -> Any:
    if not y:
        return None
    exact = isinstance(x, int) and isinstance(y, int)
    return (abs(x) // abs(y)) * (1 if x * y >= 0 else -1) if exact else math.trunc(x / y)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_scalar_division_truncates(ds: dl.Dataset, pair: tuple[str, str]) -> None:
    a, b = pair
    forms = [f"x_{a} // y_{b}"] + ([f"(x_{a} + 0) // (y_{b} * 1)"] if "8" not in a + b else [])
    for form in forms:
        result = ds.query(f"SELECT x_{a} AS x, y_{b} AS y, {form} AS q, x_{a} % y_{b} AS r")
        for row in result:
            x, y = row["x"].item(), row["y"].item()
            assert row["q"] == towards_zero(x, y), (form, x, y)
            assert (row["r"] is None) == (y == 0)
            if y and not is_float(pair):
                assert row["q"] * y + row["r"] == x
        kind = np.asarray(result["q"][:]).dtype.kind
        assert kind == "f" if is_float(pair) else kind in "iuf"


@pytest.mark.parametrize("pair", [p for p in PAIRS if is_float(p)], ids="-".join)
def test_float_tensor_division_rounds_down(ds: dl.Dataset, pair: tuple[str, str]) -> None:
    a, b = pair
    for form in (f"x_{a}_t // y_{b}_t", f"x_{a} // y_{b}_t", f"x_{a}_t // y_{b}"):
        result = ds.query(f"SELECT x_{a} AS x, y_{b} AS y, {form} AS q WHERE y_{b} <> 0")
        for row in result:
            assert row["q"].tolist() == pytest.approx([row["x"].item() / row["y"].item() // 1])


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("7.5 // 2", 3.0), ("-7.5 // 2", -3.0), ("7 // 2.5", 2.0), ("-7 // 2", -3), ("7 // 2", 3),
        ("7.5 // 0", None), ("7.5 % 0", None), ("7 // 0", None), ("'7.5' // 2", 3.0),
        ("SUM(x_float64) // 3", 3.0), ("AVG(x_int8) // 0.5", 1.0), ("-3 ** 2", 9),
        ("2 ** 3 ** 2", 64),
    ],
)  # fmt: skip
def test_constants_and_aggregates_divide_the_same_way(
    ds: dl.Dataset, form: str, expected: float | None
) -> None:
    rows = ds.query(f"SELECT {form} AS q LIMIT 1")
    assert [row["q"] for row in rows] == [expected]
