"""Conversion of cells to DataFrame columns: nullable dtypes, categories, strings and objects.

This module imports pandas and pyarrow, so other modules import it only when it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.arrow.times import common_times
from deeplake_lite.dataset.export.portable import values_of
from deeplake_lite.dataset.read.values import copy_if_shared
from deeplake_lite.htypes.cells import Cells, DenseCells
from deeplake_lite.htypes.layouts import Ragged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype


def column_of(htype: Htype, cells: Cells) -> object:
    """Return cells as an array that pandas accepts as a column without conversion.

    >>> from deeplake_lite.htypes import Scalar
    >>> scalar = Scalar("int8", nullable=True)
    >>> column_of(scalar, scalar.encode([1, None]))
    <IntegerArray>
    [1, <NA>]
    Length: 2, dtype: Int8
    """
    if isinstance(cells, DenseCells):
        cells = DenseCells(copy_if_shared(cells.values), cells.valid)
        if cells.values.ndim == 1:
            return _scalars(htype, cells)
    if isinstance(htype.layout, Ragged) and htype.layout.dtype == "utf8":
        dtype: Any = pd.StringDtype("pyarrow")  # Any, because pandas-stubs lack __from_arrow__
        return dtype.__from_arrow__(array_of(htype, cells))
    values = values_of(htype, cells)
    objects = np.empty(len(values), object)
    for i, value in enumerate(values):
        objects[i] = value
    return objects


def _scalars(htype: Htype, cells: DenseCells) -> object:
    values = common_times(htype.decode(cells.values, ()))
    null = np.zeros(len(values), bool) if cells.valid is None else ~cells.valid
    if (classes := htype.classes) is not None and classes.names:
        codes = np.where(null, np.int32(-1), values).astype(np.int32)
        return pd.Categorical.from_codes(codes, pd.Index(list(classes.names)))
    return _nullable(values, null) if htype.nullable else values


def _nullable(values: NDArray[Any], null: NDArray[np.bool_]) -> object:
    """Return numbers or times as an array whose dtype allows nulls, even if there are none."""
    match values.dtype.kind:
        case "b":
            return pd.arrays.BooleanArray(values, null)
        case "i" | "u":
            return pd.arrays.IntegerArray(values, null)
        case "f":
            wide = np.promote_types(values.dtype, np.float32)  # pandas has no nullable float16
            return pd.arrays.FloatingArray(values.astype(wide), null)
    if values.dtype.kind == "c":  # pandas has no nullable complex dtype
        objects = values.astype(object)
        objects[null] = None
        return objects
    values = values.copy()
    values[null] = np.array("NaT", values.dtype)
    return values
