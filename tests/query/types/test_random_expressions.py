"""Random nested expressions against NumPy: tensors by their axes, scalars per row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl

from ..case_files import same, values_of

ROWS = 7
FLOATS = np.random.default_rng(1).normal(size=(ROWS, 3, 4)).round(2)
BYTES = np.random.default_rng(2).integers(0, 256, (ROWS, 3, 4), dtype="uint8")
INTS = np.random.default_rng(3).integers(-50, 50, (ROWS, 4), dtype="int16")
A = np.random.default_rng(4).integers(-9, 9, ROWS, dtype="int32")
B = np.random.default_rng(5).normal(size=ROWS).round(2)


@cache
def lake() -> dl.Dataset:
    ds = dl.create(
        "memory://random-expressions",
        {
            "f": dl.Array("float64", (3, 4)),
            "u": dl.Array("uint8", (3, 4)),
            "v": dl.Array("int16", (4,)),
            "a": "int32",
            "b": "float64",
        },
    )
    ds.append({"f": FLOATS, "u": BYTES, "v": INTS, "a": A, "b": B})
    ds.commit("numbers")
    return ds


@dataclass(frozen=True)
class Expression:
    """A string, and its value per row: booleans are distinct from numbers."""

    text: str
    value: tuple[np.ndarray, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value[0].shape

    @property
    def is_bool(self) -> bool:
        return self.value[0].dtype == bool


def leaf(text: str, values) -> Expression:
    wide = [np.asarray(v) for v in values]
    return Expression(text, tuple(v if v.dtype.kind in "fb" else v.astype("int64") for v in wide))


LEAVES = [
    leaf("f", FLOATS), leaf("u", BYTES), leaf("v", INTS), leaf("a", A), leaf("b", B),
    leaf("2", [np.int64(2)] * ROWS), leaf("0.5", [0.5] * ROWS), leaf("-3", [np.int64(-3)] * ROWS),
    leaf("[1, 2, 3, 4]", [np.arange(1, 5)] * ROWS),
]  # fmt: skip


def each(text: str, apply, *parts: Expression) -> Expression:
    with np.errstate(all="ignore"):
        rows = zip(*(p.value for p in parts), strict=True)
        return Expression(text, tuple(np.asarray(apply(*row)) for row in rows))


ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
COMPARISON = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal,
    "<>": np.not_equal,
}  # fmt: skip
REDUCTIONS = {
    "SUM": np.sum, "MEAN": np.mean, "MIN": np.min, "MAX": np.max, "STD": np.std, "VAR": np.var,
    "MEDIAN": np.median,
}  # fmt: skip
INDICES = {
    2: [
        ("0", 0), ("-1", -1), ("1, 2", (1, 2)), (":, 1", np.s_[:, 1]), ("::2", np.s_[::2]),
        ("..., 0", np.s_[..., 0]), ("1:, ::-1", np.s_[1:, ::-1]), ("-2:, 1:3", np.s_[-2:, 1:3]),
        ("::-1, ...", np.s_[::-1, ...]), ("0, -2:", np.s_[0, -2:]),
    ],
    1: [("0", 0), ("-1", -1), ("::2", np.s_[::2]), ("1:", np.s_[1:]), ("::-1", np.s_[::-1])],
}  # fmt: skip


def fits(x: Expression, y: Expression) -> bool:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


@st.composite
def deeper(draw, parts):
    """Return an expression with one more layer."""
    x = draw(parts)
    kind = draw(st.sampled_from(["arithmetic", "compare", "reduce", "index", "unary", "axis"]))
    if kind == "index" and len(x.shape) in INDICES:
        text, index = draw(st.sampled_from(INDICES[len(x.shape)]))
        try:
            return each(f"({x.text})[{text}]", lambda v: v[index], x)
        except IndexError:
            return x
    if kind == "reduce" and x.shape and not x.is_bool:
        name = draw(st.sampled_from(sorted(REDUCTIONS)))
        return each(f"{name}({x.text})", REDUCTIONS[name], x)
    if kind == "axis" and x.shape and not x.is_bool:
        name, axis = draw(st.sampled_from(sorted(REDUCTIONS))), draw(st.sampled_from([0, -1]))
        return each(f"{name}({x.text}, axis = {axis})", lambda v: REDUCTIONS[name](v, axis), x)
    if x.is_bool:
        if x.shape:
            name = draw(st.sampled_from(["ANY", "ALL"]))
            return each(f"{name}({x.text})", np.any if name == "ANY" else np.all, x)
        return each(f"NOT ({x.text})", np.logical_not, x)
    if kind == "unary":
        name, apply = draw(st.sampled_from([("-", np.negative), ("ABS", np.abs)]))
        return each(f"{name}({x.text})", apply, x)
    y = draw(parts.filter(lambda p: not p.is_bool and fits(p, x)))
    table = COMPARISON if kind == "compare" else ARITHMETIC
    sign = draw(st.sampled_from(sorted(table)))
    return each(f"({x.text}) {sign} ({y.text})", table[sign], x, y)


expressions = st.recursive(st.sampled_from(LEAVES), deeper, max_leaves=5)


def small(e: Expression) -> bool:
    """Tell whether numbers are small enough for int64 and rounding not to matter."""
    return bool(all(np.all(np.abs(v.astype(float)) < 1e12) for v in e.value))


@given(expressions.filter(small))
def test_expression_agrees_with_numpy(e):
    result = values_of(lake().query(f"SELECT {e.text} AS x"))["x"]
    assert len(result) == ROWS
    for got, expected in zip(result, e.value, strict=True):
        assert same(np.asarray(got, float), expected.astype(float)), e.text


def number(e: Expression) -> Expression:
    """Return one number per row of an expression."""
    return each(f"SUM({e.text})", np.sum, e) if e.shape else e


def condition(e: Expression) -> Expression:
    """Return one truth value per row of an expression."""
    e = e if e.is_bool else each(f"({e.text}) > 0", lambda v: v > 0, e)
    return each(f"ANY({e.text})", np.any, e) if e.shape else e


@given(expressions.map(number).filter(small))
def test_rows_sort_by_an_expression(e):
    result = lake().query(f"SELECT {e.text} AS x ORDER BY x DESC")
    expected = sorted((float(v) for v in e.value), reverse=True)
    assert np.allclose([float(v) for v in values_of(result)["x"]], expected, rtol=1e-6)


@given(expressions.filter(small).map(condition))
def test_rows_are_selected_by_an_expression(e):
    result = lake().query(f"SELECT a, b WHERE {e.text}")
    assert values_of(result)["b"] == [float(b) for b, v in zip(B, e.value, strict=True) if v]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f[0] + u[0] * 2 > v", FLOATS[:, 0] + BYTES[:, 0] * 2.0 > INTS),
        ("(f[1:] - MEAN(f))[..., ::-1]", (FLOATS[:, 1:].T - FLOATS.mean((1, 2))).T[..., ::-1]),
    ],
)
def test_some_handwritten_expressions(text, expected):
    assert same(values_of(lake().query(f"SELECT {text} AS x"))["x"], list(expected))
