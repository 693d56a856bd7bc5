"""A constant argument gives the same result as a column with that value in every row."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import deeplake_lite as dl

ROWS = 3
"""As many as the constants' axes are long, so that shapes cannot tell rows from positions."""

_rng = np.random.default_rng(0)
VALUES = {
    "s": np.array([0, 1, 2], "int32"),
    "t": np.array([2, 7, 1], "int64"),
    "g": np.array([0.5, -1.0, 2.0]),
    "v": _rng.integers(-2, 3, (ROWS, 3)).astype("float32"),
    "w": _rng.integers(0, 3, (ROWS, 3)).astype("int16"),
    "m": _rng.integers(-2, 3, (ROWS, 3, 3)).astype("int32"),
    "z": _rng.integers(0, 2, (ROWS, 3)).astype(bool),
    "r": np.array([[0, 1.0], [0, 2], [1, 4]]),
    "b": np.array([[[0, 0, 4, 4.0], [1, 1, 2, 2], [0, 0, 1, 3]]] * ROWS)
    + np.arange(ROWS)[:, None, None],
    "o": np.array([[0, 0, 4, 4.0], [0, 0, 8, 8], [1, 1, 3, 5]]),
}
EXPRESSIONS = [
    "CONTAINS({v}, {s})", "CONTAINS({w}, {t})", "CONTAINS({m}, {g})", "CONTAINS({w}, LEN({v}))",
    "CONTAINS({w}, {m}[0, 1])", "CONTAINS({z}, {s})", "{m} + {v}", "{m} - {s}", "{v} / {t}",
    "{m} = {v}", "{m} <> {s}", "{v} < {g}", "{z} AND {s}", "{m} OR {z}", "{v} ** {s}",
    "GREATEST({m}, {v})", "LEAST({v}, {g})", "CLIP({v}, {s}, {t})", "CLIP({m}, {v}, {w})",
    "NORMALIZE({v}, {r})", "NORMALIZE({m}, {r})", "NORMALIZE({b}, {o})", "NORMALIZE({o}, {o})",
    "DOT({v}, {w})", "DOT({m}, {v})", "COSINE_SIMILARITY({v}, {w})", "COSINE_SIMILARITY({m}, {v})",
    "COSINE_SIMILARITY({v}, {m})", "L2_DISTANCE({v}, {m})", "L2_DISTANCE({m}, {w})",
    "HAMMING_DISTANCE({m}, {w})", "MAXSIM({m}, {m})", "IOU({b}, {o})", "IOU_MATRIX({b}, {o})",
    "CROP({m}, {o})", "RESIZE({m}, {t}, 2)", "{m}[{s}]", "{v}[{w}]", "{m}[{z}]", "{m}[{s}:]",
    "HASH({v}) = HASH({w})", "CASE WHEN {s} > 0 THEN {v} ELSE {w} END", "COALESCE({v}, {w})",
    "{v} IS DISTINCT FROM {w}", "{v} BETWEEN {s} AND {t}",
]  # fmt: skip


@pytest.fixture(scope="module")
def ds():
    """Return a lake with each value in dense, ragged and nullable columns."""
    schema, data = {}, {}
    for name, values in VALUES.items():
        dtype, shape = values.dtype.name, values.shape[1:]
        forms = {"d": dl.Array(dtype, shape) if shape else dl.Scalar(dtype)}
        if shape and name not in "ro":  # a range, or a window, has a known length
            forms["r"] = dl.Array(dtype, (None,) * len(shape))
        forms["n"] = (
            dl.Array(dtype, shape, nullable=True) if shape else dl.Scalar(dtype, nullable=True)
        )
        for form, htype in forms.items():
            schema[f"{form}{name}"] = htype
            data[f"{form}{name}"] = [*values, None] if form == "n" else [*values, values[0]]
    ds = dl.create("memory://constant-arguments", schema, overwrite=True)
    ds.append(data)
    ds.commit("rows")
    return ds


def values(ds, text, params=None):
    """Return the values of an expression, None where null."""
    result = ds.query(f"SELECT {text} AS x", params or {})
    rows = [row["x"] for row in result]
    assert len(result["x"][:]) == len(result) == len(rows)
    return rows


def check(found, expected):
    assert (found is None) == (expected is None)
    if found is not None:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("form", ["d", "r", "n"])
def test_constant_argument_is_the_same_for_every_row(ds, expression, form):
    names = sorted({*re.findall(r"\{(\w)\}", expression)})
    columns = {n: f"{form}{n}" if f"{form}{n}" in ds.columns else f"d{n}" for n in names}
    expected = values(ds, expression.format(**columns))
    for count in range(1, len(names)):
        for fixed in itertools.combinations(names, count):
            texts = {**columns, **{n: f"${n}" for n in fixed}}
            for row in range(ROWS):
                params = {n: VALUES[n][row] for n in fixed}
                check(values(ds, expression.format(**texts), params)[row], expected[row])


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("value", ["ds", "ns", "LEN(rv)", "ds + 0", "rv[0]"])
def test_contains_searches_for_each_rows_value(ds, value, count):
    rows = ds[[0, 1, 2, 3] if count == 4 else list(range(count))]
    expected = values(rows, value)
    result = values(rows, f"CONTAINS($l, {value})", {"l": [7, 2, 1, 0]})
    assert result == [None if v is None else v in (7, 2, 1, 0) for v in expected]
    chosen = rows.query(f"SELECT ds WHERE CONTAINS($l, {value})", {"l": [7, 2, 1, 0]})
    assert len(chosen) == sum(
        v is True or v is np.True_ or bool(v) for v in result if v is not None
    )


def test_contains_works_in_a_join(ds):
    text = "SELECT a.ds AS i FROM dataset a JOIN dataset b ON CONTAINS([0, 2], a.ds) AND b.dt = 7"
    assert sorted(ds.query(text)["i"][:].tolist()) == [0, 0, 2]
