"""Arrays of times have extremes and an order, as in NumPy, and share a column in any units."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

DTYPES = ["datetime64[D]", "datetime64[ms]", "datetime64[ns]", "timedelta64[us]", "timedelta64[M]"]
COUNTS = [[3, 1, 2], [7, 7, -5], [0, -1, 4]]
CALLS = {
    "MIN(x)": np.min,
    "AMAX(x)": np.max,
    "ARGMIN(x)": np.argmin,
    "ARGMAX(x)": np.argmax,
    "SORT(x)": np.sort,
    "UNIQUE(x)": np.unique,
    "FLATTEN(x)": np.ravel,
    "LEN(UNIQUE(x))": lambda x: len(np.unique(x)),
}


def created(columns):
    schema = {name: dl.Array(dtype, shape) for name, (dtype, shape, _) in columns.items()}
    ds = dl.create(f"memory://{uuid4().hex}", schema, overwrite=True)
    ds.append({name: values for name, (_, _, values) in columns.items()})
    return ds


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", [(3,), (None,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_order_functions_agree_with_numpy(dtype, shape, call):
    rows = [np.array(row, dtype) for row in COUNTS]
    result = created({"x": (dtype, shape, rows)}).query(f"SELECT {call} AS y")["y"][:]
    for value, row in zip(result, rows, strict=True):
        expected = np.asarray(CALLS[call](row))
        assert np.array_equal(np.asarray(value).astype(expected.dtype), expected)


@pytest.mark.parametrize("call", ["MIN(x)", "MAX(x)", "ARGMIN(x)"])
def test_extreme_of_no_times_is_null(call):
    ds = created({"x": ("datetime64[s]", (None,), [np.array([], "M8[s]")])})
    assert ds.query(f"SELECT {call} AS y")["y"][:].tolist() == [None]


def test_extremes_of_times_are_compared_and_aggregated():
    rows = [np.array(row, "M8[D]") for row in COUNTS]
    ds = created({"x": ("datetime64[D]", (None,), rows)})
    assert len(ds.query("SELECT x WHERE MAX(x) > '1970-01-04'")) == 2
    latest = ds.query("SELECT MAX(MAX(x)) AS y GROUP BY TRUE")["y"][:]
    assert np.asarray(latest, "M8[D]").tolist() == [rows[1][0].item()]


@pytest.mark.parametrize("form", ["COALESCE(a, b)", "CASE WHEN MIN(b) IS NULL THEN b ELSE a END"])
@pytest.mark.parametrize(("coarse", "fine"), [("M8[D]", "M8[us]"), ("m8[s]", "m8[ms]")])
def test_arrays_in_two_units_share_the_finer_one(coarse, fine, form):
    names = [np.dtype(dtype).name for dtype in (coarse, fine)]
    days, others = np.array(COUNTS, coarse), np.array(COUNTS, fine)
    ds = created({"a": (names[0], (3,), days), "b": (names[1], (3,), others)})
    column = ds.query(f"SELECT {form} AS y")["y"]
    assert column.htype.value_dtype == names[1]
    assert np.array_equal(np.asarray(column[:], fine), days.astype(fine))
    both = ds.query("SELECT a AS y UNION ALL SELECT b")["y"][:]
    assert np.array_equal(np.asarray(both, fine), np.concatenate([days.astype(fine), others]))


def test_times_that_do_not_share_a_unit_are_refused():
    far = np.array([["3000-01-01"] * 3], "M8[D]")
    columns = {
        "a": ("datetime64[D]", (3,), far),
        "n": ("datetime64[ns]", (3,), np.zeros((1, 3), "M8[ns]")),
        "m": ("timedelta64[M]", (3,), np.zeros((1, 3), "m8[M]")),
        "s": ("timedelta64[s]", (3,), np.zeros((1, 3), "m8[s]")),
    }
    ds = created(columns)
    with pytest.raises(dl.QueryTypeError, match="cannot represent a time in a"):
        ds.query("SELECT COALESCE(a, n) AS y")["y"][:]
    for form in ("COALESCE(m, s)", "COALESCE(a, s)"):
        with pytest.raises(dl.QueryTypeError, match="values of the same kind"):
            ds.query(f"SELECT {form} AS y")
