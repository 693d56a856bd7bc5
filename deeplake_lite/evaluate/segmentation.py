"""Evaluation of semantic segmentation: masks with a class for each pixel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.evaluate.classes import Classes
from deeplake_lite.evaluate.findings import Findings
from deeplake_lite.evaluate.objects import valid_rows
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View

type Numbers = NDArray[np.int64]
type Floats = NDArray[np.float64]

BLOCK_ROWS = 16
"""Number of masks that are read at a time."""

NO_CLASS = "no class"
"""Name in the confusion matrix for pixels without a class."""


def evaluate_masks(view: View, predictions: str, truth: str, ignore: int | None) -> Findings:
    """Return the metrics of masks with a class for each pixel.

    Parameters
    ----------
    view : View
        The rows.
    predictions, truth : str
        Columns of masks.
    ignore : int, optional
        Class number of true pixels that do not count.
    """
    pred_field, true_field = view.field(predictions), view.field(truth)
    names = [
        () if f.htype.pixels is None else f.htype.pixels.names for f in (pred_field, true_field)
    ]
    if any(names) and not all(names):
        raise SchemaError(
            "Classes are matched by name, but only one of the columns "
            f"{predictions!r} and {truth!r} has class names. Add names to the other column: "
            "Mask(names=…)."
        )
    classes = Classes([*names[1], *(name for name in names[0] if name not in names[1])])
    everything = np.arange(len(view))
    has_truth = valid_rows(view, true_field, everything)
    has_prediction = valid_rows(view, pred_field, everything)
    positions = np.flatnonzero(has_truth & has_prediction)
    total: dict[tuple[int, int], int] = {}
    rows = np.zeros((len(positions), 2))
    numbers = [_ClassNumbers(names_of_column, classes) for names_of_column in names[::-1]]
    with bars.bar("evaluate", len(positions)) as bar:
        for span in chunks.spans(len(positions), BLOCK_ROWS):
            values = read_values(view, [pred_field, true_field], positions[span])
            for n, (predicted, true) in enumerate(
                zip(values[predictions], values[truth], strict=True)
            ):
                at = span.start + n
                pairs = _pairs(predicted, true, numbers, ignore, int(positions[at]), predictions)
                for pair, count in pairs.items():
                    total[pair] = total.get(pair, 0) + count
                rows[at] = _row(pairs)
            bar.update(span.stop - span.start)
    left_out = -1 if ignore is None else numbers[0].find(ignore)
    confusion = np.zeros((len(classes) + 1, len(classes) + 1))
    for (a, b), count in total.items():
        confusion[a, b] = count
    counts = {
        "rows": len(positions),
        "unlabelled": int((~has_truth).sum()),
        "unpredicted": int((has_truth & ~has_prediction).sum()),
        "pixels": int(confusion.sum()),
    }
    return _findings(confusion, classes.names, counts, rows, positions, left_out)


class _ClassNumbers:
    """Converts the values in a column's masks to the class numbers of the evaluation.

    Values without a class, such as 255 in a mask whose classes have names, become -1.
    """

    def __init__(self, names: tuple[str, ...], classes: Classes) -> None:
        self._names, self._classes = names, classes
        self._numbers: dict[int, int] = {}

    def find(self, value: int) -> int:
        """Return the class number of a value, or -1 if the value has no class or does not occur."""
        return self.of(value) if self._names else self._numbers.get(value, -1)

    def of(self, value: int) -> int:
        """Return the class number of a value in a mask, or -1 if the value has no class."""
        if value not in self._numbers:
            self._numbers[value] = self._number(value)
        return self._numbers[value]

    def _number(self, value: int) -> int:
        if self._names:
            is_class = 0 <= value < len(self._names)
            return self._classes.number(self._names[value]) if is_class else -1
        return -1 if value < 0 else self._classes.number(str(value))


def _pairs(
    predicted: NDArray[Any],
    true: NDArray[Any],
    numbers: list[_ClassNumbers],
    ignore: int | None,
    row: int,
    column: str,
) -> dict[tuple[int, int], int]:
    """Return a dict that maps pairs (true class, predicted class) to the row's number of pixels."""
    if predicted.shape != true.shape:
        raise InvalidValueError(
            f"a predicted mask must have the same size as the true mask, {true.shape}, but its "
            f"size is {predicted.shape}. Resize the predicted mask.",
            column=column,
            row=row,
        )
    a, b = true.ravel(), predicted.ravel()
    if ignore is not None:
        counts = a != ignore
        a, b = a[counts], b[counts]
    result: dict[tuple[int, int], int] = {}
    for first, second, count in _count_pairs(a, b):
        pair = (numbers[0].of(first), numbers[1].of(second))
        if pair[0] >= 0:  # pixels without a true class do not count
            result[pair] = result.get(pair, 0) + count
    return result


def _count_pairs(a: NDArray[Any], b: NDArray[Any]) -> list[tuple[int, int, int]]:
    """Return a list of triples: a value of `a`, a value of `b`, and how often they coincide.

    >>> _count_pairs(np.array([0, 0, 1]), np.array([0, 5, 5]))
    [(0, 0, 1), (0, 5, 1), (1, 5, 1)]
    """
    if a.dtype == np.uint8 and b.dtype == np.uint8:
        counts = np.bincount(a.astype(np.int64) * 256 + b, minlength=1)
        keys = np.flatnonzero(counts)
        triples = keys // 256, keys % 256, counts[keys]
    else:
        keys, times = np.unique(a.astype(np.int64) * 2**32 + b, return_counts=True)
        second = (keys + 2**31) % 2**32 - 2**31
        triples = (keys - second) // 2**32, second, times
    return list(zip(*(part.tolist() for part in triples), strict=True))


def _row(pairs: dict[tuple[int, int], int]) -> tuple[float, float]:
    """Return the pixel accuracy of a row, and the mean IoU of the classes that occur in the row."""
    size = sum(pairs.values())
    classes = {number for pair in pairs for number in pair if number >= 0}
    if not size:
        return np.nan, np.nan
    ious = []
    for number in classes:
        union = sum(count for pair, count in pairs.items() if number in pair)
        ious.append(pairs.get((number, number), 0) / union)
    right = sum(count for (a, b), count in pairs.items() if a == b)
    return right / size, float(np.mean(ious)) if ious else np.nan


def _findings(
    confusion: Floats,
    names: tuple[str, ...],
    counts: dict[str, int],
    rows: Floats,
    positions: Numbers,
    left_out: int,
) -> Findings:
    right = np.diagonal(confusion)[:-1].copy()
    true, predicted = confusion[:-1].sum(axis=1), confusion[:, :-1].sum(axis=0)

    def ratio(a: Any, b: Any) -> Any:
        return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=np.asarray(b) > 0)

    by_class = {
        "iou": ratio(right, true + predicted - right),
        "dice": ratio(2 * right, true + predicted),
        "precision": ratio(right, predicted),
        "recall": ratio(right, true),
        "pixels": true,
    }

    if left_out >= 0:  # a class whose pixels do not count has no metrics
        for key in ("iou", "dice", "precision", "recall"):
            by_class[key][left_out] = np.nan

    def mean(values: Floats) -> float:
        present = values[~np.isnan(values)]
        return float(present.mean()) if len(present) else float("nan")

    pixels = confusion.sum()
    summary = {
        "mean_iou": mean(by_class["iou"]),
        "pixel_accuracy": float(ratio(right.sum(), pixels)),
        "mean_accuracy": mean(by_class["recall"]),
        "mean_dice": mean(by_class["dice"]),
        "weighted_iou": float(ratio(np.nansum(by_class["iou"] * true), pixels)),
    }
    return Findings(
        summary,
        counts,
        names,
        by_class,
        NO_CLASS,
        confusion,
        {},
        np.zeros((0, 0)),
        {"accuracy": rows[:, 0], "iou": rows[:, 1]},
        positions,
        main="iou",
        quality="iou",
    )
