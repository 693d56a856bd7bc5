"""Spans and moments of Python that lie beyond what NumPy or `datetime` convert themselves."""

from datetime import datetime, timedelta, timezone
from itertools import count

import numpy as np
import pandas as pd
import pytest

import deeplake_lite as dl

LONG = timedelta(days=110_000_000)
WEEKS = timedelta(weeks=16_000_000)
"""Both are longer than int64 holds microseconds."""

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
def test_a_long_timedelta_is_stored_exactly_in_each_unit_that_holds_it(unit, sign, way):
    span = sign * (WEEKS if unit == "W" else LONG)
    values = np.array(WAYS[way]([span, timedelta(0)], f"timedelta64[{unit}]")).reshape(-1)
    assert values.astype("timedelta64[s]").astype(int).tolist() == [span // timedelta(seconds=1), 0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("span", [LONG, -LONG, timedelta.max, timedelta.min])
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_timedelta_that_a_unit_does_not_hold_is_refused(unit, span, way):
    with pytest.raises(
        dl.LakeError, match=r"must fit timedelta64|shorter than 2\*\*63 microseconds"
    ):
        WAYS[way]([span], f"timedelta64[{unit}]")


@pytest.mark.parametrize("values", [[timedelta.max], [timedelta.max, None], [LONG]])
def test_a_long_timedelta_is_refused_where_the_type_is_found(values):
    with pytest.raises(dl.InvalidValueError, match="row 0: must"):
        dl.from_arrays({"c": values}, "memory://far-times", progress=False)


def test_a_long_timedelta_compares_as_it_is():
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
def test_a_moment_within_hours_of_the_calendars_end_is_stored_in_utc(unit, moment, way):
    values = WAYS[way]([moment], f"datetime64[{unit}]")
    assert np.array(values).reshape(-1)[0] == np.datetime64(UTC[moment])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", UTC, ids=str)
@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "ns"])
def test_a_moment_within_hours_of_the_calendars_end_fits_or_is_refused(unit, moment, way):
    dtype = f"datetime64[{unit}]"
    if unit in ("h", "m") and moment is FIRST:
        assert np.array(WAYS[way]([moment], dtype)).reshape(-1)[0] == np.datetime64(UTC[moment])
        return
    with pytest.raises(dl.LakeError, match="must fit datetime64"):
        WAYS[way]([moment], dtype)


@pytest.mark.parametrize("moment", UTC, ids=str)
def test_a_moment_within_hours_of_the_calendars_end_gives_its_column_a_type(moment):
    ds = dl.from_arrays({"c": [moment, None]}, f"memory://far-times-{next(fresh)}", progress=False)
    assert ds["c"][0] == np.datetime64(UTC[moment])
