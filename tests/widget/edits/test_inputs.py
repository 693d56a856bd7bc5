"""An input field accepts what its column accepts, displays it, and accepts what it displays."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import deeplake_lite as dl
from deeplake_lite.htypes.scalar import DTYPES
from deeplake_lite.schema import Schema
from deeplake_lite.widget.edits import inputs

UNITS = ["M", "W", "D", "h", "m", "s", "ms", "us", "ns"]
TIMES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in UNITS]
NUMBERS = [dtype for dtype in DTYPES if "complex" not in dtype]


def column(htype):
    return Schema.build({"x": htype})["x"]


def values(dtype):
    """Return a strategy for cells of a column."""
    kind = np.dtype(dtype)
    if kind.kind == "m":
        return st.integers(-(2**63) + 1, 2**63 - 1).map(lambda n: np.int64(n).view(kind))
    if kind.kind == "M":
        low, high = (np.datetime64(year, np.datetime_data(kind)[0]) for year in ("1700", "2200"))
        return st.integers(low.astype(int), high.astype(int)).map(lambda n: np.int64(n).view(kind))
    return hnp.from_dtype(kind)


@pytest.mark.parametrize("dtype", [*TIMES, *NUMBERS])
@given(data=st.data())
def test_displayed_value_is_accepted_unchanged(dtype, data):
    value = data.draw(values(dtype))
    htype = dl.Scalar(dtype)
    shown = json.loads(json.dumps(inputs.to_page(htype, value)))
    assert shown is not None
    if isinstance(shown, int | float):
        assert float(shown) == shown  # in the form that a page has
    for said in (shown, str(shown)):  # unchanged, and typed
        back = np.asarray(inputs.to_cell(column(htype), said), dtype)
        np.testing.assert_array_equal(back, np.asarray(value, dtype))


ASKED = {
    "datetime64[ns]": [
        "2500-01-01", "1600-01-01", "1066-10-14T00:00:00", "2026-01-01T00:00:00.123456789", "now",
        "2500-01-01T00:00:00.000000001", "2026-01-01T00:00+02:00", "NaT", "", "10", "2026-02-30",
        pd.Timestamp("2026-01-01 00:00:00.123456789"), dt.date(2026, 1, 1), 5, True,
    ],
    "datetime64[s]": [
        "2026-01-01T00:00:00.7", "2026-01-01T00:00:00.000", "10", "now", "today", "2026",
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    ],
    "datetime64[D]": ["2026-01-01T12:00", "2026-01-01T00:00", "20260101", "12026-01-01"],
    "timedelta64[s]": [
        "5 s", "5s", "9 seconds", "1 minute", "-2 hours", "1500 ms", "7", "1.5", "5 S", "", "NaT",
        dt.timedelta(seconds=3), pd.Timedelta("5 s"), np.timedelta64(1, "h"), 5,
        "9223372036854775807 s", "9223372036854775808 s",
    ],
    "timedelta64[M]": ["5 months", "1 year", "3 days", 4],
}  # fmt: skip


@pytest.mark.parametrize(
    ("dtype", "value"), [(dtype, value) for dtype in ASKED for value in ASKED[dtype]]
)
def test_field_accepts_exactly_the_times_that_a_column_accepts(dtype, value):
    htype = dl.Scalar(dtype)
    expected, refusal = outcome(lambda: htype.decode_cells(htype.encode([value]))[0])
    taken, refused = outcome(lambda: inputs.to_cell(column(htype), value))
    assert refusal in refused
    assert bool(refusal) == bool(refused)
    assert (taken, getattr(taken, "dtype", None)) == (expected, getattr(expected, "dtype", None))


def outcome(call):
    """Return the result of a call, or the rule by which it is refused."""
    try:
        return call(), ""
    except dl.InvalidValueError as error:
        return None, error.args[0].partition(", but")[0]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("text", ["1e400", "-1e400", "1" + "0" * 400])
def test_infinity_must_be_typed_by_name(dtype, text):
    with pytest.raises(dl.InvalidValueError, match=dtype):
        inputs.to_cell(column(dl.Scalar(dtype)), text)
    for said in ("inf", "-Infinity"):
        assert np.isinf(inputs.to_cell(column(dl.Scalar(dtype)), said))


@pytest.mark.parametrize("text", ["9007199254740993.0", "1e17", "1.5", "0x10", "", "nan"])
def test_integer_is_never_guessed(text):
    with pytest.raises(dl.InvalidValueError, match="must be int64"):
        inputs.to_cell(column(dl.Scalar("int64")), text)
    assert inputs.to_cell(column(dl.Scalar("int64")), " 1e3 ") == 1000


CANONICAL = [
    (dl.Json(), {"a": (1, [2])}, {"a": [1, [2]]}),
    (dl.Sequence("text"), np.array(["p", "q"]), ["p", "q"]),
    (dl.Scalar("int8"), True, np.int8(1)),
    (dl.ClassLabel(["a", "b"]), True, "b"),
    (dl.ClassLabel(["a", "b"], multiple=True), np.array([1, 0]), ["b", "a"]),
    (dl.Text(), np.str_("a"), "a"),
]


@pytest.mark.parametrize(("htype", "value", "cell"), CANONICAL)
def test_edit_contains_the_value_that_the_cell_will_hold(htype, value, cell):
    taken = inputs.to_cell(column(htype), value)
    assert (taken, type(taken)) == (cell, type(cell))
