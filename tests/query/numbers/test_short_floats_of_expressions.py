"""Expressions that yield float16 or float32 scalars compare with fractions as columns do."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

STORED = [0.1, 0.2, -0.3, 1.5e-5, 2.0]
EXPRESSIONS = [
    "f", "n", "v[0]", "r[0]", "r[-1]", "s[0]", "l[0][0]", "AMAX(v)", "MIN(v)", "MAX(s)", "MEAN(v)",
    "v[0:1][0]", "MAX(r[:])", "NULLIF(f, 7)", "NULLIF(v[0], 7)", "CASE WHEN i < 9 THEN v[0] END",
    "CASE WHEN i < 9 THEN f ELSE v[0] END", "COALESCE(n, s[0])", "COALESCE(v[0], f, n)",
    "GREATEST(v[0], f)", "IF(i < 9, s[0], r[0])", "LAG(v[0], 0) OVER (ORDER BY i)",
    "FIRST_VALUE(s[0]) OVER (PARTITION BY i)", "MAX(v[0]) OVER (PARTITION BY i)",
    "CAST(d AS {t})", "TRY_CAST(d AS {t})",
    "CAST(CAST(d AS TEXT) AS {t})", "CAST(f AS {t})", "CAST(v[0] AS {t})",
    "CAST([d] AS {t})[0]", "CAST(CAST(d AS {t}) AS {t})",
]  # fmt: skip
SPLITS = ["UNNEST(v)", "UNNEST(r)", "UNNEST(s)"]
AGGREGATES = [
    "MAX({x})", "MIN({x})", "FIRST({x})", "ANY_VALUE({x})", "MODE({x})", "ARG_MIN({x}, i)",
    "LIST({x})[0]", "MAX({x}) FILTER (WHERE {x} IS NOT NULL)",
]  # fmt: skip
FORMS = {
    "{x} = {c}": np.equal, "{c} = {x}": np.equal, "{x} <> {c}": np.not_equal,
    "{x} < {c}": np.less, "{c} < {x}": np.greater, "{x} <= {c}": np.less_equal,
    "{x} > {c}": np.greater, "{x} >= {c}": np.greater_equal, "{c} >= {x}": np.less_equal,
    "{x} IN ({c}, 77)": np.equal, "{x} IN ({c})": np.equal, "{x} BETWEEN {c} AND {c}": np.equal,
    "{x} NOT IN ({c}, 7.5)": np.not_equal, "{x} IS NOT DISTINCT FROM {c}": np.equal,
    "{x} IS DISTINCT FROM {c}": np.not_equal, "NULLIF({x}, {c}) IS NULL": np.equal,
    "CASE {x} WHEN {c} THEN TRUE ELSE FALSE END": np.equal, "{x} = '{c}'": np.equal,
    "({x}, 1) = ({c}, 1)": np.equal, "NOT {x} = {c}": np.not_equal,
}  # fmt: skip
FRACTIONS = ["0.1", "-3e-1"]
MORE_FRACTIONS = [*FRACTIONS, "1.5e-5", "0.10000000000000000001", "2.0", "0.15"]


@pytest.fixture(scope="module", params=["float16", "float32"])
def ds(request: pytest.FixtureRequest) -> dl.Dataset:
    dtype = request.param
    schema = {
        "i": "int8", "d": "float64", "f": dtype, "n": dl.Scalar(dtype, nullable=True),
        "v": dl.Embedding(2, dtype=dtype), "r": dl.Array(dtype, (None,)),
        "s": dl.Sequence(dtype), "l": dl.Sequence(dl.Array(dtype, (None,))),
    }  # fmt: skip
    ds = dl.create(f"memory://short-floats-{dtype}", schema, overwrite=True)
    pairs = [np.array([x, x], dtype) for x in STORED]
    ds.append(
        {
            "i": range(len(STORED)), "d": STORED, "f": STORED, "n": STORED, "v": pairs,
            "r": [x[:1] for x in pairs], "s": [[x] for x in STORED], "l": [[x] for x in pairs],
        }
    )  # fmt: skip
    ds.commit("rows")
    return ds


def _dtype(ds: dl.Dataset) -> str:
    return str(ds["f"][:].dtype)


def _expected(ds: dl.Dataset, form: str, fraction: str) -> list[bool]:
    column = ds["f"][:]
    return [bool(x) for x in FORMS[form](column, column.dtype.type(float(fraction)))]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_compare_with_fractions_as_columns_do(ds, expression):
    x = expression.format(t=_dtype(ds))
    result = ds.query(f"SELECT {x} AS x ORDER BY i")["x"][:]
    assert result.dtype == _dtype(ds)
    for fraction in FRACTIONS:
        conditions = [form.format(x=x, c=fraction) for form in FORMS]
        shown = ", ".join(f"{c} AS c{at}" for at, c in enumerate(conditions))
        rows = ds.query(f"SELECT {shown} ORDER BY i")
        named = [form.format(x="x", c=fraction) for form in FORMS]
        shown = ", ".join(f"{c} AS c{at}" for at, c in enumerate(named))
        inner = ds.query(f"SELECT {shown} FROM (SELECT i, {x} AS x) ORDER BY i")
        for at, form in enumerate(FORMS):
            expected = _expected(ds, form, fraction)
            assert rows[f"c{at}"][:].tolist() == expected, conditions[at]
            assert inner[f"c{at}"][:].tolist() == expected, conditions[at]


@pytest.mark.parametrize("form", FORMS)
def test_conditions_of_tensors_find_the_same_rows_as_conditions_of_columns(ds, form):
    for fraction in MORE_FRACTIONS:
        at = np.flatnonzero(_expected(ds, form, fraction)).tolist()
        for x in ("v[0]", "AMAX(s)"):
            rows = ds.query(f"SELECT i WHERE {form.format(x=x, c=fraction)} ORDER BY i")
            assert rows["i"][:].tolist() == at, (x, fraction)


@pytest.mark.parametrize("split", SPLITS)
def test_items_that_unnest_yields_compare_as_columns_do(ds, split):
    for fraction in FRACTIONS:
        for form in ("{x} = {c}", "{x} < {c}", "{x} IN ({c}, 77)"):
            condition = form.format(x="x", c=fraction)
            rows = ds.query(
                f"SELECT DISTINCT i FROM (SELECT i, {split} AS x) WHERE {condition} ORDER BY i"
            )
            at = np.flatnonzero(_expected(ds, form, fraction)).tolist()
            assert rows["i"][:].tolist() == at, condition


@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_aggregates_compare_as_columns_do(ds, aggregate):
    for x in ("f", "v[0]", f"CAST(d AS {_dtype(ds)})"):
        value = aggregate.format(x=x)
        for fraction in FRACTIONS:
            for form in ("{x} = {c}", "{x} < {c}"):
                condition = form.format(x=value, c=fraction)
                rows = ds.query(f"SELECT i GROUP BY i HAVING {condition} ORDER BY i")
                at = np.flatnonzero(_expected(ds, form, fraction)).tolist()
                assert rows["i"][:].tolist() == at, condition


@pytest.mark.parametrize("x", ["v", "r", "s"])
def test_any_and_contains_round_the_fraction(ds, x):
    for fraction in FRACTIONS:
        expected = _expected(ds, "{x} = {c}", fraction)
        conditions = f"ANY({x} = {fraction}) AS a, CONTAINS({x}, {fraction}) AS c"
        rows = ds.query(f"SELECT {conditions} ORDER BY i")
        assert rows["a"][:].tolist() == rows["c"][:].tolist() == expected, fraction


@pytest.mark.parametrize("quantified", ["{c} = ANY (SELECT {x})", "{c} IN (SELECT {x})"])
def test_subqueries_of_short_floats_are_searched_for_the_rounded_fraction(ds, quantified):
    for x in ("f", "v[0]", "s[0]", f"CAST(d AS {_dtype(ds)})"):
        for fraction in MORE_FRACTIONS:
            condition = quantified.format(x=x, c=fraction)
            found = ds.query(f"SELECT {condition} AS c LIMIT 1")["c"][:].tolist()
            assert found == [any(_expected(ds, "{x} = {c}", fraction))], condition
