"""Null tensors in rows without elements, where an array's mask cannot represent them."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import spans

PRESENT = [True, False, True, False]
SHAPES = {"e": (3,), "m": (2, 3), "im": (2, 2, 3)}
EMPTY = [
    "e[3:]", "e[1:1]", "e[2:-3]", "e[5:9]", "m[:, 3:]", "m[2:]", "m[2:, 3:]", "m[..., 0:2][2:-3]",
    "im[:, 2:]", "im[..., 3:]", "(e * 2)[3:]", "e[3:] * 2", "e[3:][::-1]", "RESHAPE(m[2:], [0])",
    "FLATTEN(im[2:])", "CLIP(e[3:] % 3, 0, 1)", "TRANSPOSE(m[:, 3:])", "m[2:] > 1", "-e[3:]",
    "CASE WHEN k >= 0 THEN e[3:] ELSE e[:0] END", "CAST(e[3:] AS INT64)", "HALVED(e[3:])",
]  # fmt: skip
OF_EMPTY = [
    "LEN({})", "SHAPE({})", "NDIM({})", "SIZE({})", "ANY(({}) <> 0)", "ALL(({}) <> 0)", "ASUM({})",
    "L2_NORM({})", "SHAPE({})[0]", "LEN({}) + k", "HASH({})", "SORT({})", "UNIQUE({})",
]  # fmt: skip


@pytest.fixture(params=[spans.SMALL_BYTES, -1], ids=["many at once", "one by one"])
def ds(request, monkeypatch, registry):  # noqa: ARG001
    monkeypatch.setattr(spans, "SMALL_BYTES", request.param)
    schema = {name: dl.Array("int16", shape, nullable=True) for name, shape in SHAPES.items()}
    made = dl.create("memory://elements", {"k": "int64", **schema}, overwrite=True)
    rows = {n: [np.ones(s, "int16") if p else None for p in PRESENT] for n, s in SHAPES.items()}
    made.append({"k": range(4), **rows})
    dl.function(returns=dl.Array("float32", (None,)), name="HALVED")(lambda x: x / 2)
    return made


def present(values) -> list[bool]:
    return [value is not None and not np.ma.is_masked(value) for value in values]


@pytest.mark.parametrize("text", EMPTY)
def test_empty_part_is_null_where_the_row_is_null(ds, text):
    view = ds.query(f"SELECT {text} AS x")
    assert present(view["x"][:]) == PRESENT
    assert present(row["x"] for row in view) == PRESENT
    assert present(view.to_arrow()["x"].to_pylist()) == PRESENT
    assert present(value for batch in view.batches(3) for value in batch["x"]) == PRESENT


@pytest.mark.parametrize("text", EMPTY)
def test_function_of_no_elements_is_null_where_the_row_is_null(ds, text):
    every = [of.format(text) for of in OF_EMPTY]
    view = ds.query("SELECT " + ", ".join(f"{e} AS x{n}" for n, e in enumerate(every)))
    assert {e: present(view[f"x{n}"][:]) for n, e in enumerate(every)} == dict.fromkeys(
        every, PRESENT
    )


def test_null_rows_are_not_selected_by_a_condition_on_no_elements(ds):
    assert ds.query("SELECT k WHERE ALL(e[3:] >= 0)")["k"][:].tolist() == [0, 2]
    assert ds.query("SELECT k WHERE NOT ANY(m[:, 3:] > 0)")["k"][:].tolist() == [0, 2]
    assert ds.query("SELECT COALESCE(LEN(e[3:]), -1) AS x")["x"][:].tolist() == [0, -1, 0, -1]


def test_empty_choice_is_null_where_no_case_holds(ds):
    for chosen in ("CASE WHEN k < 2 THEN e[3:] END", "CASE WHEN k < 2 THEN e[3:] ELSE e END"):
        view = ds.query(f"SELECT {chosen} AS x")
        expected = [True, False, "ELSE" in chosen, False]
        assert present(view["x"][:]) == expected


def test_unmatched_row_of_a_join_has_a_null_empty_tensor(ds):
    whole = dl.create(
        "memory://whole", {"k": "int64", "w": dl.Array("int16", (4,))}, overwrite=True
    )
    whole.append({"k": [0, 2], "w": [[1, 2, 3, 4]] * 2})
    join = "SELECT {} AS x FROM ds AS a LEFT JOIN b ON a.k = b.k ORDER BY a.k"
    for text in ("b.w[4:]", "LEN(b.w[4:])", "ASUM(b.w[2:2] * 2)"):
        assert present(ds.query(join.format(text), sources={"b": whole})["x"][:]) == PRESENT
    lag = whole.query("SELECT LAG(w[2:-3]) OVER (ORDER BY k) AS x")["x"][:]
    assert present(lag) == [False, True]


def test_group_skips_nulls_without_elements(ds):
    assert present(ds.query("SELECT LIST(e[3:]) AS x")["x"][0]) == PRESENT
    assert ds.query("SELECT SUM(e[3:]) AS x GROUP BY k ORDER BY k").to_arrow()["x"].to_pylist() == [
        [],
        None,
        [],
        None,
    ]


def test_nulls_without_elements_survive_materialize_and_nesting(ds, tmp_path):
    inner = "SELECT LEN(y) AS x FROM (SELECT e[3:] AS y) AS q"
    assert present(ds.query(inner)["x"][:]) == PRESENT
    kept = ds.query("SELECT e[3:] AS x").materialize(str(tmp_path / "kept"))
    assert present(kept["x"][:]) == PRESENT


def test_shape_of_null_is_null_and_of_a_zero_dimensional_value_is_empty():
    schema = {
        "bytes": dl.Bytes(nullable=True),
        "text": dl.Text(nullable=True),
        "json": dl.Json(nullable=True),
        "number": dl.Scalar("int32", nullable=True),
        "any": dl.Array("int32", None, nullable=True),
    }
    ds = dl.create("memory://shapes-of-nulls", schema, overwrite=True)
    ds.append({name: [None, None] for name in schema})
    ds.append({"bytes": [b"a"], "text": ["a"], "json": [1], "number": [1], "any": [np.array(1)]})
    for name in schema:
        for limit, expected in ((2, [None, None]), (3, [None, None, []])):
            result = ds.query(f"SELECT SHAPE({name}) AS x LIMIT {limit}")["x"][:]
            assert [None if x is None else [*x] for x in result] == expected, name
