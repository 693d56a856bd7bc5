"""The map: where rows are, what colours them, and that it stays put while queries filter."""

import json
import re
import sys
import types

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.review import embedding, mapping, point_cache
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


def test_similar_rows_are_close_to_each_other(lake, page):
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


def test_numbers_and_strings_are_colours_too(lake, page):
    shown = page(lake)
    reply, *_, colour = points(shown, colour="x")
    assert reply["colour"] == {"kind": "numbers", "range": [0.0, 297.0]}
    assert np.isnan(colour[0])
    reply, *_, colour = points(shown, colour="name")
    assert reply["colour"]["names"] == ["row 0", "row 1", "row 2", "row 3"]
    assert colour[:5].tolist() == [0, 1, 2, 3, 0]
    assert points(shown)[0]["colour"] is None
    assert "coloured by" in shown.fails("points", column="embedding", colour="embedding")["message"]


IMAGE = [np.zeros((4, 4, 3), "uint8")] * 2
COLUMNS = {
    **{
        name: (name, [1, 0])
        for name in ("int8", "uint64", "float16", "float32", "float64", "complex64",
                     "complex128")
    },
    "bool": ("bool", [True, False]),
    "date": ("datetime64[s]", ["2020-01-01", "2021-01-01"]),
    "moment": (dl.Scalar("datetime64[ns]", nullable=True), ["2020-01-01", None]),
    "span": ("timedelta64[ms]", ["1 ms", "2 ms"]),
    "null": (dl.Scalar("float32", nullable=True), [None, None]),
    "odd": ("float64", [np.nan, np.inf]),
    "class": (dl.ClassLabel(["a", "b"], nullable=True), ["a", None]),
    "number": (dl.ClassLabel(), [3, 4]),
    "classes": (dl.ClassLabel(["a"], multiple=True), [["a"], []]),
    "text": (dl.Text(nullable=True), ["a", None]),
    "texts": (dl.Sequence("text"), [["a"], []]),
    "numbers": (dl.Sequence("int32"), [[1], []]),
    "json": ("json", [{"a": 1}, 2]),
    "bytes": ("bytes", [b"a", b""]),
    "array": (dl.Array("float32", (3,)), np.zeros((2, 3), "float32")),
    "any": (dl.Array("int16", None), [np.zeros((2, 2), "int16"), np.int16(3)]),
    "image": ("image", IMAGE),
    "mask": ("mask", [np.zeros((4, 4), "uint8")] * 2),
    "boxes": ("boxes", [[[0, 0, 1, 1]], []]),
    "polygons": ("polygons", [[], []]),
    "keypoints": (dl.Keypoints(["a"]), [np.zeros((1, 1, 3)), np.zeros((0, 1, 3))]),
    "embedding": (dl.Embedding(2), np.eye(2, dtype="float32")),
}  # fmt: skip


@pytest.mark.parametrize("query", ["", "SELECT * LIMIT 2"])
def test_page_offers_only_columns_that_can_colour_points(query, make_lake, page, tmp_path):
    schema = {name: htype for name, (htype, _) in COLUMNS.items()}
    ds = make_lake(schema, **{name: values for name, (_, values) in COLUMNS.items()})
    shown = page(ds)
    shown.w.query = query
    offered = {c["name"] for c in shown.w.about["columns"] if c["colours"]}
    answers = {name: shown.ask("points", column="embedding", colour=name)[0] for name in COLUMNS}
    assert {name for name, reply in answers.items() if reply["ok"]} == offered
    assert not {"complex64", "complex128", "classes", "json", "embedding"} & offered
    for name in COLUMNS.keys() - offered:
        assert answers[name]["error"]["kind"] == "SchemaError"
        assert name in answers[name]["error"]["message"]
    text = shown.w.to_html(tmp_path / "page.html").read_text("utf-8")
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["points"]["embedding"].keys() == {"", *offered}


def test_map_stays_put_while_queries_filter(lake, page):
    shown = page(lake)
    _, xy, positions, _ = points(shown)
    shown.w.query = "SELECT * WHERE label = 'bee' ORDER BY x DESC"
    _, fewer, some, _ = points(shown)
    assert len(fewer) == 99 or len(fewer) == 100
    rows = shown.w.view["x"][:].astype(int) + 1
    assert np.allclose(fewer, xy[rows[some]])
    assert positions.max() == 298


def test_many_rows_are_sampled(lake, page, monkeypatch):
    monkeypatch.setattr(mapping, "MAX_POINTS", 50)
    monkeypatch.setattr(mapping, "FITTED_ROWS", 80)
    reply, _, positions, _ = points(page(lake))
    assert reply["of"] == 300
    assert 49 <= reply["n"] <= 50
    assert (np.diff(positions.astype(int)) > 0).all()


def test_axes_are_those_of_the_singular_value_decomposition():
    random = np.random.default_rng(0)
    result = (random.normal(size=(500, 20)) * np.linspace(5, 0.1, 20)).astype(np.float32)
    _, _, axes = np.linalg.svd(result - result.mean(axis=0), full_matrices=False)
    mine = Axes.of(result).axes
    assert np.allclose(np.abs(mine.T @ axes[:2].T), np.eye(2), atol=0.02)
    assert (np.take_along_axis(mine, np.abs(mine).argmax(axis=0)[np.newaxis], 0) > 0).all()


def test_few_rows_and_none_have_a_map(make_lake, page):
    for rows in (0, 1, 2):
        lake = make_lake({"embedding": dl.Embedding(3)}, embedding=np.eye(3)[:rows])
        assert points(page(lake))[0]["n"] == rows


def test_unmappable_column_is_reported(lake, page):
    shown = page(lake)
    assert "a column of vectors" in shown.fails("points", column="label")["message"]
    assert "'pca' or 'umap'" in shown.fails("points", column="embedding", method="tsne")["message"]
    assert shown.w.about["embeddings"] == ["embedding"]


def test_missing_umap_error_says_how_to_install_it(lake, page, monkeypatch):
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


def test_non_finite_vector_does_not_move_the_others(make_lake, page):
    vectors = np.random.default_rng(0).standard_normal((20, 3)).astype("f4")
    vectors[4, 1], vectors[7] = np.nan, np.inf
    shown = page(make_lake({"v": dl.Array("float32", (3,))}, v=vectors))
    _, xy, positions, _ = points(shown, column="v")
    assert positions.tolist() == [i for i in range(20) if i not in (4, 7)]
    assert np.ptp(xy, axis=0).max() > 0.9


def test_notebook_cells_may_load_tensorflow_while_umap_runs(monkeypatch):
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


@pytest.fixture
def read(monkeypatch):
    """Record how many vectors are read at a time."""
    result, real = [], embedding.read_values

    def noted(view, fields, positions, *more):
        result.append(len(positions))
        return real(view, fields, positions, *more)

    monkeypatch.setattr(embedding, "read_values", noted)
    return result


def test_vectors_are_read_once_while_queries_select_among_their_rows(lake, page, read):
    shown = page(lake)
    shown.w.query = "SELECT * WHERE label = 'ant'"
    _, few, some, _ = points(shown)
    assert read == [300, 99]
    shown.w.query = ""
    _, _, positions, _ = points(shown)
    assert read == [300, 99, 201]
    rows = lake["x"][:].filled(-1)[positions].astype(int) + 1
    assert (rows == positions).all()
    shown.asks("suspects", label="label", by="embedding", column="embedding")
    read.clear()
    assert points(shown)[0]["n"] == 298
    assert read == []
    shown.w.query = "SELECT * WHERE label = 'ant'"
    assert np.array_equal(points(shown)[1], few)
    assert np.array_equal(points(shown)[2], some)
    assert read == []


def test_map_survives_a_commit_of_labels_but_not_of_vectors_or_rows(lake, page, read):
    shown = page(lake)
    _, before, *_ = points(shown)
    shown.w.selected = [1, 2]
    shown.w.edit("label", "cat")
    shown.w.commit("mended")
    assert np.array_equal(points(shown)[1], before)
    assert read == [300, 300]  # the axes, then the points
    lake["embedding"][0] = 9 * np.ones(10)
    lake.commit("another vector")
    shown.w.refresh()
    assert not np.array_equal(points(shown)[1], before)
    lake.delete(0)
    lake.commit("a row less")
    shown.w.refresh()
    assert points(shown)[0]["n"] == 298
    assert read == [300, 300, 300, 300, 299, 299]


def test_column_with_the_same_name_and_other_values_has_its_own_map(lake, page):
    shown = page(lake)
    _, before, *_ = points(shown)
    shown.w.query = "SELECT label, embedding[1:4] AS embedding"
    reply, xy, *_ = points(shown)
    assert reply["n"] == 299
    assert not np.allclose(xy, before)


def test_number_of_cached_points_is_bounded(monkeypatch):
    monkeypatch.setattr(point_cache, "MAX_CACHED_ROWS", 5)
    asked = []

    def place(new):
        asked.append(new.tolist())
        return np.zeros((len(new), 2), np.float32)

    kept = point_cache.PointCache()
    for ids in ([1, 2, 3], [4, 5, 6], [4, 5], [1]):
        kept.get(np.array(ids), place)
    assert asked == [[0, 1, 2], [0, 1, 2], [0]]


SIZES = [1e-45, 1e-40, 1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e18, 1e19, 1e20, 1e30, 3e38]


def three_groups(size):
    """Return vectors in three groups, with `size` as their largest number."""
    vectors = np.eye(3, 5)[np.arange(30) % 3] + 0.05 * np.random.default_rng(0).normal(size=(30, 5))
    return vectors / np.abs(vectors).max() * size


@pytest.mark.parametrize("kind", ["embedding", "float16", "float32", "float64"])
@pytest.mark.parametrize("size", SIZES)
def test_vectors_of_any_scale_have_the_map_of_unit_vectors(size, kind, make_lake, page):
    vectors = three_groups(size)
    if kind == "float16" and not 1e-4 < size < 6e4:
        vectors = three_groups(6e4 if size > 1 else 1e-4)
    htype = dl.Embedding(5) if kind == "embedding" else dl.Array(kind, (5,))
    shown = page(make_lake({"v": htype}, v=vectors.astype(getattr(htype, "dtype", "float32"))))
    _, xy, positions, _ = points(shown, column="v")
    assert positions.tolist() == list(range(30))
    if size == 1e-45:  # float32 only has 0 and one other number there
        return
    _, expected, *_ = points(page(make_lake({"v": dl.Embedding(5)}, v=three_groups(1))), column="v")
    assert np.allclose(xy, expected, atol=0.02)


ODD = {
    "nothing": np.zeros((0, 3)),
    "one row": [[1e20, 0, 3e38]],
    "one tiny row": [[1e-40, 0, 0]],
    "two rows": [[1e20, 0, 0], [0, 1e20, 0]],
    "zeros": np.zeros((5, 3)),
    "one value": np.full((7, 3), 3.4e38),
    "one tiny value": np.full((7, 3), 1e-40),
    "both ends": [[3.4e38] * 3, [-3.4e38] * 3, [0, 0, 0]],
    "large and tiny": [[3e38, 0, 0], [1e-40, 0, 0], [0, 1e-20, 0], [0, 0, 1]],
    "close together": 1e20 * (1 + 1e-6 * np.eye(3)),
    "one is far": [[3e38, 1, 0], *np.eye(3)],
}
"""Vectors that are hard to scale."""


@pytest.mark.parametrize("kind", ["embedding", "float32", "float64"])
@pytest.mark.parametrize("name", ODD)
def test_degenerate_vectors_have_a_map(name, kind, make_lake, page, tmp_path):
    htype = dl.Embedding(3) if kind == "embedding" else dl.Array(kind, (3,))
    vectors = np.asarray(ODD[name], "f8" if kind == "float64" else "f4")
    shown = page(make_lake({"v": htype}, v=vectors))
    _, xy, positions, _ = points(shown, column="v")
    assert positions.tolist() == list(range(len(vectors)))
    assert np.isfinite(xy).all()
    assert ((xy >= 0) & (xy <= 1)).all()
    assert len(np.unique(xy, axis=0)) > 1 or len(np.unique(vectors, axis=0)) < 2
    shown.w.to_html(tmp_path / "page.html")


def test_vectors_out_of_range_have_no_position_and_move_no_other(make_lake, page):
    vectors = np.array([[1e20, 0, 0], [0, 1e20, 0], [1e300, 0, 0], [np.nan] * 3, [np.inf] * 3])
    shown = page(make_lake({"v": dl.Array("float64", (3,))}, v=vectors))
    _, xy, positions, _ = points(shown, column="v")
    assert positions.tolist() == [0, 1]
    assert np.ptp(xy, axis=0).max() > 0.9


def test_outlier_of_the_sample_is_placed_at_the_edge(make_lake, page, monkeypatch):
    monkeypatch.setattr(mapping, "FITTED_ROWS", 20)
    vectors = three_groups(1e-40).astype("f4")
    fitted = embedding.sample(30, 20)
    [far, *_] = [i for i in range(30) if i not in fitted]
    vectors[far] = 3e38
    _, xy, positions, _ = points(page(make_lake({"v": dl.Embedding(5)}, v=vectors)), column="v")
    assert positions.tolist() == list(range(30))
    assert set(xy[far]) & {0, 1}


def test_axes_do_not_depend_on_the_scale():
    result = np.random.default_rng(0).normal(size=(200, 20)).astype(np.float32)
    for exponent in (-100, -1, 0, 1, 120):
        other = Axes.of(np.ldexp(result, exponent))
        assert np.array_equal(other.axes, Axes.of(result).axes)
        placed_there = other.project(np.ldexp(result, exponent))
        assert np.array_equal(placed_there, Axes.of(result).project(result))


@pytest.mark.parametrize("size", [1e-40, 1e20, 3e38])
def test_umap_gets_vectors_whose_products_do_not_overflow(size, monkeypatch):
    class Umap:
        def __init__(self, **_):
            pass

        def fit_transform(self, found):
            assert 0.5 <= np.abs(found).max() <= 1
            return found[:, :2]

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=Umap))
    assert np.isfinite(umap((np.eye(5) * size).astype("f4"))).all()
