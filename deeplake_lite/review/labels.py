"""Conversion of labels of any type to class numbers, which start at 0, and back to labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells

type Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of some rows, as class numbers."""

    codes: Rows
    """Class number of each row, or -1 for null, (n,) int64."""
    values: list[Any]
    """Maps each class number, which is the index in this list, to the label, a value of the
    column."""
    htype: Htype
    """The type of the column, but not nullable."""

    @classmethod
    def of(cls, view: View, name: str) -> Self:
        """Read the labels of all rows of a view from a column.

        Raises
        ------
        SchemaError
            When the column does not have one label per row.
        """
        f = view.field(name)
        if f.htype.sql not in ("class", "text") and f.htype.scalar is None:
            raise SchemaError(
                "A column of labels must have one class label, string or number per row, but the "
                f"type of column {name!r} is {f.htype}. Choose another column."
            )
        htype = f.htype.bare
        labels = read_values(view, [f], np.arange(len(view)))[name]
        classes = f.htype.classes
        if classes is not None:
            codes = np.ma.filled(labels, -1).astype(np.int64)
            count = len(classes.names) or int(codes.max(initial=-1)) + 1
            return cls(codes, list(range(count)), htype)
        plain = with_none(labels)
        is_valid = np.array([v is not None for v in plain], bool)
        values, inverse = np.unique(
            np.array([v for v in plain if v is not None]), return_inverse=True
        )
        codes = np.full(len(plain), -1)
        codes[is_valid] = inverse
        return cls(codes, values.tolist(), htype)

    def at(self, rows: Rows) -> Labels:
        """Return the labels of the given rows."""
        return replace(self, codes=self.codes[rows])

    def cells(self, codes: Rows) -> Cells:
        """Convert class numbers to encoded cells of the column."""
        return self.htype.encode([self.values[code] for code in codes.tolist()])
