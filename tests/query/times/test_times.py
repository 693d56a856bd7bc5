"""Durations and times are exact in every clause, far beyond 292 years, or refused.

The oracle is NumPy. DuckDB passes durations to Arrow as int64 nanoseconds, which would overflow.
"""

from __future__ import annotations

import datetime as dt
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

LONG = {
    "timedelta64[s]": [10**10, 5, -(10**11), 10**10],
    "timedelta64[ms]": [10**13, 5, -(10**14), 10**13],
    "timedelta64[us]": [10**16, 5, -(10**17), 10**16],
    "timedelta64[h]": [3_000_000, 5, -4_000_000, 3_000_000],
    "timedelta64[D]": [200_000, 5, -300_000, 200_000],
    "timedelta64[W]": [30_000, 5, -40_000, 30_000],
    "timedelta64[M]": [5_000, 5, -6_000, 5_000],
    "datetime64[s]": [10**12, 5, -(10**12), 10**12],
    "datetime64[ms]": [10**15, 5, -(10**15), 10**15],
    "datetime64[D]": [10**7, 5, -(10**7), 10**7],
    "datetime64[Y]": [8_000, 5, -9_000, 8_000],
    "timedelta64[ns]": [10**15, 5_000, -(10**12), 10**15],
    "datetime64[ns]": [10**15 + 1, 5, -7, 10**15 + 1],
}
"""Values of every unit, as integers: beyond 292 years where the unit reaches that far."""


def lake(dtype, values):
    ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", "g": "int32", "x": dtype})
    n = len(values)
    ds.append({"k": range(n), "g": np.arange(n) // 2, "x": np.array(values).astype(dtype)})
    ds.commit()
    return ds


def flat(column):
    """Return the values of a column in one array, with lists concatenated."""
    values = column[:]
    return np.concatenate(values) if isinstance(values, list) else values


VALUES = {
    "MAX(x)": lambda x: x.max(keepdims=True),
    "MIN(x)": lambda x: x.min(keepdims=True),
    "MODE(x)": lambda x: x[:1],
    "FIRST(x ORDER BY k)": lambda x: x[:1],
    "ARG_MAX(x, k)": lambda x: x[-1:],
    "LIST(x ORDER BY k)": lambda x: x,
    "COALESCE(x, x)": lambda x: x,
    "IFNULL(NULL, x)": lambda x: x,
    "CASE WHEN k >= 0 THEN x END": lambda x: x,
    "GREATEST(x, x)": lambda x: x,
    "LAST_VALUE(x) OVER (PARTITION BY k)": lambda x: x,
    "MAX(x) OVER (PARTITION BY k)": lambda x: x,
    "[x, x][0]": lambda x: x,
    "(SELECT MAX(x) FROM dataset)": lambda x: np.repeat(x.max(), len(x)),
}
"""Expressions that return values of the column, and the expected values."""


@pytest.mark.parametrize("dtype", LONG)
def test_times_are_returned_exactly_and_in_the_unit_of_their_column(dtype):
    ds = lake(dtype, LONG[dtype])
    x = ds["x"][:]
    for text, expected in VALUES.items():
        order = " ORDER BY k" if "OVER" in text else ""
        column = ds.query(f"SELECT {text} AS y{order}")["y"]
        result = flat(column)
        if result.dtype == np.int64:  # some functions return durations of months as counts
            assert dtype == "timedelta64[M]"
            result = result.astype(dtype)
        np.testing.assert_array_equal(result, expected(x), err_msg=text)
        if "SELECT" not in text and "[" not in text:
            assert dtype in str(column.htype), text


@pytest.mark.parametrize("dtype", LONG)
def test_clauses_compare_times_exactly_and_keep_their_unit(dtype):
    ds = lake(dtype, LONG[dtype])
    x = ds["x"][:]
    groups = ds.query("SELECT x, COUNT(*) AS n GROUP BY x ORDER BY x")
    assert groups["x"].htype == dl.Scalar(dtype)
    np.testing.assert_array_equal(groups["x"][:], np.unique(x))
    assert groups["n"][:].tolist() == [1, 1, 2]
    union = ds.query("SELECT x FROM dataset UNION SELECT x FROM dataset")["x"]
    assert union.htype == dl.Scalar(dtype)
    np.testing.assert_array_equal(np.sort(union[:]), np.unique(x))
    np.testing.assert_array_equal(ds.query("SELECT DISTINCT x ORDER BY x")["x"][:], np.unique(x))
    assert (
        ds.query("SELECT k ORDER BY x, k")["k"][:].tolist() == np.argsort(x, kind="stable").tolist()
    )
    joined = ds.query("SELECT COUNT(*) AS n FROM dataset a JOIN dataset b ON a.x = b.x")
    assert joined["n"][:].tolist() == [6]
    inside = ds.query("SELECT k WHERE x IN (SELECT x FROM dataset WHERE k = 0)")["k"][:]
    assert inside.tolist() == [0, 3]
    hashes = ds.query("SELECT HASH(x) AS h")["h"][:]
    same = ds.query("SELECT k WHERE HASH(x) = (SELECT HASH(x) FROM dataset WHERE k = 3)")["k"][:]
    assert same.tolist() == [0, 3]
    assert len(set(hashes.tolist())) == 3


PARTS = [
    "YEAR(x)", "QUARTER(x)", "MONTH(x)", "WEEK(x)", "DAY(x)", "DAYOFWEEK(x)", "DAYOFYEAR(x)",
    "HOUR(x)", "MINUTE(x)", "SECOND(x)", "MILLISECOND(x)", "MICROSECOND(x)", "ERA(x)",
    "EPOCH(x)", "EPOCH_MS(x)", "EPOCH_US(x)", "MONTHNAME(x)", "DAYNAME(x)", "LAST_DAY(x)",
    "STRFTIME(x, '%Y-%m-%d')", "DATE_PART('year', x)", "EXTRACT(year FROM x)",
    "DATE_TRUNC('month', x)", "DATE_DIFF('day', x, x)", "YEAR(MAX(x))", "EPOCH(COALESCE(x, x))",
    "AVG(x)", "x + INTERVAL 1 DAY", "x + INTERVAL 1 MILLISECOND", "x - INTERVAL 1 MICROSECOND",
    "x = x + INTERVAL 1 MICROSECOND", "x < MAKE_TIMESTAMP(5)", "HASH(x)", "CAST(x AS text)",
    "QUANTILE_DISC(x, 0.5)", "EPOCH(CASE WHEN k >= 0 THEN x END)", "EPOCH(GREATEST(x, x))",
    "EPOCH((SELECT MAX(x) FROM dataset))", "EPOCH(LAG(x) OVER (ORDER BY k))",
]  # fmt: skip


CASES = [
    (f"datetime64[{unit}]", text)
    for unit in ("ms", "s", "h", "D", "Y")
    for text in PARTS
    if (unit, text) != ("D", "CAST(x AS text)")  # a day is a date as text, without a time
]


@pytest.mark.parametrize(("dtype", "text"), CASES)
def test_functions_of_times_do_not_depend_on_the_unit_of_their_column(dtype, text):
    moments = np.array(["0001", "1600", "1970", "2024", "9998"], "datetime64[Y]")
    result = []
    for unit in (dtype, "datetime64[us]"):
        ds = dl.create(f"memory://{uuid4()}", {"k": "int32", "x": unit})
        ds.append({"k": range(5), "x": moments.astype(unit)})
        y = ds.query(f"SELECT {text} AS y")["y"][:]
        is_moment = isinstance(y, np.ndarray) and y.dtype.kind == "M"
        result.append(np.ma.asarray(y).astype("datetime64[us]" if is_moment else object).tolist())
    assert result[0] == result[1]


def test_durations_are_added_to_durations_and_times_exactly():
    ds = dl.create(f"memory://{uuid4().hex}", {"d": "datetime64[s]", "x": "timedelta64[D]"})
    ds.append({"d": np.array([0, 5], "M8[s]"), "x": np.array([200_000, -300_000], "m8[D]")})
    result = ds.query(
        "SELECT x + x AS twice, d + x AS later, x * 3 AS more, -x AS less, x - x AS no"
    )
    x, d = ds["x"][:], ds["d"][:]
    np.testing.assert_array_equal(result["twice"][:], x * 2)
    np.testing.assert_array_equal(result["later"][:], d + x)
    np.testing.assert_array_equal(result["more"][:], x * 3)
    np.testing.assert_array_equal(result["less"][:], -x)
    np.testing.assert_array_equal(result["no"][:], x * 0)


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("timedelta64[ns]", [1_500, 1_200]),
        ("timedelta64[s]", [10**13, 1]),
        ("timedelta64[D]", [-(10**9), 1]),
    ],
)
@pytest.mark.parametrize(
    "query", ["SELECT MAX(x) AS y", "SELECT k ORDER BY x", "SELECT x, COUNT(*) AS n GROUP BY x"]
)
def test_durations_out_of_range_of_sql_are_refused_by_name(dtype, values, query):
    ds = lake(dtype, values)
    with pytest.raises(dl.errors.QueryTypeError, match=r"whole microseconds.* x contains"):
        ds.query(query)
    np.testing.assert_array_equal(ds.query("SELECT x")["x"][:], ds["x"][:])


@pytest.mark.parametrize(
    "value",
    [np.timedelta64(1_500, "ns"), np.timedelta64(3, "M"), np.timedelta64(10**14, "s"),
     np.datetime64(10**15, "s"), np.datetime64(5, "ps")],
)  # fmt: skip
def test_times_out_of_range_of_sql_are_refused_as_parameters(value):
    ds = lake("timedelta64[s]", [1, 2])
    with pytest.raises(dl.errors.QueryTypeError, match="A time parameter"):
        ds.query("SELECT k WHERE x = ?", [value])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("timedelta64[s]", np.timedelta64(10**10, "s")),
        ("timedelta64[ns]", dt.timedelta(seconds=5)),
        ("datetime64[ns]", np.datetime64("2020-01-01T00:00:00.000000001", "ns")),
    ],
)
def test_hash_of_a_time_does_not_depend_on_its_unit(dtype, value):
    ds = lake(dtype, [0, np.array(value).astype(dtype).astype("int64")])
    assert ds.query("SELECT k WHERE HASH(x) = HASH(?)", [value])["k"][:].tolist() == [1]


def test_times_that_differ_by_a_nanosecond_have_different_hashes():
    ds = lake("datetime64[ns]", [1, 2, 1])
    first, second, third = ds.query("SELECT HASH(x) AS h")["h"][:].tolist()
    assert first == third != second


def test_nulls_among_durations_stay_null():
    ds = lake("timedelta64[D]", [200_000, 3, 5])
    result = ds.query("SELECT LAG(x) OVER (ORDER BY k) AS y")["y"][:]
    assert np.ma.getmaskarray(result).tolist() == [True, False, False]
    assert np.ma.getdata(result)[1] == np.timedelta64(200_000, "D")
    lists = ds.query("SELECT CASE WHEN k > 0 THEN [x, NULL] END AS y")["y"][:]
    assert lists[0] is None


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint16", "datetime64[M]"])
def test_group_keys_and_selected_values_keep_the_type_of_their_column(dtype):
    ds = lake(dtype, [1, 2, 1, 3])
    grouped = ds.query("SELECT x, COUNT(*) AS n, MAX(x) AS most, FIRST(x) AS one GROUP BY x")
    listed = ds.query("SELECT g, LIST(x) AS all_ GROUP BY g")
    union = ds.query("SELECT x FROM dataset UNION ALL SELECT x FROM dataset")
    chosen = ds.query("SELECT COALESCE(x, x) AS y, CASE WHEN k > 1 THEN x END AS z")
    assert {str(grouped[c].htype) for c in ("x", "most", "one")} == {f"Scalar({dtype!r})"}
    assert str(listed["all_"].htype.of) == f"Scalar({dtype!r}, nullable=True)"
    assert str(union["x"].htype) == str(chosen["y"].htype) == f"Scalar({dtype!r})"
    assert chosen["z"].htype == dl.Scalar(dtype, nullable=True)


# ---- nanosecond times, with which DuckDB computes in microseconds


def moments(*pairs: tuple[int, int]) -> dl.Dataset:
    """Return a lake of pairs of nanosecond times, some before 1970."""
    moment = dl.Scalar("datetime64[ns]", nullable=True)
    ds = dl.create(f"memory://{uuid4()}", {"a": moment, "b": moment, "u": "datetime64[us]"})
    a, b = (np.array(side, "datetime64[ns]") for side in zip(*pairs, strict=True))
    ds.append({"a": a, "b": b, "u": a.astype("datetime64[us]")})
    return ds


ODD = [(-1, 999), (-1001, -1), (-2000, -1000), (999, -1), (5, 5), (10**18 + 1, 10**18 + 1)]


@pytest.mark.parametrize("span", ["1 second", "-1 microsecond", "40 days", "3 hours"])
@pytest.mark.parametrize("form", ["a + {}", "{} + a", "a - {}", "DATE_ADD(a, {})"])
def test_adding_a_duration_preserves_the_nanoseconds_of_a_time(span: str, form: str):
    number, unit = span.split()
    delta = np.timedelta64(int(number), {"second": "s", "hours": "h", "days": "D"}.get(unit, "us"))
    result = moments(*ODD).query(f"SELECT {form.format(f"INTERVAL '{span}'")} AS x")["x"]
    sign = -1 if "-" in form else 1
    expected = np.array([a for a, _ in ODD], "datetime64[ns]") + sign * delta
    assert str(result.htype) == "Scalar('datetime64[ns]')"
    assert result[:].tolist() == expected.tolist()


def test_null_plus_a_duration_is_null():
    result = moments((5, 5)).query("SELECT CASE WHEN a > b THEN a END + INTERVAL 1 DAY AS x")["x"]
    assert np.ma.getmaskarray(result[:]).tolist() == [True]


def test_difference_in_whole_microseconds_is_exact():
    result = moments(*ODD).query("SELECT a - b AS x")["x"][:]
    assert (result / np.timedelta64(1, "us")).tolist() == [(a - b) // 1000 for a, b in ODD]


@pytest.mark.parametrize(
    "expression",
    [
        "a - b", "b - a", "a - MIN(b) OVER ()", "a - u", "u - a", "AGE(a, b)", "SUBTRACT(a, b)",
        "COALESCE(a, u) - b", "CASE WHEN a > b THEN a ELSE u END - b", "GREATEST(a, u) - b",
        "FIRST(a) OVER () - b", "DATE '2020-01-01' - a", "$p - a",
    ],
)  # fmt: skip
def test_difference_with_nanoseconds_is_an_error(expression: str):
    params = {"p": np.datetime64("2020-01-01T00:00:00.000001", "us")} if "$" in expression else {}
    query = f"SELECT {expression} AS x"
    with pytest.raises(dl.QueryTypeError, match="whole microseconds"):
        moments((1007, 3)).query(query, params or [])["x"][:]


def test_comparisons_of_shifted_times_see_nanoseconds():
    query = "SELECT a WHERE a + INTERVAL '1 microsecond' > b"
    assert len(moments((3, 1002), (3, 1003), (3, 1004)).query(query)) == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("end", [2**63 - 1, -(2**63) + 1])
@pytest.mark.parametrize("expression", ["x - x", "x + INTERVAL 1 DAY", "HASH(x)", "MAX(x)"])
def test_time_that_duckdb_reads_as_infinity_is_an_error(unit: str, end: int, expression: str):
    ds = lake(f"datetime64[{unit}]", [5, end])
    assert ds.query("SELECT x")["x"][:].astype("int64").tolist() == [5, end]
    with pytest.raises(dl.QueryTypeError, match=r"x contains .* means infinity in SQL"):
        ds.query(f"SELECT {expression} AS y")["y"][:]
    near = lake(f"datetime64[{unit}]", [5, 10**9])
    assert len(near.query(f"SELECT {expression} AS y")) in (1, 2)


@pytest.mark.parametrize("days", [110_000_000, -110_000_000])
def test_duration_out_of_range_of_sql_is_refused_as_a_parameter(days):
    ds = dl.create(f"memory://long-{days}", {"x": "timedelta64[us]"})
    ds.append({"x": [dt.timedelta(1)]})
    for text in ("SELECT * WHERE x < ?", "SELECT x, ? AS y", "SELECT * ORDER BY x + ?"):
        with pytest.raises(dl.QueryTypeError, match=r"up to 292,271 years, but a constant is"):
            ds.query(text, [dt.timedelta(days=days)])["x"][:]


@pytest.mark.parametrize("unit", ["D", "s", "ms"])
def test_nat_in_an_array_of_durations_is_null(unit):
    ds = dl.create(f"memory://{uuid4().hex}", {"x": dl.Array(f"timedelta64[{unit}]", (2,))})
    ds.append({"x": np.array([[1, 2], [3, "NaT"]], f"m8[{unit}]")})
    assert ds.query("SELECT x[1] IS NULL AS y")["y"][:].tolist() == [False, True]
    assert len(ds.query("SELECT * WHERE x[1] > x[0]")) == 1
