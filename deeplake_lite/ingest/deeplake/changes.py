"""Finding the rows that a version of a Deep Lake dataset changes, as positions in the lake.

The versions of a dataset become commits of a lake one after the other. Before a version is
committed, the lake has the rows of the previous version.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.deeplake.snapshot import Snapshot
    from deeplake_lite.ingest.deeplake.versions import State

type Positions = NDArray[np.int64]

BLOCK_ROWS = 1_024
"""Number of rows that are compared at a time."""

FILE_ROWS = 32
"""Number of rows that are compared at a time if values may be large, such as files or arrays."""

NONE: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class Changes:
    """The rows that differ between a version and the previous version."""

    deleted: Positions
    """Positions of deleted rows in the previous version."""

    kept: int
    """Number of rows that remain from the previous version. The rows after them are new."""

    updated: Mapping[str, Positions] = field(default_factory=dict)
    """Maps the names of columns to the positions, in the new version, of their changed cells."""


def changes_by_id(before: State, after: State) -> Changes | None:
    """Return the changes between two states, or None if the order of the rows has changed."""
    is_kept = np.isin(before.rows, after.rows)
    kept = int(is_kept.sum())
    if not np.array_equal(before.rows[is_kept], after.rows[:kept]):
        return None
    order = np.argsort(after.rows[:kept])
    ids = after.rows[:kept][order]
    updated = {}
    for number, changed in after.updated.items():
        if number in after.columns and number in before.columns:
            positions = order[np.isin(ids, changed)]
            updated[after.columns[number]] = np.sort(positions)
    return Changes(np.flatnonzero(~is_kept), kept, updated)


def changes_by_content(ds: Dataset, snapshot: Snapshot) -> Changes:
    """Return the changes from the rows of a lake to those of a version, after reading all rows.

    Rows at the same position are compared. But if the version has fewer rows, and if it equals the
    lake without some consecutive rows, these rows count as deleted.
    """
    names = [name for name in snapshot.columns if name in ds.schema]
    old = {name: _stored(ds, name) for name in names}
    new = {name: _read(ds, snapshot, name) for name in names}
    before, after = len(ds), len(snapshot)
    kept = min(before, after)
    fewer = before - after
    if fewer > 0 and names:
        first = min(_first_difference(old[name], new[name]) for name in names)
        if all(np.array_equal(old[name][first + fewer :], new[name][first:]) for name in names):
            return Changes(np.arange(first, first + fewer), kept)
    updated = {name: np.flatnonzero(old[name][:kept] != new[name][:kept]) for name in names}
    return Changes(np.arange(kept, before), kept, updated)


def _first_difference(a: NDArray[Any], b: NDArray[Any]) -> int:
    """Return the first position at which two arrays differ, or the length of the shorter array.

    >>> _first_difference(np.array([1, 2, 3]), np.array([1, 3]))
    1
    """
    length = min(len(a), len(b))
    differ = np.flatnonzero(a[:length] != b[:length])
    return int(differ[0]) if len(differ) else length


def _stored(ds: Dataset, name: str) -> NDArray[np.uint64]:
    """Return the digest of each cell in a column of a lake."""
    table, slots = ds.rows.locate()
    parts = [table.digests(ds.schema[name].id, slots[s]) for s in chunks.spans(len(slots), 65_536)]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _read(ds: Dataset, snapshot: Snapshot, name: str) -> NDArray[np.uint64]:
    """Return the digest of each cell in a column of a version, encoded as the lake stores it."""
    f, table, parts = ds.schema[name], ds.handle.table, [np.empty(0, np.uint64)]
    rows = BLOCK_ROWS if f.htype.scalar is not None or f.htype.sql is not None else FILE_ROWS
    for span in chunks.spans(len(snapshot), rows):
        cells = f.htype.encode(snapshot.values(name, span))
        parts.append(table.digest(f.id, cells))
    return np.concatenate(parts)
