"""A CAST of a scalar to float16 rounds as NumPy does, and keeps the dtype."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

_ALL = np.arange(2**16, dtype=np.uint16).view(np.float16)
_HELD = np.unique(_ALL[np.isfinite(_ALL)].astype(float))
_TIES = (_HELD[1:] + _HELD[:-1]) / 2


def _near(numbers: np.ndarray) -> np.ndarray:
    """Return numbers and their neighbours."""
    return np.concatenate([numbers, np.nextafter(numbers, 1e9), np.nextafter(numbers, -1e9)])


def _cast(numbers: np.ndarray, cast: str) -> np.ndarray:
    ds = dl.create("memory://casts-to-float16", {"x": str(numbers.dtype)}, overwrite=True)
    ds.append({"x": numbers})
    ds.commit("rows")
    return ds.query(f"SELECT {cast} AS x")["x"][:]


def test_every_number_is_rounded_as_in_numpy():
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 65519.999, -65519.999]
    numbers = np.concatenate([_near(_HELD), _near(_TIES), special])
    result = _cast(numbers, "CAST(x AS float16)")
    assert result.dtype == np.float16
    nan = np.isnan(numbers)
    assert np.isnan(result[nan]).all()
    expected = numbers[~nan].astype(np.float16)
    assert (result[~nan].view(np.uint16) == expected.view(np.uint16)).all()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "bool"])
def test_other_dtypes_are_rounded_as_in_numpy(dtype):
    numbers = np.array([0, 1, 77, 100], dtype)
    if dtype in ("uint16", "int64"):
        numbers = np.array([0, 2049, 2051, 65504, 65519], dtype)
    if dtype.startswith("float"):
        numbers = np.array([0.1, 1 / 3, 60000.4, -2e-7], dtype)
    result = _cast(numbers, "CAST(x AS float16)")
    assert result.dtype == np.float16
    assert result.tolist() == numbers.astype(np.float16).tolist()


@pytest.mark.parametrize(
    "number", ["65520", "-65520", "1e300", "x + 65520", "'1e5'", "CAST(x + 70000 AS TEXT)"]
)
def test_numbers_out_of_range_are_an_error_or_null(number):
    with pytest.raises(QueryTypeError, match="out of range") as caught:
        _cast(np.zeros(1), f"CAST({number} AS float16)")
    assert "^" in str(caught.value)
    assert "TRY_CAST" in str(caught.value)
    result = _cast(np.zeros(1), f"TRY_CAST({number} AS float16)")
    assert np.ma.getmaskarray(result).all()
    assert result.dtype == np.float16


def test_strings_that_are_no_numbers_are_an_error_or_null():
    with pytest.raises(QueryTypeError, match="'abc' cannot be converted"):
        _cast(np.zeros(1), "CAST('abc' AS float16)")
    assert np.ma.getmaskarray(_cast(np.zeros(1), "TRY_CAST('abc' AS float16)")).all()
    assert np.ma.getmaskarray(_cast(np.zeros(1), "CAST(NULL AS float16)")).all()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT CAST(x AS float16) AS y, COUNT(*) AS n GROUP BY y", [0.1]),
        ("SELECT CAST(x AS float16) AS y, COUNT(*) AS n GROUP BY CAST(x AS float16)", [0.1]),
        ("SELECT CAST(MAX(x) AS float16) AS y", [0.1]),
        ("SELECT CAST(SUM(x) OVER () AS float16) AS y", [0.2, 0.2]),
        ("SELECT MAX(CAST(x AS float16)) AS y", [0.1]),
        ("SELECT x AS y UNION SELECT CAST(x AS float16)", None),
        ("SELECT DISTINCT CAST(x AS float16) AS y", [0.1]),
        ("SELECT CAST(x AS float16) AS y ORDER BY CAST(x AS float16)", [0.1, 0.1]),
        ("SELECT LIST_TRANSFORM(LIST(x), i -> CAST(i AS float16))[0] AS y", [0.1]),
        ("SELECT CAST(CAST(x AS float16) + 0 AS float16) AS y", [0.1, 0.1]),
    ],
)
def test_casts_in_every_clause(text, expected):
    ds = dl.create("memory://clauses-of-casts", {"x": "float64"}, overwrite=True)
    ds.append({"x": [0.1, 0.1]})
    ds.commit("rows")
    result = ds.query(text)["y"][:]
    if expected is None:  # a column of both holds float64
        assert sorted(result.tolist()) == [float(np.float16(0.1)), 0.1]
        return
    assert result.tolist() == np.array(expected, "float16").tolist()
