"""How staged edits become a version: through the calls of a Dataset that users have.

Before anything is written, the branch's tip is compared with what the reader saw: a cell that holds
something else by now, and not what the reader wants, is a collision. Tags do not collide: those of
both are kept.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.versions.conflicts import MOST_LISTED, Conflict, brief, brief_apart
from deeplake_lite.dataset.versions.merge_plan import check_resolution
from deeplake_lite.errors import ConflictError, UncommittedError
from deeplake_lite.schema import free_name
from deeplake_lite.storage.digests import digests_of
from deeplake_lite.widget.edits.counts import check_counts
from deeplake_lite.widget.edits.inputs import NEW, TAGS, new_classes, plain, with_classes
from deeplake_lite.widget.edits.staged import Staged
from deeplake_lite.widget.images.classes import is_tags, pairs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.versions.merge_plan import Resolution
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field, Schema
    from deeplake_lite.storage.table import Table
    from deeplake_lite.widget.edits.inputs import Cell
    from deeplake_lite.widget.edits.staged import Ids

TRIES = 10
"""Times that a write begins again because another writer was faster."""

WAY_OUT = (
    "Choose a side: w.commit('…', on_conflict='ours') writes these edits where their rows and "
    "columns are still there, on_conflict='theirs' leaves such cells as they are."
)

MOST_WRITTEN = 4096
"""Rows whose cells are worked out one by one, at a time."""


@dataclass(frozen=True)
class Written:
    """What a commit has done."""

    version: str
    """Id of the version."""
    rows: int
    """Rows that changed."""


@dataclass(frozen=True)
class Collision:
    """A cell, or a whole row or column, that another writer changed meanwhile."""

    kind: Literal["cell", "row", "column"]
    column: str
    field_id: str
    row_id: int
    ours: str
    """What it is to hold, for people."""
    theirs: str
    """What it holds by now."""

    @property
    def conflict(self) -> Conflict:
        """The same, as errors of datasets list it."""
        reason = f"ours {self.ours}, theirs {self.theirs}"
        return Conflict(self.kind, self.column, self.row_id, reason, (self.field_id,))


class CollisionError(ConflictError):
    """Another writer changed cells that are to be changed.

    Attributes
    ----------
    collisions : list of Collision
    """

    def __init__(self, collisions: Sequence[Collision]) -> None:
        listed = "\n".join(f"  {c.conflict}" for c in collisions[:MOST_LISTED])
        rest = len(collisions) - MOST_LISTED
        more = f"\n  … and {rest:,} more" if rest > 0 else ""
        count = "1 thing" if len(collisions) == 1 else f"{len(collisions):,} things"
        super().__init__(
            f"Another writer changed {count} meanwhile, and nothing was written:\n{listed}{more}\n"
            f"{WAY_OUT}",
            [c.conflict for c in collisions],
        )
        self.collisions = list(collisions)


def write(ds: Dataset, staged: Staged, message: str, on_conflict: Resolution) -> Written:
    """Write staged edits and commit them; the handle is at the new version then.

    They are written by a handle of their own: cells of the notebook may use `ds` meanwhile.

    Raises
    ------
    CollisionError
        When another writer changed the same cells and no side is chosen; the handle is as before.
    UncommittedError
        When the handle has edits of its own.
    InvalidValueError
        When a row would have more marks than classes, or fewer, beside what another writer did.
    ReadOnlyError
        For a version that never moves.
    """
    check_resolution(on_conflict)
    ds._check_writable()
    check_own_edits(ds)
    for _ in range(TRIES):
        own = at_branch(ds._lake, str(ds.current_branch))
        found = list(collisions(own._table, staged))
        if found and on_conflict == "raise":
            raise CollisionError(found)
        try:
            kept = staged.without(left_out(found, on_conflict))
            check_counts(own, Staged(), kept)
            rows = _apply(own, kept)
            done = Written(own.commit(message or default_message(own.schema, staged)), rows)
        except ConflictError:
            continue
        finally:
            own.discard()
        with contextlib.suppress(UncommittedError):  # begun since: they are committed on top
            ds.refresh()
        return done
    raise ConflictError(f"The branch moved {TRIES} times while this was written. Try again.")


def check_own_edits(ds: Dataset) -> None:
    """Refuse to commit what a user did beside the browser. Raises UncommittedError."""
    if status := ds.status():
        raise UncommittedError(
            f"The dataset has edits of its own ({status}), which this commit would take along. "
            "Keep them first with ds.commit('…') or drop them with ds.discard(); what is staged "
            "here stays."
        )


def default_message(schema: Schema, staged: Staged) -> str:
    """Return what is said of a commit where the user says nothing."""
    parts = []
    for field_id, column in staged.columns().items():
        rows, f = len(staged.rows(field_id)), target(schema, field_id, column)
        parts.append(f"{f.name if f else column} of {rows:,} row{'' if rows == 1 else 's'}")
    return f"Edited {', '.join(parts)} in the browser"


def target(schema: Schema, field_id: str, column: str) -> Field | None:
    """Return the column that edits are for: by id, tags that were new by name; None if gone."""
    return next((f for f in schema if is_target(f, field_id, column)), None)


def is_target(f: Field, field_id: str, column: str) -> bool:
    """Tell whether edits are for a column: by id, tags that were new by name."""
    return f.id == field_id or (field_id == NEW and f.name == column and is_tags(f.htype))


# ---- collisions


def collisions(tip: Table, staged: Staged) -> Iterator[Collision]:
    """Yield what is no longer as the reader saw it; marks and their classes collide together."""
    fields = {i: target(tip.schema, i, name) for i, name in staged.columns().items()}
    known = {i: f for i, f in fields.items() if f is not None}
    collided = {i: _collided(tip, staged, f, i) for i, f in known.items()}
    for field_id, column in staged.columns().items():
        name = known[field_id].name if field_id in known else column
        ids = staged.rows(field_id)
        there = tip.find(ids) >= 0
        for row_id in ids[~there].tolist():
            yield Collision("row", name, field_id, row_id, "changed", "removed")
        if field_id in known:
            f = known[field_id]
            with_others = [collided[i] for i in _beside(tip.schema, f) if i in collided]
            rows = np.unique(np.concatenate([collided[field_id], *with_others]))
            yield from _cells(tip, staged, f, np.intersect1d(rows, ids), field_id)
        elif field_id != NEW:
            for row_id in ids[there].tolist():
                yield Collision("column", name, field_id, row_id, "changed", "column dropped")


def left_out(found: Sequence[Collision], on_conflict: Resolution) -> dict[str, Ids]:
    """Return the rows that are not written, by column: what is gone, and what is theirs."""
    gone = [c for c in found if on_conflict == "theirs" or c.kind != "cell"]
    by_column: dict[str, list[int]] = {}
    for c in gone:
        by_column.setdefault(c.field_id, []).append(c.row_id)
    return {field_id: np.array(ids, np.int64) for field_id, ids in by_column.items()}


def _beside(schema: Schema, f: Field) -> Iterator[str]:
    """Yield the ids of the columns whose cells go with those of a column: marks and classes."""
    for pair in pairs_of(schema):
        if f.id in {g.id for g in pair}:
            yield from (g.id for g in pair if g.id != f.id)


def _collided(tip: Table, staged: Staged, f: Field, field_id: str) -> Ids:
    """Return the rows whose cells hold something else by now, and not what the reader wants."""
    ids = staged.rows(field_id)
    slots = tip.find(ids)
    ids, slots = ids[slots >= 0], slots[slots >= 0]
    seen, matters = staged.seen(field_id, ids)
    moved = np.flatnonzero(matters & (tip.digests(f.id, slots) != seen))
    found = [np.empty(0, np.int64)]
    for start in range(0, len(moved), MOST_WRITTEN):
        some = moved[start : start + MOST_WRITTEN]
        ours = staged.after(field_id, ids[some], _theirs(tip, f, slots[some]))
        found.append(ids[some][_digests(f.htype, ours) != tip.digests(f.id, slots[some])])
    return np.concatenate(found)


def _cells(tip: Table, staged: Staged, f: Field, ids: Ids, field_id: str) -> Iterator[Collision]:
    """Yield what both sides want of some rows."""
    for start in range(0, len(ids), MOST_WRITTEN):
        some = ids[start : start + MOST_WRITTEN]
        theirs = _theirs(tip, f, tip.find(some))
        ours = staged.after(field_id, some, theirs)
        for row_id, mine, other in zip(some.tolist(), ours, theirs, strict=True):
            yield Collision("cell", f.name, field_id, row_id, *told_apart(f.htype, mine, other))


def _theirs(tip: Table, f: Field, slots: Ids) -> list[Cell]:
    """Return the cells of a column as they are by now."""
    cells = tip.read([f.id], slots)[f.id]
    return plain(f.htype, with_none(decode_block(f.htype, cells, follow=False)))


def told(htype: Htype, cell: Cell) -> str:
    """Return a cell in a few letters.

    >>> from deeplake_lite.htypes import Boxes, ClassLabel
    >>> told(ClassLabel(["ant"]), "ant"), told(Boxes(), np.zeros((2, 4)))[:7], told(TAGS, ["a"])
    ("'ant'", '2 boxes', "['a']")
    """
    if isinstance(cell, np.ndarray):
        return str(htype.preview(cell))
    return str(cell) if isinstance(cell, np.generic) else brief(cell)


def told_apart(htype: Htype, ours: Cell, theirs: Cell) -> tuple[str, str]:
    """Return two cells in a few letters, those where they begin to differ if others are alike.

    >>> from deeplake_lite.htypes import Text
    >>> told_apart(Text(), "a" * 100 + "b", "a" * 100 + "c")
    ("…aaaaaaaaaaaaaaaab'", "…aaaaaaaaaaaaaaaac'")
    """
    texts = told(htype, ours), told(htype, theirs)
    return texts if texts[0] != texts[1] else brief_apart(ours, theirs)


def _digests(htype: Htype, cells: list[Cell]) -> NDArray[np.uint64]:
    """Return the digests that cells will have; new classes count."""
    wider = with_classes(htype, new_classes(htype, cells))
    return digests_of(wider.layout, wider.encode(cells))


# ---- writing


def _apply(ds: Dataset, staged: Staged) -> int:
    """Put all edits into the handle's transaction; return how many rows changed."""
    changed = [np.empty(0, np.int64)]
    for field_id, name in staged.columns().items():
        f = target(ds.schema, field_id, name)
        if f is None:
            name = free_name(name, ds.schema)
            ds.add_column(name, TAGS)
            f = ds.schema[name]
        changed.append(_write_column(ds, staged, f, field_id, staged.rows(field_id)))
    return len(np.unique(np.concatenate(changed)))


def _write_column(ds: Dataset, staged: Staged, f: Field, field_id: str, ids: Ids) -> Ids:
    """Write a column; return the ids of the rows that changed."""
    table = ds._table
    slots = table.find(ids)
    before, places = table.digests(f.id, slots), positions_of(table, slots)
    changed = [np.empty(0, np.int64)]

    def put(rows: Ids, cells: list[Cell]) -> None:
        _add_classes(ds, f, cells)
        ds.update(places[rows], {f.name: cells})
        changed.append(ids[rows])

    for rows, value in _alike(staged, field_id, ids):
        differ = rows[before[rows] != _digests(f.htype, [value])[0]]
        if len(differ):
            put(differ, [value] * len(differ))
    for rows in _apart(staged, field_id, ids):
        read = with_none(read_values(ds, [f], places[rows], follow=False)[f.name])
        cells = staged.after(field_id, ids[rows], plain(f.htype, read))
        differ = np.flatnonzero(before[rows] != _digests(f.htype, cells))
        if len(differ):
            put(rows[differ], [cells[i] for i in differ.tolist()])
    return np.concatenate(changed)


def _add_classes(ds: Dataset, f: Field, cells: list[Cell]) -> None:
    if new := new_classes(ds.schema[f.name].htype, cells):
        ds.add_classes(f.name, new)


def _alike(staged: Staged, field_id: str, ids: Ids) -> Iterator[tuple[Ids, Any]]:
    """Yield rows (as indices of `ids`) that end with one value, the same for all of them."""
    whose = staged.whose(field_id, ids)
    for number, edit in enumerate(staged.of(field_id)):
        rows = np.flatnonzero(whose == number)
        if edit.op == "set" and len(rows):
            yield rows, edit.value


def _apart(staged: Staged, field_id: str, ids: Ids) -> Iterator[Ids]:
    """Yield the other rows, some at a time."""
    whose = staged.whose(field_id, ids)
    other = [i for i, e in enumerate(staged.of(field_id)) if e.op != "set"]
    rows = np.flatnonzero(np.isin(whose, other))
    for start in range(0, len(rows), MOST_WRITTEN):
        yield rows[start : start + MOST_WRITTEN]


def positions_of(table: Table, slots: Ids) -> Ids:
    """Return where rows are that live in some slots."""
    where = np.full(table.slots, -1, np.int64)
    live = table.rows.live()
    where[live] = np.arange(len(live))
    return where[slots]
