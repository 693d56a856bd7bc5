"""The metrics of an evaluation, in a form that all kinds of evaluation share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

type Kind = Literal["detection", "classification", "segmentation", "keypoints"]

KINDS = ("detection", "classification", "segmentation", "keypoints")


@dataclass(frozen=True, eq=False)
class Findings:
    """The metrics of an evaluation."""

    summary: Mapping[str, float]
    """Maps each metric to its value for all rows and classes; NaN if undefined."""
    counts: Mapping[str, int]
    """Maps names to numbers: ``rows`` that were evaluated, rows that were left out (``unlabelled``
    without truth, ``unpredicted`` without prediction), and objects or pixels."""
    classes: tuple[str, ...]
    """Names of the classes."""
    by_class: Mapping[str, NDArray[Any]]
    """Maps each metric to its value for each class, (classes,) float64."""
    outside: str
    """Name of the last row and column of the confusion matrix, such as ``"background"``. Empty if
    the last row and column belong to a class."""
    confusion: NDArray[np.float64]
    """Number of times that each true class (rows) was predicted as each class (columns)."""
    curves: Mapping[str, NDArray[Any]]
    """Curves over all classes, (points,) float64 each: precision and recall, or calibration."""
    class_curves: NDArray[Any]
    """Precision of each class at each recall, (classes, points) float64; (0, 0) if unavailable."""
    rows: Mapping[str, NDArray[Any]]
    """Maps each metric to its value for each evaluated row, (rows,) float64."""
    positions: NDArray[np.int64]
    """Positions of the evaluated rows in the view, (rows,) int64."""
    main: str = ""
    """Name of the most important metric in `by_class`."""
    quality: str = ""
    """Name of the metric in `rows` by which rows are compared; higher is better."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Maps each metric in `rows` that is not a float to its dtype, ``"int32"`` or ``"bool"``."""
    notes: tuple[str, ...] = ()
    """Sentences that explain why some metrics are missing."""
