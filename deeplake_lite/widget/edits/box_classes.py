"""The classes of a row's boxes, which edits keep at one class per box.

The classes are in a separate column. Therefore, an edit of boxes edits both columns, even if the
query omits the column of classes, or the row does not have classes yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.schema import Field
from deeplake_lite.widget.edits import inputs
from deeplake_lite.widget.images.classes import class_column
from deeplake_lite.widget.images.kinds import MAX_CLASSES, names_of
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
    """The classes of a row's boxes, with staged edits applied.

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
    """The column of classes. Its type includes staged new classes."""
    value: Cell
    """Names of the classes, None for null, or an exception for an unreadable cell."""
    seen: NDArray[np.uint64]
    """Digest of the stored cell, with which a commit detects changes by other writers."""

    def numbers(self, boxes: int) -> list[int] | None:
        """Return the class number of each box, or None if some boxes have no class."""
        if not self._is_one_each(boxes):
            return None
        if self.value is None:
            return []
        [numbers] = inputs.as_read(self.field.htype, [self.value])
        return [int(number) for number in numbers]

    def after(self, sent: Sequence[int] | None, *, drawn: int, before: int) -> Cell:
        """Return the classes after boxes have been drawn, moved or removed.

        Parameters
        ----------
        sent : sequence of int, optional
            Class number of each box on the page, which shows at most `MOST` boxes. None if the page
            did not send classes.
        drawn, before : int
            Number of boxes after and before the edit.

        Raises
        ------
        InvalidValueError
            When the numbers of boxes and classes would differ.
        """
        if sent is None and (self.value is None or drawn == before):
            return self.value
        now = self.numbers(before)
        if now is None:
            raise InvalidValueError(self._reason(before), column=self.field.name)
        numbers = [*(sent or []), *now[MOST:]]
        if len(numbers) != drawn:
            raise InvalidValueError(
                f"Each box must have one class, but the row would have {pluralize(drawn, 'box')} "
                f"and {pluralize(len(numbers), 'class')}. Draw the box again.",
                column=self.field.name,
            )
        return inputs.to_cell(self.field, numbers)

    def _is_one_each(self, boxes: int) -> bool:
        if isinstance(self.value, Exception):
            return False
        return boxes == (0 if self.value is None else len(self.value))

    def _reason(self, boxes: int) -> str:
        """Return the message for a row without exactly one class for each box."""
        if isinstance(self.value, Exception):
            reason = f"the classes of the boxes cannot be read ({self.value!s:.300})"
        elif self.value is None:
            reason = "the boxes have no classes"
        else:
            reason = (
                f"the row has {pluralize(boxes, 'box')} but {pluralize(len(self.value), 'class')}"
            )
        return (
            f"To add, remove or label boxes, each box must have one class, but {reason}. Set both "
            "columns in Python first, with ds.update(rows, {…})."
        )


def box_classes(pending: Pending, ds: Dataset, f: Field, position: int) -> BoxClasses | None:
    """Return the classes of a row's boxes in a stored column, or None if there is no such column.

    The cell is read from the shown version, even if the query omits the column.
    """
    class_field = class_column(ds.schema, f)
    if class_field is None:
        return None
    view, at = pending.host.shown.view, np.array([position])
    ids = pending.host.shown.ids(at)
    assert ids is not None
    rows = rows_with(view, class_field.id, ids, lambda: ds)
    table, slots = rows.rows.locate()
    stored = by_id(table.schema, class_field.id)
    assert stored is not None
    seen, [value] = table.digests(stored.id, slots), values_of(rows, stored, np.zeros(1, np.int64))
    if isinstance(value, Exception):
        return BoxClasses(class_field, value, seen)
    htype, [value] = pending.after(stored.id, stored.htype, ids, [value])
    class_field = Field(class_field.name, class_field.id, htype)
    return BoxClasses(class_field, inputs.to_cells(htype, [value])[0], seen)


def about_classes(
    pending: Pending, ds: Dataset, f: Field, position: int, boxes: int
) -> dict[str, object] | None:
    """Describe the classes of a row's boxes for the page.

    The description contains the name of the column of classes, the names of all classes, and the
    class numbers of the boxes.

    Return None for a computed column, and for boxes without classes.
    """
    stored = stored_field(pending.host.shown.view, f)
    box_field = None if stored is None else by_id(ds.schema, stored.id)
    classes = None if box_field is None else box_classes(pending, ds, box_field, position)
    if classes is None:
        return None
    numbers, names = classes.numbers(boxes), names_of(classes.field.htype)
    return {
        "column": classes.field.name,
        "names": list(names[:MAX_CLASSES]),
        "c": None if numbers is None else numbers[:MOST],
    }
