"""The figures of an evaluation, as every kind of evaluation computes them."""

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
    """The figures of an evaluation."""

    summary: Mapping[str, float]
    """Figures for all rows and classes; NaN where they are not defined."""
    counts: Mapping[str, int]
    """How many rows were evaluated, and how many were left out and why."""
    classes: tuple[str, ...]
    """Names of the classes."""
    by_class: Mapping[str, NDArray[Any]]
    """Figures for each class, (classes,) float64."""
    outside: str
    """Name of the last row and column of the confusion matrix; empty if it has only classes."""
    confusion: NDArray[np.float64]
    """How often each true class (rows) was predicted as each class (columns)."""
    curves: Mapping[str, NDArray[Any]]
    """Curves over all classes, (points,) float64 each: of precision and recall, or calibration."""
    class_curves: NDArray[Any]
    """Precision of each class at each recall, (classes, points) float64; () if there is none."""
    rows: Mapping[str, NDArray[Any]]
    """Figures for each evaluated row, (rows,) float64."""
    positions: NDArray[np.int64]
    """Positions of the evaluated rows in the view, (rows,) int64."""
    main: str = ""
    """The figure of `summary` and `by_class` that sums up the result."""
    quality: str = ""
    """The figure of `rows` that compares rows; more is better."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Type of the columns of `rows` that are not floats: ``"int32"`` or ``"bool"``."""
    notes: tuple[str, ...] = ()
    """Sentences about figures that are left out."""
