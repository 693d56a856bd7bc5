"""A column of labels as numbers from 0 on, whatever its type, and numbers as such labels again."""

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
    """The labels of some rows."""

    codes: Rows
    """(n,) int64: which class each row has, -1 for none."""
    values: list[Any]
    """What the classes are in the column."""
    htype: Htype
    """The column's type, without nulls."""

    @classmethod
    def of(cls, view: View, name: str) -> Self:
        """Read a column.

        Raises
        ------
        SchemaError
            For a column that holds no one label per row.
        """
        f = view.field(name)
        if f.htype.sql not in ("class", "text") and f.htype.scalar is None:
            raise SchemaError(
                f"labels are one per row, of a ClassLabel, text or numbers; column {name!r} is "
                f"{f.htype}. Name another column."
            )
        htype = replace(f.htype, nullable=False, default=None)
        found = read_values(view, [f], np.arange(len(view)))[name]
        classes = f.htype.classes
        if classes is not None:
            codes = np.ma.filled(found, -1).astype(np.int64)
            known = len(classes.names) or int(codes.max(initial=-1)) + 1
            return cls(codes, list(range(known)), htype)
        plain = with_none(found)
        there = np.array([v is not None for v in plain], bool)
        values, inverse = np.unique(
            np.array([v for v in plain if v is not None]), return_inverse=True
        )
        codes = np.full(len(plain), -1)
        codes[there] = inverse
        return cls(codes, values.tolist(), htype)

    def at(self, rows: Rows) -> Labels:
        """Return the labels of some rows."""
        return replace(self, codes=self.codes[rows])

    def cells(self, codes: Rows) -> Cells:
        """Return cells of the column that hold some classes."""
        return self.htype.encode([self.values[code] for code in codes.tolist()])
