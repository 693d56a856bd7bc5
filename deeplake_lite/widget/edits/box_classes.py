"""The classes of a row's boxes: one for each box before an edit, and one for each box after it.

They are in a column of their own, which a query may leave out and a row may not have filled in. An
edit of boxes is an edit of both columns all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.schema import Field
from deeplake_lite.widget.edits import inputs
from deeplake_lite.widget.images.classes import class_column
from deeplake_lite.widget.images.kinds import MOST_CLASSES, names_of
from deeplake_lite.widget.images.overlays import MOST
from deeplake_lite.widget.images.values import values_of
from deeplake_lite.widget.stored import by_id, rows_with, stored_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.widget.edits.inputs import Cell
    from deeplake_lite.widget.edits.pending import Pending


@dataclass(frozen=True, eq=False)
class BoxClasses:
    """The classes of the boxes of one row, as they are staged.

    Examples
    --------
    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Field
    >>> f = Field("kinds", "c0000000a", ClassLabel(["ant", "bee"], multiple=True))
    >>> two = BoxClasses(f, ["bee", "ant"], np.zeros(1, np.uint64))
    >>> two.numbers(2), two.after([1, 0, 0], drawn=3, before=2), two.after(None, drawn=2, before=2)
    ([1, 0], ['bee', 'ant', 'ant'], ['bee', 'ant'])
    """

    field: Field
    """Column that has them, with the classes that are to be added."""
    value: Cell
    """Their names; None for null, an error for a cell that does not read."""
    seen: NDArray[np.uint64]
    """Digest of the cell as it is stored."""

    def numbers(self, boxes: int) -> list[int] | None:
        """Return the class of each box; None where there is not one for each."""
        if not self._is_one_each(boxes):
            return None
        if self.value is None:
            return []
        [found] = inputs.shown(self.field.htype, [self.value])
        return [int(number) for number in found]

    def after(self, sent: Sequence[int] | None, *, drawn: int, before: int) -> Cell:
        """Return the classes once boxes are drawn, moved or removed.

        Parameters
        ----------
        sent : sequence of int, optional
            Class of each box that the page shows, of which there are at most `MOST`.
        drawn, before : int
            How many boxes there will be, and are.

        Raises
        ------
        InvalidValueError
            Where not every box would have one class.
        """
        if sent is None and (self.value is None or drawn == before):
            return self.value
        now = self.numbers(before)
        if now is None:
            raise InvalidValueError(self._why_not(before), column=self.field.name)
        found = [*(sent or []), *now[MOST:]]
        if len(found) != drawn:
            raise InvalidValueError(
                f"There would be {drawn:,} boxes, but {len(found):,} classes came with them. Each "
                "box has one class. Draw it again.",
                column=self.field.name,
            )
        return inputs.taken(self.field, found)

    def _is_one_each(self, boxes: int) -> bool:
        if isinstance(self.value, Exception):
            return False
        return boxes == (0 if self.value is None else len(self.value))

    def _why_not(self, boxes: int) -> str:
        if isinstance(self.value, Exception):
            why = f"the classes of the boxes do not read ({self.value!s:.300})"
        elif self.value is None:
            why = "the boxes have no classes"
        else:
            why = f"the row has {boxes:,} boxes but {len(self.value):,} classes"
        return (
            f"Boxes with classes are added, removed and named where each has one, but {why}. Set "
            "both in Python first: ds.update(rows, {…})."
        )


def box_classes(pending: Pending, ds: Dataset, f: Field, position: int) -> BoxClasses | None:
    """Return the classes of the boxes in a stored column; None where it has no such classes.

    They are read in the version that is shown, also where the query leaves them out.
    """
    known = class_column(ds.schema, f)
    if known is None:
        return None
    view, at = pending.host.shown.view, np.array([position])
    ids = pending.host.shown.ids(at)
    assert ids is not None
    rows = rows_with(view, known.id, ids, lambda: ds)
    table, slots = rows._located()
    found = by_id(table.schema, known.id)
    assert found is not None
    seen, [value] = table.digests(found.id, slots), values_of(rows, found, np.zeros(1, np.int64))
    if isinstance(value, Exception):
        return BoxClasses(known, value, seen)
    htype, [value] = pending.after(found.id, found.htype, ids, [value])
    return BoxClasses(Field(known.name, known.id, htype), inputs.plain(htype, [value])[0], seen)


def about_classes(
    pending: Pending, ds: Dataset, f: Field, position: int, boxes: int
) -> dict[str, Any] | None:
    """Return what the page edits boxes with: the column of their classes, its names, their numbers.

    None for a column of a query that is none of the dataset's, or whose boxes have no classes.
    """
    stored = stored_field(pending.host.shown.view, f)
    marks = None if stored is None else by_id(ds.schema, stored.id)
    found = None if marks is None else box_classes(pending, ds, marks, position)
    if found is None:
        return None
    numbers, names = found.numbers(boxes), names_of(found.field.htype)
    return {
        "column": found.field.name,
        "names": list(names[:MOST_CLASSES]),
        "c": None if numbers is None else numbers[:MOST],
    }
