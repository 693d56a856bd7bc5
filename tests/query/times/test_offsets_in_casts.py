"""CAST of a string to a time respects the UTC offset, wherever the string comes from."""

import pytest

import deeplake_lite as dl

TIMES = {
    "2026-01-02 03:04:05+02:00": "2026-01-02T01:04:05",
    "2026-01-02T03:04:05.5-05:30": "2026-01-02T08:34:05.500",
    "2026-12-31T23:59:59.999999-0100": "2027-01-01T00:59:59.999999",
    "2026-01-01 00:30:00+01:00": "2025-12-31T23:30:00",
    "1969-12-31T23:00:00.123456789-02:00": "1970-01-01T01:00:00.123456789",
    "2026-01-02T03:04:05Z": "2026-01-02T03:04:05",
    "2026-01-02 03:04:05.25": "2026-01-02T03:04:05.250",
    "2026-01-02": "2026-01-02T00:00:00",
}
"""Strings, and the times in UTC that they mean."""

SOURCES = ("t", "j", "meta.d", "UPPER(t)", "words[0]", "CAST(j AS TEXT)", "$t", "'{t}'")


@pytest.fixture(scope="module")
def ds():
    """Make a lake with each string in a column of every kind."""
    times = list(TIMES)
    schema = {"t": "text", "j": dl.Json(), "meta": dl.Json(), "words": dl.Sequence("text")}
    lake = dl.create("memory://cast-offsets", schema, overwrite=True)
    lake.append(
        {"t": times, "j": times, "meta": [{"d": t} for t in times], "words": [[t] for t in times]}
    )
    return lake


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("time", TIMES)
def test_offsets_are_respected(ds, time, source):
    for function in ("CAST", "TRY_CAST"):
        call = f"{function}({source.replace('{t}', time)} AS TIMESTAMP_NS)"
        (value,) = ds.query(f"SELECT {call} AS x WHERE t = $t", params={"t": time})["x"][:]
        assert str(value).rstrip("0") == TIMES[time].ljust(20, ".").rstrip("0")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("type_", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "DATE"])
def test_offsets_apply_to_coarser_types_too(ds, type_, source):
    source = source.replace("{t}", "2026-01-01 00:30:00+01:00")
    query = f"SELECT CAST({source} AS {type_}) AS x WHERE t = $t"
    (value,) = ds.query(query, params={"t": "2026-01-01 00:30:00+01:00"})["x"][:]
    assert value == (value.dtype.type("2025-12-31T23:30:00").astype(value.dtype))


@pytest.mark.parametrize(
    "call",
    [
        "CAST(LIST_VALUE(t) AS TIMESTAMP[])",
        "TRY_CAST(LIST_VALUE(t, t) AS DATE[])",
        "CAST(LIST_VALUE(LIST_VALUE(t)) AS TIMESTAMP_NS[][])",
        "CAST(['2026-01-02 03:04:05+02:00'] AS TIMESTAMP[])",
        "CAST('[2026-01-02]' AS DATE[])",
        "CAST(LIST_VALUE(t) AS INTERVAL[])",
        "CAST(MAP([1], [t]) AS MAP(INT, TIMESTAMP))",
    ],
)
def test_lists_of_strings_are_not_cast_to_lists_of_times(ds, call):
    with pytest.raises(dl.QueryError, match=r"one by one, .* Cast each value, as in LIST_TRANS"):
        ds.query(f"SELECT {call} AS x").to_pandas()


def test_items_of_a_list_are_cast_one_by_one(ds):
    query = "SELECT LIST_TRANSFORM(LIST_VALUE(t, t), x -> CAST(x AS TIMESTAMP_NS)) AS x"
    times = ds.query("SELECT CAST(t AS TIMESTAMP_NS) AS x")["x"][:]
    assert [list(items) for items in ds.query(query)["x"][:]] == [[t, t] for t in times]


def test_times_in_lists_are_cast(ds):
    query = "SELECT CAST(LIST_VALUE(CAST(t AS TIMESTAMP_NS)) AS DATE[]) AS x LIMIT 1"
    assert [str(day) for day in ds.query(query)["x"][0]] == ["2026-01-02"]
