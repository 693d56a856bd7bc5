"""Decimals of Arrow as floats, and whether a float64 gives them back."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.types import has_fractions, is_list

_LONG = "[0-9.]{16,}|E"
"""Matches decimals that a float64 may not give back: long ones, and those with an exponent."""


def as_floats(decimals: pa.Array) -> pa.Array:
    """Return the float64 that is nearest to each decimal.

    By way of texts, as Arrow's own cast is not exact: it makes 0.7000000000000001 of 0.70.

    >>> as_floats(pa.array([Decimal("0.70"), None])).to_pylist()
    [0.7, None]
    """
    return decimals.cast(pa.string()).cast(pa.float64())


def first_rounded(array: pa.Array) -> tuple[int, Decimal] | None:
    """Return the first row with a decimal that float64 rounds, and the decimal; None for none.

    >>> first_rounded(pa.array([[Decimal("0.1")], [], [Decimal("12345678901234567.5")]]))
    (2, Decimal('12345678901234567.5'))
    """
    if not has_fractions(array.type):
        return None
    import pyarrow.compute as pc  # 0.1 s, for columns of decimals alone

    leaves, rows = _leaves(array)
    texts = leaves.cast(pa.string())
    long = pc.fill_null(pc.match_substring_regex(texts, _LONG), False).to_numpy(
        zero_copy_only=False
    )
    for at in np.flatnonzero(long).tolist():
        number = leaves[at].as_py()
        if not comes_back(number):
            return int(rows[at]), number
    return None


def comes_back(number: Decimal) -> bool:
    """Tell whether a float64, written with as many digits as a number has, is that number.

    >>> [comes_back(Decimal(text)) for text in ("0.10000000000000001", "12345678901234567.5")]
    [True, False]
    """
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return Decimal(f"{float(number):.{max(len(digits), 1) - 1}e}") == number


def _leaves(array: pa.Array) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the values of lists, however nested, in one array, and the row of each."""
    import pyarrow.compute as pc  # as above

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
