"""Outlines of objects, for formats that hold one outline or one rotated rectangle per object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["join_outlines", "rotated_rectangle"]


def join_outlines(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join several outlines into one outline, with connecting lines that enclose no area.

    >>> triangle = np.array([[0, 0], [1, 0], [0, 1]])
    >>> join_outlines([triangle, triangle + 5]).tolist()
    [[0, 0], [1, 0], [0, 1], [0, 0], [5, 5], [6, 5], [5, 6], [5, 5], [0, 0]]
    """
    if len(parts) == 1:
        return parts[0]
    closed = [np.concatenate([part, part[:1]]) for part in parts]
    return np.concatenate([*closed, *(part[:1] for part in reversed(parts[:-1]))])


def rotated_rectangle(outline: NDArray[Any]) -> NDArray[np.float64]:
    """Return the corners of the smallest rectangle, in any direction, that encloses an outline.

    One side of this rectangle lies on an edge of the convex hull (Freeman and Shapira, 1975).

    >>> rotated_rectangle(np.array([[0, 0], [2, 0], [2, 1], [1, 1], [0, 1]])).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    hull = _hull(np.asarray(outline, np.float64))
    edges = np.roll(hull, -1, 0) - hull
    lengths = np.hypot(*edges.T)
    along = edges[lengths > 0] / lengths[lengths > 0, None]
    along = along if len(along) else np.array([[1.0, 0.0]])
    across = along[:, ::-1] * [-1, 1]
    spans = [(p.min(0), p.max(0)) for p in (hull @ along.T, hull @ across.T)]
    best = np.argmin((spans[0][1] - spans[0][0]) * (spans[1][1] - spans[1][0]))
    (left, right), (top, bottom) = ((low[best], high[best]) for low, high in spans)
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    return np.asarray(corners @ np.stack([along[best], across[best]]), np.float64)


def _hull(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners around the convex hull of points (Andrew's monotone chain algorithm)."""
    ordered = np.unique(points, axis=0).tolist()
    if len(ordered) < 3:
        return np.array(ordered)
    chains = [_chain(ordered), _chain(ordered[::-1])]
    return np.array([corner for chain in chains for corner in chain[:-1]])


def _chain(points: Sequence[list[float]]) -> list[list[float]]:
    """Return the points of one side of a convex hull."""
    chain = list[list[float]]()
    for x, y in points:
        while len(chain) > 1:
            (ax, ay), (bx, by) = chain[-2:]
            if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                break
            chain.pop()
        chain.append([x, y])
    return chain
