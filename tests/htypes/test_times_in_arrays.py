"""Each time in an array is read independently of its neighbours in the cell or batch."""

from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes.times import UNITS

fresh = count()

COARSE = ["Y", "M", "D", "h", "m", "s"]


def append(htype, rows):
    ds = dl.create(f"memory://times-in-arrays-{next(fresh)}", {"x": htype})
    ds.append({"x": rows})
    return list(ds["x"][:])


def stored(htype, rows):
    return [np.asarray(row).tolist() for row in append(htype, rows)]


def far(unit):
    return np.datetime64("9999", unit) if unit != "Y" else np.datetime64("9999")


PACKS = {
    "rows": (dl.Array("datetime64[ns]", (1,)), lambda a, b: [np.array([a]), np.array([b])]),
    "a ragged row": (dl.Array("datetime64[ns]", (None,)), lambda a, b: [[a, b]]),
    "a fixed row": (dl.Array("datetime64[ns]", (2,)), lambda a, b: [[a, b]]),
    "any axes": (dl.Array("datetime64[ns]", None), lambda a, b: [[[a, b]]]),
    "a tuple": (dl.Array("datetime64[ns]", (None,)), lambda a, b: [(a, b)]),
    "arrays": (dl.Array("datetime64[ns]", (2, 1)), lambda a, b: [[np.array([a]), np.array([b])]]),
    "lists": (dl.Array("datetime64[ns]", (None, 1)), lambda a, b: [[[a], [b]]]),
    "masked": (
        dl.Array("datetime64[ns]", (1,)),
        lambda a, b: [np.ma.masked_array([a], [False]), np.array([b])],
    ),
    "items": (
        dl.Sequence(dl.Array("datetime64[ns]", (1,))),
        lambda a, b: [[np.array([a]), np.array([b])]],
    ),
    "scalars": (dl.Scalar("datetime64[ns]"), lambda a, b: [a, b]),
}


@pytest.mark.parametrize("unit", COARSE)
@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("turned", [False, True])
def test_time_out_of_range_is_refused_next_to_a_finer_one(unit, pack, turned):
    htype, rows = PACKS[pack]
    pair = (far(unit), np.datetime64(1, "ns"))
    with pytest.raises(
        dl.InvalidValueError, match=r"must fit datetime64\[ns\] exactly, but it is 9999"
    ):
        append(htype, rows(*(pair[::-1] if turned else pair)))


@pytest.mark.parametrize("pack", [pack for pack in PACKS if pack != "scalars"])
def test_times_of_several_units_are_stored_where_each_fits(pack):
    htype, rows = PACKS[pack]
    pair = np.datetime64("2262-04", "M"), np.datetime64(86_400 * 10**9, "ns")
    result = np.concatenate([np.ravel(row) for row in append(htype, rows(*pair))])
    assert result.tolist() == [moment.astype("M8[ns]").astype(int) for moment in pair]


def test_coarse_column_accepts_distant_and_fine_times_side_by_side():
    pair = [np.datetime64("9999-01-01"), np.datetime64(86_400 * 10**9, "ns")]
    [row] = append(dl.Array("datetime64[D]", (2,)), [pair])
    assert row.astype(str).tolist() == ["9999-01-01", "1970-01-02"]


def test_duration_out_of_range_is_refused_next_to_a_finer_one():
    pair = [np.timedelta64(10**6, "W"), np.timedelta64(1, "ns")]
    with pytest.raises(dl.InvalidValueError, match=r"must fit timedelta64\[ns\] exactly"):
        append(dl.Array("timedelta64[ns]", (2,)), [pair])


NUMBERS = [np.int64(5), np.uint8(5), np.True_, np.float64(5), 5, True]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("pack", ["rows", "row", "arrays"])
def test_number_next_to_times_is_not_a_time(number, kind, turned, pack):
    pair = [number, np.array(2, f"{kind}[s]")[()]][:: -1 if turned else 1]
    as_rows = pack == "rows"
    rows = [np.array([v]) for v in pair] if as_rows else [pair]
    rows = [[np.array([v]) for v in pair]] if pack == "arrays" else rows
    shape = {"rows": (1,), "row": (2,), "arrays": (2, 1)}[pack]
    word = "time" if kind == "datetime64" else "duration"
    with pytest.raises(dl.InvalidValueError, match=rf"must be a {word} \({kind}\[s\]\), but it is"):
        append(dl.Array(f"{kind}[s]", shape), rows)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kinds", [("datetime64", "timedelta64"), ("timedelta64", "datetime64")])
def test_durations_and_times_are_not_interchangeable(turned, kinds):
    of, other = kinds
    pair = [np.array(5, f"{other}[s]")[()], np.array(2, f"{of}[s]")[()]]
    word = "time" if of == "datetime64" else "duration"
    for rows in ([[np.array([v]) for v in pair]], [pair[::-1] if turned else pair]):
        htype = dl.Array(f"{of}[s]", None)
        with pytest.raises(dl.InvalidValueError, match=f"must be a {word}"):
            append(htype, rows)


def test_counts_of_months_are_not_durations_next_to_durations():
    pair = [np.timedelta64(1, "Y"), 2]
    with pytest.raises(dl.InvalidValueError, match="must be a duration"):
        append(dl.Array("timedelta64[M]", (2,)), [pair])


@pytest.mark.parametrize("shape", [(2,), (None,), None])
def test_list_of_times_accepts_no_null(shape):
    with pytest.raises(dl.InvalidValueError, match="must be a time"):
        append(dl.Array("datetime64[s]", shape), [[np.datetime64("2020-01-01"), None]])


COUNTS = [[3], np.array([3]), np.array([3], object), [np.uint8(3)], [True], [3.0]]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("values", COUNTS, ids=repr)
@pytest.mark.parametrize(
    ("of", "put"), [(dl.Scalar, list), (dl.Sequence, lambda v: [v]), (dl.Array, lambda v: [v])]
)
def test_numbers_are_not_durations_of_any_unit(unit, values, of, put):
    dtype = f"timedelta64[{unit}]"
    htype = dl.Array(dtype, (1,)) if of is dl.Array else of(dtype)
    with pytest.raises(dl.InvalidValueError, match="must be a duration"):
        htype.encode(values if of is dl.Scalar else put(values))


@pytest.mark.parametrize("unit", ["Y", "M"])
@pytest.mark.parametrize(
    "table",
    [pa.table({"c": [3, -1]}), pd.DataFrame({"c": [3, -1]}), {"c": pd.Series([3, -1])},
     {"c": pa.array([3, -1], pa.int8())}, pd.DataFrame({"c": pd.array([3, -1])}),
     pd.DataFrame({"c": pd.Series([3, np.timedelta64(-12, "M")], dtype=object)})],
    ids=["table", "frame", "series", "array", "nullable", "objects"],
)  # fmt: skip
def test_integers_in_tables_are_read_as_months_and_years(table, unit):
    ds = dl.create("memory://counted", {"c": f"timedelta64[{unit}]"}, overwrite=True)
    ds.append(table)
    assert ds["c"][:].tolist() in ([3, -1], [3, -12])


@pytest.mark.parametrize("count", [2**63, -(2**63), 0.5])
def test_invalid_month_count_in_a_table_is_refused(count):
    ds = dl.create("memory://counted", {"c": "timedelta64[M]"}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match="row 0: must be a duration"):
        ds.append({"c": pa.array([count], pa.uint64() if count == 2**63 else None)})
