"""Commits of staged edits, which use the public methods of a Dataset.

Before anything is written, the cells at the tip of the branch are compared with the cells that the
user saw. If another writer has changed a cell since then, and not to the user's value, this is a
collision. Added and removed tags do not collide, because the changes of both writers can be
applied.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.versions.conflicts import MAX_LISTED, Conflict, brief, brief_apart
from deeplake_lite.dataset.versions.merge_plan import check_resolution
from deeplake_lite.errors import ConflictError, UncommittedError
from deeplake_lite.schema import free_name
from deeplake_lite.storage.digests import digests_of
from deeplake_lite.widget.edits.counts import check_counts
from deeplake_lite.widget.edits.inputs import NEW, TAGS, new_classes, to_cells, with_classes
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
"""Maximum number of attempts to commit while other writers keep moving the branch."""

WAY_OUT = (
    "Choose a side: w.commit('…', on_conflict='ours') writes these edits wherever their rows and "
    "columns still exist, and on_conflict='theirs' keeps the other writer's values."
)

MAX_BLOCK_ROWS = 4096
"""Maximum number of rows whose cells are read at a time."""


@dataclass(frozen=True)
class Collision:
    """A cell, row or column that another writer has changed since the user edited it."""

    kind: Literal["cell", "row", "column"]
    column: str
    field_id: str
    row_id: int
    ours: str
    """Description of the value that is staged here."""
    theirs: str
    """Description of the value at the tip of the branch."""

    @property
    def conflict(self) -> Conflict:
        """The collision as an entry of `ConflictError.conflicts`."""
        reason = f"ours {self.ours}, theirs {self.theirs}"
        return Conflict(self.kind, self.column, self.row_id, reason, (self.field_id,))


@dataclass(frozen=True)
class CommitResult:
    """The result of a commit."""

    version: str
    """Id of the version."""
    rows: int
    """Number of rows that changed."""
    lost: tuple[Collision, ...] = ()
    """Edits that were not written, because another writer has removed their rows or columns."""


class CollisionError(ConflictError):
    """Another writer has changed cells that have staged edits.

    Attributes
    ----------
    collisions : list of Collision
    """

    def __init__(self, collisions: Sequence[Collision]) -> None:
        listed = "\n".join(f"  {c.conflict}" for c in collisions[:MAX_LISTED])
        rest = len(collisions) - MAX_LISTED
        more = f"\n  … and {rest:,} more" if rest > 0 else ""
        count = "1 conflict" if len(collisions) == 1 else f"{len(collisions):,} conflicts"
        super().__init__(
            f"Nothing was written, because another writer changed the same rows ({count}):\n"
            f"{listed}{more}\n{WAY_OUT}",
            [c.conflict for c in collisions],
        )
        self.collisions = list(collisions)


def write(ds: Dataset, staged: Staged, message: str, on_conflict: Resolution) -> CommitResult:
    """Write and commit staged edits, and move the dataset to the new version.

    The edits are written through a second Dataset object, because other notebook cells may use `ds`
    at the same time.

    Raises
    ------
    CollisionError
        When another writer has changed the same cells, and `on_conflict` is "raise". `ds` is
        unchanged.
    UncommittedError
        When the dataset has uncommitted edits that were made outside the browser.
    InvalidValueError
        When another writer's edits would leave a row with different numbers of marks and classes.
    ReadOnlyError
        When the dataset is read-only.
    """
    check_resolution(on_conflict)
    ds.handle.check_writable()
    check_own_edits(ds)
    for _ in range(TRIES):
        writer = at_branch(ds.rows.lake, str(ds.current_branch))
        conflicts = list(collisions(writer.handle.table, staged))
        if conflicts and on_conflict == "raise":
            raise CollisionError(conflicts)
        try:
            edits = staged.without(excluded_rows(conflicts, on_conflict))
            check_counts(writer, Staged(), edits)
            rows = _apply(writer, edits)
            version = writer.commit(message or default_message(writer.schema, staged))
        except ConflictError:  # another writer committed first, so compare with the new tip
            continue
        finally:
            writer.discard()
        # Meanwhile, a notebook cell may have begun to edit `ds`. Its edits go on top of this
        # version.
        with contextlib.suppress(UncommittedError):
            ds.refresh()
        lost = tuple(c for c in conflicts if c.kind != "cell")
        return CommitResult(version, rows, lost)
    raise ConflictError(
        f"Other writers moved the branch {TRIES} times during this commit. Try again."
    )


def check_own_edits(ds: Dataset) -> None:
    """Raise UncommittedError if the dataset has edits that were made outside the browser."""
    if status := ds.status():
        raise UncommittedError(
            "The dataset has uncommitted edits that were made outside the dataset browser "
            f"({status}), and this commit would include them. Commit them first with "
            "ds.commit('…'), or drop them with ds.discard(). Edits that are staged in the dataset "
            "browser are kept."
        )


def default_message(schema: Schema, staged: Staged) -> str:
    """Return the default commit message, which names the edited columns."""
    parts = []
    for field_id, column in staged.columns().items():
        rows, f = len(staged.rows(field_id)), target(schema, field_id, column)
        parts.append(f"{f.name if f else column} of {rows:,} row{'' if rows == 1 else 's'}")
    return f"Edited {', '.join(parts)} in the browser"


def target(schema: Schema, field_id: str, column: str) -> Field | None:
    """Return the column to which edits belong, or None if the column does not exist.

    Edits refer to the column by its id, and to a new tag column by its name.
    """
    return next((f for f in schema if is_target(f, field_id, column)), None)


def is_target(f: Field, field_id: str, column: str) -> bool:
    """Return whether edits with this column id and name belong to `f`; see `target`."""
    return f.id == field_id or (field_id == NEW and f.name == column and is_tags(f.htype))


# ---- collisions


def collisions(tip: Table, staged: Staged) -> Iterator[Collision]:
    """Yield edited rows, columns and cells that another writer has changed.

    If a row's marks collide, its classes count as a collision too, and vice versa, because writing
    only one of the two columns could leave a row with different numbers of marks and classes.
    """
    fields = {i: target(tip.schema, i, name) for i, name in staged.columns().items()}
    known = {i: f for i, f in fields.items() if f is not None}
    collided = {i: _collided_rows(tip, staged, f, i) for i, f in known.items()}
    for field_id, column in staged.columns().items():
        name = known[field_id].name if field_id in known else column
        ids = staged.rows(field_id)
        exists = tip.find(ids) >= 0
        for row_id in ids[~exists].tolist():
            yield Collision("row", name, field_id, row_id, "changed", "removed")
        if field_id in known:
            f = known[field_id]
            partners = [collided[i] for i in _partners(tip.schema, f) if i in collided]
            rows = np.unique(np.concatenate([collided[field_id], *partners]))
            yield from _cell_collisions(tip, staged, f, np.intersect1d(rows, ids), field_id)
        elif field_id != NEW:
            for row_id in ids[exists].tolist():
                yield Collision("column", name, field_id, row_id, "changed", "column dropped")


def excluded_rows(conflicts: Sequence[Collision], on_conflict: Resolution) -> dict[str, Ids]:
    """Return a dict that maps column ids to the ids of the rows that must not be written.

    These are removed rows, rows of dropped columns, and for "theirs" all rows with conflicts.
    """
    excluded = [c for c in conflicts if on_conflict == "theirs" or c.kind != "cell"]
    by_column: dict[str, list[int]] = {}
    for c in excluded:
        by_column.setdefault(c.field_id, []).append(c.row_id)
    return {field_id: np.array(ids, np.int64) for field_id, ids in by_column.items()}


def _partners(schema: Schema, f: Field) -> Iterator[str]:
    """Yield the ids of columns that must change together with `f`.

    If `f` contains marks, this is the column of the marks' classes. If `f` contains the classes of
    marks, these are the columns of the marks.
    """
    for pair in pairs_of(schema):
        if f.id in {g.id for g in pair}:
            yield from (g.id for g in pair if g.id != f.id)


def _collided_rows(tip: Table, staged: Staged, f: Field, field_id: str) -> Ids:
    """Return the ids of rows whose cells another writer has changed.

    Rows in which the other writer's value equals the edited value are left out.
    """
    ids = staged.rows(field_id)
    slots = tip.find(ids)
    ids, slots = ids[slots >= 0], slots[slots >= 0]
    seen, matters = staged.seen(field_id, ids)
    changed = np.flatnonzero(matters & (tip.digests(f.id, slots) != seen))
    collided = [np.empty(0, np.int64)]
    for start in range(0, len(changed), MAX_BLOCK_ROWS):
        rows = changed[start : start + MAX_BLOCK_ROWS]
        ours = staged.after(field_id, ids[rows], _read_tip(tip, f, slots[rows]))
        collided.append(ids[rows][_digests(f.htype, ours) != tip.digests(f.id, slots[rows])])
    return np.concatenate(collided)


def _cell_collisions(
    tip: Table, staged: Staged, f: Field, ids: Ids, field_id: str
) -> Iterator[Collision]:
    """Yield collisions for the given rows, with descriptions of both values."""
    for start in range(0, len(ids), MAX_BLOCK_ROWS):
        block = ids[start : start + MAX_BLOCK_ROWS]
        theirs = _read_tip(tip, f, tip.find(block))
        ours = staged.after(field_id, block, theirs)
        for row_id, mine, other in zip(block.tolist(), ours, theirs, strict=True):
            yield Collision("cell", f.name, field_id, row_id, *describe_apart(f.htype, mine, other))


def _read_tip(tip: Table, f: Field, slots: Ids) -> list[Cell]:
    """Return the cells of a column at the tip of the branch."""
    cells = tip.read([f.id], slots)[f.id]
    return to_cells(f.htype, with_none(decode_block(f.htype, cells, follow=False)))


def describe(htype: Htype, cell: Cell) -> str:
    """Return a short description of a cell for users.

    >>> from deeplake_lite.htypes import Boxes, ClassLabel
    >>> describe(ClassLabel(["ant"]), "ant"), describe(TAGS, ["a"])
    ("'ant'", "['a']")
    >>> describe(Boxes(), np.zeros((2, 4)))[:7]
    '2 boxes'
    """
    if isinstance(cell, np.ndarray):
        return str(htype.preview(cell))
    return str(cell) if isinstance(cell, np.generic) else brief(cell)


def describe_apart(htype: Htype, ours: Cell, theirs: Cell) -> tuple[str, str]:
    """Return short descriptions of two cells. If they begin alike, show where they differ.

    >>> from deeplake_lite.htypes import Text
    >>> describe_apart(Text(), "a" * 100 + "b", "a" * 100 + "c")
    ("…aaaaaaaaaaaaaaaab'", "…aaaaaaaaaaaaaaaac'")
    """
    texts = describe(htype, ours), describe(htype, theirs)
    return texts if texts[0] != texts[1] else brief_apart(ours, theirs)


def _digests(htype: Htype, cells: list[Cell]) -> NDArray[np.uint64]:
    """Return the digests that cells will have after their new classes are added."""
    wider = with_classes(htype, new_classes(htype, cells))
    return digests_of(wider.layout, wider.encode(cells))


# ---- writing


def _apply(ds: Dataset, staged: Staged) -> int:
    """Apply all edits in the dataset's transaction, and return the number of changed rows."""
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
    """Write the edits of a column to some rows, and return the ids of the rows that changed.

    Rows that "set" edits give the same value are written together. For other edits, such as added
    tags, the cells are read first. Unchanged cells are not written.
    """
    table = ds.handle.table
    slots = table.find(ids)
    before, places = table.digests(f.id, slots), table.rows.positions(slots)
    changed = [np.empty(0, np.int64)]

    def put(rows: Ids, cells: list[Cell]) -> None:
        _add_classes(ds, f, cells)
        ds.update(places[rows], {f.name: cells})
        changed.append(ids[rows])

    for rows, value in _uniform_rows(staged, field_id, ids):
        differ = rows[before[rows] != _digests(f.htype, [value])[0]]
        if len(differ):
            put(differ, [value] * len(differ))
    for rows in _other_rows(staged, field_id, ids):
        read = with_none(read_values(ds, [f], places[rows], follow=False)[f.name])
        cells = staged.after(field_id, ids[rows], to_cells(f.htype, read))
        differ = np.flatnonzero(before[rows] != _digests(f.htype, cells))
        if len(differ):
            put(rows[differ], [cells[i] for i in differ.tolist()])
    return np.concatenate(changed)


def _add_classes(ds: Dataset, f: Field, cells: list[Cell]) -> None:
    if new := new_classes(ds.schema[f.name].htype, cells):
        ds.add_classes(f.name, new)


def _uniform_rows(staged: Staged, field_id: str, ids: Ids) -> Iterator[tuple[Ids, object]]:
    """Yield (rows, value) for each "set" edit that is the last edit of one or more rows.

    The rows are indices into `ids`.
    """
    last = staged.last_edits(field_id, ids)
    for number, edit in enumerate(staged.of(field_id)):
        rows = np.flatnonzero(last == number)
        if edit.op == "set" and len(rows):
            yield rows, edit.value


def _other_rows(staged: Staged, field_id: str, ids: Ids) -> Iterator[Ids]:
    """Yield blocks of rows whose last edit adds or removes a tag, as indices into `ids`."""
    last = staged.last_edits(field_id, ids)
    other = [i for i, e in enumerate(staged.of(field_id)) if e.op != "set"]
    rows = np.flatnonzero(np.isin(last, other))
    for start in range(0, len(rows), MAX_BLOCK_ROWS):
        yield rows[start : start + MAX_BLOCK_ROWS]
