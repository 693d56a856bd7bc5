"""Queries only call functions of values, and never build excessively long ones."""

from __future__ import annotations

import tempfile

import duckdb
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError, NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.calls import function_names, growth
from deeplake_lite.query.bind.calls.allowed import ALLOWED
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.run import execute

from ..case_files import values_of


def duckdb_functions() -> dict[str, set[str]]:
    """Return DuckDB's functions, by kind."""
    result: dict[str, set[str]] = {}
    with duckdb.connect() as connection:
        query = "SELECT DISTINCT function_type, lower(function_name) FROM duckdb_functions()"
        for kind, name in connection.sql(query).fetchall():
            result.setdefault(kind, set()).add(name)
    return result


@pytest.fixture(autouse=True)
def read_rows():
    """Compute values of all rows at once, because the limits are those of one computation."""


@pytest.mark.parametrize("part", range(10))
def test_unlisted_functions_are_refused(ds, part):
    named = {n for n in set().union(*duckdb_functions().values()) if n.isidentifier()}
    ours = {n.lower() for n in function_names.NAMES} | {"count", "len"}
    reached = []
    for name in sorted(named - ALLOWED - catalog().keys() - ours)[part::10]:
        for call in (f"{name}()", f"{name}(id)", f"{name}('x')", f"{name}(id, 1)"):
            try:
                ds.query(f"SELECT {call} AS x LIMIT 1")
            except LakeError:
                continue
            reached.append(call)
    assert {call.split("(")[0] for call in reached} <= OWN


OWN = {"array_agg", "cast", "clip", "current_date", "data", "random", "date", "try_cast"}
"""DuckDB's names that are also ours."""


@pytest.mark.parametrize(
    "name",
    ["current_setting", "getenv", "getvariable", "version", "current_query", "sleep_ms", "nextval",
     "pg_sleep", "write_log", "setseed", "json_serialize_sql", "stats", "txid_current", "error"],
)  # fmt: skip
def test_functions_that_access_the_process_are_unknown(ds, name):
    for text in (f"{name}('threads')", f'"{name}"(1)', f"id.{name}()", f"MAX({name}('x'))"):
        with pytest.raises(NotFoundError, match=f"no function {name.upper()}"):
            ds.query(f"SELECT {text}")


@pytest.mark.parametrize(
    "text", ["current_user", "session_user", "current_catalog", "LIST_TRANSFORM([1], x -> USER())"]
)
def test_keywords_that_access_the_process_are_refused(ds, text):
    with pytest.raises(LakeError):
        ds.query(f"SELECT {text}")


def test_every_allowed_aggregate_is_known_as_one():
    listed = {n.upper() for n in duckdb_functions()["aggregate"] & ALLOWED}
    assert listed <= function_names.AGGREGATES


LONG = [
    "repeat('x', 1000000000)", "repeat(text, id * 1000000000)", "repeat([1, 2], 1000000000)",
    "repeat(repeat(text, 1000), 100000)", "repeat('x', ?)", "lpad(text, 1000000000, 'x')",
    "rpad('', CAST(1000000000 + id AS INT), 'x')", "range(1000000000)",
    "range(id, id + 10000000000)",
    "generate_series(0, 1000000000)", "range(0, -1000000000, -1)", "list_resize([1], 1000000000)",
    "printf('%1000000000d', id)", "printf('%*d', 1000000000, id)", "format('{:>1000000000}', text)",
    "format('{:>{}}', text, 1000000000)", "UNNEST(range(1000000000))",
    "replace(repeat('a', 100000), 'a', repeat('b', 100000))",
    "regexp_replace(repeat('a', 100000), '', repeat('b', 100000), 'g')",
    "list_transform([1], x -> repeat('x', 1000000000))",
    "string_split(repeat('a,', 11000000), ',')",
]  # fmt: skip


@pytest.mark.parametrize("text", LONG)
def test_too_long_value_is_not_created(ds, text):
    params = [1_000_000_000] if "?" in text else []
    with pytest.raises(QueryError, match=r"must not exceed [\d,]+ characters"):
        ds.query(f"SELECT {text} AS x", params)


SPLIT = [
    "string_split(%, ',')", "split(%, 'a,')", "str_split(%, '')", "string_to_array(%, ',')",
    "string_split_regex(%, ',')", "str_split_regex(%, 'A', 'i')", "regexp_extract_all(%, 'a')",
    "regexp_split_to_array(%, '[,]')", "regexp_extract_all(%, '(A)(,)', 1, 'i')",
    "regexp_extract_all(%, '(a)(,)', ['x', 'y'])", "parse_path(replace(%, ',', '/'))",
    "CAST(% AS TEXT[])", "TRY_CAST(% AS INTEGER[])",
    "list_transform([',', ';'], x -> len(string_split(repeat(x, 30000), x)))",
]  # fmt: skip


@pytest.mark.parametrize("text", SPLIT)
def test_string_is_not_split_into_too_many_items(ds, text, monkeypatch):
    monkeypatch.setattr(growth, "MAX_ITEMS", 50_000)
    query = "SELECT LEN({}) AS x LIMIT 1".format(text.replace("%", "repeat('a,', 60000 + id)"))
    with pytest.raises(QueryError, match="must not exceed 50,000 characters or items"):
        ds.query(query)


@pytest.mark.parametrize(
    "text",
    [
        "REPEAT('a', 10000000 + id)", "LPAD('a', CAST(10000000 + id AS INTEGER), 'x')",
        "RANGE(1000000 + id)", "LIST_RESIZE([id], 1000000 + id)", "REPEAT(REPEAT('a', id), 10000)",
        "REPLACE(REPEAT('a', 1000 + id), 'a', REPEAT('b', 1000))",
        "STRING_SPLIT(REPEAT('a,', 40000 + id), ',')",
    ],
)  # fmt: skip
def test_values_of_many_rows_whose_total_is_too_long_are_not_created(text):
    ds = dl.create("memory://room-of-vectors", {"id": "int64"}, overwrite=True)
    ds.append({"id": range(1000, 3100)})
    ds.commit("rows")
    for query in (f"SELECT MAX(LEN({text})) AS x", f"SELECT id WHERE LEN({text}) > 5"):
        with pytest.raises(
            QueryTypeError, match="and the new values of these rows may take at most 1 GiB"
        ):
            ds.query(query)
    assert ds.query(f"SELECT MAX(LEN({text})) AS x FROM (SELECT id LIMIT 3)")["x"][0] > 1000


def test_doubling_strings_are_stopped(ds):
    text = "SELECT repeat('x', 100000) AS s FROM range(1)"
    for _ in range(30):
        text = f"SELECT s || s AS s FROM ({text})"
    with pytest.raises(QueryError, match="must not exceed 67,108,864 characters"):
        ds.query(f"SELECT len(s) FROM ({text})")


def test_multiplying_replacements_are_stopped(ds):
    text = "text"
    for _ in range(6):
        text = f"replace({text}, 'a', '{'a' * 20}')"
    with pytest.raises(QueryError, match="3,200,000 times as long"):
        ds.query(f"SELECT {text}")


SHORT = {
    "repeat('ab', 3)": "ababab", "repeat('ab', id + 2)": "abab", "lpad('a', 3, '-')": "--a",
    "string_split('a,b', ',')": ["a", "b"], "split('ab', '')": ["a", "b"],
    "string_split_regex('aXb', 'x', 'i')": ["a", "b"],
    "regexp_extract_all('ab', '[a-z]')": ["a", "b"],
    "LEN(string_split(repeat('a,', 500000 + id), ','))": 500_001,
    "LEN(regexp_extract_all(repeat('a,', 50000 + id), 'A', 0, 'i'))": 50_000,
    "LEN(string_split(repeat('ab', 50000), 'ba'))": 50_000, "parse_path('/a/b')": ["/", "a", "b"],
    "CAST('[1, 2]' AS INTEGER[])": [1, 2],
    "LEN(CAST('[' || repeat('a,', 50000 + id) || 'a]' AS TEXT[]))": 50_001,
    "repeat([1], 2)": [1, 1], "range(id + 2)": [0, 1], "generate_series(1, 3)": [1, 2, 3],
    "range(0, 10000000000, 5000000000)": [0, 5_000_000_000], "list_resize([1], 2, 7)": [1, 7],
    "replace('abc', 'b', repeat('x', 3))": "axxxc", "printf('%03d', 7)": "007",
    "format('{:>3}', 'a')": "  a", "regexp_replace('abc', '[ab]', 'x', 'g')": "xxc",
    "'a' || CAST(id AS TEXT) || 'b'": "a0b", "CONCAT('a', id)": "a0",
}  # fmt: skip


@pytest.mark.parametrize("text", SHORT)
def test_short_values_are_unaffected(ds, text):
    assert values_of(ds.query(f"SELECT {text} AS x WHERE id = 0"))["x"] == [SHORT[text]]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM range(100000000000)",
        "SELECT a.range FROM range(1000000) AS a, range(1000000) AS b",
        "SELECT id, UNNEST(range(1000000)) AS n",
        "SELECT repeat('x', 1000000) AS s FROM range(100000)",
        "SELECT a.id FROM dataset AS a, dataset AS b, dataset AS c, dataset AS d",
    ],
)
def test_result_is_bounded(ds, text, monkeypatch):
    monkeypatch.setattr(execute, "MAX_BYTES", 1 << 22)
    with pytest.raises(QueryError, match=r"A result must take at most 4 MiB.*Add a LIMIT"):
        ds.query(text)
    assert len(ds.query(f"{text} LIMIT 3")) == 3


def test_nothing_is_written_to_the_current_folder(ds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "private"))
    (tmp_path / "private").mkdir()
    monkeypatch.setattr(execute, "MEMORY", 48 << 20)
    execute._database.cache_clear()
    try:
        result = ds.query("SELECT COUNT(*) AS n FROM (SELECT DISTINCT range FROM range(3000000))")
        assert result["n"][:].tolist() == [3_000_000]
    finally:
        execute._database().close()
        execute._database.cache_clear()
    assert [p.name for p in tmp_path.iterdir()] == ["private"]
    assert not list((tmp_path / "private").iterdir())


@pytest.mark.parametrize("operator", ["+", "||"])
def test_doubling_names_are_stopped(ds, operator):
    names = [f"a{n} {operator} a{n} AS a{n + 1}" for n in range(40)]
    with pytest.raises(QueryError, match="at most 200,000 parts") as caught:
        ds.query(f"SELECT id {operator} id AS a0, {', '.join(names)}")
    assert caught.value.place is not None
