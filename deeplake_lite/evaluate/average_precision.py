"""Average precision and recall, by the rules of COCO.

See `COCOeval.accumulate` in https://github.com/cocodataset/cocoapi. The predictions of a class in
all images are sorted by score. The precision at a recall is the maximum precision at that recall or
any higher recall. The average precision is the mean over 101 recalls.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.evaluate.matching import Floats, Numbers

THRESHOLDS = np.linspace(0.5, 0.95, 10)
"""Minimum overlaps for a match. COCO averages metrics over these ten values."""

RECALLS = np.linspace(0.0, 1.0, 101)
"""Recalls at which precision is measured."""

AREAS = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""Maps the name of each range of areas to its limits, in square pixels."""

WRONG, RIGHT, IGNORED = 0, 1, 2
"""Outcomes of a prediction: it matches no true object, it matches one, or it does not count."""

_TINY = float(np.spacing(1))


@dataclass(frozen=True, eq=False)
class JudgedPredictions:
    """Predictions with the outcomes of matching them to true objects."""

    classes: Numbers
    """Class of each prediction, (n,) int64."""
    scores: Floats
    """Score of each prediction, (n,) float64."""
    ranks: Numbers
    """Number of predictions of the same class and row with a higher score, (n,) int64."""
    outcomes: NDArray[np.uint8]
    """`WRONG`, `RIGHT` or `IGNORED`, (n, areas, thresholds) uint8."""


@dataclass(frozen=True, eq=False)
class Averages:
    """Precision and recall of each class."""

    precision: Floats
    """Mean precision over recalls, (classes, areas, thresholds) float64; NaN without true objects.
    """
    recall: Floats
    """Recall if each row has at most `limits` predictions per class, (classes, areas, thresholds,
    limits) float64; NaN without true objects."""
    curves: Floats
    """Precision at each recall for all areas, (classes, thresholds, recalls) float64."""
    score: Floats
    """Score at which each recall is reached, or 0 if it is not reached; shape as `curves`."""


def average(judged: JudgedPredictions, truth: Numbers, limits: Sequence[int]) -> Averages:
    """Return the precision and recall of each class.

    Parameters
    ----------
    judged : JudgedPredictions
        The predictions of all rows, sorted by row and then by descending score.
    truth : ndarray, (classes, areas) int64
        Number of true objects of each class in each range of areas.
    limits : sequence of int
        Maximum numbers of predictions of a class that count in a row, in ascending order.
    """
    classes, areas = truth.shape
    thresholds = judged.outcomes.shape[2]
    precision = np.full((classes, areas, thresholds), np.nan)
    recall = np.full((classes, areas, thresholds, len(limits)), np.nan)
    curves = np.full((classes, thresholds, len(RECALLS)), np.nan)
    score = np.full_like(curves, np.nan)
    order = np.lexsort((-judged.scores, judged.classes))  # keeps row order for ties
    bounds = np.searchsorted(judged.classes[order], np.arange(classes + 1))
    for number in range(classes):
        of_class = order[bounds[number] : bounds[number + 1]]
        ranks = judged.ranks[of_class]
        for area in np.flatnonzero(truth[number]):
            total = int(truth[number, area])
            outcomes = judged.outcomes[of_class, area]
            for n, limit in enumerate(limits):
                right = (outcomes == RIGHT) & (ranks < limit)[:, np.newaxis]
                recall[number, area, :, n] = right.sum(axis=0) / total
            at, values = _curves(outcomes, total)
            precision[number, area] = values.mean(axis=1)
            if area == 0:
                curves[number] = values
                padded = np.append(judged.scores[of_class], 0.0)
                score[number] = padded[at]
    return Averages(precision, recall, curves, score)


def _curves(outcomes: NDArray[np.uint8], total: int) -> tuple[Numbers, Floats]:
    """Return the prediction that reaches each recall, and the precision at each recall.

    Returns
    -------
    at : ndarray, (thresholds, recalls) int64
        Index of the prediction, or the number of predictions if the recall is not reached.
    precision : ndarray, (thresholds, recalls) float64
        0 if the recall is not reached.
    """
    count, thresholds = outcomes.shape
    right = np.cumsum(outcomes == RIGHT, axis=0, dtype=np.float64)
    wrong = np.cumsum(outcomes == WRONG, axis=0, dtype=np.float64)
    recall, precision = right / total, right / (right + wrong + _TINY)
    best = np.maximum.accumulate(precision[::-1], axis=0)[::-1]
    at = np.stack([np.searchsorted(recall[:, t], RECALLS) for t in range(thresholds)])
    padded = np.concatenate([best, np.zeros((1, thresholds))])
    return at, padded[np.minimum(at, count), np.arange(thresholds)[:, np.newaxis]]
