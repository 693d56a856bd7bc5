"""Nanosecond timestamps (1677 to 2262) combined with timestamps that may be outside that range."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import deeplake_lite as dl

UNITS = ["D", "s", "ms", "us"]
FAR = ["9999-12-31", "2024-02-29", "0001-01-01", "2024-02-28", None, "1970-01-01", "1677-01-01"]
FINE = [
    "2024-02-28T23:59:59.999999999", "2024-02-29T00:00:00.000000001", "1677-09-21T00:12:44",
    "2024-02-28", "2262-04-11T23:47:16.854775806", None, "1969-12-31T23:59:59.999999999",
]  # fmt: skip
SIGNS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
CONSTANTS = ["2024-02-28T23:59:59.999999999", "1970-01-01T00:00:00.000000001", "2024-02-29"]


def exact(text: str | None) -> int | None:
    """Return the nanoseconds since 1970 of a time of any year."""
    if text is None:
        return None
    whole, _, fraction = text.partition(".")
    return int(np.datetime64(whole, "s").astype("int64")) * 10**9 + int(fraction.ljust(9, "0"))


def lake(unit: str) -> dl.Dataset:
    schema = {
        "id": "int64", "s": dl.Scalar(f"datetime64[{unit}]", nullable=True),
        "t": dl.Scalar("datetime64[ns]", nullable=True),
    }  # fmt: skip
    ds = dl.create(f"memory://far-{unit}", schema, overwrite=True)
    far = [None if text is None else np.datetime64(text, unit) for text in FAR]
    fine = [None if text is None else np.datetime64(text, "ns") for text in FINE]
    ds.append({"id": range(len(FAR)), "s": far, "t": fine})
    return ds


def read(ds: dl.Dataset, text: str, params: object = ()) -> list[object]:
    return [None if v is np.ma.masked else v for v in ds.query(text, params)["y"][:].tolist()]


@pytest.mark.parametrize("unit", UNITS)
def test_comparisons_are_exact(unit: str) -> None:
    ds = lake(unit)
    pairs = [(exact(s), exact(t)) for s, t in zip(FAR, FINE, strict=True)]
    for sign, compare in SIGNS.items():
        expected = [None if None in pair else compare(*pair) for pair in pairs]
        for left in ("s", "CAST(s AS TIMESTAMP)"):
            assert read(ds, f"SELECT {left} {sign} t AS y") == expected
        for text in CONSTANTS:
            number = exact(text)
            expected = [None if s is None else compare(s, number) for s, _ in pairs]
            params = {"p": np.datetime64(text, "ns")}
            assert read(ds, f"SELECT s {sign} '{text}' AS y") == expected
            assert read(ds, f"SELECT s {sign} $p AS y", params) == expected
            mirrored = [None if s is None else compare(number, s) for s, _ in pairs]
            assert read(ds, f"SELECT $p {sign} s AS y", params) == mirrored
            kept = [row for row, value in enumerate(expected) if value]
            assert read(ds, f"SELECT id AS y WHERE s {sign} '{text}'") == kept


@pytest.mark.parametrize("unit", UNITS)
def test_timestamps_are_searched_exactly(unit: str) -> None:
    ds = lake(unit)
    far, fine = [[exact(text) for text in texts] for texts in (FAR, FINE)]
    for name, other, values, others in (("s", "t", far, fine), ("t", "s", fine, far)):
        result = [i for i, v in enumerate(values) if v is not None and v in others]
        assert read(ds, f"SELECT id AS y WHERE {name} IN (SELECT {other} FROM ds)") == result
        assert read(ds, f"SELECT id AS y WHERE {name} = ANY(SELECT {other} FROM ds)") == result
        missed = [i for i, v in enumerate(values) if v is not None and v not in others]
        present = f"(SELECT {other} FROM ds WHERE {other} IS NOT NULL)"
        assert read(ds, f"SELECT id AS y WHERE {name} NOT IN {present}") == missed
        equal = (
            "SELECT MIN(id) AS y FROM (SELECT id, {} AS v FROM ds INTERSECT SELECT id, {} FROM ds)"
        )
        assert read(ds, equal.format(name, other)) == [3]
    assert read(ds, "SELECT id AS y WHERE s IN ('2024-02-29', $p)", {"p": np.datetime64(1, "ns")}) == [1]  # fmt: skip  # noqa: E501
    same = [a == b for a, b in zip(far, fine, strict=True)]
    assert read(ds, "SELECT s IS NOT DISTINCT FROM t AS y") == same
    assert read(ds, "SELECT s IS DISTINCT FROM $p AS y", {"p": np.datetime64(1, "ns")}) == [True] * 7  # fmt: skip  # noqa: E501


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id AS y WHERE DATE '9999-12-31' > t",
        "SELECT id AS y WHERE CAST('9999-12-31' AS DATE) IS DISTINCT FROM t AND t IS NOT NULL",
        "SELECT id AS y WHERE DATE '9999-12-31' NOT IN (SELECT t FROM ds WHERE id <> 5)",
        "SELECT id AS y WHERE t NOT IN ('9999-12-31')",
        "SELECT id AS y WHERE DATE '9999-12-31' > ALL(SELECT t FROM ds WHERE id <> 5) AND id <> 5",
    ],
)
def test_constants_may_be_out_of_range(query: str) -> None:
    assert [y for y in read(lake("s"), query) if y != 5] == [0, 1, 2, 3, 4, 6]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT {} AS y UNION SELECT s AS y", "SELECT GREATEST({}, s) AS y",
        "SELECT CASE WHEN id > 3 THEN {} ELSE s END AS y", "SELECT [{}, s] AS y",
        "SELECT COALESCE(s, {}) AS y", "SELECT s - {} AS y",
    ],
)  # fmt: skip
def test_one_column_of_both_says_what_to_write(unit: str, text: str) -> None:
    ds = lake(unit)
    with pytest.raises(dl.QueryTypeError, match=r"nanoseconds cover the years 1677 to 2262"):
        ds.query(text.format("t"))["y"][:]
    assert len(ds.query(text.format("CAST(t AS TIMESTAMP)"))["y"][:]) >= len(FAR)


BEYOND = [
    "9999-12-31T23:59:59.999999999",
    "0001-01-01 00:00:00.0000001",
    "2262-04-11T23:47:16.854775808",
    "1677-09-21T00:12:43.145224192",
    "2400-01-01T00:00:00.1234567Z",
]
LOOKUPS = [
    "t < {}",
    "{} > t",
    "t BETWEEN '2000-01-01' AND {}",
    "ANY(a < {})",
    "t IN ({})",
    "CAST({} AS TIMESTAMP) > t",
    "t < $p",
]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
@pytest.mark.parametrize("text", BEYOND)
def test_quoted_nanoseconds_out_of_range_are_refused(make_lake, unit, text):
    times = np.array(["2026-01-01", "2026-01-02"], f"M8[{unit}]")
    dtype = f"datetime64[{unit}]"
    ds = make_lake({"t": dtype, "a": dl.Array(dtype, (1,))}, t=times, a=times[:, None])
    for condition in LOOKUPS:
        params = [{"p": text}] if "$p" in condition else []
        with pytest.raises(dl.QueryTypeError, match="must be in the years 1677 to 2262"):
            ds.query("SELECT t WHERE " + condition.format(f"'{text}'"), *params)
    exact = f"{text[:19]}.123456000"
    assert len(ds.query(f"SELECT t WHERE t < '{exact}'")) == (2 if text > "2100" else 0)
