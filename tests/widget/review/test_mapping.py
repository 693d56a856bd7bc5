"""The map: where rows lie, what colours them, and that it stays put while queries filter."""

import sys
import types

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.review import mapping
from deeplake_lite.widget.review.embedding import Axes, umap


@pytest.fixture
def lake(make_lake):
    random = np.random.default_rng(0)
    labels = np.arange(300) % 3
    vectors = 3 * np.eye(3, 10)[labels] + 0.1 * random.normal(size=(300, 10))
    return make_lake(
        {
            "label": dl.ClassLabel(["ant", "bee", "cat"], nullable=True),
            "x": dl.Scalar("float32", nullable=True),
            "name": "text",
            "embedding": dl.Embedding(10, nullable=True),
        },
        label=[None, *labels[1:].tolist()],
        x=[None, *np.arange(299.0)],
        name=[f"row {i % 4}" for i in range(300)],
        embedding=[*vectors[:299], None],
    )


def points(page, **fields):
    reply, data = page.ask("points", **{"column": "embedding", **fields})
    assert reply["ok"], reply

    def part(name, dtype):
        start, size = reply["v"][name]
        assert start % 4 == 0
        return np.frombuffer(data[start : start + size], dtype)

    xy, positions = part("xy", "<f4").reshape(-1, 2), part("positions", "<u4")
    kind = reply["colour"] and ("<i4" if reply["colour"]["kind"] == "classes" else "<f4")
    return reply, xy, positions, None if kind is None else part("colour", kind)


def test_rows_alike_lie_together(lake, page):
    reply, xy, positions, colour = points(page(lake), colour="label")
    assert (reply["n"], reply["of"]) == (299, 300)
    assert positions.tolist() == list(range(299))
    assert reply["colour"] == {"kind": "classes", "names": ["ant", "bee", "cat"]}
    assert colour[0] == -1
    assert xy.min() >= 0
    assert xy.max() <= 1
    centres = [xy[positions % 3 == c].mean(axis=0) for c in range(3)]
    spread = max(xy[positions % 3 == c].std() for c in range(3))
    apart = min(np.linalg.norm(centres[a] - centres[b]) for a, b in ((0, 1), (0, 2), (1, 2)))
    assert apart > 0.4
    assert spread < apart


def test_colours_are_numbers_and_texts_too(lake, page):
    shown = page(lake)
    reply, *_, colour = points(shown, colour="x")
    assert reply["colour"] == {"kind": "numbers", "range": [0.0, 297.0]}
    assert np.isnan(colour[0])
    reply, *_, colour = points(shown, colour="name")
    assert reply["colour"]["names"] == ["row 0", "row 1", "row 2", "row 3"]
    assert colour[:5].tolist() == [0, 1, 2, 3, 0]
    assert points(shown)[0]["colour"] is None
    assert "coloured by" in shown.fails("points", column="embedding", colour="embedding")["message"]


def test_the_map_stays_put_while_queries_filter(lake, page):
    shown = page(lake)
    _, xy, positions, _ = points(shown)
    shown.w.query = "SELECT * WHERE label = 'bee' ORDER BY x DESC"
    _, fewer, some, _ = points(shown)
    assert len(fewer) == 99 or len(fewer) == 100
    rows = shown.w.view["x"][:].astype(int) + 1
    assert np.allclose(fewer, xy[rows[some]])
    assert positions.max() == 298


def test_many_rows_are_sampled(lake, page, monkeypatch):
    monkeypatch.setattr(mapping, "MOST_POINTS", 50)
    monkeypatch.setattr(mapping, "FITTED_ROWS", 80)
    reply, _, positions, _ = points(page(lake))
    assert reply["of"] == 300
    assert 49 <= reply["n"] <= 50
    assert (np.diff(positions.astype(int)) > 0).all()


def test_axes_are_those_of_the_singular_value_decomposition():
    random = np.random.default_rng(0)
    found = (random.normal(size=(500, 20)) * np.linspace(5, 0.1, 20)).astype(np.float32)
    _, _, axes = np.linalg.svd(found - found.mean(axis=0), full_matrices=False)
    mine = Axes.of(found).axes
    assert np.allclose(np.abs(mine.T @ axes[:2].T), np.eye(2), atol=0.02)
    assert (np.take_along_axis(mine, np.abs(mine).argmax(axis=0)[np.newaxis], 0) > 0).all()


def test_few_rows_and_none_have_a_map(make_lake, page):
    for rows in (0, 1, 2):
        lake = make_lake({"embedding": dl.Embedding(3)}, embedding=np.eye(3)[:rows])
        assert points(page(lake))[0]["n"] == rows


def test_what_has_no_map_is_said(lake, page):
    shown = page(lake)
    assert "a column of vectors" in shown.fails("points", column="label")["message"]
    assert "'pca' or 'umap'" in shown.fails("points", column="embedding", method="tsne")["message"]
    assert shown.w.about["embeddings"] == ["embedding"]


def test_without_umap_the_way_to_install_it_is_said(lake, page, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    error = page(lake).fails("points", column="embedding", method="umap")
    assert 'pip install "deeplake-lite[umap]"' in error["message"]
    assert error["kind"] == "MissingPackageError"


@pytest.mark.slow
def test_umap_lays_out_the_rows_without_tensorflow(lake, page):
    loaded = "tensorflow" in sys.modules
    _, xy, positions, _ = points(page(lake), method="umap")
    assert len(xy) == 299
    assert ("tensorflow" in sys.modules) == loaded
    near = [np.linalg.norm(xy[0] - xy[i]) for i in (3, 6, 9)]
    far = [np.linalg.norm(xy[0] - xy[i]) for i in (1, 2, 4)]
    assert max(near) < min(far)
    assert positions[-1] == 298


def test_three_rows_are_too_few_for_umap():
    assert umap(np.eye(3, dtype=np.float32)).shape == (3, 2)


def test_a_vector_that_is_not_finite_leaves_the_others_where_they_are(make_lake, page):
    vectors = np.random.default_rng(0).standard_normal((20, 3)).astype("f4")
    vectors[4, 1], vectors[7] = np.nan, np.inf
    shown = page(make_lake({"v": dl.Array("float32", (3,))}, v=vectors))
    _, xy, positions, _ = points(shown, column="v")
    assert positions.tolist() == [i for i in range(20) if i not in (4, 7)]
    assert np.ptp(xy, axis=0).max() > 0.9


def test_cells_of_the_notebook_may_load_tensorflow_while_umap_works(monkeypatch):
    class Umap:
        def __init__(self, **_):
            pass

        def fit_transform(self, found):
            assert sys.modules.get("tensorflow", "away") is not None
            return found[:, :2]

    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=Umap))
    assert umap(np.eye(5, dtype=np.float32)).shape == (5, 2)
    assert "tensorflow" not in sys.modules
