"""Draw outlines and run-length encodings as masks, with exactly the pixels of COCO's tools.

See `rleFrPoly` and `rleFrString` in https://github.com/cocodataset/cocoapi (common/maskApi.c). An
outline is drawn at five times its size, and the points where it crosses a column of pixels are
recorded. A pixel is inside if the number of crossings before it, in column-major order, is odd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SCALE = 5
_FARTHEST = 2.0**40  # coordinates farther from 0 than this are clipped

_LONGEST = 2**17
"""Sides of up to this length are drawn point by point. A longer side extends beyond the image, and
its crossings are calculated from the exact line. These crossings may differ from COCO's by a fifth
of a pixel."""


def mask_of_outlines(
    outlines: Sequence[NDArray[Any]], height: int, width: int
) -> NDArray[np.bool_]:
    """Return the pixels inside any outline, (width * height,) bool, in column-major order.

    Parameters
    ----------
    outlines : sequence of ndarray, (k, 2), pixels
        Corners of each outline, x before y.
    height, width : int
        Size of the image.

    Examples
    --------
    >>> square = np.array([[1, 1], [3, 1], [3, 3], [1, 3]])
    >>> mask_of_outlines([square], 4, 4).reshape(4, 4).astype(int).tolist()
    [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    mask = np.zeros(height * width, bool)
    for outline in outlines:
        crossings = np.sort(_crossings(np.asarray(outline, np.float64), height, width))
        if len(crossings):
            first, last = int(crossings[0]), int(crossings[-1])
            runs = np.diff(crossings)
            mask[first:last] |= np.repeat(np.arange(len(runs)) % 2 == 0, runs)
            if len(crossings) % 2:
                mask[last:] = True
    return mask


def mask_of_runs(encoded: dict[str, Any]) -> NDArray[np.bool_]:
    """Return the pixels of a COCO run-length encoding, (width * height,) bool.

    Raises
    ------
    InvalidValueError
        When the encoding is malformed, or its runs do not add up to the size of the image.

    Examples
    --------
    >>> mask_of_runs({"size": [2, 2], "counts": [1, 2, 1]}).astype(int).tolist()
    [0, 1, 1, 0]
    >>> mask_of_runs({"size": [2, 2], "counts": "121"}).astype(int).tolist()
    [0, 1, 1, 0]
    """
    try:
        height, width = (int(side) for side in encoded["size"])
        counts = encoded["counts"]
        runs = np.array(_decode_runs(counts) if isinstance(counts, str) else counts, np.int64)
        is_valid = runs.ndim == 1 and (runs >= 0).all() and int(runs.sum()) == height * width
    except (LookupError, TypeError, ValueError, OverflowError):
        is_valid = False
    if not is_valid or height * width > 2**31:
        raise InvalidValueError(
            "A run-length encoding must have a 'size' and 'counts', and the counts must add up to "
            "height × width, but an encoding in the column 'coco' does not follow this rule. "
            "Correct the annotation."
        )
    return np.repeat(np.arange(len(runs)) % 2 == 1, runs)


def _decode_runs(text: str) -> list[int]:
    """Decode COCO's compressed runs.

    Each character has five bits of a number. From the fourth run on, the number is not the length
    of the run, but its difference from the length of the run two before.
    """
    runs: list[int] = []
    at = 0
    while at < len(text):
        value = shift = 0
        while True:
            bits = ord(text[at]) - 48
            at += 1
            value |= (bits & 31) << shift
            shift += 5
            if not bits & 32:
                break
        if bits & 16:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
    return runs


def _crossings(outline: NDArray[np.float64], height: int, width: int) -> NDArray[np.int64]:
    """Return the indices of the pixels before which an outline crosses a column, (n,) int64."""
    enlarged = np.clip(outline, -_FARTHEST, _FARTHEST) * _SCALE
    start = np.trunc(enlarged + 0.5).astype(np.int64)
    end = np.roll(start, -1, axis=0)
    is_long = np.abs(end - start).max(axis=1) > _LONGEST
    # The sides before and after a long side are drawn separately, so that the gap between them does
    # not count as a crossing.
    parts = [_crossings_of_sides(start[run], end[run], height, width) for run in _runs(~is_long)]
    parts += [_crossings_of_line(start[i], end[i], height, width) for i in np.flatnonzero(is_long)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _runs(rows: NDArray[np.bool_]) -> list[slice]:
    """Return the slices of consecutive elements of `rows` that are True.

    >>> _runs(np.array([True, True, False, True]))
    [slice(0, 2, None), slice(3, 4, None)]
    """
    ends = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(np.int8)))
    return [slice(a, b) for a, b in zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True)]


def _crossings_of_sides(
    start: NDArray[np.int64], end: NDArray[np.int64], height: int, width: int
) -> NDArray[np.int64]:
    """Return the crossings of connected sides by drawing the sides point by point."""
    x, y = _sides(start, end)
    moved = np.flatnonzero(x[1:] != x[:-1])
    column = np.where(x[moved + 1] < x[moved], x[moved + 1], x[moved + 1] - 1)
    exact = (column + 0.5) / _SCALE - 0.5
    inside = (np.floor(exact) == exact) & (exact >= 0) & (exact <= width - 1)
    upper = np.minimum(y[moved + 1], y[moved])[inside]
    crossings: NDArray[np.int64] = exact[inside].astype(np.int64) * height + _row(upper, height)
    return crossings


def _crossings_of_line(
    start: NDArray[np.int64], end: NDArray[np.int64], height: int, width: int
) -> NDArray[np.int64]:
    """Calculate the crossings of a long side."""
    left, right = sorted((start, end), key=lambda corner: int(corner[0]))
    columns = np.arange(width)
    at = columns * _SCALE + _SCALE // 2  # a column is crossed just after this point
    crossed = (left[0] <= at) & (at < right[0])
    slope = (right[1] - left[1]) / max(1, right[0] - left[0])
    y = left[1] + (at[crossed] + 0.5 - left[0]) * slope
    crossings: NDArray[np.int64] = columns[crossed] * height + _row(np.floor(y), height)
    return crossings


def _row(y: NDArray[Any], height: int) -> NDArray[np.int64]:
    """Return the first row of pixels that begins at or below the enlarged coordinate `y`."""
    row: NDArray[np.int64] = np.ceil(np.clip((y + 0.5) / _SCALE - 0.5, 0, height)).astype(np.int64)
    return row


def _sides(
    start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the x and y of the points of all sides, one side after the other."""
    steps = np.abs(end - start).max(axis=1)
    side = np.repeat(np.arange(len(start)), steps + 1)
    step = np.arange(len(side)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    delta = end - start
    along = np.where(np.abs(delta[:, 0]) >= np.abs(delta[:, 1]), 0, 1)
    # Rounding is not symmetric, so sides are drawn from the end with the smaller coordinate on the
    # longer axis.
    is_flipped = np.take_along_axis(delta, along[:, np.newaxis], axis=1)[:, 0] < 0
    first = np.where(is_flipped[:, np.newaxis], end, start)
    second = np.where(is_flipped[:, np.newaxis], start, end)
    rows = np.arange(len(start))
    rise = (second - first)[rows, 1 - along].astype(np.float64)
    slope = np.divide(rise, steps, out=np.zeros_like(rise), where=steps > 0)
    step = np.where(is_flipped[side], steps[side] - step, step)
    long = step + first[rows, along][side]
    short = np.trunc(first[rows, 1 - along][side] + slope[side] * step + 0.5).astype(np.int64)
    is_flat = along[side] == 0
    return np.where(is_flat, long, short), np.where(is_flat, short, long)
