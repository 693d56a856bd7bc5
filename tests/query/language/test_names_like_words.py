"""Quoted keywords are column names and nothing else."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

import deeplake_lite as dl

WORDS = ["all", "All", "array", "list", "struct", "map", "row", "rows", "value", "version", "text"]
NUMBERS = {
    'SELECT x AS r ORDER BY "w"': [2, 1, 3],
    'SELECT ds.x AS r FROM ds ORDER BY ds."w" DESC, x': [3, 1, 2],
    'SELECT x AS r WHERE "w" > 4 ORDER BY x, "w"': [1, 3],
    'SELECT "w" + 0 AS r ORDER BY x': [5, 4, 6],
    'SELECT RANK() OVER (ORDER BY "w" DESC) AS r ORDER BY x': [2, 3, 1],
    'SELECT COUNT(*) AS r GROUP BY "w" ORDER BY "w"': [1, 1, 1],
    'SELECT DISTINCT ON ("w") "w" AS r ORDER BY "w"': [4, 5, 6],
}
"""Queries of a column with 5, 4, 6, next to x with 1, 2, 3, and their results."""
PARTS = 25
"""Number of parts of the list of keywords; a run draws some of them."""

TENSORS = {
    'SELECT "w"[0] AS r': [5, 4, 6],
    'SELECT ds."w"[0:2][1] AS r FROM ds': [1, 2, 3],
    'SELECT x AS r WHERE "w"[0] > 4': [1, 3],
    'SELECT x AS r ORDER BY ALL("w" > 1) DESC, x': [2, 3, 1],
    'SELECT x AS r ORDER BY "w"[0] DESC': [3, 1, 2],
}
"""The same for a column of tensors: [5, 1], [4, 2], [6, 3]."""


@pytest.fixture(scope="module")
def words() -> list[str]:
    with duckdb.connect() as connection:
        result = connection.sql("SELECT keyword_name FROM duckdb_keywords()").fetchall()
    return [*dict.fromkeys([*WORDS, *(name for (name,) in result)])]


def made(url: str, names: list[str], htype: object, values: object) -> dl.Dataset:
    names = [name for name in names if name != "x"]
    ds = dl.create(url, {"x": "int32", **dict.fromkeys(names, htype)}, overwrite=True)
    ds.append({"x": [1, 2, 3], **dict.fromkeys(names, values)})
    ds.commit("words")
    return ds


def wrong(ds: dl.Dataset, queries: dict[str, list[int]]) -> list[str]:
    """Return the queries with different results."""
    result = []
    for name in [f.name for f in ds.schema if f.name != "x"]:
        for query, expected in queries.items():
            text = query.replace('"w"', f'"{name}"')
            if np.ravel(ds.query(text)["r"][:]).tolist() != expected:
                result.append(text)
    return result


@pytest.mark.parametrize("part", range(PARTS))
def test_quoted_keyword_is_the_name_of_a_number_column(words, part):
    ds = made("memory://words", words[part::PARTS], "int32", [5, 4, 6])
    assert wrong(ds, NUMBERS) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_quoted_keyword_is_the_name_of_a_tensor_column(words, part):
    values = np.array([[5, 1], [4, 2], [6, 3]])
    ds = made("memory://words", words[part::PARTS], dl.Array("int32", (2,)), values)
    assert wrong(ds, TENSORS) == []


@pytest.mark.parametrize(
    ("text", "column"),
    [("SELECT array[0]", '"array"'), ("SELECT x ORDER BY all", '"all"'),
     ("SELECT x GROUP BY all", '"all"'),
     ("SELECT Array[1, 2] ORDER BY x", '"array"'), ("SELECT * ORDER BY ALL DESC", '"all"')],
)  # fmt: skip
def test_unquoted_keyword_that_may_be_a_column_is_refused(text, column):
    ds = made("memory://words", ["all", "array"], "int32", [5, 4, 6])
    with pytest.raises(dl.QueryError, match=f"is also a column. Write .*{column}"):
        ds.query(text)
    plain = made("memory://words", ["w"], "int32", [5, 4, 6])
    assert len(plain.query(text)) == 3


def test_strings_that_are_keywords_are_strings():
    ds = made("memory://words", ["w"], "int32", [5, 4, 6])
    assert ds.query("SELECT 'array'[1] AS t")["t"][:] == ["r"] * 3
    assert ds.query("SELECT x ORDER BY 'all', w")["x"][:].tolist() == [2, 1, 3]
