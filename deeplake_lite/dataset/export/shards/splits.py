"""The splits of a view, each of which has files of its own in many formats."""

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
    """The splits of a view."""

    view: View

    field: Field | None
    """The column of splits, if its values can name files."""

    @classmethod
    def of(cls, view: View, method: str) -> Splits:
        """Find the column of splits: one of classes, without nulls, whose names can name files.

        Warns if the files cannot keep the order of the rows.
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
                f"{method} writes a file for each split, so rows of different splits change their "
                f"order. To keep it, rename the column {SPLIT!r}.",
                ExportWarning,
                stacklevel=6,
            )
        return splits

    @cached_property
    def views(self) -> dict[str, View]:
        """The rows of each split, without the column of splits; all rows under "" without one."""
        if self.field is None or self.field.htype.classes is None:
            return {"": self.view}
        numbers = np.asarray(self.view[SPLIT][:])
        rest = [name for name in self.view.columns if name != SPLIT]
        return {
            name: self.view[np.flatnonzero(numbers == number)].select(tuple(rest))
            for number, name in enumerate(self.field.htype.classes.names)
            if (numbers == number).any()
        }
