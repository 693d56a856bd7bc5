"""Conversion of Arrow decimals to floats, and a search for decimals that floats would round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import has_fractions, is_list
from deeplake_lite.htypes.decimals import survives_float64

if TYPE_CHECKING:
    from decimal import Decimal

_LONG = "[0-9.]{16,}|E"
"""Pattern of decimals that float64 may round: 16 or more digits, or an exponent."""


def as_floats(decimals: pa.Array) -> pa.Array:
    """Return the float64 nearest to each decimal.

    The detour through strings is exact. Arrow's direct cast is not exact: it turns 0.70 into
    0.7000000000000001.

    >>> from decimal import Decimal
    >>> as_floats(pa.array([Decimal("0.70"), None])).to_pylist()
    [0.7, None]
    """
    return decimals.cast(pa.string()).cast(pa.float64())


def first_rounded(array: pa.Array) -> tuple[int, Decimal] | None:
    """Return the row and value of the first decimal that float64 would round, or None.

    >>> from decimal import Decimal
    >>> first_rounded(pa.array([[Decimal("0.1")], [], [Decimal("12345678901234567.5")]]))
    (2, Decimal('12345678901234567.5'))
    """
    if not has_fractions(array.type):
        return None
    import pyarrow.compute as pc  # takes 0.1 s, and only columns of decimals need it

    leaves, rows = _leaves(array)
    strings = leaves.cast(pa.string())
    is_long = pc.fill_null(pc.match_substring_regex(strings, _LONG), False).to_numpy(
        zero_copy_only=False
    )
    for index in np.flatnonzero(is_long).tolist():
        number = leaves[index].as_py()
        if not survives_float64(number):
            return int(rows[index]), number
    return None


def _leaves(array: pa.Array) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the innermost values of nested lists as one array, and the row of each of them."""
    import pyarrow.compute as pc  # slow to import, see `first_rounded`

    rows = np.arange(len(array))
    while True:
        kind = array.type
        if kinds.is_dictionary(kind):
            array = array.dictionary_decode()
        elif kinds.is_run_end_encoded(kind):
            array = pc.run_end_decode(array)
        elif isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif is_list(kind):
            rows = rows[pc.list_parent_indices(array).to_numpy(zero_copy_only=False)]
            array = array.flatten()
        else:
            return array, rows
