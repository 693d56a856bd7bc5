import numpy as np
import pytest
from sklearn import metrics

import deeplake_lite as dl

NAMES = ["sky", "road", "tree"]


def masks(seed, n=6, *, classes=3, void=True):
    random = np.random.default_rng(seed)
    truth = random.integers(0, classes, (n, 12, 17)).astype("uint8")
    other = random.integers(0, classes, truth.shape).astype("uint8")
    guess = np.where(random.random(truth.shape) < 0.6, truth, other)
    if void:
        truth[random.random(truth.shape) < 0.1] = 255
    return truth, guess


def lake(url, truth, guess, names=NAMES):
    ds = dl.create(url, {"mask": dl.Mask(names=NAMES), "guess": dl.Mask(names=names)})
    ds.append({"mask": truth, "guess": guess})
    return ds


@pytest.mark.parametrize("seed", range(5))
def test_metrics_of_masks_are_those_of_scikit_learn(seed):
    truth, guess = masks(seed)
    result = lake(f"memory://masks-{seed}", truth, guess).evaluate("guess", "mask")
    a, b = truth[truth != 255], guess[truth != 255]
    iou = metrics.jaccard_score(a, b, average=None)
    np.testing.assert_allclose(result.classes["iou"], iou)
    np.testing.assert_allclose(result.classes["dice"], metrics.f1_score(a, b, average=None))
    assert result.summary["mean_iou"] == pytest.approx(iou.mean())
    assert result.summary["pixel_accuracy"] == pytest.approx(metrics.accuracy_score(a, b))
    np.testing.assert_array_equal(
        result.confusion.iloc[:3, :3], metrics.confusion_matrix(a, b, labels=range(3))
    )
    for n, row in enumerate(result.rows.itertuples()):
        own, other = truth[n][truth[n] != 255], guess[n][truth[n] != 255]
        assert row.accuracy == pytest.approx(metrics.accuracy_score(own, other))
        assert row.iou == pytest.approx(metrics.jaccard_score(own, other, average="macro"))


def test_classes_of_masks_are_matched_by_name():
    truth, guess = masks(0, void=False)
    other = np.array([2, 0, 1], "uint8")[guess]
    a = lake("memory://order-a", truth, guess)
    b = lake("memory://order-b", truth, other, ["road", "tree", "sky"])
    np.testing.assert_equal(
        a.evaluate("guess", "mask").summary, b.evaluate("guess", "mask").summary
    )


def test_a_class_can_be_ignored():
    truth, guess = masks(1, void=False)
    result = lake("memory://ignore", truth, guess).evaluate("guess", "mask", ignore=0)
    a, b = truth[truth != 0], guess[truth != 0]
    iou = metrics.jaccard_score(a, b, average=None, labels=[1, 2])
    np.testing.assert_allclose(result.classes["iou"][1:], iou)
    assert np.isnan(result.classes["iou"]["sky"])
    assert result.summary["mean_iou"] == pytest.approx(iou.mean())


def test_predicted_pixels_without_a_class_are_wrong():
    truth, guess = masks(2, void=False)
    guess[:, :3] = 255
    result = lake("memory://no-class", truth, guess).evaluate("guess", "mask")
    assert result.confusion["no class"].sum() == guess[:, :3].size
    assert result.summary["pixel_accuracy"] == pytest.approx((truth == guess).mean())


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32"])
def test_masks_without_names_are_matched_by_number(dtype):
    truth, guess = masks(3, classes=5)
    kind = dl.Mask(dtype=dtype)
    ds = dl.create(f"memory://plain-{dtype}", {"mask": kind, "guess": kind})
    ds.append({"mask": truth.astype(dtype), "guess": guess.astype(dtype)})
    result = ds.evaluate("guess", "mask")
    a, b = truth[truth != 255], guess[truth != 255]
    mean = metrics.jaccard_score(a, b, average="macro")
    assert result.summary["mean_iou"] == pytest.approx(mean)


def test_misuse_of_masks_is_reported():
    kinds = {"mask": dl.Mask(names=NAMES), "plain": dl.Mask(), "small": dl.Mask(names=NAMES)}
    ds = dl.create("memory://mask-misuse", kinds)
    ds.append(
        [
            {n: np.zeros((4, 4 if n != "small" or r == 0 else 3), "uint8") for n in kinds}
            for r in (0, 1)
        ]
    )
    with pytest.raises(
        dl.SchemaError, match=r"matched by name, but only one of .* has class names"
    ):
        ds.evaluate("plain", "mask")
    message = r"column 'small', row 1: a .* mask must have the same size as the true mask, \(4, 4\)"
    with pytest.raises(dl.InvalidValueError, match=message):
        ds.evaluate("small", "mask")
    with pytest.raises(dl.OptionError, match="has no option 'score'"):
        ds.evaluate("small", "mask", score=0.5)
