"""Greedy matching of predicted and true objects, by the rules of COCO.

See https://github.com/cocodataset/cocoapi, `COCOeval.evaluateImg`. The predictions of a group (the
objects of one class in one image) are matched in the order of their scores. Each prediction is
matched with the unmatched true object that overlaps it most. An ignored object is matched only if
no other object fits, and a crowd may be matched any number of times. Among equal overlaps, the last
object is chosen.

Groups do not affect each other. Therefore, the first predictions of all groups are matched at once,
then the second predictions of all groups, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

type Numbers = NDArray[np.int64]
type Flags = NDArray[np.bool_]
type Floats = NDArray[np.float64]

BLOCK_CELLS = 2**21
"""Maximum number of overlaps, times thresholds and ranges of areas, that are compared at a time."""


@dataclass(frozen=True, eq=False)
class GroupedObjects:
    """The predictions or the true objects of all groups, one group after the other."""

    groups: Numbers
    """Group of each object, (n,) int64, ascending."""
    at: Numbers
    """Position of each object in the array of overlaps, (n,) int64. The overlap of a prediction and
    a true object is at the sum of their positions."""


def match(
    overlaps: Floats,
    predictions: GroupedObjects,
    truth: GroupedObjects,
    ignored: Flags,
    crowd: Flags,
    thresholds: Floats,
) -> Numbers:
    """Return the index of the true object that matches each prediction, or -1.

    Parameters
    ----------
    overlaps : ndarray, (m,) float64
        Overlaps of predictions and true objects.
    predictions : GroupedObjects
        The predictions, sorted by descending score within each group.
    truth : GroupedObjects
        The true objects.
    ignored : ndarray, (areas, g) bool
        Whether each true object is ignored, for each range of areas.
    crowd : ndarray, (g,) bool
        Whether each true object is a crowd.
    thresholds : ndarray, (t,) float64
        Minimum overlaps, all above 0.

    Returns
    -------
    ndarray, (areas, t, n) int64
        Index of the true object, for each range of areas, threshold and prediction.

    Examples
    --------
    >>> overlaps = np.array([0.9, 0.6])  # of two predictions and one object
    >>> predictions = GroupedObjects(np.zeros(2, int), np.arange(2))
    >>> truth = GroupedObjects(np.zeros(1, int), np.zeros(1, int))
    >>> no = np.zeros((1, 1), bool)
    >>> match(overlaps, predictions, truth, no, no[0], np.array([0.5, 0.95])).tolist()
    [[[0, -1], [-1, -1]]]
    """
    matched = np.full((len(ignored), len(thresholds), len(predictions.groups)), -1)
    least = np.minimum(thresholds, 1 - 1e-10)[:, np.newaxis, np.newaxis]
    copies = len(ignored) * len(thresholds)
    for block in _blocks(predictions.groups, truth.groups, copies):
        _match_block(matched, overlaps, predictions, truth, ignored, crowd, least, block)
    return matched


@dataclass(frozen=True, eq=False)
class _Block:
    """Several groups, sorted by descending number of predictions."""

    first: Numbers
    """Index of the first prediction of each group."""
    sizes: Numbers
    """Number of predictions of each group."""
    others: Numbers
    """Indices of each group's true objects in reverse order, padded with -1, (groups, width)
    int64."""


def _blocks(predicted: Numbers, true: Numbers, copies: int) -> Iterator[_Block]:
    """Yield blocks of groups with both predictions and true objects.

    Within a block, all groups are padded to the same number of true objects. To limit the padding,
    there are separate blocks for groups with 1, 2, up to 4, up to 8, … true objects.
    """
    groups = np.intersect1d(predicted, true)
    first, last = (np.searchsorted(predicted, groups, side) for side in ("left", "right"))
    start, end = (np.searchsorted(true, groups, side) for side in ("left", "right"))
    sizes, widths = last - first, end - start
    powers = np.ceil(np.log2(np.maximum(widths, 1))).astype(int)
    for power in np.unique(powers):
        chosen = np.flatnonzero(powers == power)
        chosen = chosen[np.argsort(-sizes[chosen], kind="stable")]
        width = int(widths[chosen].max())
        step = max(1, BLOCK_CELLS // (width * copies))
        for begin in range(0, len(chosen), step):
            part = chosen[begin : begin + step]
            others = end[part][:, np.newaxis] - 1 - np.arange(width)
            others = np.where(others >= start[part][:, np.newaxis], others, -1)
            yield _Block(first[part], sizes[part], others)


def _match_block(
    matched: Numbers,
    overlaps: Floats,
    predictions: GroupedObjects,
    truth: GroupedObjects,
    ignored: Flags,
    crowd: Flags,
    least: NDArray[Any],
    block: _Block,
) -> None:
    """Write the matches of the groups of a block to `matched`."""
    exists = block.others >= 0
    positions = np.where(exists, truth.at[block.others], 0)
    is_ignored = ignored[:, block.others][:, np.newaxis]  # (areas, 1, groups, width)
    may_repeat = crowd[block.others]
    free = np.broadcast_to(exists, (*matched.shape[:2], *exists.shape)).copy()
    for rank in range(int(block.sizes[0])):
        live = int(np.count_nonzero(block.sizes > rank))
        current = block.first[:live] + rank
        overlap = overlaps[predictions.at[current][:, np.newaxis] + positions[:live]]
        fits = free[:, :, :live] & (overlap >= least)
        chosen, is_matched = _best(overlap, fits, is_ignored[:, :, :live])
        area, threshold, group = np.nonzero(is_matched)
        taken = chosen[area, threshold, group]
        matched[area, threshold, current[group]] = block.others[group, taken]
        free[area, threshold, group, taken] = may_repeat[group, taken]


def _best(overlap: Floats, fits: Flags, is_ignored: Flags) -> tuple[Numbers, Flags]:
    """Return the best true object for one prediction of each group.

    Returns
    -------
    chosen : ndarray, (areas, thresholds, groups) int64
        Index of the true object in the group.
    is_matched : ndarray, (areas, thresholds, groups) bool
        Whether any true object fits.
    """
    counted = np.where(fits & ~is_ignored, overlap, -1.0)
    others = np.where(fits & is_ignored, overlap, -1.0)
    is_counted, is_other = counted.max(axis=-1) >= 0, others.max(axis=-1) >= 0
    chosen = np.where(is_counted, counted.argmax(axis=-1), others.argmax(axis=-1))
    return chosen, is_counted | is_other
