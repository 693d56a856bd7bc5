"""Edits that are staged: which cells get which values, in which order, and what was taken back.

Rows are known by their ids, columns by theirs, so that edits stay what they are when other rows are
shown, or another writer commits. Nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.widget.edits.inputs import Cell, with_tag, without_tag

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

type Ids = NDArray[np.int64]
type Op = Literal["set", "add_tag", "remove_tag"]


@dataclass(frozen=True, eq=False)
class Edit:
    """One change of one column, the same for some rows."""

    id: int
    """Number by which it is dropped."""
    column: str
    """Name of the column, when it was staged."""
    field_id: str
    """Id of the column, which stays; `inputs.NEW` for one that is yet to be added."""
    op: Op
    """What is done."""
    ids: Ids
    """Ids of the rows, ascending."""
    value: Any
    """What a cell gets: a class by name, several as a list; of tags, one tag."""
    seen: NDArray[np.uint64] | None
    """Digests of the cells as they were seen, by row; None where what was there does not matter."""
    what: str
    """What is done, for people."""
    with_next: bool = False
    """Whether the edit after it belongs to it: both are dropped together."""

    def of_rows(self, chosen: NDArray[np.bool_]) -> Edit:
        """Return the same edit of some of its rows."""
        seen = None if self.seen is None else self.seen[chosen]
        return replace(self, ids=self.ids[chosen], seen=seen)

    def after(self, value: Cell) -> Cell:
        """Return what a cell holds then."""
        match self.op:
            case "set":
                return self.value
            case "add_tag":
                return with_tag(value, self.value)
            case "remove_tag":
                return without_tag(value, self.value)


@dataclass(frozen=True, eq=False)
class _Action:
    """What the user did, so that it can be undone: edits that came, or some that went."""

    edits: tuple[Edit, ...]
    places: tuple[int, ...] | None = None
    """Where those that went had been, ascending; None for edits that came."""


@dataclass
class Staged:
    """The edits that are staged, and the way back.

    Examples
    --------
    >>> ids = np.array([7, 9])
    >>> staged = Staged()
    >>> staged.add([staged.edit("label", "f1", "set", ids, "cat", None, "cat")])
    >>> staged.add([staged.edit("label", "f1", "set", ids[:1], "dog", None, "dog")])
    >>> staged.after("f1", np.array([7, 8, 9]), ["ant", "bee", "bee"])
    ['dog', 'bee', 'cat']
    >>> staged.undo(), len(staged)
    (True, 1)
    """

    edits: list[Edit] = field(default_factory=list)
    """In the order in which they count."""

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._done: list[_Action] = []
        self._undone: list[_Action] = []
        self._indexes: dict[str, _Index] = {}

    def __len__(self) -> int:
        return len(self.edits)

    # ---- what is staged

    def edit(
        self,
        column: str,
        field_id: str,
        op: Op,
        ids: Ids,
        value: Any,
        seen: NDArray[np.uint64] | None,
        what: str,
    ) -> Edit:
        """Return an edit with the next number; a row that is shown several times is one row."""
        rows, first = np.unique(ids, return_index=True)
        digests = None if seen is None else seen[first]
        return Edit(next(self._numbers), column, field_id, op, rows, value, digests, what)

    def add(self, edits: Iterable[Edit]) -> None:
        """Stage edits, which are undone together."""
        action = _Action(tuple(edits))
        if action.edits:
            self._apply(action)
            self._done.append(action)
            self._undone.clear()

    def group(self, number: int) -> tuple[Edit, ...]:
        """Return an edit with those that belong to it; none where it is gone."""
        at = next((i for i, e in enumerate(self.edits) if e.id == number), None)
        if at is None:
            return ()
        start, stop = at, at + 1
        while start and self.edits[start - 1].with_next:
            start -= 1
        while stop < len(self.edits) and self.edits[stop - 1].with_next:
            stop += 1
        return tuple(self.edits[start:stop])

    def drop(self, number: int, also: Collection[int] = ()) -> tuple[Edit, ...]:
        """Take one edit out, wherever it is, with those that belong to it, and others; return them.

        Parameters
        ----------
        also : collection of int
            Numbers of the others.
        """
        numbers = {e.id for e in self.group(number)}
        if not numbers:
            return ()
        gone = [(i, e) for i, e in enumerate(self.edits) if e.id in {*numbers, *also}]
        action = _Action(tuple(e for _, e in gone), tuple(i for i, _ in gone))
        self._apply(action)
        self._done.append(action)
        self._undone.clear()
        return action.edits

    def undo(self) -> bool:
        """Take back what was done last; tell whether there was something."""
        if not self._done:
            return False
        action = self._done.pop()
        if action.places is None:
            del self.edits[len(self.edits) - len(action.edits) :]
        else:
            for place, edit in zip(action.places, action.edits, strict=True):
                self.edits.insert(place, edit)
        self._indexes.clear()
        self._undone.append(action)
        return True

    def redo(self) -> bool:
        """Do again what was undone last; tell whether there was something."""
        if not self._undone:
            return False
        action = self._undone.pop()
        self._apply(action)
        self._done.append(action)
        return True

    def without(self, left: Mapping[str, Ids]) -> Staged:
        """Return the edits but for some rows, by column id: those that a commit leaves out."""
        kept = []
        for e in self.edits:
            stay = ~np.isin(e.ids, left.get(e.field_id, ()))
            if stay.any():
                kept.append(e.of_rows(stay))
        return Staged(kept)

    def clear(self) -> None:
        """Forget everything, and the way back."""
        for held in (self.edits, self._done, self._undone):
            held.clear()
        self._indexes.clear()

    @property
    def can_undo(self) -> bool:
        """Whether something can be undone."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether something can be done again."""
        return bool(self._undone)

    @property
    def last(self) -> tuple[Edit, ...]:
        """What undo would take back, for the cells that it touches."""
        return self._done[-1].edits if self._done else ()

    @property
    def next(self) -> tuple[Edit, ...]:
        """What redo would bring."""
        return self._undone[-1].edits if self._undone else ()

    def _apply(self, action: _Action) -> None:
        if action.places is None:
            self.edits.extend(action.edits)
        else:
            for place in reversed(action.places):
                del self.edits[place]
        self._indexes.clear()

    # ---- what it means for cells

    def of(self, field_id: str) -> list[Edit]:
        """Return the edits of a column."""
        return [e for e in self.edits if e.field_id == field_id]

    def columns(self) -> dict[str, str]:
        """Return the names of the columns with edits by id."""
        return {e.field_id: e.column for e in self.edits}

    def rows(self, field_id: str) -> Ids:
        """Return the ids of the rows with edits of a column, ascending."""
        return np.unique(self._index(field_id).ids)

    def all_rows(self) -> Ids:
        """Return the ids of the rows with edits, ascending."""
        return rows_of(self.edits)

    def touching(self, field_id: str, ids: Ids) -> list[list[Edit]]:
        """Return the edits of a column for each of some rows, in order."""
        return self._index(field_id).at(ids)

    def touched(self, ids: Ids) -> list[set[str]]:
        """Return the ids of the columns with edits for each of some rows."""
        found: list[set[str]] = [set() for _ in ids]
        for field_id in self.columns():
            for columns, edits in zip(found, self.touching(field_id, ids), strict=True):
                if edits:
                    columns.add(field_id)
        return found

    def after(self, field_id: str, ids: Ids, values: Sequence[Cell]) -> list[Cell]:
        """Return what cells of a column hold then."""
        found = list(values)
        for at, edits in enumerate(self.touching(field_id, ids)):
            for edit in edits:
                found[at] = edit.after(found[at])
        return found

    def seen(self, field_id: str, ids: Ids) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the digests of cells as they were when first changed, and whether they matter."""
        found, matters = np.zeros(len(ids), np.uint64), np.zeros(len(ids), bool)
        for edit in reversed(self.of(field_id)):
            at = np.minimum(np.searchsorted(edit.ids, ids), len(edit.ids) - 1)
            hit = edit.ids[at] == ids
            if edit.seen is not None:
                found[hit] = edit.seen[at[hit]]
                matters |= hit
        return found, matters

    def whose(self, field_id: str, ids: Ids) -> NDArray[np.int64]:
        """Return which edit of a column is the last of each of some rows, all of which have one."""
        return self._index(field_id).last(ids)

    def _index(self, field_id: str) -> _Index:
        if field_id not in self._indexes:
            self._indexes[field_id] = _Index(self.of(field_id))
        return self._indexes[field_id]


def rows_of(edits: Iterable[Edit]) -> Ids:
    """Return the ids of the rows of some edits, ascending, each once."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *(e.ids for e in edits)]))


class _Index:
    """Which edits of a column are of which row: all pairs, by row and then in order."""

    def __init__(self, edits: list[Edit]) -> None:
        self._edits = edits
        rows = np.concatenate([np.empty(0, np.int64), *(e.ids for e in edits)])
        whose = np.repeat(np.arange(len(edits)), [len(e.ids) for e in edits])
        order = np.argsort(rows, kind="stable")
        self.ids, self._whose = rows[order], whose[order]

    def at(self, ids: Ids) -> list[list[Edit]]:
        """Return the edits of each of some rows."""
        starts = np.searchsorted(self.ids, ids, "left").tolist()
        ends = np.searchsorted(self.ids, ids, "right").tolist()
        return [
            [self._edits[i] for i in self._whose[a:b].tolist()]
            for a, b in zip(starts, ends, strict=True)
        ]

    def last(self, ids: Ids) -> NDArray[np.int64]:
        """Return the number of the last edit of each of some rows."""
        found: NDArray[np.int64] = self._whose[np.searchsorted(self.ids, ids, "right") - 1]
        return found
