"""Queries read strings in one pass, only the needed parts of rows, and cached columns."""

from importlib import import_module

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run.cache import CACHE, ColumnCache
from deeplake_lite.query.run.sources import Source

WORDS = ["", "rose", "grüße 🌹", "a" * 300, "tulip"]


@pytest.fixture(autouse=True)
def _nothing_kept():
    CACHE.clear()


def texts(ds, name="text"):
    source = Source(ds, "ds")
    return source.scalar(ds.schema[name]).to_pylist()


def drawn(count, seed=0, *, nulls=False):
    picks = np.random.default_rng(seed).integers(len(WORDS) + nulls, size=count).tolist()
    return [WORDS[i] if i < len(WORDS) else None for i in picks]


@pytest.mark.parametrize("nulls", [False, True])
def test_strings_are_read_unchanged(nulls):
    given = drawn(5000, nulls=nulls)
    ds = dl.create(f"memory://texts-{nulls}", {"text": dl.Text(nullable=nulls)})
    ds.append({"text": given})
    assert texts(ds) == given  # from the open transaction
    ds.commit("texts")
    assert texts(dl.open(ds.url)) == given


def test_strings_of_many_chunks_and_of_the_tail_keep_their_order():
    ds, given = dl.create("memory://texts-far", {"text": dl.Text()}), []
    for part in range(4):
        more = [f"{part} {w} {i}" for i, w in enumerate(drawn(6000, part))]
        ds.append({"text": more})
        ds.commit("more")
        given += more
    given[5], given[20_000] = "changed", ""
    ds.update([5, 20_000], {"text": ["changed", ""]})
    ds.commit("changed")
    ds.delete([7, 300])
    ds.commit("deleted")
    kept = [t for i, t in enumerate(given) if i not in (7, 300)]
    opened = dl.open(ds.url)
    assert texts(opened) == kept
    order = np.random.default_rng(0).permutation(len(kept))
    assert texts(opened[order]) == [kept[i] for i in order]


def test_json_is_read_as_strings():
    ds = dl.create("memory://texts-json", {"meta": dl.Json(nullable=True)})
    ds.append({"meta": [{"a": 1}, None, [2, "x"]]})
    ds.commit("json")
    assert ds.query("SELECT meta['a'] AS a WHERE meta IS NOT NULL")["a"][:] == [1, None]


def test_slice_of_wide_rows_reads_only_its_bytes():
    values = np.random.default_rng(0).integers(255, size=(50, 64, 64, 3), dtype=np.uint8)
    ds = dl.create("memory://wide-parts", {"x": dl.Array("uint8", (64, 64, 3))})
    ds.append({"x": values})
    ds.commit("wide")
    view = dl.open(ds.url)
    result = view.query("SELECT x[10:12, ::2, -1] AS part, x[60, 3] AS pixel")
    source = result.record.plan.instances[0].source
    assert (result["part"][:] == values[:, 10:12, ::2, -1]).all()
    assert source.tally.bytes == 50 * 2 * 32
    assert (result["pixel"][:] == values[:, 60, 3]).all()
    result = view.query("SELECT x[::-1, 0] AS column")
    assert (result["column"][:] == values[:, ::-1, 0]).all()


@pytest.mark.parametrize(
    "index", ["[1]", "[1:3]", "[-1, 2]", "[..., 0]", "[3:1:-1, 5:2:-2]", "[1, 2, 0]"]
)
def test_parts_of_rows_agree_with_numpy(index):
    values = np.random.default_rng(0).standard_normal((9, 20, 30, 4)).astype("float32")
    ds = dl.create(f"memory://parts-{abs(hash(index))}", {"x": dl.Array("float32", (20, 30, 4))})
    ds.append({"x": values})
    ds.commit("wide")
    ds = dl.open(ds.url)
    expected = np.stack([eval(f"row{index}", {"row": row}) for row in values])
    assert np.array_equal(ds.query(f"SELECT x{index} AS y")["y"][:], expected)


def test_per_column_cache_of_a_function_is_built_once():
    vectors = np.random.default_rng(0).standard_normal((500, 8)).astype("float32")
    ds = dl.create("memory://kept", {"x": dl.Embedding(8)})
    ds.append({"x": vectors})
    ds.commit("vectors")
    asked = "SELECT * ORDER BY COSINE_SIMILARITY(x, ?) DESC LIMIT 5"
    norms = np.linalg.norm(vectors, axis=1)
    for seed in range(3):
        query = np.random.default_rng(seed).standard_normal(8).astype("float32")
        best = np.argsort(-(vectors @ query) / norms)[:5]
        result = ds.query(asked, [query])
        assert (result["x"][:] == vectors[best]).all()
        steps = result.record.steps
        assert [s.nbytes > 0 for s in steps if s.name == "i0"] == [seed == 0]
    ds.update([3], {"x": [np.full(8, 100.0)]})
    assert ds.query(asked, [np.ones(8)])["x"][0][0] == 100
    assert (ds.query(asked, [np.zeros(8)])["x"][:].shape) == (5, 8)


def test_column_larger_than_the_cache_is_never_in_memory_at_once(monkeypatch):
    monkeypatch.setattr(
        import_module("deeplake_lite.query.run.sources"), "CACHE", ColumnCache(100_000)
    )
    monkeypatch.setattr(import_module("deeplake_lite.query.tensors.stacked"), "BLOCK_BYTES", 50_000)
    ds = dl.create("memory://large", {"x": dl.Array("float32", (100,))})
    ds.append({"x": np.ones((1000, 100))})
    ds.commit("large")
    seen = []
    read = Source.values
    monkeypatch.setattr(
        Source, "values", lambda self, f, rows: seen.append(len(rows)) or read(self, f, rows)
    )
    assert len(ds.query("SELECT * WHERE SUM(x) = 100")) == 1000
    assert max(seen) * 400 <= 50_000
