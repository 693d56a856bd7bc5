from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Scalar
from deeplake_lite.htypes.scalar import DTYPES
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses


@pytest.mark.parametrize("dtype", [*DTYPES, "datetime64[ns]", "datetime64[D]", "timedelta64[ms]"])
@given(data=st.data())
def test_every_dtype_round_trips(dtype, data):
    kind = np.dtype(dtype)
    size = st.integers(1, 5)
    if kind.kind in "mM":
        values = data.draw(hnp.arrays("int64", size, elements=st.integers(-(2**62), 2**62))).view(
            kind
        )
    else:
        values = data.draw(hnp.arrays(kind, size))
    check_config(Scalar(dtype))
    decoded = check_encode_decode(Scalar(dtype), values)
    assert {value.dtype for value in decoded} == {kind}


@given(
    st.lists(st.integers(-(2**70), 2**70) | st.booleans(), min_size=1),
    st.sampled_from(["int8", "uint8", "int64", "uint64", "uint16"]),
)
def test_integers_are_stored_exactly_or_refused_with_their_row(values, dtype):
    limits = np.iinfo(dtype)
    bad = [row for row, v in enumerate(values) if not limits.min <= v <= limits.max]
    if not bad:
        assert Scalar(dtype).encode(values).values.tolist() == [int(v) for v in values]
        return
    with pytest.raises(InvalidValueError, match=f"but the value is {values[bad[0]]}") as caught:
        Scalar(dtype).encode(values)
    assert caught.value.row == bad[0]


@pytest.mark.parametrize(
    ("dtype", "bad", "match"),
    [
        ("int32", 1.5, r"must be int32, but it is float64 1.5. Round it first with np.rint"),
        ("int32", 2.0, "Round it first"),
        (
            "int8",
            -129,
            "int8 holds -128 to 127, but the value is -129. Declare the column as .int16.",
        ),
        ("uint64", -1, "uint64 holds 0 to 18446744073709551615, but the value is -1"),
        ("int64", 2**63, "but the value is 9223372036854775808"),
        ("int32", 2**80, "but the value is 1208925819614629174706176"),
        ("int32", "5", "must be int32, but it is str '5'"),
        ("float32", "x", "must be float32, but it is"),
        ("float32", b"x", "must be float32, but it is"),
        (
            "float32",
            [1.0],
            r"must be a single float32 per row, but it has shape \(1,\).*Array\('float32'",
        ),
        ("float32", {}, "must be float32, but it is dict"),
        (
            "float32",
            1e39,
            "float32 holds at most 3.403e\\+38, but the value is 1e\\+39. Declare .* 'float64'",
        ),
        ("float16", 70000, "float16 holds at most 6.55e\\+04, but the value is 70000"),
        ("complex64", 1e39, "complex64 holds at most"),
        ("float64", 1j, "must be float64, but it is complex128 1j. Pass x.real"),
        ("bool", 1, r"must be bool, but it is int64 1. Compare it with 0 first \(x != 0\)"),
        ("bool", "yes", "must be bool, but it is"),
        ("float64", np.datetime64("2026-01-01"), "must be float64, but it is datetime64"),
        (
            "datetime64[s]",
            "yesterday",
            "must be a time .*but it is str 'yesterday'. Pass a datetime",
        ),
        ("datetime64[s]", "2026-13-01", "must be a time"),
        ("datetime64[s]", 5, "must be a time .*but it is int"),
        ("datetime64[s]", "2026-01-01T00:00:00.5", "must fit datetime64\\[s\\] exactly"),
        (
            "datetime64[ns]",
            "1066-10-14",
            "must fit datetime64\\[ns\\] exactly, but it is 1066-10-14",
        ),
        ("timedelta64[s]", 5, "must be a duration .*Pass a timedelta, a string such as '5 s'"),
        ("timedelta64[s]", timedelta(milliseconds=1), "must fit timedelta64\\[s\\] exactly"),
        ("timedelta64[s]", np.timedelta64(5, "M"), "must be a duration"),
    ],
)
def test_value_that_would_change_is_refused_with_a_suggestion(dtype, bad, match):
    check_refuses(Scalar(dtype), bad, match)


def test_row_of_one_bad_value_among_many_is_found():
    values = list(range(1000))
    values[700] = 0.5
    with pytest.raises(InvalidValueError, match=r"^row 700: must be int32, but it is float64 0.5"):
        Scalar("int32").encode(values)
    with pytest.raises(InvalidValueError, match=r"^row 2: must be int32"):
        Scalar("int32").encode(np.array([1, 2, "x"], object))


def test_numbers_widen_and_floats_round():
    assert Scalar("float32").encode([1, True, 0.1]).values.tolist() == [1.0, 1.0, np.float32(0.1)]
    assert Scalar("int16").encode(np.array([1, 2], ">i8")).values.dtype.isnative
    assert np.isinf(Scalar("float32").encode([float("inf")]).values[0])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03"),
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01"),
        (date(2026, 1, 2), "2026-01-02"),
        ("2026-01-02T03:04", "2026-01-02T03:04"),
        ("2026-01-02 03:04:05.123456789", "2026-01-02T03:04:05.123456789"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05"),
        ("2026-01-02T03:04:05.123456789-05:30", "2026-01-02T08:34:05.123456789"),
        ("2026", "2026-01-01"),
        (pd.Timestamp("2026-01-02T03:04:05.123456789"), "2026-01-02T03:04:05.123456789"),
        (pd.Timestamp("2026-01-02T03", tz="Asia/Tokyo"), "2026-01-01T18"),
        (np.datetime64("2026-01-02"), "2026-01-02"),
    ],
)
def test_times_are_accepted_in_many_forms(value, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_encode_decode(Scalar("datetime64[ns]"), [value], [np.datetime64(expected)])


def test_times_of_different_forms_can_be_mixed():
    values = [date(2026, 1, 2), "2026-01-02T03", np.datetime64("2026", "Y"), "9999-01-01"]
    decoded = check_encode_decode(
        Scalar("datetime64[s]"), values, ["2026-01-02", "2026-01-02T03", "2026", "9999-01-01"]
    )
    assert decoded[0].dtype == "datetime64[s]"


def test_durations_are_accepted_in_many_forms():
    values = [timedelta(minutes=1), "5 s", np.timedelta64(1, "h"), pd.Timedelta("1D"), "-2m"]
    check_encode_decode(
        Scalar("timedelta64[s]"),
        values,
        [np.timedelta64(s, "s") for s in (60, 5, 3600, 86400, -120)],
    )


@given(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]),
)
def test_numpy_duration_string_is_parsed(count, unit):
    value = np.timedelta64(count, unit)
    htype = Scalar(f"timedelta64[{unit}]")
    check_encode_decode(htype, [str(value), f"{count} {unit}"], [value, value])


@pytest.mark.parametrize("unit", ["M", "D", "h", "s", "ms"])
@given(data=st.data())
def test_numpy_time_string_is_parsed_whatever_its_year(data, unit):
    first, last = (np.datetime64(text, unit) for text in ("-999999-01", "999999-12"))
    value = np.int64(data.draw(st.integers(int(first.astype(int)), int(last.astype(int)))))
    moment = value.view(f"datetime64[{unit}]")
    check_encode_decode(Scalar(f"datetime64[{unit}]"), [str(moment)], [moment])


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "datetime64[s]"])
@pytest.mark.parametrize(
    "text",
    [
        "2500-01-01T00:00:00.123456789",
        "1600-01-01T00:00:00.1234567",
        "300000-01-01T00:00:00.1234",
        "2262-04-11T23:47:16.854775807-05:00",
    ],
)
@pytest.mark.parametrize("others", [[], ["2026-01-01T00:00:00.000000001"], ["2026-01-01"]])
def test_time_out_of_range_of_its_unit_is_refused(dtype, text, others):
    with pytest.raises(InvalidValueError, match=r"must be in a year that fits|must fit"):
        Scalar(dtype).encode([*others, text])


@pytest.mark.parametrize("text", ["", "10", "now", "today", "20260101", "NaT", "2026-1-1", "12026"])
def test_time_string_that_no_field_shows_is_refused(text):
    check_refuses(Scalar("datetime64[D]"), text, "must be a time")


@pytest.mark.parametrize("nat", [np.datetime64("NaT", "s"), pd.NaT, None])
def test_nat_is_null(nat):
    check_refuses(Scalar("datetime64[s]"), nat, "must not be null")
    nullable = Scalar("datetime64[s]", nullable=True)
    assert nullable.decode_cells(nullable.encode(["2026-01-02", nat]))[1] is None
    block = np.array(["2026-01-02", "NaT"], "datetime64[D]")
    assert nullable.encode(block).valid.tolist() == [True, False]
    assert nullable.encode(block).values.min() > 0 or nullable.encode(block).values[1] == 0


def test_nan_is_a_number_and_not_null():
    cells = Scalar("float32", nullable=True).encode([float("nan"), None])
    assert cells.valid.tolist() == [True, False]


def test_times_are_stored_as_int64_and_can_be_read_as_blocks():
    htype = Scalar("datetime64[D]")
    assert htype.layout.dtype == "int64"
    block = htype.decode(np.array([0, 1]), ())
    assert block.dtype == "datetime64[D]"
    assert htype.decode(np.int64(1), ()) == np.datetime64("1970-01-02")


@pytest.mark.parametrize(
    "dtype",
    ["object", "U5", "int128", "datetime64", "datetime64[10s]", "datetime64[as]", "", None, 7],
)
def test_unsupported_dtypes_are_schema_errors(dtype):
    with pytest.raises(SchemaError, match="A column's dtype must be one of bool, int8"):
        Scalar(dtype) if dtype is not None else Scalar("nothing")


@given(
    st.lists(
        st.one_of(
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=3),
            st.binary(max_size=3),
            st.complex_numbers(),
            st.datetimes(),
            st.lists(st.integers(), max_size=2),
            st.timedeltas(),
        ),
        max_size=4,
    ),
    st.sampled_from([*DTYPES, "datetime64[us]", "timedelta64[us]"]),
)
def test_any_value_is_stored_or_refused_with_its_row(values, dtype):
    try:
        cells = Scalar(dtype).encode(values)
    except InvalidValueError as error:
        row = error.row
    else:
        row = None
        assert cells.values.shape == (len(values),)
    good = values if row is None else values[:row]
    assert len(Scalar(dtype).encode(good)) == len(good)
