"""Parsing YOLO label files: class numbers, each with a box, an outline, keypoints or corners."""

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
    """The objects in the label file of an image. Coordinates are fractions of the image's size."""

    classes: list[int]
    """Class number of each object."""

    values: list[NDArray[np.float64]]
    """For each object, the numbers that follow the class number in its line."""


def parse(text: str) -> Labels:
    """Parse the text of a label file.

    Raises
    ------
    ValueError
        If a line does not consist of finite numbers, or does not begin with a class number. The
            message names the line.

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
    """Raise ValueError if a line has too few or too many numbers for the task.

    `points` are the number of keypoints and the number of values per keypoint, or None. If `scores`
    is true, lines end with a score, which may be absent only if the task is "detect".
    """
    for number, values in enumerate(labels.values, 1):
        rule = _rule(len(values), task, points, scores)
        if rule:
            raise ValueError(
                f"object {number} must have {rule} after its class, but it has {len(values)}"
            )


def _rule(count: int, task: Task, points: tuple[int, int] | None, scores: bool) -> str:
    """Return the rule that a count of numbers violates, such as "4 numbers", or "" for none."""
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
    """Infer the task of label files from the number of numbers in their lines.

    If there are no lines, return the task `declared`, or "detect".
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
    """Return whether lines end with a score, as in predictions that Ultralytics' package saves.

    For the task "detect", one line with five numbers is enough. For other tasks, a line with an
    additional number may be damaged, so true is returned only if all lines have a score.
    """
    counts = {len(values) for labels in samples for values in labels.values}
    if task == "detect":
        return 5 in counts
    is_outlined = task != "segment" or max(counts, default=0) > 5  # not only boxes
    return bool(counts) and is_outlined and not any(_rule(n, task, points, True) for n in counts)


def split_scores(
    lines: Sequence[NDArray[np.float64]], task: Task
) -> tuple[list[NDArray[np.float64]], list[float]]:
    """Return the numbers of each line without the score, and a list of scores.

    The score of a line without a score is NaN.
    """
    numbers, scores = [], []
    for values in lines:
        has_score = task != "detect" or values.size == 5
        numbers.append(values[:-1] if has_score else values)
        scores.append(float(values[-1]) if has_score else math.nan)
    return numbers, scores


def bounds(corners: NDArray[Any]) -> NDArray[np.float64]:
    """Return the box around an outline (k, 2) as an array: centre x and y, width, height."""
    low, high = corners.min(0), corners.max(0)
    box: NDArray[np.float64] = np.concatenate([(low + high) / 2, high - low])
    return box
