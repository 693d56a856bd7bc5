"""Computed numbers are as exact as columns, and have the types that DuckDB gives them."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.registering import unregister

LARGE = 2**53 + 1
"""An integer that no double represents."""


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "big": "int64", "u": "uint64", "d": "float64", "f": "float32",
        "i": dl.Array("int64", (2,)), "e": dl.Embedding(2),
    }  # fmt: skip
    ds = dl.create("memory://computed-numbers", schema, overwrite=True)
    ds.append(
        {
            "id": [0, 1], "big": [LARGE, 5], "u": [LARGE, 5], "d": [2.0**53, 5.0],
            "f": [2.0**53, 5.0], "i": [[LARGE, 1], [2, 3]], "e": [[1, 2], [3, 4]],
        }
    )  # fmt: skip
    ds.commit("rows")
    return ds


SAME = [
    "{}", "{} + 0", "{} * 1", "-(-{})", "ABS({})", "CAST({} AS BIGINT)", "COALESCE({}, 0)",
    "CASE WHEN id >= 0 THEN {} END", "NULLIF({}, -1)", "SUM({}) OVER (PARTITION BY id)",
    "MAX({}) OVER (PARTITION BY id)", "(SELECT b.{} FROM ds AS b WHERE b.id = ds.id)", "[{}][0]",
    "GREATEST({}, 0)", "LAG({}, 0) OVER (ORDER BY id)", "LIST_SUM([{}])", "({} + id) - id",
    "LIST_TRANSFORM([{}], v -> v + 0)[0]", "LIST_REDUCE([{}, 0], (a, b) -> a + b)",
]  # fmt: skip
"""Expressions that return an integer column's value."""

ASKED = [
    "{} = {}", "{} <> {}", "{} < {}", "{} >= {}", "{} IS NOT DISTINCT FROM {}", "{} IN ({})",
    "{} BETWEEN {} AND 1e300", "CASE {} WHEN {} THEN TRUE ELSE FALSE END", "NULLIF({}, {}) IS NULL",
    "{} IN (SELECT {} FROM ds)", "{} = ANY (SELECT {} FROM ds)", "HASH({}) = HASH({})",
    "LIST_TRANSFORM([{}], v -> v = {})[0]", "LEN(LIST_FILTER([{}], v -> v + 0 < {}))",
]  # fmt: skip


@pytest.mark.parametrize("real", ["d", "f", "d + 0", "f * 1"])
@pytest.mark.parametrize("same", SAME)
def test_computed_integers_compare_exactly_with_floats(ds, same, real):
    columns = ["big"] if "BIGINT" in same or "-(-" in same else ["big", "u"]

    def answers(number):
        asked = [
            text.replace("{}", number.format(column), 1).replace("{}", real, 1)
            for text in ASKED
            for column in columns
        ]
        items = ", ".join(f"{text} AS q{at}" for at, text in enumerate(asked))
        result = ds.query(
            f"SELECT {', '.join(f'q{n}' for n in range(len(asked)))} "
            f"FROM (SELECT *, {items} FROM ds)"
        )
        return {
            text: result[name][:].tolist() for text, name in zip(asked, result.columns, strict=True)
        }

    assert list(answers(same).values()) == list(answers("{}").values())


@pytest.mark.parametrize("same", SAME)
def test_one_column_of_computed_integers_and_floats(ds, same):
    number = same.format("big")
    inner = f"(SELECT *, {number} AS n FROM ds)"
    for text in (
        f"SELECT COALESCE(n, d) AS q FROM {inner}", f"SELECT [n, d] AS q FROM {inner}",
        f"SELECT n AS q FROM {inner} UNION SELECT d FROM ds",
        f"SELECT GREATEST(n, d) AS q FROM {inner}",
        f"SELECT CASE WHEN id = 0 THEN n ELSE d END AS q FROM {inner}",
        f"SELECT COALESCE(n, 0.5) AS q FROM {inner}", f"SELECT IFNULL(n, 0.5) AS q FROM {inner}",
        f"SELECT CASE WHEN id = 0 THEN n ELSE 0.5 END AS q FROM {inner}",
        f"SELECT LAG(n, 1, 0.5) OVER (ORDER BY id) AS q FROM {inner}",
        f"SELECT n AS q FROM {inner} UNION ALL SELECT 0.5 FROM ds",
        f"SELECT LIST_CONTAINS([n], d) AS q FROM {inner}",
    ):  # fmt: skip
        with pytest.raises(QueryTypeError, match="cannot represent an integer here"):
            ds.query(text)["q"][:]
    assert ds.query(f"SELECT n AS q FROM {inner} INTERSECT SELECT d FROM ds")["q"][:].tolist() == [
        5
    ]
    assert ds.query(f"SELECT n AS q FROM {inner} EXCEPT SELECT d FROM ds")["q"][:].tolist() == [
        LARGE
    ]
    joined = ds.query(f"SELECT a.id FROM {inner} AS a JOIN ds AS b ON a.n = b.d")
    assert joined["id"][:].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "dtype", "values"),
    [
        ("i + (SELECT SUM(0))", "int64", [[LARGE, 1], [2, 3]]),
        ("i + (big - big)", "int64", [[LARGE, 1], [2, 3]]),
        ("i * (SELECT COUNT(*) - 1 FROM ds)", "int64", [[LARGE, 1], [2, 3]]),
        ("i - (SELECT [1, 1])", "int64", [[LARGE - 1, 0], [1, 2]]),
        ("i + [id, id * 2]", "int64", [[LARGE, 1], [3, 5]]),
        ("i + CASE WHEN id = 0 THEN [0, 0] ELSE [1, 2] END", "int64", [[LARGE, 1], [3, 5]]),
        ("e + id * 2", "float32", [[1, 2], [5, 6]]),
        ("e * (SELECT [1, 2])", "float32", [[1, 4], [3, 8]]),
        ("e + (SELECT [0.5, 1])", "float64", [[1.5, 3], [3.5, 5]]),
        ("i[id + 0]", "int64", [LARGE, 3]),
    ],
)
def test_tensors_compare_with_computed_values(ds, text, dtype, values):
    result = ds.query(f"SELECT {text} AS q")["q"][:]
    assert result.dtype == np.result_type(dtype, result.dtype)
    assert result.tolist() == values
    if dtype == "int64":
        assert result.dtype == dtype


@pytest.fixture
def functions():
    @dl.function(returns="str", override=True)
    def kind_of_number(x):
        return f"{type(x).__name__} {x}"

    @dl.function(returns="int64", override=True)
    def twice(x):
        return x * 2

    yield
    unregister("kind_of_number")
    unregister("twice")


@pytest.mark.usefixtures("functions")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("KIND_OF_NUMBER(SUM(big)) AS q WHERE id = 0", f"int64 {LARGE}"),
        ("KIND_OF_NUMBER(big + 0) AS q WHERE id = 0", f"int64 {LARGE}"),
        ("KIND_OF_NUMBER(CASE WHEN id < 5 THEN big ELSE id END) AS q", f"int64 {LARGE}"),
        ("KIND_OF_NUMBER(COUNT(*)) AS q", "int64 2"),
        ("KIND_OF_NUMBER(MAX(f)) AS q", "float32 9007199254740992.0"),
        ("TWICE(SUM(id)) AS q", 2), ("TWICE(COUNT(*)) AS q", 4),
        ("TWICE(big + 0) AS q WHERE id = 0", LARGE * 2),
    ],
)  # fmt: skip
def test_user_functions_get_computed_values(ds, text, expected):
    assert ds.query(f"SELECT {text}")["q"][0] == expected


def test_sum_beyond_64_bits_is_refused_where_numpy_computes(ds):
    with pytest.raises(QueryError, match="out of range"):
        ds.query("SELECT i + (SELECT SUM(big) * 2000 FROM ds) AS q")["q"][:]


LIKE_TEXTS = ["REPEAT(x, 2)", "LIST_SLICE(x, 1, 1)", "ARRAY_EXTRACT(x, 1)"]


@pytest.mark.parametrize("text", LIKE_TEXTS)
def test_string_functions_return_strings_for_json_and_classes(text):
    names = dl.ClassLabel(["ab", "c"])
    schema = {"x": dl.Json(nullable=True), "t": dl.Text(nullable=True), "c": names}
    made = dl.create(f"memory://texts-of-{text[:4]}", schema)
    made.append({"x": ["ab", None, ""], "t": ["ab", None, ""], "c": [0, 1, 0]})
    calls = (f"{text.replace('(x', f'({column}')} AS {column}" for column in schema)
    result = made.query(f"SELECT {', '.join(calls)}")
    assert result["x"][:] == result["t"][:]
    assert result["c"][0] == result["t"][0]
