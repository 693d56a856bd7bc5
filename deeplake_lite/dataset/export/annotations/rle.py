"""Run-length encoding of masks: the numbers of consecutive pixels outside and inside, in turn.

Pixels are counted row by row, and the first number counts pixels outside the mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.export.annotations.objects import check_mask_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def encode(mask: NDArray[np.bool_]) -> list[int]:
    """Return the lengths of the runs of a mask, starting with a run of pixels outside the mask.

    >>> encode(np.array([[True, True], [False, True]]))
    [0, 2, 1, 1]
    """
    flat = mask.ravel()
    ends = np.flatnonzero(np.diff(flat)) + 1
    runs = np.diff(np.concatenate([[0], ends, [flat.size]])).tolist()
    return [0, *runs] if flat.size and flat[0] else runs


def decode(runs: Sequence[int], width: int, height: int) -> NDArray[np.bool_]:
    """Return the mask that `encode` encodes to the given runs. Raises ValueError for invalid runs.

    >>> decode([0, 2, 1, 1], 2, 2).tolist()
    [[True, True], [False, True]]
    """
    check_mask_size(width, height)
    lengths = np.array(runs, np.int64)
    if lengths.size > width * height + 1 or (lengths < 0).any() or (lengths > 2**31).any():
        raise ValueError("the runs of a mask must be lengths that add up to its size")
    if lengths.sum() != width * height:
        raise ValueError(
            f"the runs of a mask of {width:,} x {height:,} pixels must add up to its size, but "
            f"they add up to {int(lengths.sum()):,} pixels"
        )
    inside = np.arange(lengths.size) % 2 == 1
    return np.repeat(inside, lengths).reshape(height, width)
