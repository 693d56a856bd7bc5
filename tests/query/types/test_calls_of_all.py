"""ALL, ANY and ALL_STRICT can be called as functions, even where SQL has a keyword ALL."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

CALLS = ["ALL", "ANY", "ALL_STRICT"]
X = [np.array([[1, 0], [1, 1]], "u1"), np.array([[1, 1], [0, 1]], "u1"), np.ones((2, 2), "u1")]
OUTER: dict[str, Any] = {
    "SUM": np.sum, "PROD": np.prod, "MEAN": np.mean, "MEDIAN": np.median, "STD": np.std,
    "VAR": np.var, "MIN": np.min, "MAX": np.max, "ANY": np.any, "ALL": np.all,
    "ALL_STRICT": np.all, "ARGMIN": np.argmin, "ARGMAX": np.argmax, "ABS": np.abs, "SQRT": np.sqrt,
    "EXP": np.exp, "FLOOR": np.floor, "SIGN": np.sign, "ISNAN": np.isnan, "UNIQUE": np.unique,
    "SORT": np.sort, "FLATTEN": np.ravel, "TRANSPOSE": np.transpose, "NDIM": np.ndim,
    "SIZE": np.size, "LEN": len, "SHAPE": np.shape, "L1_NORM": np.sum,
    "L2_NORM": lambda x: np.sqrt(np.sum(x)), "LINF_NORM": np.max,
}  # fmt: skip
IN_CALL = {"ABS", "SQRT", "EXP", "FLOOR", "SIGN", "ISNAN"}
"""Functions with a numeric argument here: NumPy's work on booleans in 16 bits, or refuse."""


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://calls-of-all", {"id": "int64", "x": dl.Array("uint8", (2, 2))}, overwrite=True
    )
    ds.append({"id": [0, 1, 2], "x": X})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(("outer", "inner"), [*product(OUTER, CALLS)])
def test_functions_accept_calls(ds: dl.Dataset, outer: str, inner: str) -> None:
    reduce = np.any if inner == "ANY" else np.all
    result = ds.query(f"SELECT {outer}({inner}(x, 1)) AS x")["x"][:]
    for row, x in zip(X, result, strict=True):
        given = reduce(row, axis=1)
        expected = OUTER[outer](given.astype(np.int64) if outer in IN_CALL else given)
        np.testing.assert_allclose(np.asarray(x, float), np.asarray(expected, float))


@pytest.mark.parametrize("inner", CALLS)
@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("SELECT SUM({0}(x)) AS x", {"ANY": [3], "ALL": [1]}),
        ("SELECT COUNT(DISTINCT {0}(x)) AS x", {"ANY": [1], "ALL": [2]}),
        ("SELECT COUNT(*) AS x GROUP BY {0}(x)", {"ANY": [3], "ALL": [2, 1]}),
        ("SELECT DISTINCT {0}(x) AS x", {"ANY": [True], "ALL": [False, True]}),
        ("SELECT id AS x ORDER BY {0}(x) DESC, id", {"ANY": [0, 1, 2], "ALL": [2, 0, 1]}),
        ("SELECT id AS x WHERE ({0}(x)) AND id > 0", {"ANY": [1, 2], "ALL": [2]}),
        ("SELECT IF({0}(x), id, -1) AS x", {"ANY": [0, 1, 2], "ALL": [-1, -1, 2]}),
        ("SELECT COALESCE(id + 5, {0}(x)) AS x", {"ANY": [5, 6, 7], "ALL": [5, 6, 7]}),
        ("SELECT LEN([{0}(x), {0}(x)]) AS x", {"ANY": [2, 2, 2], "ALL": [2, 2, 2]}),
        ("SELECT MAX({0}({0}(x))) AS x", {"ANY": [True], "ALL": [True]}),
    ],
)
def test_clauses_and_aggregates_accept_calls(
    ds: dl.Dataset, form: str, expected: dict[str, list[Any]], inner: str
) -> None:
    result = ds.query(form.format(inner))["x"][:]
    assert result.tolist() == expected["ANY" if inner == "ANY" else "ALL"]


def test_all_is_a_keyword_without_parentheses_or_before_a_query(ds: dl.Dataset) -> None:
    queries = {
        "SELECT ALL id AS x": [0, 1, 2],
        "SELECT COUNT(ALL id) AS x": [3],
        "SELECT id AS x, COUNT(*) AS n GROUP BY ALL": [0, 1, 2],
        "SELECT id AS x ORDER BY ALL": [0, 1, 2],
        "SELECT id AS x WHERE (id >= ALL (SELECT id FROM ds))": [2],
        "SELECT SUM(ALL (SELECT MAX(id) FROM ds)) AS x": [6],
        "SELECT id AS x FROM ds UNION ALL (SELECT id FROM ds)": [0, 1, 2] * 2,
    }
    for query, expected in queries.items():
        assert ds.query(query)["x"][:].tolist() == expected, query
