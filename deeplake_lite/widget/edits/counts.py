"""Marks and their classes are as many as each other: an edit of one column may not change that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.widget.edits.inputs import plain
from deeplake_lite.widget.edits.staged import Staged
from deeplake_lite.widget.edits.writing import MOST_WRITTEN
from deeplake_lite.widget.pictures.classes import pairs_of
from deeplake_lite.widget.pictures.values import values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.edits.staged import Edit, Ids


def check_counts(ds: Dataset, staged: Staged, edits: Sequence[Edit]) -> None:
    """Refuse edits after which rows no longer have a class for each mark. Raises InvalidValueError.

    Rows without marks, without classes, or with other numbers of them now are left to the reader.
    """
    after = Staged([*staged.edits, *edits])
    for marks, classes in pairs_of(ds.schema):
        touched = [e.ids for e in edits if e.field_id in (marks.id, classes.id)]
        for ids in _blocks(ds, touched):
            _check(ds, marks, classes, ids, staged, after)


def _blocks(ds: Dataset, touched: list[Ids]) -> Iterator[Ids]:
    ids = np.unique(np.concatenate([np.empty(0, np.int64), *touched]))
    ids = ids[ds._table.find(ids) >= 0]
    for start in range(0, len(ids), MOST_WRITTEN):
        yield ids[start : start + MOST_WRITTEN]


def _check(
    ds: Dataset, marks: Field, classes: Field, ids: Ids, before: Staged, after: Staged
) -> None:
    rows = ds._taken(ds._table.find(ids), ds.columns, ds.origin)
    stored = {f.id: values_of(rows, f, np.arange(len(ids))) for f in (marks, classes)}
    had, have = (
        zip(*(_counts(staged, f, ids, stored[f.id]) for f in (marks, classes)), strict=True)
        for staged in (before, after)
    )
    for (were, those), (count, number) in zip(had, have, strict=True):
        if were and were == those and count != number:
            raise InvalidValueError(
                f"a row would have {_said(count)} in {marks.name!r}, but {_said(number)} classes "
                f"in {classes.name!r}, of which each has one. Edit the boxes in the row at large, "
                "or set both columns in Python: ds.update(rows, {…}).",
                column=classes.name,
            )


def _counts(staged: Staged, f: Field, ids: Ids, stored: list[Any]) -> list[int | None]:
    """Return how many marks, or classes, rows have; None for null, and where they do not read."""
    cells = plain(f.htype, [None if isinstance(cell, Exception) else cell for cell in stored])
    return [None if cell is None else len(cell) for cell in staged.after(f.id, ids, cells)]


def _said(count: int | None) -> str:
    return "null" if count is None else f"{count:,}"
