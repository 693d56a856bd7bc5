"""Python durations and times outside the range of NumPy or `datetime`."""

from datetime import datetime, timedelta, timezone
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

LONG = timedelta(days=110_000_000)
WEEKS = timedelta(weeks=16_000_000)
"""Both are too long for int64 microseconds."""

fresh = count()


def lake(htype):
    return dl.create(f"memory://far-times-{next(fresh)}", {"c": htype})


def append(values, dtype, wrap=lambda htype: htype, put=lambda value: value):
    ds = lake(wrap(dtype))
    ds.append({"c": [put(value) for value in values]})
    return ds["c"][:]


def replace(values, dtype):
    ds = lake(dtype)
    for row, value in enumerate(values):
        ds.append({"c": [np.zeros((), dtype)[()]]})
        ds["c"][row] = value
    return ds["c"][:]


def ingest(values, dtype):
    url = f"memory://far-times-{next(fresh)}"
    return dl.from_arrays({"c": values}, url, schema={"c": dtype}, progress=False)["c"][:]


def ingest_frame(values, dtype):
    frame = pd.DataFrame({"c": pd.Series(values, dtype=object)})
    url = f"memory://far-times-{next(fresh)}"
    return dl.from_dataframe(frame, url, schema={"c": dtype}, progress=False)["c"][:]


def default(values, dtype):
    ds = lake(dtype)
    for i, value in enumerate(values):
        ds.append({"c": [np.zeros((), dtype)[()]]})
        ds.add_column(f"d{i}", dl.Scalar(dtype, default=value))
    return np.array([ds[f"d{i}"][0] for i in range(len(values))])


WAYS = {
    "a list": append,
    "a series": lambda values, dtype: append(pd.Series(values, dtype=object), dtype),
    "arrays": lambda values, dtype: append(
        values, dtype, lambda d: dl.Array(d, (1,)), lambda v: [v]
    ),
    "sequences": lambda values, dtype: append(values, dtype, dl.Sequence, lambda v: [v]),
    "an assignment": replace,
    "from_arrays": ingest,
    "from_dataframe": ingest_frame,
    "a default": default,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("unit", ["W", "D", "h", "m", "s", "ms"])
def test_long_timedelta_is_stored_exactly_in_each_unit_that_holds_it(unit, sign, way):
    span = sign * (WEEKS if unit == "W" else LONG)
    values = np.array(WAYS[way]([span, timedelta(0)], f"timedelta64[{unit}]")).reshape(-1)
    assert values.astype("timedelta64[s]").astype(int).tolist() == [span // timedelta(seconds=1), 0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("span", [LONG, -LONG, timedelta.max, timedelta.min])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_timedelta_out_of_range_of_a_unit_is_refused(unit, span, way):
    with pytest.raises(
        dl.LakeError, match=r"must fit timedelta64|shorter than 2\*\*63 microseconds"
    ):
        WAYS[way]([span], f"timedelta64[{unit}]")


@pytest.mark.parametrize("values", [[timedelta.max], [timedelta.max, None], [LONG]])
def test_long_timedelta_is_refused_during_type_inference(values):
    with pytest.raises(dl.InvalidValueError, match="row 0: must"):
        dl.from_arrays({"c": values}, "memory://far-times", progress=False)


def test_long_timedelta_compares_exactly():
    ds = lake("timedelta64[D]")
    ds.append({"c": ["5 D", "120000000 D"]})
    assert (ds["c"] < LONG).tolist() == [True, False]
    assert (ds["c"] > -LONG).all()


FIRST = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
LAST = datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)), microsecond=0)
UTC = {FIRST: "0000-12-31T23:00:00", LAST: "10000-01-01T00:59:59"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", UTC, ids=str)
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_time_near_the_end_of_the_calendar_is_stored_in_utc(unit, moment, way):
    values = WAYS[way]([moment], f"datetime64[{unit}]")
    assert np.array(values).reshape(-1)[0] == np.datetime64(UTC[moment])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", UTC, ids=str)
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "ns"])
def test_time_near_the_end_of_the_calendar_fits_or_is_refused(unit, moment, way):
    dtype = f"datetime64[{unit}]"
    if unit in ("h", "m") and moment is FIRST:
        assert np.array(WAYS[way]([moment], dtype)).reshape(-1)[0] == np.datetime64(UTC[moment])
        return
    with pytest.raises(dl.LakeError, match="must fit datetime64"):
        WAYS[way]([moment], dtype)


@pytest.mark.parametrize("moment", UTC, ids=str)
def test_type_is_inferred_from_a_time_near_the_end_of_the_calendar(moment):
    ds = dl.from_arrays({"c": [moment, None]}, f"memory://far-times-{next(fresh)}", progress=False)
    assert ds["c"][0] == np.datetime64(UTC[moment])


FAR = {
    pa.date32(): 3_000_000,
    pa.date64(): 3_000_000 * 86_400_000,
    pa.timestamp("s"): -(10**12),
    pa.timestamp("ms"): 10**15,
    pa.timestamp("us", "UTC"): 9 * 10**17,
    pa.timestamp("s", "Europe/Berlin"): 10**12,
    pa.timestamp("us", "+02:00"): 253_402_300_799 * 10**6,  # year 9999 only in UTC
    pa.timestamp("ns", "+02:00"): 2**63 - 1000,  # as in pandas, whose times are pyarrow's
    pa.duration("s"): 10**15,
    pa.duration("ms"): -(2**62),
}
"""Arrow times outside the range of Python's calendar."""

ENDS = pa.array([0, 1, 2], pa.int32())

WITHIN = {
    "struct": lambda times: pa.StructArray.from_arrays([times], ["f"]),
    "list of structs": lambda times: pa.ListArray.from_arrays(ENDS, WITHIN["struct"](times)),
    "fixed list": lambda times: pa.FixedSizeListArray.from_arrays(WITHIN["struct"](times), 1),
    "map": lambda times: pa.MapArray.from_arrays(ENDS, pa.array(["a", "a"]), times),
    "keys of a map": lambda times: pa.MapArray.from_arrays(ENDS, times, pa.array([1, 1])),
    "map of lists": lambda times: WITHIN["map"](pa.ListArray.from_arrays(ENDS, times)),
    "struct of a list": lambda times: WITHIN["struct"](pa.ListArray.from_arrays(ENDS, times)),
}


def times_of(kind):
    """Return a time that every calendar has, and one that Python's has."""
    return pa.array([0, FAR[kind]], pa.int32() if kind == pa.date32() else pa.int64()).view(kind)


def of_arrow(column, tmp_path, **options):
    table, url = pa.table({"k": [0, 1], "c": column}), f"memory://far-times-{next(fresh)}"
    ds = dl.create(url, {"k": "int64", "c": dl.Json()})
    pq.write_table(table, tmp_path / "t.parquet")
    by_name = {name: table.column(name) for name in table.column_names}
    yield from (
        lambda: dl.from_dataframe(table, f"{url}-1", progress=False, **options),
        lambda: dl.from_parquet(tmp_path / "t.parquet", f"{url}-2", progress=False, **options),
        lambda: dl.from_arrays(by_name, f"{url}-3", progress=False, **options),
    )
    if not options:
        yield lambda: ds.append(table)
        yield lambda: ds.append(by_name)
        yield lambda: ds.append({"k": [1], "c": [column[1]]})
        yield lambda: ds.upsert(table, on="k")


@pytest.mark.parametrize("kind", FAR, ids=str)
@pytest.mark.parametrize("within", WITHIN)
def test_distant_time_in_a_json_value_is_refused_with_its_row(kind, within):
    far = WITHIN[within](times_of(kind)).slice(1)
    column = pa.chunked_array([pa.array([None], far.type), far])
    with pytest.raises(dl.InvalidValueError, match=r"'c', row 1: must be a JSON value"):
        lake(dl.Json(nullable=True)).append(pa.table({"c": column}))


def test_distant_time_in_a_struct_of_a_file_has_its_own_column(tmp_path):
    times = times_of(pa.timestamp("ms"))
    pq.write_table(pa.table({"c": WITHIN["struct"](times)}), tmp_path / "t.parquet")
    ds = dl.from_parquet(tmp_path / "t.parquet", f"{tmp_path}/lake", progress=False)
    (name,) = ds.columns
    assert ds[name][:].astype(int).tolist() == times.cast(pa.int64()).to_pylist()


def test_distant_time_in_a_value_is_an_error_with_its_row_either_way(tmp_path):
    column = WITHIN["map of lists"](times_of(pa.timestamp("s")))
    for way in of_arrow(column, tmp_path):
        with pytest.raises(dl.InvalidValueError, match="row 0: must be a JSON value"):
            way()
    for way in of_arrow(column, tmp_path, on_error="skip"):
        ds = way()
        assert (len(ds), len(ds.ingested.skipped)) == (0, 2)


@pytest.mark.parametrize("kind", FAR, ids=str)
def test_distant_arrow_time_is_stored_and_compared_exactly(kind):
    times = times_of(kind)
    array = times.to_numpy(zero_copy_only=False)
    ds = lake("datetime64[D]" if kind == pa.date32() else str(array.dtype))
    ds.append({"c": times})
    ds.append({"c": [*times]})
    assert ds["c"][:].astype(int).tolist() == [0, FAR[kind]] * 2
    assert (ds["c"][:2] == ds["c"][2:]).all()
    assert (ds[:2]["c"] == times).all()


@pytest.mark.parametrize("htype", ["text", "int64", "bytes", dl.Boxes(), dl.Image("png")], ids=str)
def test_list_with_a_distant_time_is_refused_by_types_without_times(htype):
    column = pa.ListArray.from_arrays(ENDS, times_of(pa.date32()))
    with pytest.raises(dl.InvalidValueError, match=r"'c', row 0: must"):
        lake(htype).append({"c": column})


def test_query_returns_a_distant_time_in_a_struct_as_a_string():
    ds = lake("datetime64[us]")
    ds.append({"c": ["2026-01-02T03:04:05", "+10183-10-01T00:00:01"]})
    assert ds.query("SELECT {'a': c} AS s")["s"][:] == [
        {"a": "2026-01-02 03:04:05"},
        {"a": "10183-10-01 00:00:01"},
    ]
    assert len(ds.query("SELECT * ARRANGE BY c")) == 2
