"""SQL that is easy to get wrong, compared with DuckDB on a plain table."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError

COLUMNS: dict[str, list[Any]] = {
    "id": [0, 1, 2, 3, 4, 5],
    "i": [1, 1, 2, 2, 3, 3],
    "j": [5, None, 4, None, 3, 2],
    "f": [1.5, 2.0, None, 2.0, -1.0, 0.0],
    "t": ["a", "b", "a", "c", "b", None],
    "d": ["2020-01-01", "2020-01-02", None, "2020-01-01", "2020-01-03", "2020-01-02"],
}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "i": "int64", "j": dl.Scalar("int64", nullable=True),
        "f": dl.Scalar("float64", nullable=True), "t": dl.Text(nullable=True),
        "d": dl.Scalar("datetime64[s]", nullable=True),
    }  # fmt: skip
    ds = dl.create("memory://against-duckdb", schema, overwrite=True)
    ds.append(COLUMNS)
    return ds


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    table = pa.table(COLUMNS)
    moments = table["d"].cast(pa.timestamp("s"))
    connection.register("dataset", table.set_column(5, "d", moments))
    return connection


def check(ds: dl.Dataset, oracle: duckdb.DuckDBPyConnection, query: str) -> None:
    """Compare the rows of a query, ignoring their order."""
    view = ds.query(query)
    result = [tuple(_plain(v) for v in view[k].values()) for k in range(len(view))]
    expected = [tuple(map(_plain, row)) for row in oracle.sql(query).fetchall()]
    assert sorted(result, key=repr) == sorted(expected, key=repr)


def _plain(value: Any) -> Any:
    if value is None or type(value).__name__ == "MaskedConstant":
        return None
    return str(value) if isinstance(value, str) else round(float(value), 9)


SETS = [
    "SELECT {} FROM dataset WHERE id < 3", "SELECT {} FROM dataset WHERE id < 0",
    "SELECT {} FROM dataset", "SELECT {} FROM dataset WHERE id = 4",
    "SELECT {} FROM dataset AS o WHERE o.i = dataset.i",
]  # fmt: skip


@pytest.mark.parametrize("column", ["i", "j", "f", "t", "d"])
@pytest.mark.parametrize("operator", ["=", "<>", "!=", "<", "<=", ">", ">="])
def test_quantifiers(ds, oracle, column: str, operator: str) -> None:
    for quantifier, among, negated in product(["ANY", "ALL", "SOME"], SETS, ["", "NOT "]):
        inner = among.format(column if " AS o " not in among else f"o.{column}")
        query = f"SELECT id FROM dataset WHERE {negated}{column} {operator} {quantifier} ({inner})"
        check(ds, oracle, query)


@pytest.mark.parametrize(
    "items",
    [
        "2 AS x, i", "i, 1 AS x", "2 AS x", "'a' AS x, i", "NULL AS x, i", "TRUE AS x, i",
        "2.0 AS x, i", "0 AS x", "-1 AS x, t", "(2) AS x, i", "2 + 0 AS x, i", "i, j",
        "i, 3 AS x, t",
    ],
)  # fmt: skip
def test_distinct_rows_with_constants(ds, oracle, items: str) -> None:
    check(ds, oracle, f"SELECT DISTINCT {items} FROM dataset")
    check(ds, oracle, f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT {items} FROM dataset) AS s")


def test_parameter_among_distinct_rows_is_not_a_position(ds) -> None:
    assert len(ds.query("SELECT DISTINCT $p AS x, i", {"p": 2})) == 3


def test_distinct_on_accepts_the_number_of_an_item(ds) -> None:
    assert ds.query("SELECT DISTINCT ON (1) i, id")["id"][:].tolist() == [0, 2, 4]
    with pytest.raises(QueryError, match=r"in DISTINCT ON refers to an item of the select list"):
        ds.query("SELECT DISTINCT ON (3) i, id")


FRAMES = [
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW", "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
]  # fmt: skip


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("exclude", ["", "EXCLUDE TIES", "EXCLUDE GROUP", "EXCLUDE CURRENT ROW"])
def test_frames(ds, oracle, frame: str, exclude: str) -> None:
    for call in ("SUM(id)", "COUNT(*)", "MIN(id)"):
        window = f"{call} OVER (ORDER BY i {frame} {exclude})"
        check(ds, oracle, f"SELECT id, {window} AS x FROM dataset ORDER BY id")
