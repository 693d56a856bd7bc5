"""Values of rows for the page, with None for null and exceptions for damaged values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.values import with_none

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field


def values_of(view: View, f: Field, positions: NDArray[np.int64]) -> list[object]:
    """Return a column's values at the given rows, without following links.

    If a value cannot be read, the list contains the exception instead. To find damaged values, the
    rows are split in half until a single row fails.

    >>> import deeplake_lite as dl, numpy as np
    >>> ds = dl.create("memory://values-doc", {"x": dl.Scalar("int32", nullable=True)})
    >>> ds.append({"x": [1, None]})
    >>> values_of(ds, ds.schema["x"], np.array([1, 0]))
    [None, np.int32(1)]
    """
    if not len(positions):
        return []
    try:
        return list(with_none(read_values(view, [f], positions, follow=False)[f.name]))
    except Exception as error:
        if len(positions) == 1:
            return [error]
        half = len(positions) // 2
        parts: Sequence[NDArray[np.int64]] = (positions[:half], positions[half:])
        return [value for part in parts for value in values_of(view, f, part)]
