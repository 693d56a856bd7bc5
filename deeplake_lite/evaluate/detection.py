"""Evaluation of predicted objects: boxes, outlines, masks and keypoints.

Steps for each block of rows: read the objects (`objects`), compute the overlaps of objects in the
same row (`overlaps`), and match the objects (`matching`). Finally, average over all rows
(`average_precision`). Memory holds one block, and about 100 bytes for each prediction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.evaluate import overlaps as measures
from deeplake_lite.evaluate.average_precision import (
    AREAS,
    IGNORED,
    RECALLS,
    RIGHT,
    THRESHOLDS,
    WRONG,
    JudgedPredictions,
    average,
)
from deeplake_lite.evaluate.findings import Findings
from deeplake_lite.evaluate.matching import GroupedObjects, match
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.evaluate.average_precision import Averages
    from deeplake_lite.evaluate.matching import Flags, Floats, Numbers
    from deeplake_lite.evaluate.objects import ImageSizes, ObjectReader, Objects

BLOCK_ROWS = 512
"""Number of rows that are read at a time."""

MAX_PAIRS = 2**22
"""Maximum number of pairs of objects that are compared at a time. A row with more is not
divided."""

BACKGROUND = "background"
"""Name in the confusion matrix for the absence of an object."""


@dataclass(frozen=True)
class Rules:
    """The rules by which objects are matched and counted."""

    limits: tuple[int, ...]
    """Maximum numbers of predictions of a class that count in a row, in ascending order."""
    areas: tuple[str, ...]
    """Names of ranges of object areas, from `AREAS`. The first name is always ``"all"``."""
    iou: float
    """Minimum overlap of a match, for the counts and the confusion matrix."""
    score: float
    """Minimum score of a prediction, for counts and the confusion matrix."""
    sigmas: tuple[float, ...] | None = None
    """Spread of each keypoint; None if the objects are not keypoints."""

    @property
    def thresholds(self) -> Floats:
        """Minimum overlaps of a match: COCO's `THRESHOLDS`, and `iou` if COCO lacks it."""
        return THRESHOLDS if self._equals_iou.any() else np.append(THRESHOLDS, self.iou)

    @property
    def main(self) -> int:
        """Index of `iou` in `thresholds`."""
        return int(self._equals_iou.argmax()) if self._equals_iou.any() else len(THRESHOLDS)

    @property
    def _equals_iou(self) -> Flags:
        return np.isclose(THRESHOLDS, self.iou, rtol=0, atol=1e-9)


@dataclass(frozen=True, eq=False)
class _Block:
    """The results of matching the objects in a block of rows."""

    judged: JudgedPredictions
    truth: list[tuple[Numbers, Flags]]
    """Pairs of arrays: the class of each true object, (g,) int64, and whether the object counts in
    each range of areas, (areas, g) bool."""
    rows: dict[str, NDArray[Any]]
    """Metrics of each row; see `_row_metrics`."""
    confused: NDArray[np.int64]
    """Pairs of a true and a predicted class, (n, 2) int64; -1 for the background."""


def evaluate_objects(
    view: View, predicted: ObjectReader, true: ObjectReader, rules: Rules, sizes: ImageSizes
) -> Findings:
    """Return the metrics of predicted objects."""
    everything = np.arange(len(view))
    has_truth, has_prediction = true.present(everything), predicted.present(everything)
    positions = np.flatnonzero(has_truth & has_prediction)
    blocks = []
    with bars.bar("evaluate", len(positions)) as bar:
        for span in chunks.spans(len(positions), BLOCK_ROWS):
            at = positions[span]
            truth, predictions = true.read(at), predicted.read(at)
            if rules.sigmas is not None:
                _check_points(predictions, truth, rules.sigmas)
            blocks += [
                _judge(*part, rules) for part in _parts(predictions, truth, rules, at, sizes)
            ]
            bar.update(len(at))
    counts = {
        "rows": len(positions),
        "unlabelled": int((~has_truth).sum()),
        "unpredicted": int((has_truth & ~has_prediction).sum()),
    }
    return _findings(blocks, true.classes.names, rules, counts, positions)


# ---- overlaps


type _Part = tuple["Objects", "Objects", Floats, Numbers]


def _parts(
    predictions: Objects, truth: Objects, rules: Rules, positions: Numbers, sizes: ImageSizes
) -> Iterator[_Part]:
    """Yield blocks of rows with their predictions, true objects and overlaps.

    Each block also has the start of each row's overlaps. Predictions beyond the limit of each class
    are left out, and the others are sorted by row, class and descending score.
    """
    predictions, indices = _best_first(predictions, rules.limits[-1])
    if predictions.masks is not None:
        predictions, truth, flat = _mask_overlaps(predictions, truth, indices, positions, sizes)
        yield predictions, truth, flat, _starts(predictions.counts * truth.counts)
        return
    ends = np.cumsum(predictions.counts * truth.counts)
    begin = 0
    while begin < len(ends):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + MAX_PAIRS, side="right")))
        part = [_rows_of(objects, begin, end) for objects in (predictions, truth)]
        own, other = _pairs(part[0].counts, part[1].counts)
        flat = _overlaps(part[0], part[1], own, other, rules)
        yield part[0], part[1], flat, _starts(part[0].counts * part[1].counts)
        begin = end


def _starts(counts: Numbers) -> Numbers:
    return np.cumsum(counts) - counts


def _best_first(objects: Objects, limit: int) -> tuple[Objects, Numbers]:
    """Return the `limit` objects with the highest scores in each row and class, and their indices.

    The result is sorted by row, class and descending score.
    """
    rows = objects.rows
    order = np.lexsort((-objects.scores, objects.classes, rows))
    order = order[_ranks(rows[order], objects.classes[order]) < limit]
    return _take(objects, order), order


def _ranks(rows: Numbers, classes: Numbers) -> Numbers:
    """Return, for each object, the number of earlier objects of the same row and class."""
    is_first = np.ones(len(rows), bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (classes[1:] != classes[:-1])
    positions = np.arange(len(rows))
    return positions - np.maximum.accumulate(np.where(is_first, positions, 0))


def _take(objects: Objects, order: Numbers) -> Objects:
    """Return the objects with the indices `order`. A row without objects has the count 0."""
    return replace(
        objects,
        counts=np.bincount(objects.rows[order], minlength=len(objects.counts)),
        classes=objects.classes[order],
        scores=objects.scores[order],
        crowd=objects.crowd[order],
        areas=objects.areas[order],
        boxes=objects.boxes[order],
        points=None if objects.points is None else objects.points[order],
    )


def _rows_of(objects: Objects, begin: int, end: int) -> Objects:
    """Return the objects of the rows from `begin` to `end`, excluding `end`."""
    starts = _starts(objects.counts)
    first = int(starts[begin])
    last = int(starts[end - 1] + objects.counts[end - 1])
    part = _take(objects, np.arange(first, last))
    return replace(part, counts=objects.counts[begin:end])


def _pairs(own: Numbers, other: Numbers) -> tuple[Numbers, Numbers]:
    """Return the indices of predictions and true objects, for all pairs in the same row.

    `own` and `other` are the numbers of predictions and of true objects in each row.

    >>> [numbers.tolist() for numbers in _pairs(np.array([1, 2]), np.array([2, 1]))]
    [[0, 0, 1, 2], [0, 1, 2, 2]]
    """
    widths = np.repeat(other, own)  # number of pairs of each prediction
    first = np.repeat(np.arange(len(widths)), widths)
    inside = np.arange(len(first)) - np.repeat(_starts(widths), widths)
    return first, np.repeat(np.repeat(_starts(other), own), widths) + inside


def _overlaps(
    predictions: Objects, truth: Objects, pred_index: Numbers, true_index: Numbers, rules: Rules
) -> Floats:
    if rules.sigmas is None:
        return measures.box_ious(
            predictions.boxes[pred_index], truth.boxes[true_index], truth.crowd[true_index]
        )
    assert predictions.points is not None
    assert truth.points is not None
    result = np.zeros(len(pred_index))
    for span in chunks.spans(len(pred_index), 2**16):
        a, b = pred_index[span], true_index[span]
        result[span] = measures.keypoint_similarities(
            predictions.points[a], truth.points[b], truth.boxes[b], truth.areas[b], rules.sigmas
        )
    return result


def _mask_overlaps(
    predictions: Objects, truth: Objects, indices: Numbers, positions: Numbers, sizes: ImageSizes
) -> tuple[Objects, Objects, Floats]:
    """Return predictions and truth with the areas of their masks, and the overlaps of the masks.

    `indices` are the indices of the predictions in the list of all predicted masks of these rows.
    """
    pred_masks, true_masks = predictions.masks, truth.masks
    assert pred_masks is not None
    assert true_masks is not None
    image_sizes = (
        sizes.of(positions) if pred_masks.are_outlines and true_masks.are_outlines else None
    )
    ends, others = np.cumsum(predictions.counts), np.cumsum(truth.counts)
    firsts = _starts(pred_masks.counts)
    flat, areas = [np.zeros(0)], (predictions.areas.copy(), truth.areas.copy())
    for row in range(len(positions)):
        image_size = None if image_sizes is None else image_sizes[row]
        size = _size(pred_masks, true_masks, row, image_size, int(positions[row]))
        in_row = slice(int(ends[row] - predictions.counts[row]), int(ends[row]))
        true_in_row = slice(int(others[row] - truth.counts[row]), int(others[row]))
        chosen = indices[in_row] - firsts[row]
        crowd = truth.crowd[true_in_row]
        masks = pred_masks.packed(row, size)[chosen], true_masks.packed(row, size)
        ious, areas[0][in_row], mask_areas = measures.mask_ious(*masks, crowd)
        given = areas[1][true_in_row]
        areas[1][true_in_row] = np.where(np.isnan(given), mask_areas, given)
        flat.append(ious.ravel())
    return (
        replace(predictions, areas=areas[0]),
        replace(truth, areas=areas[1]),
        np.concatenate(flat),
    )


def _size(
    pred_masks: Any, true_masks: Any, row: int, image_size: Floats | None, position: int
) -> tuple[int, int]:
    """Return the height and width of the masks of a row.

    Raises InvalidValueError if the binary masks of predictions and truth differ in size.
    """
    if image_size is not None:
        return int(image_size[0]), int(image_size[1])
    sizes = [masks.size(row) for masks in (pred_masks, true_masks)]
    fixed = {
        size for size, masks in zip(sizes, (pred_masks, true_masks), strict=True)
        if not masks.are_outlines and size != (0, 0)
    }  # fmt: skip
    if len(fixed) > 1:
        raise InvalidValueError(
            f"The masks of predictions and truth must have the same size, but their sizes are "
            f"{sizes[0]} and {sizes[1]} pixels. Resize the predictions.",
            row=position,
        )
    return fixed.pop() if fixed else (max(s[0] for s in sizes), max(s[1] for s in sizes))


# ---- matching


def _judge(
    predictions: Objects, truth: Objects, flat: Floats, starts: Numbers, rules: Rules
) -> _Block:
    """Match the objects of a block, and count the matches."""
    row_of = predictions.rows
    own_at = starts[row_of] + _numbers_in_rows(predictions.counts) * truth.counts[row_of]
    pairs = _PairOverlaps(flat, own_at, _numbers_in_rows(truth.counts))
    low, high = np.array([AREAS[name] for name in rules.areas]).T[:, :, np.newaxis]
    ignored = truth.crowd | (truth.areas < low) | (truth.areas > high)
    if truth.points is not None:
        ignored |= ~(truth.points[..., 2] > 0).any(axis=1)
    chosen = _match_classes(predictions, truth, pairs, ignored, rules.thresholds)
    outside = (predictions.areas < low) | (predictions.areas > high)
    outcomes = _outcomes(chosen, ignored, outside)
    judged = JudgedPredictions(
        predictions.classes,
        predictions.scores,
        _ranks(predictions.rows, predictions.classes),
        outcomes.transpose(2, 0, 1),
    )
    is_counted = predictions.scores >= rules.score
    outcome = np.where(is_counted, outcomes[0, rules.main], IGNORED)
    partners = np.where(outcome == RIGHT, chosen[0, rules.main], -1)
    counts = ~ignored[0]
    rows = _row_metrics(predictions, truth, counts, outcome, partners, pairs.of(partners))
    confused = _confusions(predictions, truth, counts, outcome, partners, pairs, rules.iou)
    return _Block(judged, [(truth.classes, ~ignored)], rows, confused)


@dataclass(frozen=True, eq=False)
class _PairOverlaps:
    """The overlaps of pairs of objects, in one array, and where to find a pair in this array."""

    flat: Floats
    """Overlaps, (pairs,) float64."""
    own: Numbers
    """Position of each prediction, (n,) int64. The overlap of a prediction and a true object is in
    `flat` at the sum of their positions."""
    other: Numbers
    """Position of each true object, (g,) int64."""

    def of(self, partners: Numbers) -> Floats:
        """Return the overlap of each prediction with its partner; 0 if the partner is -1."""
        result = np.zeros(len(partners))
        has_partner = partners >= 0
        result[has_partner] = self.flat[self.own[has_partner] + self.other[partners[has_partner]]]
        return result


def _match_classes(
    predictions: Objects, truth: Objects, pairs: _PairOverlaps, ignored: Flags, thresholds: Floats
) -> Numbers:
    """Return the index of the true object that matches each prediction, like `match`."""
    classes = 1 + max(predictions.classes.max(initial=0), truth.classes.max(initial=0))
    order = np.lexsort((truth.classes, truth.rows))
    chosen = match(
        pairs.flat,
        GroupedObjects(predictions.rows * classes + predictions.classes, pairs.own),
        GroupedObjects((truth.rows * classes + truth.classes)[order], pairs.other[order]),
        ignored[:, order],
        truth.crowd[order],
        thresholds,
    )
    return np.append(order, -1)[chosen]  # index -1 becomes -1


def _outcomes(chosen: Numbers, ignored: Flags, outside: Flags) -> NDArray[np.uint8]:
    """Return the outcome of each prediction, (areas, thresholds, n) uint8.

    Parameters
    ----------
    chosen : ndarray, (areas, thresholds, n) int64
        The true object that matches each prediction, or -1.
    ignored : ndarray, (areas, g) bool
        Whether each true object is ignored.
    outside : ndarray, (areas, n) bool
        Whether each prediction is outside the range of areas. Such a prediction counts only if it
        is matched.
    """
    padded = np.concatenate([ignored, np.zeros((len(ignored), 1), bool)], axis=1)
    areas = np.arange(len(ignored))[:, np.newaxis, np.newaxis]
    is_matched = chosen >= 0
    is_ignored = padded[areas, chosen] | (~is_matched & outside[:, np.newaxis])
    outcomes = np.where(is_matched, RIGHT, WRONG)
    return np.where(is_ignored, IGNORED, outcomes).astype(np.uint8)


def _numbers_in_rows(counts: Numbers) -> Numbers:
    """Return the index of each object within its row, counted from 0."""
    return np.arange(int(counts.sum())) - np.repeat(_starts(counts), counts)


def _row_metrics(
    predictions: Objects,
    truth: Objects,
    counts: Flags,
    outcome: NDArray[Any],
    partners: Numbers,
    overlap: Floats,
) -> dict[str, NDArray[Any]]:
    """Return the metrics of each row, which are matches, errors, mean overlap and F1, by name."""
    rows, n = predictions.rows, len(truth.counts)
    right = np.bincount(rows[outcome == RIGHT], minlength=n)
    wrong = np.bincount(rows[outcome == WRONG], minlength=n)
    total = np.bincount(truth.rows[counts], minlength=n)
    has_partner = partners >= 0
    shared = np.bincount(rows[has_partner], overlap[has_partner], minlength=n)
    iou = np.divide(shared, total, out=np.full(n, np.nan), where=total > 0)
    objects = right + wrong + total  # 2 tp + fp + fn
    f1 = np.divide(2 * right, objects, out=np.ones(n), where=objects > 0)
    return {"tp": right, "fp": wrong, "fn": total - right, "iou": iou, "f1": f1}


def _confusions(
    predictions: Objects,
    truth: Objects,
    counts: Flags,
    outcome: NDArray[Any],
    partners: Numbers,
    pairs: _PairOverlaps,
    iou: float,
) -> NDArray[np.int64]:
    """Return pairs of a true and a predicted class, (n, 2) int64, with -1 for the background.

    A match is a pair of the same class. Objects without a match are then matched across classes, in
    pairs of different classes.
    """
    is_right = partners >= 0
    is_unmatched = counts.copy()
    is_unmatched[partners[is_right]] = False
    objects = np.flatnonzero(is_unmatched)
    wrong = np.flatnonzero(outcome == WRONG)
    wrong = wrong[np.lexsort((-predictions.scores[wrong], predictions.rows[wrong]))]
    no = np.zeros((1, len(objects)), bool)
    chosen = match(
        pairs.flat,
        GroupedObjects(predictions.rows[wrong], pairs.own[wrong]),
        GroupedObjects(truth.rows[objects], pairs.other[objects]),
        no,
        no[0],
        np.array([iou]),
    )[0, 0]
    is_mixed = chosen >= 0
    mixed = objects[chosen[is_mixed]]
    missed = np.setdiff1d(objects, mixed)
    true = [
        truth.classes[partners[is_right]],
        truth.classes[mixed],
        np.full(int((~is_mixed).sum()), -1),
        truth.classes[missed],
    ]
    predicted = [
        predictions.classes[is_right],
        predictions.classes[wrong[is_mixed]],
        predictions.classes[wrong[~is_mixed]],
        np.full(len(missed), -1),
    ]
    return np.stack([np.concatenate(true), np.concatenate(predicted)], axis=1)


# ---- metrics


def _findings(
    blocks: Sequence[_Block],
    names: tuple[str, ...],
    rules: Rules,
    counts: dict[str, int],
    positions: Numbers,
) -> Findings:
    n, areas, thresholds = len(names), len(rules.areas), len(rules.thresholds)
    empty = np.zeros(0, np.int64)
    judged = JudgedPredictions(
        np.concatenate([*(b.judged.classes for b in blocks), empty]),
        np.concatenate([*(b.judged.scores for b in blocks), empty]),
        np.concatenate([*(b.judged.ranks for b in blocks), empty]),
        np.concatenate(
            [*(b.judged.outcomes for b in blocks), np.zeros((0, areas, thresholds), np.uint8)]
        ),
    )
    truth = np.zeros((n, areas), np.int64)
    for block in blocks:
        for classes, counted in block.truth:
            for area in range(areas):
                truth[:, area] += np.bincount(classes[counted[area]], minlength=n)
    averages = average(judged, truth, rules.limits)
    confusion = np.zeros((n + 1, n + 1))
    for block in blocks:
        np.add.at(confusion, tuple(block.confused.T), 1)
    keys = ("tp", "fp", "fn", "iou", "f1")
    rows = {k: np.concatenate([*(b.rows[k] for b in blocks), np.zeros(0)]) for k in keys}
    by_class = _by_class(averages, confusion, truth[:, 0])
    curve = _mean(averages.curves[:, rules.main], axis=0)
    return Findings(
        _summary(averages, rules, rows),
        counts | {"objects": int(truth[:, 0].sum()), "predictions": len(judged.scores)},
        names,
        by_class,
        BACKGROUND,
        confusion,
        {"recall": RECALLS, "precision": curve},
        averages.curves[:, rules.main],
        rows,
        positions,
        main="AP",
        quality="f1",
        units={"tp": "int32", "fp": "int32", "fn": "int32"},
    )


def _mean(values: Floats, axis: int | tuple[int, ...] | None = None) -> Any:
    """Return the mean of the values that are not NaN, or NaN if there are none."""
    counts = (~np.isnan(values)).sum(axis=axis)
    total = np.nansum(values, axis=axis)
    return np.divide(total, counts, out=np.full(np.shape(total), np.nan), where=counts > 0)


def _ratio(a: Any, b: Any) -> Any:
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0)


def _by_class(averages: Averages, confusion: Floats, truth: Numbers) -> dict[str, NDArray[Any]]:
    right = np.diagonal(confusion)[:-1]
    predicted = confusion[:, :-1].sum(axis=0)
    standard = averages.precision[:, :, : len(THRESHOLDS)]
    recall = averages.recall[:, :, : len(THRESHOLDS), -1]
    return {
        "AP": standard[:, 0].mean(axis=1),
        "AP50": standard[:, 0, 0],
        "AP75": standard[:, 0, 5],
        "AR": recall[:, 0].mean(axis=1),
        "precision": _ratio(right, predicted),
        "recall": _ratio(right, truth),
        "f1": _ratio(2 * right, predicted + truth),
        "tp": right,
        "fp": predicted - right,
        "fn": truth - right,
        "objects": truth.astype(np.float64),
    }


def _summary(averages: Averages, rules: Rules, rows: dict[str, NDArray[Any]]) -> dict[str, float]:
    precision = averages.precision[:, :, : len(THRESHOLDS)]
    recall = averages.recall[:, :, : len(THRESHOLDS)]
    metrics = {"AP": _mean(precision[:, 0]), "AP50": _mean(precision[:, 0, 0])}
    metrics["AP75"] = _mean(precision[:, 0, 5])
    for area, name in list(enumerate(rules.areas))[1:]:
        metrics[f"AP_{name}"] = _mean(precision[:, area])
    if len(rules.limits) > 1:
        for n, limit in enumerate(rules.limits):
            metrics[f"AR{limit}"] = _mean(recall[:, 0, :, n])
    else:
        metrics["AR"] = _mean(recall[:, 0])
        metrics["AR50"], metrics["AR75"] = _mean(recall[:, 0, 0]), _mean(recall[:, 0, 5])
    for area, name in list(enumerate(rules.areas))[1:]:
        metrics[f"AR_{name}"] = _mean(recall[:, area, :, -1])
    right, wrong, missed = (rows[key].sum() for key in ("tp", "fp", "fn"))
    metrics["precision"] = _ratio(right, right + wrong)
    metrics["recall"] = _ratio(right, right + missed)
    metrics["f1"] = _ratio(2 * right, 2 * right + wrong + missed)
    return {name: float(value) for name, value in metrics.items()}


def _check_points(predictions: Objects, truth: Objects, sigmas: Sequence[float]) -> None:
    """Raise SchemaError unless all objects have as many keypoints as there are sigmas."""
    for objects in (predictions, truth):
        points = objects.points
        if points is not None and len(points) and points.shape[1] != len(sigmas):
            raise SchemaError(
                f"The number of sigmas must be the number of keypoints, which is "
                f"{points.shape[1]}, but it is {len(sigmas)}. Pass sigmas=[…]; the default is for "
                "the 17 points of COCO."
            )
