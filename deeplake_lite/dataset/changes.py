"""What differs between two versions, row by row and cell by cell, in terms of row ids.

Rows are matched by id, never by position. Cells are compared by digest, and only those whose index chunk
was written between the two versions: the engine's transaction logs name the chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.errors import LakeError
from deeplake_lite.schema import SchemaChanges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.storage.arrays import Slots
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.table import Table

type Ids = NDArray[np.int64]
type Positions = NDArray[np.int64]

NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Changes:
    """What one version has that an older one had not, and the other way round."""

    added: Ids
    """Ids of the rows added, in their order."""
    removed: Ids
    """Ids of the rows removed, in the old order."""
    cells: Mapping[str, Ids]
    """Ids of the rows whose cell changed, ascending, by column id; columns of both versions only."""
    schema: SchemaChanges
    """Columns added, dropped, renamed, annotated."""
    metadata: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    """Notes on the dataset that changed: (before, after), None where there is none."""

    def __bool__(self) -> bool:
        return bool(
            len(self.added)
            or len(self.removed)
            or any(map(len, self.cells.values()))
            or self.schema
            or self.metadata
        )


def match_rows(a: Ids, b: Ids) -> tuple[Positions, Positions]:
    """Return where the ids that both have are, in `a` and in `b`, pair by pair, in the order of `a`.

    >>> [x.tolist() for x in match_rows(np.array([5, 6, 7]), np.array([7, 5, 9]))]
    [[0, 2], [1, 0]]
    """
    some = min(len(a), len(b))
    differ = np.flatnonzero(a[:some] != b[:some])
    same = int(differ[0]) if len(differ) else some
    rest_a, rest_b = a[same:], b[same:]
    order = np.argsort(rest_b, kind="stable")
    at = np.searchsorted(rest_b, rest_a, sorter=order)
    at[at == len(rest_b)] = 0
    where = order[at] if len(rest_b) else np.zeros(len(rest_a), np.int64)
    hit = rest_b[where] == rest_a if len(rest_b) else np.zeros(len(rest_a), bool)
    prefix = np.arange(same)
    return (
        np.concatenate([prefix, np.flatnonzero(hit) + same]),
        np.concatenate([prefix, where[hit] + same]),
    )


def difference(a: Table, b: Table) -> Changes:
    """Return what `b` changed, relative to `a`. Pending edits of `b` count."""
    slots_a, slots_b = a.rows.live(), b.rows.live()
    ids_a, ids_b = a.ids(slots_a), b.ids(slots_b)
    at_a, at_b = match_rows(ids_a, ids_b)
    only_a = np.ones(len(ids_a), bool)
    only_a[at_a] = False
    only_b = np.ones(len(ids_b), bool)
    only_b[at_b] = False
    suspects = _suspects(a, b)
    shared = {f.id for f in a.schema} & {f.id for f in b.schema}
    cells = {
        f.id: np.sort(ids_a[at_a[_differing(a, b, f.id, slots_a[at_a], slots_b[at_b], suspects)]])
        for f in b.schema
        if f.id in shared
    }
    return Changes(
        added=ids_b[only_b],
        removed=ids_a[only_a],
        cells={c: ids for c, ids in cells.items() if len(ids)},
        schema=a.schema.compare(b.schema),
        metadata=compare_notes(a.state.metadata, b.state.metadata),
    )


def compare_notes(
    a: Mapping[str, object], b: Mapping[str, object]
) -> dict[str, tuple[object, object]]:
    """Return the keys whose values differ, with both values.

    >>> compare_notes({"x": 1, "y": 2}, {"x": 1, "z": 3})
    {'y': (2, None), 'z': (None, 3)}
    """
    return {k: (a.get(k), b.get(k)) for k in {**a, **b} if a.get(k) != b.get(k)}


def common_ancestor(repository: Repository, a: str, b: str) -> str | None:
    """Return the newest snapshot that both have in their history, not counting merges."""
    if a == b:
        return a
    known = {commit.id for commit in repository.ancestry(a)}
    return next((commit.id for commit in repository.ancestry(b) if commit.id in known), None)


type Suspects = Callable[[str, Slots], NDArray[np.bool_]]


def _suspects(a: Table, b: Table) -> Suspects | None:
    """Return what tells, for a column, which slots may hold another cell in `b`; None where any may."""
    edits = b.edits
    if edits is not None and not a.edits and a.snapshot_id == b.snapshot_id:
        return lambda column, slots: np.isin(slots, edits.slots_updated(column))
    if a.edits or b.edits or a.state.generation != b.state.generation:
        return None
    touched = _touched_chunks(a.repository, a.snapshot_id, b.snapshot_id)
    if touched is None:
        return None
    return lambda column, slots: b.in_chunks(column, slots, touched)


def _touched_chunks(repository: Repository, a: str, b: str) -> dict[str, set[int]] | None:
    """Return, by array path, the chunks written on the way from one version to the other."""
    base, found = common_ancestor(repository, a, b), dict[str, set[int]]()
    if base is None:
        return None
    try:
        for side in {a, b} - {base}:
            for path, touched in repository.changed_chunks(base, side).items():
                found.setdefault(path, set()).update(touched)
    except LakeError:  # the logs between them have been vacuumed
        return None
    return found


def _differing(
    a: Table, b: Table, column: str, slots_a: Slots, slots_b: Slots, suspects: Suspects | None
) -> Positions:
    """Return the indices of the row pairs whose cells of `column` differ."""
    maybe = np.arange(len(slots_a))
    if suspects is not None:
        maybe = np.flatnonzero((slots_a != slots_b) | suspects(column, slots_b))
    if not len(maybe):
        return NONE
    unequal = a.digests(column, slots_a[maybe]) != b.digests(column, slots_b[maybe])
    return maybe[unequal]
