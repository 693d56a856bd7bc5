"""Parsing YOLO label files, whose lines have a class and a box, outline, keypoints or corners."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.brief import brief

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

type Task = Literal["detect", "segment", "pose", "obb", "classify"]

TASKS = ("detect", "segment", "pose", "obb", "classify")


@dataclass(frozen=True)
class Labels:
    """The labels of an image. All coordinates are fractions of its width and height."""

    classes: list[int]
    """Class number of each object."""

    values: list[NDArray[np.float64]]
    """For each object, the numbers after the class number."""


def parse(text: str) -> Labels:
    """Parse the text of a label file.

    Raises
    ------
    ValueError
        If a line does not consist of numbers. The message names the line.

    Examples
    --------
    >>> parse("0 0.5 0.5 0.25 0.5").values
    [array([0.5 , 0.5 , 0.25, 0.5 ])]
    """
    classes, values = [], []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            first, *rest = map(float, words)
        except ValueError:
            raise ValueError(
                f"line {number} must consist of numbers, but it is {brief(line, 60)}"
            ) from None
        if not first.is_integer() or not 0 <= first < 2**31:
            raise ValueError(
                f"line {number} must begin with a class number, but it begins with {words[0]}"
            )
        if not all(map(math.isfinite, rest)):
            raise ValueError(f"line {number} must have finite numbers, but it is {brief(line, 60)}")
        classes.append(int(first))
        values.append(np.array(rest, np.float64))
    return Labels(classes, values)


def check(
    labels: Labels, task: Task, points: tuple[int, int] | None, *, scores: bool = False
) -> None:
    """Check how many numbers each line has. Raises ValueError.

    `points` is the number of keypoints and of values per keypoint. If `scores` is true, lines end
    with a score, which only boxes may lack.
    """
    for number, values in enumerate(labels.values, 1):
        rule = _rule(len(values), task, points, scores)
        if rule:
            raise ValueError(
                f"object {number} must have {rule} after its class, but it has {len(values)}"
            )


def _rule(count: int, task: Task, points: tuple[int, int] | None, scores: bool) -> str:
    """Return the rule that a count of numbers violates; an empty string if it is valid."""
    ending = " and a score" if scores else ""
    match task:
        case "detect":
            return "" if count == 4 or (count == 5 and scores) else "4 numbers"
        case "obb":
            return "" if count == 8 + scores else f"8 numbers{ending}"
        case "pose" if points is not None:
            length = 4 + points[0] * points[1]
            return "" if count == length + scores else f"{length} numbers{ending}"
        case "segment":
            coordinates = count - scores
            is_outline = coordinates == 4 or (coordinates >= 6 and coordinates % 2 == 0)
            rule = f"4 numbers, or the coordinates of at least 3 corners,{ending}"
            return "" if is_outline else rule
    return ""


def task_of(
    samples: Sequence[Labels], points: tuple[int, int] | None, declared: Task | None = None
) -> Task:
    """Infer the task of label files from the lengths of their lines.

    Label files without objects have the task `declared`.
    """
    if points is not None:
        return "pose"
    counts = {len(values) for labels in samples for values in labels.values}
    if not counts and declared is not None and declared != "pose":
        return declared
    if counts in ({8}, {9}):
        return "obb"
    return "segment" if any(count > 5 for count in counts) else "detect"


def have_scores(samples: Iterable[Labels], task: Task, points: tuple[int, int] | None) -> bool:
    """Return whether lines end with a score, as in predictions saved by Ultralytics.

    One line with five numbers is enough for boxes. For other tasks, a line with one number too
    many may also be damaged, so all lines must have a score.
    """
    counts = {len(values) for labels in samples for values in labels.values}
    if task == "detect":
        return 5 in counts
    is_outlined = task != "segment" or max(counts, default=0) > 5  # not only boxes
    return bool(counts) and is_outlined and not any(_rule(n, task, points, True) for n in counts)


def split_scores(
    lines: Sequence[NDArray[np.float64]], task: Task
) -> tuple[list[NDArray[np.float64]], list[float]]:
    """Return each line's numbers without the score, and the scores. Missing scores are NaN."""
    numbers, scores = [], []
    for values in lines:
        has_score = task != "detect" or values.size == 5
        numbers.append(values[:-1] if has_score else values)
        scores.append(float(values[-1]) if has_score else math.nan)
    return numbers, scores


def bounds(corners: NDArray[Any]) -> NDArray[np.float64]:
    """Return the box around an outline (k, 2) as an array of its centre and size."""
    low, high = corners.min(0), corners.max(0)
    box: NDArray[np.float64] = np.concatenate([(low + high) / 2, high - low])
    return box
