"""The PyTorch dtypes to which NumPy arrays are converted.

=====================================  =================  ==========================
NumPy                                  PyTorch            memory
=====================================  =================  ==========================
bool, uint8, int8, int16, int32,       of the same name   shared
int64, float16, float32, float64,
complex64, complex128
uint16, uint32, uint64                 of the same name   shared; for most operations,
                                                          first ``x.to(torch.int32)``
datetime64, timedelta64                int64, as counts   shared; NaT is the lowest
                                       of NumPy's unit    int64
classes, of any integer dtype          int64, as losses   copied, unless they are int64
                                       expect them
other byte orders                      native             copied
longdouble, text, objects              not converted
=====================================  =================  ==========================

Read-only arrays are copied, because tensors are writable. Arrays with negative strides are copied
too, because the strides of a tensor cannot be negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TORCH = frozenset({
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
    "float16", "float32", "float64", "complex64", "complex128",
})  # fmt: skip
"""Names of dtypes that exist in both NumPy and PyTorch."""


def for_torch(values: NDArray[Any], *, classes: bool = False) -> NDArray[Any] | None:
    """Return an array whose memory a tensor can share, or None if PyTorch has no suitable dtype.

    Parameters
    ----------
    values : ndarray
        Array of any dtype.
    classes : bool
        Whether the integers are class numbers.

    Returns
    -------
    ndarray or None
        An array that shares the memory of `values` where the table of this module says so.

    Examples
    --------
    >>> for_torch(np.array(["1970-01-03"], "datetime64[D]"))
    array([2])
    >>> for_torch(np.array([1, 0], np.uint8), classes=True).dtype
    dtype('int64')
    >>> for_torch(np.array(["text"])) is None
    True
    """
    if values.dtype.kind in "mM":
        values = values.view(values.dtype.byteorder + "i8")
    elif classes and values.dtype.kind in "iu":
        values = values.astype(np.int64, copy=False)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.dtype.name not in TORCH:
        return None
    forwards = all(stride >= 0 for stride in values.strides)
    return values if values.flags.writeable and forwards else values.copy()
