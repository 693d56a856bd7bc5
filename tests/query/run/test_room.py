"""Intermediate results take bounded memory, however small the columns are."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.functions import binding, room
from deeplake_lite.query.tensors import by_shape

MAX_BYTES = 1 << 22
"""The memory limit for stacked rows in these tests."""

ROWS, LENGTH = 60, 600


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    rng = np.random.default_rng(0)
    vectors = rng.integers(0, 9, (ROWS, LENGTH)).astype("float32")
    boxes = np.concatenate([rng.random((ROWS, LENGTH, 2)), 2 + rng.random((ROWS, LENGTH, 2))], 2)
    schema = {
        "v": dl.Embedding(LENGTH), "r": dl.Array("float32", (None,)),
        "n": dl.Array("float32", (None,), nullable=True), "b": dl.Boxes("xyxy"),
        "m": dl.Array("float32", (None, 2)), "k": "int64",
    }  # fmt: skip
    ds = dl.create("memory://room", schema, overwrite=True)
    ragged = [v[: LENGTH - row % 3] for row, v in enumerate(vectors)]
    some = [v if row % 5 else None for row, v in enumerate(ragged)]
    ds.append(
        {
            "v": vectors, "r": ragged, "n": some, "b": list(boxes[:, :200]),
            "m": [v[:100].reshape(-1, 2) for v in vectors],
            "k": np.arange(ROWS) % 2,
        }
    )  # fmt: skip
    ds.commit("rows")
    ds.query("SELECT k, MAX(SUM(v)) AS x WHERE SUM(r) > 0 GROUP BY k")["x"][:]  # imports
    return ds


def outer(v):
    return None if v is None else float((v[:, None] * v[None, :]).sum())


def chain(v):
    return float((v[:, None] + v[None, :] - v[:, None] * v[None, :]).max())


def greatest(v):
    return float(np.maximum(v[:, None], v[None, :]).mean(dtype=np.float64))


WIDE = {
    "SUM({0}[:, None] * {0}[None, :])": outer,
    "MAX({0}[:, None] + {0}[None, :] - {0}[:, None] * {0}[None, :])": chain,
    "MEAN(GREATEST({0}[:, None], {0}[None, :]))": greatest,
}


@pytest.fixture
def small_room(monkeypatch):
    """Limit the memory of stacked rows."""
    for module in (room, by_shape, binding):
        monkeypatch.setattr(module, "STACK_BYTES", MAX_BYTES)


@contextmanager
def bounded():
    """Check that allocations hardly exceed the limit for rows, of which three results are held."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * MAX_BYTES


@pytest.mark.parametrize("column", ["v", "r", "n"])
@pytest.mark.parametrize("text", WIDE)
@pytest.mark.usefixtures("small_room")
def test_fewer_rows_are_stacked_if_intermediate_results_are_large(ds, text, column):
    expected = [None if v is None else WIDE[text](v) for v in ds[column][:]]
    with bounded():
        result = ds.query(f"SELECT {text.format(column)} AS x")["x"][:]
    for a, b in zip(np.ma.asarray(result).tolist(), expected, strict=True):
        assert (a is None) == (b is None)
        assert a is None or a == pytest.approx(b, rel=1e-5)


@pytest.mark.parametrize("text", ["MEAN(IOU_MATRIX(b, b))", "MAXSIM(m, m)"])
@pytest.mark.parametrize("clause", ["SELECT k WHERE {} > 0", "SELECT {} AS x"])
@pytest.mark.usefixtures("small_room")
def test_pairs_of_boxes_and_products_of_vectors_are_bounded(ds, clause, text):
    with bounded():
        result = ds.query(clause.format(text))
        assert len(result[result.columns[0]][:]) == ROWS


@pytest.mark.usefixtures("small_room")
def test_groups_and_pairs_of_rows_are_bounded(ds):
    every = [outer(v) for v in ds["v"][:]]
    with bounded():
        result = ds.query("SELECT k, MAX(SUM(v[:, None] * v[None, :])) AS x GROUP BY k")["x"][:]
    assert result == pytest.approx([max(every[::2]), max(every[1::2])], rel=1e-5)
    pairs = "SELECT SUM(a.v[:, None] * b.v[None, :]) AS x FROM ds AS a JOIN ds AS b ON a.k < b.k"
    with bounded():
        assert len(ds.query(f"{pairs} LIMIT 60")["x"][:]) == 60
        assert len(ds.query(f"{pairs} WHERE SUM(a.v[:, None] * b.v[None, :]) >= 0")) == ROWS**2 // 4


TOO_LARGE = [
    "v[:, None, None] * v[None, :, None] * v[None, None, :] * r[:, None, None, None]",
    "r[:, None, None, None] + r[:, None, None] + r[:, None] + r",
    "CLIP(r[:, None, None, None] + r[:, None, None], r[:, None], r)",
    "RESIZE(m, 40000, 40000)",
    "RESIZE(m, 40000 + k, 40000)",
    "RESIZE(RESIZE(m, 20000, 20000), 60000, 60000)",
]


@pytest.mark.parametrize(
    "clause", ["SELECT {} AS x", "SELECT MEAN({}) AS x", "SELECT k WHERE MAX({}) > 0"]
)
@pytest.mark.parametrize("text", TOO_LARGE)
def test_value_too_large_for_a_cell_is_refused_before_it_is_created(ds, text, clause):
    with pytest.raises(dl.QueryTypeError, match=r"must take at most 2 GiB.* GiB") as caught:
        ds[:2].query(clause.format(text))["x"][:]
    assert caught.value.place is not None
