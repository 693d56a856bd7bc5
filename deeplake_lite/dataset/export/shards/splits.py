"""The splits of a view, such as training and test rows, which many exports write separately."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import ExportWarning

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

SPLIT = "split"
"""Name of the column of splits."""

_NAME = re.compile(r"\w+(\.\w+)*")


@dataclass(frozen=True)
class Splits:
    """The splits of a view, according to its column ``split``."""

    view: View

    field: Field | None
    """The column of splits, or None if the view has no suitable column."""

    @classmethod
    def of(cls, view: View, method: str) -> Splits:
        """Find the column of splits: a class column without nulls whose classes can be file names.

        Warns if the rows are not sorted by split, because separate files do not keep their order.
        """
        f = view.schema[SPLIT] if SPLIT in view.columns else None
        names = f.htype.classes.names if f is not None and f.htype.classes is not None else ()
        is_split = (
            f is not None and f.htype.sql == "class" and len(view.columns) > 1 and len(view) > 0
            and bool(names) and not f.htype.nullable and all(map(_NAME.fullmatch, names))
        )  # fmt: skip
        splits = cls(view, f if is_split else None)
        if len(splits.views) > 1 and (np.diff(np.asarray(view[SPLIT][:])) < 0).any():
            warnings.warn(
                f"{method} writes separate files for each split, so the order of rows changes. To "
                f"keep the order, rename the column {SPLIT!r}.",
                ExportWarning,
                stacklevel=6,
            )
        return splits

    @cached_property
    def views(self) -> dict[str, View]:
        """Maps the name of each split to a view of its rows, without the column of splits.

        If the view has no column of splits, maps "" to the view of all rows.
        """
        if self.field is None or self.field.htype.classes is None:
            return {"": self.view}
        numbers = np.asarray(self.view[SPLIT][:])
        names = [name for name in self.view.columns if name != SPLIT]
        return {
            name: self.view[np.flatnonzero(numbers == number)].select(tuple(names))
            for number, name in enumerate(self.field.htype.classes.names)
            if (numbers == number).any()
        }
