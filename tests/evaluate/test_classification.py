import numpy as np
import pytest
from sklearn import metrics

import deeplake_lite as dl

NAMES = [f"c{n}" for n in range(8)]


def labelled(url, seed, *, rows=200, dtype="float32"):
    """Return a lake of labels, scores for each class, and predicted classes, with the arrays."""
    random = np.random.default_rng(seed)
    truth = random.integers(0, 7, rows)  # the last class has no truth
    scores = random.gamma(1, 1, (rows, 8)) + 3 * np.eye(8)[truth] * random.random((rows, 1))
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)
    schema = {
        "label": dl.ClassLabel(NAMES),
        "scores": dl.Array(dtype, (8,)),
        "guess": dl.ClassLabel(NAMES[::-1]),
        "text": "text",
        "confidence": dtype,
    }
    ds = dl.create(url, schema)
    best = scores.argmax(axis=1)
    names = [NAMES[n] for n in best]
    ds.append(
        {
            "label": truth,
            "scores": scores,
            "guess": names,
            "text": names,
            "confidence": scores.max(axis=1),
        }
    )
    return ds, truth, scores


@pytest.mark.parametrize("seed", range(6))
def test_metrics_of_scores_are_those_of_scikit_learn(seed):
    ds, truth, scores = labelled(f"memory://scores-{seed}", seed)
    result = ds.evaluate("scores", "label")
    best, summary = scores.argmax(axis=1), result.summary
    assert result.kind == "classification"
    assert summary["accuracy"] == pytest.approx(metrics.accuracy_score(truth, best))
    top = metrics.top_k_accuracy_score(truth, scores, k=5, labels=range(8))
    assert summary["top5_accuracy"] == pytest.approx(top)
    loss = metrics.log_loss(truth, scores, labels=range(8))
    assert summary["log_loss"] == pytest.approx(loss, rel=1e-5)
    macro = metrics.precision_recall_fscore_support(truth, best, average="macro", zero_division=0)
    assert [summary[k] for k in ("precision", "recall", "f1")] == pytest.approx(macro[:3])
    weighted = metrics.f1_score(truth, best, average="weighted")
    assert summary["weighted_f1"] == pytest.approx(weighted)
    confusion = metrics.confusion_matrix(truth, best, labels=range(8))
    np.testing.assert_array_equal(result.confusion, confusion)
    own = metrics.precision_recall_fscore_support(truth, best, labels=range(8), zero_division=0)
    occurs = np.union1d(truth, best)
    for name, values in zip(("precision", "recall", "f1"), own, strict=False):
        np.testing.assert_allclose(result.classes[name].to_numpy()[occurs], values[occurs])


def test_predicted_classes_are_matched_by_name():
    ds, *_ = labelled("memory://by-name", 0)
    results = [ds.evaluate(name, "label") for name in ("scores", "guess", "text")]
    assert len({r.summary["accuracy"] for r in results}) == 1
    np.testing.assert_array_equal(results[1].confusion, results[0].confusion)
    assert results[1].class_names == tuple(NAMES)


def test_calibration_averages_the_gaps_of_the_bins():
    ds, truth, scores = labelled("memory://calibration", 1, dtype="float64")
    result = ds.evaluate("guess", "label", scores="confidence", bins=10)
    confidence, correct = scores.max(axis=1), scores.argmax(axis=1) == truth
    expected = 0
    for low in np.arange(10) / 10:
        inside = (confidence > low) & (confidence <= low + 0.1)
        if inside.any():
            expected += inside.mean() * abs(confidence[inside].mean() - correct[inside].mean())
    assert result.summary["ece"] == pytest.approx(expected)
    assert result.curve()["rows"].sum() == 200
    assert ds.evaluate("scores", "label", bins=10).summary["ece"] == pytest.approx(expected)


def test_nulls_are_left_out_and_counted():
    kind = dl.ClassLabel(["a", "b"], nullable=True)
    ds = dl.create("memory://nulls", {"label": kind, "guess": kind})
    ds.append({"label": ["a", None, "b", None, "a"], "guess": ["a", "b", None, None, "b"]})
    result = ds.evaluate("guess", "label")
    assert result.counts == {"rows": 2, "unlabelled": 2, "unpredicted": 1}
    assert result.summary["accuracy"] == 0.5
    assert result.rows.index.tolist() == ds.row_ids[[0, 4]].tolist()


def test_scores_that_are_not_probabilities_have_no_log_loss():
    ds = dl.create(
        "memory://logits", {"label": dl.ClassLabel(["a", "b"]), "logits": dl.Embedding(2)}
    )
    ds.append({"label": ["a", "b"], "logits": [[3, -1], [5, 2]]})
    result = ds.evaluate("logits", "label")
    assert result.summary["accuracy"] == 0.5
    assert not {"log_loss", "ece"} & result.summary.keys()
    assert "not probabilities" in repr(result)


def test_entries_of_scores_may_be_named():
    schema = {"label": "text", "scores": dl.Array("float32", (2,))}
    ds = dl.create("memory://named-scores", schema)
    ds.append({"label": ["dog", "cat"], "scores": [[0.2, 0.8], [0.4, 0.6]]})
    assert ds.evaluate("scores", "label", classes=["cat", "dog"]).summary["accuracy"] == 0.5
    with pytest.raises(
        dl.OptionError, match=r"the number of scores .*, which is 2, .* Pass classes="
    ):
        ds.evaluate("scores", "label")


def test_the_worst_rows_are_wrong_ones_with_the_highest_loss():
    ds, truth, scores = labelled("memory://worst", 2)
    worst = ds.evaluate("scores", "label").worst(7)
    loss = -np.log(scores[np.arange(200), truth]) + 100 * (scores.argmax(axis=1) != truth)
    np.testing.assert_array_equal(worst.row_ids, ds.row_ids[np.argsort(-loss, kind="stable")[:7]])


@pytest.mark.parametrize(
    ("predictions", "truth", "options", "error", "message"),
    [
        ("label", "label", {}, dl.OptionError, "must be two different columns"),
        ("number", "label", {}, dl.SchemaError, "matched by name, but only column 'label'"),
        (
            "vectors",
            "label",
            {},
            dl.OptionError,
            "number of scores in column 'vectors', which is 3",
        ),
        ("guess", "label", {"iou": 0.5}, dl.OptionError, "has no option 'iou'"),
        ("guess", "label", {"bins": 0}, dl.OptionError, "bins must be an integer of at least 1"),
        ("guess", "label", {"classes": ["a"]}, dl.OptionError, "classes= names the entries"),
        ("guess", "label", {"kind": "detection"}, dl.SchemaError, "needs a column of boxes"),
        ("tags", "label", {}, dl.SchemaError, "must both be boxes"),
        ("guess", "lable", {}, dl.ColumnNotFoundError, "Did you mean 'label'"),
        ("bad", "label", {}, dl.InvalidValueError, "column 'bad', row 1: scores must be finite"),
    ],
)
def test_misuse_is_reported(predictions, truth, options, error, message):
    schema = {
        "label": dl.ClassLabel(["a", "b"]),
        "guess": dl.ClassLabel(["a", "b"]),
        "number": "int32",
        "vectors": dl.Array("float32", (3,)),
        "bad": dl.Array("float32", (2,)),
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
    }
    ds = dl.create(f"memory://misuse-{predictions}-{truth}-{len(message)}", schema)
    ds.append(
        {
            "label": [0, 1],
            "guess": [0, 1],
            "number": [0, 1],
            "vectors": np.zeros((2, 3)),
            "bad": [[0, 1], [np.nan, 1]],
            "tags": [[0], [1]],
        }
    )
    with pytest.raises(error, match=message):
        ds.evaluate(predictions, truth, **options)
