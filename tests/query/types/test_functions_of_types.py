"""Every function and operator of the language with every type gives an answer or our error.

The error names the expression and never repeats the engine's message. The full table is in
`tests/slow`; here every function and every operator meets some of the types.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import islice, product
from uuid import uuid4

import duckdb
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError
from deeplake_lite.query.bind.calls.catalog import catalog
from deeplake_lite.query.database.duckdb_errors import reason_of
from deeplake_lite.query.functions import REGISTRY

from ..case_files import values_of
from .test_type_table import COLUMNS, files, given

SHORT = 20
"""Characters of an engine's message that ours may contain by chance."""

TYPES = list(COLUMNS)

OPERATORS = [
    "-x", "NOT x", "~x", "x AND TRUE", "x IS NULL", "x IS TRUE", "x IS NAN", "x LIKE 'a'",
    "x ILIKE x", "x LIKE 'a' ESCAPE '!'", "x GLOB 'a'", "x ~ 'a'", "x SIMILAR TO 'a'", "x || 'a'",
    "x || x", "x + 1", "x + x", "x - 'a'", "1.5 * x", "x / x", "x // 2", "x % 2", "x ** 2", "x & 1",
    "x | x", "x << 1", "x >> x", "x = 1", "x = 'a'", "x = x", "x <> TRUE", "x < 2.5", "x >= 'a'",
    "x > x", "x BETWEEN 1 AND 'a'", "x IN (1, 2)", "x IN ('a')", "x IN (x)", "1 IN (x)",
    "x IS DISTINCT FROM x", "x[0]", "x[1:2]", "x['a']", "x[x]", "x.a", "x COLLATE nocase",
    "CAST(x AS INT)", "CAST(x AS TEXT)", "CAST(x AS DATE)", "CAST(x AS BOOLEAN)", "CAST(x AS BLOB)",
    "TRY_CAST(x AS DOUBLE)", "CAST(x AS uint8)", "CAST(x AS INTERVAL)", "CASE WHEN x THEN 1 END",
    "CASE x WHEN 1 THEN 2 END", "CASE WHEN TRUE THEN x ELSE 1 END", "IF(x, 1, 2)",
    "COALESCE(x, 'a')", "SUBSTRING(x FROM 1 FOR 2)", "TRIM(BOTH 'a' FROM x)", "POSITION('a' IN x)",
    "EXTRACT(year FROM x)", "x + INTERVAL 1 DAY", "x AT TIME ZONE 'UTC'", "ANY(x = 1)",
    "ALL(x = x)", "[x, 1]", "{'a': x}", "(x, 1)", "x = (SELECT x FROM ds LIMIT 1)",
    "x IN (SELECT x FROM ds)", "x > ANY (SELECT 1)", "EXISTS (SELECT 1 FROM ds AS o WHERE o.x = x)",
    "LIST_TRANSFORM([1], y -> x)", "SUM(x) OVER (ORDER BY x)", "LAG(x, 1) OVER (ORDER BY id)",
    "RANK() OVER (PARTITION BY x)", "COUNT(DISTINCT x)", "STRING_AGG(x, ',')", "LIST(x ORDER BY x)",
    "SUM(x) FILTER (WHERE x)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
    "ANY(KEYS(x) = 'k')",
]  # fmt: skip
"""Operators and SQL keywords; `x` is a column."""

FORMS = ["{}(x)", "{}(x, 1)", "{}('a', x)", "{}(x, x)", "{}(x, 1, 2)", "{}(x, 'a', x)"]
CALLS = sorted(
    form.format(name.upper())
    for name in catalog().keys() | {n for n in REGISTRY if n.isidentifier()}
    for form in FORMS
)

CLAUSES = [
    "SELECT id WHERE x", "SELECT id WHERE x > 1", "SELECT id ORDER BY x", "SELECT x GROUP BY x",
    "SELECT SUM(x) GROUP BY id HAVING x", "SELECT id QUALIFY x", "SELECT id LIMIT x",
    "SELECT id SAMPLE BY x SEED 1", "SELECT id ARRANGE BY x", "SELECT id EXPAND BY x, 1",
    "SELECT DISTINCT ON (x) id", "SELECT x UNION SELECT id FROM ds", "SELECT x EXCEPT SELECT 'a'",
    "SELECT x INTERSECT ALL SELECT x FROM ds", "SELECT a.id FROM ds AS a JOIN ds AS b ON a.x = b.x",
    "SELECT a.id FROM ds AS a JOIN ds AS b USING (x)",
    "SELECT a.id FROM ds AS a, ds AS b WHERE b.x",
    "SELECT * EXCLUDE (x)", "SELECT * REPLACE (x + 1 AS id)", "SELECT UNNEST(x) AS i",
    "SELECT id, x UNGROUP BY x", "SELECT * GROUP BY x", "SELECT x FROM range(x)",
    "WITH q AS (SELECT x AS y FROM ds) SELECT y + 1 FROM q", "SELECT MAX(x) AS m FROM ds HAVING m",
    "SELECT (SELECT x FROM ds AS o WHERE o.id = ds.id) AS y",
]  # fmt: skip
"""Clauses that accept a column."""

QUERIES = [*CLAUSES, *(f"SELECT {e} AS y" for e in (*OPERATORS, *CALLS))]


@cache
def lake(name: str) -> dl.Dataset:
    schema = {"id": "int32", "x": COLUMNS[name].htype}
    ds = dl.create(f"memory://{uuid4().hex}", schema, allow=[str(files())])
    ds.append({"id": range(6), "x": given(COLUMNS[name])})
    ds.commit("six rows")
    return ds


def check(query: str, name: str) -> bool:
    """Run a query and read its answer, or check its message; tell whether it has an answer."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            values_of(lake(name).query(query, sources={"ds": lake(name)}))
    except LakeError as error:
        check_message(error, f"{query!r} of {name}")
        return False
    except BaseException as error:
        raise AssertionError(f"{query!r} of {name} raises {error!r}") from error
    return True


def check_message(error: LakeError, case: str) -> None:
    """Check that an error has a position and a suggestion, and repeats nothing from the engine."""
    message, cause = str(error), error.__cause__
    assert message.endswith("^"), f"{case} has no caret: {message}"
    assert len(message) < 2_500, f"{case} is long: {message}"
    if isinstance(cause, duckdb.Error | RuntimeError):
        raw = reason_of(cause)
        is_reason = f" rejects its arguments: {raw}" in message  # where we have no reason to give
        assert len(raw) <= SHORT or is_reason or raw not in message, f"{case}: {message}"
    assert "  " not in message.split("\n")[0], f"{case}: {message}"


@pytest.mark.parametrize("part", range(8))
def test_functions_and_operators_with_some_types(part):
    """Each query of the table meets one type; each part runs one query in eight."""
    answered = 0
    for at, query in islice(enumerate(QUERIES), part, None, 8):
        if at < len(CLAUSES) + len(OPERATORS) or at % 6 == part % 6:
            answered += check(query, TYPES[(at * 7 + part) % len(TYPES)])
    assert answered > 2


@pytest.mark.parametrize("query", CLAUSES)
def test_clauses_with_every_type(query):
    for name in TYPES:
        check(query, name)


def whole_table():
    """Return all cells: queries and type names."""
    return product(QUERIES, TYPES)
