"""Rows of the same shape are computed together, with the results of computing them one by one."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import by_shape, spans

BOXES = [np.arange(4 * (i % 4), dtype="float32").reshape(-1, 4) + i for i in range(40)]

EXPRESSIONS = [
    "SUM(boxes)",
    "MAX(boxes)",
    "ANY(boxes[:, 2] - boxes[:, 0] > 3)",
    "MEAN(AREA(boxes))",
    "IOU(boxes, boxes[::2])",
    "SUM(IOU_MATRIX(boxes, [[0, 0, 9, 9]]))",
    "SUM(IOU_MATRIX(boxes, emb[:4]))",
    "boxes[boxes[:, 0] > 5]",
    "boxes[k % 3]",
    "boxes[:k % 3, ::2]",
    "boxes[-1, k % 4] * k",
    "boxes * MEAN(boxes)",
    "SUM(maybe) + SUM(boxes)",
    "ANY(maybe > 2) AND ANY(boxes > 4)",
    "maybe[0] + emb[0]",
    "SHAPE(maybe)",
    "SHAPE(maybe)[0] * maybe",
    "image[0]",
    "MEAN(image) / SUM(numbers)",
    "numbers[-1]",
    "words[1]",
    "CONTAINS(words[0], 'a')",
    "HASH(boxes)",
    "note",
    "L2_DISTANCE(emb, vec)",
    "RESIZE(image, 4, 4)",
]


@pytest.fixture(scope="module")
def ds():
    rng = np.random.default_rng(0)
    ds = dl.create(
        "memory://alike",
        {
            "k": "int32",
            "boxes": dl.Boxes("xyxy"),
            "maybe": dl.Array("int16", (None,), nullable=True),
            "emb": dl.Embedding(5),
            "vec": dl.Embedding(5, nullable=True),
            "image": dl.Image("png"),
            "numbers": dl.Sequence("int32"),
            "words": dl.Sequence(dl.Text()),
            "note": dl.Text(nullable=True),
        },
        overwrite=True,
    )
    shapes = [(4 + i % 2, 5, 3) if i % 3 else (4, 4 + i % 3) for i in range(40)]
    ds.append(
        {
            "k": range(40),
            "boxes": BOXES,
            "maybe": [None if i % 5 == 2 else np.arange(i % 3) + i for i in range(40)],
            "emb": rng.normal(size=(40, 5)),
            "vec": [None if i % 7 == 1 else np.full(5, i) for i in range(40)],
            "image": [rng.integers(0, 256, shape, dtype="uint8") for shape in shapes],
            "numbers": [list(range(i % 4)) for i in range(40)],
            "words": [["a", "bc", "d"][: i % 3] for i in range(40)],
            "note": [None if i % 2 else str(i) for i in range(40)],
        }
    )
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_rows_computed_together_equal_rows_computed_alone(ds, text, monkeypatch):
    at_once = ds.query(f"SELECT {text} AS x")["x"][:]
    monkeypatch.setattr(spans, "SMALL_BYTES", -1)
    alone = ds.query(f"SELECT {text} AS x")["x"][:]
    assert len(at_once) == len(alone) == 40
    for a, b in zip(at_once, alone, strict=True):
        assert (a is None or a is np.ma.masked) == (b is None or b is np.ma.masked)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("text", EXPRESSIONS[:6])
def test_conditions_select_the_same_rows(ds, text, monkeypatch):
    at_once = ds.query(f"SELECT k ORDER BY {text}, k")["k"][:]
    monkeypatch.setattr(spans, "SMALL_BYTES", -1)
    np.testing.assert_array_equal(at_once, ds.query(f"SELECT k ORDER BY {text}, k")["k"][:])


def test_union_of_tensors_is_computed_shape_by_shape(ds):
    text = (
        "SELECT SUM(x) AS s, y FROM (SELECT boxes AS x, maybe * 2 AS y UNION ALL "
        "SELECT boxes[1:] AS x, maybe AS y)"
    )
    result = ds.query(text)
    assert result["s"][:].tolist() == [float(b.sum()) for b in BOXES + [b[1:] for b in BOXES]]
    assert result["y"][2] is None
    assert result["y"][3 + 40].tolist() == []


def test_function_runs_once_for_each_shape(ds, monkeypatch):
    shapes, called = [], by_shape._call

    def counted(bound, values, count):
        shapes.append(np.shape(values[0]))
        return called(bound, values, count)

    monkeypatch.setattr(by_shape, "_call", counted)
    ds.query("SELECT k WHERE SUM(boxes) > 5")
    assert sorted(shapes) == [(10, n, 4) for n in range(4)]


def test_equal_subtrees_are_computed_once(ds, monkeypatch):
    calls, called = [], by_shape._call

    def counted(*args):
        calls.append(1)
        return called(*args)

    monkeypatch.setattr(by_shape, "_call", counted)
    ds.query("SELECT k WHERE SUM((boxes + 1) * (boxes + 1)) > 5")
    assert len(calls) == 3 * 4
