"""Suspects are the labels that were made wrong, and their ranking is an ordinary view."""

import pickle

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.review import neighbour_cache
from deeplake_lite.review.confident import judge

CLASSES = ["ant", "bee", "cat", "dog"]


@pytest.fixture
def lake(make_lake):
    """Return rows around four directions; six have another's label, and one has none."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 4, 400)
    vectors = np.eye(4, 8)[truth] + 0.15 * random.normal(size=(400, 8))
    labels = truth.copy()
    labels[:6] = (labels[:6] + 1) % 4
    scores = np.full((400, 4), 0.1)
    scores[np.arange(400), truth] = 0.7
    given = [None if i == 399 else int(label) for i, label in enumerate(labels)]
    schema = {
        "label": dl.ClassLabel(CLASSES, nullable=True),
        "truth": "int32",
        "embedding": dl.Embedding(8),
        "scores": dl.Array("float32", (4,)),
        "name": "text",
    }
    return make_lake(
        schema,
        label=given,
        truth=truth,
        embedding=vectors,
        scores=scores,
        name=[CLASSES[i] for i in labels],
    )


@pytest.mark.parametrize("by", ["embedding", "scores"])
def test_wrong_labels_come_first_with_the_right_one_suggested(lake, by):
    result = lake.suspects("label", by=by)
    assert sorted(result.row_ids[:6].tolist()) == sorted(lake.row_ids[:6].tolist())
    assert result[:6]["suggested"][:].tolist() == result[:6]["truth"][:].tolist()
    assert result["suggested"].names == tuple(CLASSES)
    suspicion = result["suspicion"][:]
    assert (np.diff(suspicion) <= 0).all()
    assert suspicion.min() >= 0
    assert suspicion.max() <= 1
    assert len(result) == 399  # a row without a label cannot have a wrong one


def test_labels_may_be_strings_and_numbers(lake):
    texts = lake.suspects("name")
    assert set(texts.row_ids[:6].tolist()) == set(lake.row_ids[:6].tolist())
    assert texts[0]["suggested"] == CLASSES[texts[0]["truth"]]
    assert lake.suspects("truth")["suspicion"][:].max() < 0.5


def test_ranking_can_be_queried_sliced_and_loaded(lake):
    result = lake.suspects("label")
    assert len(result.query("SELECT * WHERE suggested != label")) == 6
    assert result[["label", "suspicion"]][:3].to_pandas().shape == (3, 2)
    [batch] = list(result[:6].batches(6))
    assert batch["suggested"].tolist() == result[:6]["truth"][:].tolist()
    assert lake[:100].suspects("label")[0]["suspicion"] > 0.8


def test_ranking_can_be_pickled_and_saved(lake):
    result = lake.suspects("label", by="scores")[:5]
    for again in (pickle.loads(pickle.dumps(result)), _saved(lake, result)):
        assert again.columns == result.columns
        assert again.row_ids.tolist() == result.row_ids.tolist()
        assert np.allclose(again["suspicion"][:], result["suspicion"][:])


def _saved(lake, view):
    view.save("five")
    return dl.open(lake.url).views()["five"]


def test_ranking_of_a_ranking_has_its_columns_once(lake):
    again = lake.suspects("label").suspects("label", by="scores")
    assert again.columns.count("suspicion") == 1
    assert len(again) == 399


def test_ranking_does_not_change_when_the_lake_does(lake):
    result = lake.suspects("label")
    before = result["label"][:6].tolist()
    lake.update(range(len(lake)), {"label": 0})
    lake.commit("all ants")
    assert result["label"][:6].tolist() == before


def test_few_rows_have_few_neighbours_or_none(make_lake):
    schema = {"label": "int32", "embedding": dl.Embedding(2)}
    assert len(make_lake(schema, label=[], embedding=[]).suspects("label")) == 0
    alone = make_lake(schema, label=[1], embedding=[[0, 1]]).suspects("label")
    assert alone["suspicion"][:].tolist() == [0]
    two = make_lake(schema, label=[1, 2], embedding=[[0, 1], [0, 1]]).suspects("label")
    assert two["suggested"][:].tolist() == [2, 1]


def test_rows_without_a_vector_are_left_out(make_lake):
    schema = {"label": "int32", "embedding": dl.Embedding(2, nullable=True)}
    lake = make_lake(schema, label=[1, 2, 3], embedding=[[0, 1], None, [0, 1]])
    assert sorted(lake.suspects("label")["label"][:].tolist()) == [1, 3]


def test_vectors_may_be_projected_onto_fewer_axes(lake, monkeypatch):
    monkeypatch.setattr("deeplake_lite.review.ranking.VECTOR_BYTES", 100)
    monkeypatch.setattr("deeplake_lite.review.ranking._MIN_AXES", 6)
    result = lake.suspects("label")
    assert len(set(result.row_ids[:8].tolist()) & set(lake.row_ids[:6].tolist())) >= 4


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"label": "lable"}, dl.ColumnNotFoundError, "Did you mean 'label'"),
        (
            {"label": "scores"},
            dl.SchemaError,
            "must have one class label, string or number per row",
        ),
        (
            {"label": "label", "by": "clip"},
            ValueError,
            r"by must be .* but it is 'clip'\. To use embeddings, .* as column=: 'embedding'",
        ),
        ({"label": "label", "column": "name"}, dl.SchemaError, "type of column 'name' is Text"),
        ({"label": "name", "by": "scores"}, dl.SchemaError, "one score per class of a ClassLabel"),
        ({"label": "label", "neighbours": 0}, ValueError, "an integer of at least 1, but it is 0"),
    ],
)
def test_unrankable_column_is_reported(lake, arguments, error, message):
    with pytest.raises(error, match=message):
        lake.suspects(**arguments)


def test_scores_that_are_not_probabilities_are_refused(lake):
    lake.update([3], {"scores": [[4.0, -1, 0, 0]]})
    with pytest.raises(dl.InvalidValueError, match=r"row 3.*Apply softmax"):
        lake.suspects("label", by="scores")


def test_ambiguous_vector_column_must_be_named(make_lake):
    schema = {"label": "int32", "a": dl.Embedding(2), "b": dl.Embedding(2)}
    lake = make_lake(schema, label=[1], a=[[0, 1]], b=[[0, 1]])
    with pytest.raises(dl.SchemaError, match="there are several: 'a', 'b'"):
        lake.suspects("label")
    assert len(lake.suspects("label", column="b")) == 1


def test_unused_class_is_never_suggested():
    given = np.array([[0.2, 0.1, 0.7], [0.5, 0.3, 0.2], [0.1, 0.7, 0.2]], np.float32)
    _, suggested = judge(np.array([0, 0, 1]), lambda: [(slice(0, 3), given)], 3)
    assert suggested.tolist() == [0, 0, 1]


def test_non_finite_vector_is_nobodys_neighbour(make_lake):
    vectors = np.repeat(np.eye(2, dtype="f4"), 10, axis=0)
    vectors[3] = np.nan
    labels = ["a"] * 10 + ["b"] * 10
    lake = make_lake({"label": "text", "v": dl.Array("float32", (2,))}, label=labels, v=vectors)
    result = lake.suspects("label", column="v")
    assert len(result) == 19
    assert result["suspicion"][:].max() < 0.5


def test_only_embedding_columns_are_suggested(make_lake):
    schema = {"image": "image", "label": "int32", "looks": dl.Embedding(2)}
    lake = make_lake(schema)
    with pytest.raises(
        ValueError, match=r"but it is 'image'. To use embeddings, .* as column=: 'looks'\.$"
    ):
        lake.suspects("label", by="image")
    with pytest.raises(ValueError, match="by='embedding', column='looks'"):
        lake.suspects("label", by="looks")
    with pytest.raises(
        ValueError, match=r"no column of embeddings\. Add a column of type dl\.Embedding"
    ):
        make_lake({"image": "image", "label": "int32"}).suspects("label", by="image")


@pytest.fixture
def searches(monkeypatch):
    """Count the searches for neighbours."""
    result, search = [], neighbour_cache.nearest
    neighbour_cache.CACHE.clear()
    monkeypatch.setattr(
        neighbour_cache, "nearest", lambda *a: (result.append(len(a[0])), search(*a))[1]
    )
    return result


def test_neighbours_are_searched_once_if_only_labels_change(lake, searches):
    first = lake.suspects("label")
    lake.update(np.arange(6), {"label": first["truth"][:6].tolist()})
    lake.commit("mended")
    again = lake.suspects("label")
    assert searches == [399]
    lake.suspects("truth", neighbours=10)  # one row more has a label
    assert searches == [399, 400]
    neighbour_cache.CACHE.clear()
    assert again["suspicion"][:].tolist() == lake.suspects("label")["suspicion"][:].tolist()


def test_neighbours_are_searched_again_when_vectors_rows_or_their_number_change(lake, searches):
    lake.suspects("label")
    lake["embedding"][3] = np.ones(8)
    lake.suspects("label")
    lake.delete(5)
    lake.suspects("label")
    lake.suspects("label", neighbours=5)
    assert searches == [399, 399, 398, 398]


def test_zero_vector_is_near_nothing_and_never_suspected(make_lake):
    vectors = [[1, 0]] * 12 + [[0, 0], [1, 0.01]]
    ds = make_lake({"kind": dl.ClassLabel(["a", "b"]), "e": dl.Embedding(2)},
                   kind=[1] * 12 + [0, 0], e=vectors)  # fmt: skip
    ranked = ds.suspects("kind")
    assert ranked["e"][0].tolist() == pytest.approx([1, 0.01])
    [zero] = [i for i, e in enumerate(ranked["e"][:]) if not e.any()]
    assert ranked["suspicion"][zero] == 0
    assert ranked["suggested"][zero] == 0
