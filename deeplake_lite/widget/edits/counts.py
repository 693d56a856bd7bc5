"""Marks and their classes are as many as each other, and edits of both in a row go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.widget.edits.inputs import plain
from deeplake_lite.widget.edits.staged import Staged
from deeplake_lite.widget.images.classes import pairs_of
from deeplake_lite.widget.images.values import values_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.schema import Field, Schema
    from deeplake_lite.widget.edits.staged import Edit, Ids

MOST_COMPARED = 4096
"""Rows whose marks and classes are counted at a time."""


def check_counts(ds: Dataset, before: Staged, after: Staged) -> None:
    """Refuse edits after which rows no longer have a class for each mark. Raises InvalidValueError.

    Rows that have no marks, no classes, or other numbers of them, in the lake and before, are left
    to the reader.
    """
    changed = {*before.edits} ^ {*after.edits}
    for marks, classes in pairs_of(ds.schema):
        touched = [e.ids for e in changed if e.field_id in (marks.id, classes.id)]
        for ids in _blocks(ds, touched):
            _check(ds, marks, classes, ids, before, after)


def dependents(schema: Schema, edits: Sequence[Edit], dropped: Collection[Edit]) -> list[Edit]:
    """Return the edits that go too when some are dropped: those made for marks that are gone then.

    An edit of classes alone is made for the marks that the row had, one of marks alone for the
    classes. An edit of both is made for nothing that was there.
    """
    found: list[Edit] = []
    for marks, classes in pairs_of(schema):
        found += _dependents(edits, {*dropped, *found}, marks.id, classes.id)
    return found


def _dependents(
    edits: Sequence[Edit], dropped: Collection[Edit], marks: str, classes: str
) -> Iterator[Edit]:
    """Yield the edits of two columns that go, in order."""
    moved = {marks: np.empty(0, np.int64), classes: np.empty(0, np.int64)}
    both = False
    for e in edits:
        both, joined = e.with_next, both or e.with_next
        if e.field_id not in moved:
            continue
        others = [i for i in moved if i != e.field_id or e.op != "set"]
        depends = not joined and any(np.isin(e.ids, moved[i]).any() for i in others)
        if depends and e not in dropped:
            yield e
        change = np.union1d if depends or e in dropped else np.setdiff1d
        moved[e.field_id] = change(moved[e.field_id], e.ids)


def _blocks(ds: Dataset, touched: list[Ids]) -> Iterator[Ids]:
    ids = np.unique(np.concatenate([np.empty(0, np.int64), *touched]))
    ids = ids[ds._table.find(ids) >= 0]
    for start in range(0, len(ids), MOST_COMPARED):
        yield ids[start : start + MOST_COMPARED]


def _check(
    ds: Dataset, marks: Field, classes: Field, ids: Ids, before: Staged, after: Staged
) -> None:
    rows = ds._taken(ds._table.find(ids), ds.columns, ds.origin)
    stored = {f.id: values_of(rows, f, np.arange(len(ids))) for f in (marks, classes)}
    kept, had, have = (
        zip(*(_counts(staged, f, ids, stored[f.id]) for f in (marks, classes)), strict=True)
        for staged in (Staged(), before, after)
    )
    for *pairs, (count, number) in zip(kept, had, have, strict=True):
        if count != number and any(were and were == those for were, those in pairs):
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
