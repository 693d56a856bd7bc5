"""Checks that edits leave each mark in a row with exactly one class.

Marks are the boxes, polygons and keypoints that are drawn over an image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.view import View
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import inflect, pluralize
from deeplake_lite.widget.edits.inputs import to_cells
from deeplake_lite.widget.edits.staged import Staged
from deeplake_lite.widget.images.classes import pairs_of
from deeplake_lite.widget.images.values import values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.schema import Field, Schema
    from deeplake_lite.widget.edits.staged import Edit, Ids

MAX_COMPARED = 4096
"""Maximum number of rows whose marks and classes are counted at a time."""


def check_counts(ds: Dataset, before: Staged, after: Staged) -> None:
    """Reject edits that would leave a row without exactly one class for each mark.

    Rows whose numbers of marks and classes already differ, both in the lake and with the edits
    `before`, are not checked.

    Parameters
    ----------
    ds : Dataset
        The edited dataset.
    before, after : Staged
        The staged edits before and after a change.

    Raises
    ------
    InvalidValueError
        When the numbers of marks and classes would differ in a row.
    """
    changed = {*before.edits} ^ {*after.edits}
    for marks, classes in pairs_of(ds.schema):
        edited = [e.ids for e in changed if e.field_id in (marks.id, classes.id)]
        for ids in _blocks(ds, edited):
            _check(ds, marks, classes, ids, before, after)


def dependents(schema: Schema, edits: Sequence[Edit], dropped: Collection[Edit]) -> list[Edit]:
    """Return the edits that must also be dropped because they build on dropped edits.

    An edit of only the classes builds on the marks that the row had when the edit was staged, and
    an edit of only the marks builds on the row's classes. An edit of both columns does not build on
    other edits.
    """
    also: list[Edit] = []
    for marks, classes in pairs_of(schema):
        also += _dependents(edits, {*dropped, *also}, marks.id, classes.id)
    return also


def _dependents(
    edits: Sequence[Edit], dropped: Collection[Edit], marks: str, classes: str
) -> Iterator[Edit]:
    """Yield the edits of two columns that must also be dropped, in the order of `edits`."""
    # Ids of rows whose cells now have other values than before, because an edit was dropped.
    altered = {marks: np.empty(0, np.int64), classes: np.empty(0, np.int64)}
    previous_joined = False
    for e in edits:
        previous_joined, joined = e.with_next, previous_joined or e.with_next
        if e.field_id not in altered:
            continue
        others = [i for i in altered if i != e.field_id or e.op != "set"]
        depends = not joined and any(np.isin(e.ids, altered[i]).any() for i in others)
        if depends and e not in dropped:
            yield e
        change = np.union1d if depends or e in dropped else np.setdiff1d
        altered[e.field_id] = change(altered[e.field_id], e.ids)


def _blocks(ds: Dataset, edited: list[Ids]) -> Iterator[Ids]:
    """Yield the ids of edited rows that exist, at most `MAX_COMPARED` at a time."""
    ids = np.unique(np.concatenate([np.empty(0, np.int64), *edited]))
    ids = ids[ds.handle.table.find(ids) >= 0]
    for start in range(0, len(ids), MAX_COMPARED):
        yield ids[start : start + MAX_COMPARED]


def _check(
    ds: Dataset, marks: Field, classes: Field, ids: Ids, before: Staged, after: Staged
) -> None:
    """Raise InvalidValueError if a row's equal numbers of marks and classes become different.

    The numbers of these rows are compared in the lake, with the edits `before`, and with the edits
    `after`.
    """
    rows = View(ds.rows.with_slots(ds.handle.table.find(ids)), ds.columns, ds.origin)
    stored = {f.id: values_of(rows, f, np.arange(len(ids))) for f in (marks, classes)}
    in_lake, earlier, later = (
        zip(*(_counts(staged, f, ids, stored[f.id]) for f in (marks, classes)), strict=True)
        for staged in (Staged(), before, after)
    )
    for *old_counts, (mark_count, class_count) in zip(in_lake, earlier, later, strict=True):
        matched = any(m and m == c for m, c in old_counts)
        if mark_count != class_count and matched:
            raise InvalidValueError(
                f"a row must have one class in {classes.name!r} for each item in {marks.name!r}, "
                f"but it would have {_count_text(class_count, 'class')} and "
                f"{_count_text(mark_count, 'item')}. Edit the boxes in the detail panel, or set "
                "both columns in Python with ds.update(rows, {…}).",
                column=classes.name,
            )


def _counts(staged: Staged, f: Field, ids: Ids, stored: list[object]) -> list[int | None]:
    """Return each row's number of marks or classes, or None for null and unreadable cells."""
    cells = to_cells(f.htype, [None if isinstance(cell, Exception) else cell for cell in stored])
    return [None if cell is None else len(cell) for cell in staged.after(f.id, ids, cells)]


def _count_text(count: int | None, noun: str) -> str:
    return f"null for the {inflect(2, noun)}" if count is None else pluralize(count, noun)
