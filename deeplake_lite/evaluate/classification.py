"""Evaluation of predicted classes, or of a score for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.evaluate.classes import Classes
from deeplake_lite.evaluate.columns import class_names
from deeplake_lite.evaluate.findings import Findings
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

type Numbers = NDArray[np.int64]
type Floats = NDArray[np.float64]

BLOCK_NUMBERS = 2**22
"""Maximum number of scores that are read at a time."""

TOP = 5
"""The k of the top-k accuracy."""

_TOLERANCE = 0.01  # a sum of probabilities may differ from 1 by this much, because models round


def is_label(f: Field) -> bool:
    """Return whether a column has one class, string, integer or boolean per row."""
    scalar = f.htype.scalar or ""
    return f.htype.sql in ("class", "text") or scalar.startswith(("bool", "int", "uint"))


def is_scores(f: Field) -> bool:
    """Return whether a column has vectors of floating-point numbers, all of the same length."""
    axes = f.htype.axes
    is_vector = f.htype.is_array or f.htype.is_embedding
    is_fixed = axes is not None and len(axes) == 1 and axes[0] is not None
    return is_vector and is_fixed and f.htype.value_dtype.startswith("float")


@dataclass(frozen=True, eq=False)
class _Predictions:
    """The predictions of some rows."""

    codes: Numbers
    """Predicted class of each row, (n,) int64; -1 for null."""
    score: Floats | None = None
    """Score of each row's predicted class, (n,) float64."""
    truth_score: Floats | None = None
    """Score of each row's true class, (n,) float64."""
    rank: Numbers | None = None
    """Number of classes that have a higher score than the row's true class, (n,) int64."""
    are_probabilities: bool = True
    """Whether the scores of each row are probabilities that sum to 1."""


def evaluate_classes(
    view: View,
    predictions: str,
    truth: str,
    *,
    scores: str | None,
    names: Sequence[str] | None,
    bins: int,
) -> Findings:
    """Return the metrics of predicted classes, or of vectors with a score for each class."""
    pred_field, true_field = view.field(predictions), view.field(truth)
    if not is_label(true_field):
        raise SchemaError(
            "The column of true classes must have one class, string or integer per row, but "
            f"column {truth!r} is {true_field.htype}. Choose another column."
        )
    _check_kinds(pred_field, true_field)
    confidence = None if scores is None else _confidence(view, scores, pred_field)
    classes = Classes(class_names([true_field, None if is_scores(pred_field) else pred_field]))
    columns = (
        _vector_classes(pred_field, true_field, names, classes) if is_scores(pred_field) else None
    )
    if names is not None and columns is None:
        raise OptionError(
            "classes= names the entries of a vector of scores, but column "
            f"{predictions!r} is {pred_field.htype}. Leave out classes=."
        )
    codes, parts = [], []
    width = 1 if columns is None else len(columns)
    everything = np.arange(len(view))
    for span in chunks.spans(len(view), max(1, BLOCK_NUMBERS // width)):
        rows = everything[span]
        true = _codes(view, true_field, rows, classes)
        codes.append(true)
        if columns is not None:
            parts.append(_from_vectors(view, pred_field, rows, true, columns))
        else:
            score = None if confidence is None else _numbers(view, confidence, rows)
            parts.append(_Predictions(_codes(view, pred_field, rows, classes), score))
    return _findings(
        np.concatenate([*codes, np.zeros(0, np.int64)]), _concatenate(parts), classes, bins
    )


def _check_kinds(pred_field: Field, true_field: Field) -> None:
    """Raise SchemaError if the classes of the two columns cannot be matched with each other."""
    if not (is_label(pred_field) or is_scores(pred_field)):
        raise SchemaError(
            "The column of predicted classes must have one class, or one vector with a score for "
            f"each class, per row, but column {pred_field.name!r} is {pred_field.htype}. Choose "
            "another column."
        )
    named = [f for f in (pred_field, true_field) if f.htype.sql == "text" or _has_names(f)]
    if len(named) == 1 and is_label(pred_field):
        raise SchemaError(
            f"Classes are matched by name, but only column {named[0].name!r} has names. Convert "
            "the other column to ClassLabel(names), or to strings."
        )


def _has_names(f: Field) -> bool:
    return f.htype.classes is not None and bool(f.htype.classes.names)


def _confidence(view: View, name: str, predictions: Field) -> Field:
    f = view.field(name)
    if is_scores(predictions):
        raise OptionError(
            f"scores= is only for a column of classes, but column {predictions.name!r} already "
            "contains scores. Leave out scores=."
        )
    if not (f.htype.scalar or "").startswith("float"):
        raise SchemaError(
            "scores must be a column with one floating-point number per row, but column "
            f"{name!r} is {f.htype}. Choose another column."
        )
    return f


def _vector_classes(
    f: Field, truth: Field, names: Sequence[str] | None, classes: Classes
) -> Numbers:
    """Return the class number of each entry of the score vectors, (width,) int64."""
    width = int((f.htype.axes or (0,))[0] or 0)
    if names is None:
        names = () if truth.htype.classes is None else tuple(truth.htype.classes.names)
        if not names and truth.htype.sql != "text" and truth.htype.scalar != "bool":
            names = [str(number) for number in range(width)]
    if len(names) != width:
        raise OptionError(
            f"The number of class names must be the number of scores in column {f.name!r}, which "
            f"is {width}, but it is {len(names)}. Pass classes=[…], in the order of the scores."
        )
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise OptionError(
            f"classes must be unique, but {brief(repeated, 80)} is repeated. Rename one of the two."
        )
    return np.array([classes.number(name) for name in names], np.int64)


def _codes(view: View, f: Field, rows: Numbers, classes: Classes) -> Numbers:
    """Return the evaluation's class number of each row, (n,) int64; -1 for null."""
    values = read_values(view, [f], rows, follow=False)[f.name]
    if f.htype.classes is not None:
        return classes.numbers(f.htype, np.ma.filled(values, -1))
    if isinstance(values, np.ndarray):
        null = np.ma.getmaskarray(values)
        present, inverse = np.unique(np.ma.getdata(values)[~null], return_inverse=True)
        codes = np.full(len(values), -1)
        numbers = [classes.number(str(value)) for value in present.tolist()]
        codes[~null] = np.array(numbers, np.int64)[inverse]
        return codes
    return np.array([-1 if v is None else classes.number(str(v)) for v in values], np.int64)


def _numbers(view: View, f: Field, rows: Numbers) -> Floats:
    return np.ma.filled(read_values(view, [f], rows)[f.name].astype(np.float64), np.nan)


def _from_vectors(
    view: View, f: Field, rows: Numbers, true: Numbers, columns: Numbers
) -> _Predictions:
    """Return the predictions of rows that have a vector with a score for each class."""
    block = read_values(view, [f], rows)[f.name]
    null = np.ma.getmaskarray(block).any(axis=1)
    values = np.ma.getdata(block).astype(np.float64)
    is_bad = ~np.isfinite(values).all(axis=1) & ~null
    if is_bad.any():
        row = int(np.flatnonzero(is_bad)[0])
        raise InvalidValueError(
            f"scores must be finite, but they are {values[row][:8].tolist()}. Correct them, or set "
            "them to null.",
            column=f.name,
            row=int(rows[row]),
        )
    good = (values >= 0).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= _TOLERANCE)
    entry_of = np.full(int(columns.max(initial=0)) + 1, -1)
    entry_of[columns] = np.arange(len(columns))
    in_range = (true >= 0) & (true < len(entry_of))
    at = np.where(in_range, entry_of[np.where(in_range, true, 0)], -1)
    exists = at >= 0
    every_row, true_entry = np.arange(len(values)), np.maximum(at, 0)
    truth_score = np.where(exists, values[every_row, true_entry], 0.0)
    higher = (values > truth_score[:, np.newaxis]).sum(axis=1)
    equal = values == truth_score[:, np.newaxis]
    higher += (equal & (np.arange(values.shape[1]) > true_entry[:, np.newaxis])).sum(axis=1)
    best = values.argmax(axis=1)
    step = float(np.finfo(f.htype.value_dtype).eps)
    return _Predictions(
        np.where(null, -1, columns[best]),
        values[every_row, best],
        np.clip(truth_score, step, 1 - step) if good[~null].all() else truth_score,
        np.where(exists, higher, len(columns)),
        bool(good[~null].all()),
    )


def _concatenate(parts: list[_Predictions]) -> _Predictions:
    def join(name: str) -> Any:
        arrays = [getattr(part, name) for part in parts]
        return None if not arrays or arrays[0] is None else np.concatenate(arrays)

    if not parts:
        return _Predictions(np.zeros(0, np.int64))
    are_probabilities = all(part.are_probabilities for part in parts)
    return _Predictions(
        join("codes"), join("score"), join("truth_score"), join("rank"), are_probabilities
    )


def _findings(true: Numbers, predicted: _Predictions, classes: Classes, bins: int) -> Findings:
    positions = np.flatnonzero((true >= 0) & (predicted.codes >= 0))
    truth, codes = true[positions], predicted.codes[positions]
    n = len(classes)
    confusion = np.bincount(truth * n + codes, minlength=n * n).reshape(n, n).astype(np.float64)
    correct = truth == codes
    by_class = _by_class(confusion)
    summary = _summary(by_class, correct)
    rows: dict[str, Any] = {"correct": correct.astype(np.float64)}
    curves: dict[str, Any] = {}
    notes: tuple[str, ...] = ()
    if predicted.rank is not None and n > TOP:
        summary["top5_accuracy"] = _mean(predicted.rank[positions] < TOP)
    if predicted.score is not None:
        rows["score"] = score = predicted.score[positions]
        if not predicted.are_probabilities or not _are_confidences(score):
            notes = ("The scores are not probabilities, so there is no calibration or log loss.",)
        else:
            curves, summary["ece"] = _calibration(score, correct, bins)
            if predicted.truth_score is not None:
                rows["truth_score"] = predicted.truth_score[positions]
                rows["loss"] = -np.log(rows["truth_score"])
                summary["log_loss"] = _mean(rows["loss"])
    counts = {
        "rows": len(positions),
        "unlabelled": int((true < 0).sum()),
        "unpredicted": int(((true >= 0) & (predicted.codes < 0)).sum()),
    }
    return Findings(
        summary,
        counts,
        classes.names,
        by_class,
        "",
        confusion,
        curves,
        np.zeros((0, 0)),
        rows,
        positions,
        main="f1",
        quality="correct",
        units={"correct": "bool"},
        notes=notes,
    )


def _are_confidences(score: Floats) -> bool:
    present = score[~np.isnan(score)]
    return bool(((present >= 0) & (present <= 1 + _TOLERANCE)).all())


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _by_class(confusion: Floats) -> dict[str, NDArray[Any]]:
    """Return the metrics of each class, as in scikit-learn; NaN for classes that do not occur."""
    right, support, predicted = np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    occurs = support + predicted > 0

    def ratio(a: Floats, b: Floats) -> Floats:
        result = np.divide(a, b, out=np.zeros(len(a)), where=b > 0)
        return np.where(occurs, result, np.nan)

    return {
        "precision": ratio(right, predicted),
        "recall": ratio(right, support),
        "f1": ratio(2 * right, predicted + support),
        "truth": support,
        "predicted": predicted,
        "correct": right.copy(),
    }


def _summary(by_class: dict[str, NDArray[Any]], correct: NDArray[np.bool_]) -> dict[str, float]:
    occurs, support = ~np.isnan(by_class["f1"]), by_class["truth"]
    f1, total = by_class["f1"][occurs], support.sum()
    weighted = float((f1 * support[occurs]).sum() / total) if total else float("nan")
    return {
        "accuracy": _mean(correct),
        "balanced_accuracy": _mean(by_class["recall"][support > 0]),
        "precision": _mean(by_class["precision"][occurs]),
        "recall": _mean(by_class["recall"][occurs]),
        "f1": _mean(f1),
        "weighted_f1": weighted,
    }


def _calibration(
    score: Floats, correct: NDArray[np.bool_], bins: int
) -> tuple[dict[str, NDArray[Any]], float]:
    """Return the confidence and accuracy in each bin of scores, and the expected calibration error.

    See Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks (ICML 2017),
    https://arxiv.org/abs/1706.04599. A score at the edge of two bins belongs to the lower bin.
    """
    has_score = ~np.isnan(score)
    score, right = score[has_score], correct[has_score]
    bin_of = np.clip(np.ceil(score * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(bin_of, minlength=bins).astype(np.float64)

    def mean(values: Floats) -> Floats:
        total = np.bincount(bin_of, values, minlength=bins)
        means: Floats = np.full(bins, np.nan)
        return np.divide(total, counts, out=means, where=counts > 0)

    confidence, accuracy = mean(score), mean(right.astype(np.float64))
    gaps = np.nan_to_num(np.abs(confidence - accuracy))
    error = float((gaps * counts).sum() / counts.sum()) if counts.sum() else float("nan")
    edges = np.arange(1, bins + 1) / bins
    return {"bin": edges, "confidence": confidence, "accuracy": accuracy, "rows": counts}, error
