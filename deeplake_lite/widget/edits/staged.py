"""The list of staged edits, with undo and redo.

Edits refer to rows and columns by id, so they stay valid when other rows are shown or another
writer commits. This module writes nothing to the dataset.
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
    """A change to one column. All edited rows get the same change."""

    id: int
    """Number that identifies the edit."""
    column: str
    """Name of the column when the edit was staged."""
    field_id: str
    """Id of the column, or `inputs.NEW` for a tag column that the commit will add."""
    op: Op
    """Whether the edit sets a value, adds a tag or removes a tag."""
    ids: Ids
    """Ids of the edited rows in ascending order."""
    value: Any
    """The new value, with classes given by name. For tag operations, a single tag."""
    seen: NDArray[np.uint64] | None
    """Digests of the cells that the user saw, or None if the edit does not depend on them."""
    what: str
    """Description of the edit for users."""
    with_next: bool = False
    """Whether the next edit is linked to this edit, so that both edits are dropped together."""

    def of_rows(self, mask: NDArray[np.bool_]) -> Edit:
        """Return the edit restricted to the rows for which `mask` is true."""
        seen = None if self.seen is None else self.seen[mask]
        return replace(self, ids=self.ids[mask], seen=seen)

    def after(self, value: Cell) -> Cell:
        """Return the value of a cell after the edit."""
        match self.op:
            case "set":
                return self.value
            case "add_tag":
                return with_tag(value, self.value)
            case "remove_tag":
                return without_tag(value, self.value)


@dataclass(frozen=True, eq=False)
class _Action:
    """A step that can be undone, which added or dropped edits."""

    edits: tuple[Edit, ...]
    indices: tuple[int, ...] | None = None
    """Indices that dropped edits had before, in ascending order; None if the step added edits."""


@dataclass
class Staged:
    """The staged edits, with the steps that can be undone and redone.

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
    """The edits, in the order in which they apply."""

    def __post_init__(self) -> None:
        self._numbers = count(1)
        self._done: list[_Action] = []
        self._undone: list[_Action] = []
        self._indexes: dict[str, _Index] = {}

    def __len__(self) -> int:
        return len(self.edits)

    # ---- the list of edits

    def edit(
        self,
        column: str,
        field_id: str,
        op: Op,
        ids: Ids,
        value: object,
        seen: NDArray[np.uint64] | None,
        what: str,
    ) -> Edit:
        """Return an edit with the next number, and with each row only once."""
        rows, first = np.unique(ids, return_index=True)
        digests = None if seen is None else seen[first]
        return Edit(next(self._numbers), column, field_id, op, rows, value, digests, what)

    def add(self, edits: Iterable[Edit]) -> None:
        """Stage edits as one step, which a single undo reverts."""
        action = _Action(tuple(edits))
        if action.edits:
            self._apply(action)
            self._done.append(action)
            self._undone.clear()

    def group(self, number: int) -> tuple[Edit, ...]:
        """Return the edit with a number, and the edits linked to it.

        The tuple is empty if no edit has this number.
        """
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
        """Drop an edit, the edits linked to it, and the edits in `also`. Return the dropped edits.

        Parameters
        ----------
        number : int
            Number of the edit.
        also : collection of int
            Numbers of other edits to drop in the same step.
        """
        numbers = {e.id for e in self.group(number)}
        if not numbers:
            return ()
        dropped = [(i, e) for i, e in enumerate(self.edits) if e.id in {*numbers, *also}]
        action = _Action(tuple(e for _, e in dropped), tuple(i for i, _ in dropped))
        self._apply(action)
        self._done.append(action)
        self._undone.clear()
        return action.edits

    def undo(self) -> bool:
        """Undo the last step, and return whether there was a step to undo."""
        if not self._done:
            return False
        action = self._done.pop()
        if action.indices is None:
            del self.edits[len(self.edits) - len(action.edits) :]
        else:
            for index, edit in zip(action.indices, action.edits, strict=True):
                self.edits.insert(index, edit)
        self._indexes.clear()
        self._undone.append(action)
        return True

    def redo(self) -> bool:
        """Redo the step that was last undone, and return whether there was a step to redo."""
        if not self._undone:
            return False
        action = self._undone.pop()
        self._apply(action)
        self._done.append(action)
        return True

    def without(self, excluded: Mapping[str, Ids]) -> Staged:
        """Return the staged edits without some rows. `excluded` maps column ids to row ids."""
        edits = []
        for e in self.edits:
            included = ~np.isin(e.ids, excluded.get(e.field_id, ()))
            if included.any():
                edits.append(e.of_rows(included))
        return Staged(edits)

    def clear(self) -> None:
        """Forget all edits and all steps."""
        for items in (self.edits, self._done, self._undone):
            items.clear()
        self._indexes.clear()

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to redo."""
        return bool(self._undone)

    @property
    def last(self) -> tuple[Edit, ...]:
        """The edits of the step that undo would revert."""
        return self._done[-1].edits if self._done else ()

    @property
    def next(self) -> tuple[Edit, ...]:
        """The edits of the step that redo would repeat."""
        return self._undone[-1].edits if self._undone else ()

    def _apply(self, action: _Action) -> None:
        if action.indices is None:
            self.edits.extend(action.edits)
        else:
            for index in reversed(action.indices):
                del self.edits[index]
        self._indexes.clear()

    # ---- edits by column and row

    def of(self, field_id: str) -> list[Edit]:
        """Return the edits of a column."""
        return [e for e in self.edits if e.field_id == field_id]

    def columns(self) -> dict[str, str]:
        """Return a dict that maps the id of each column with edits to the column's name."""
        return {e.field_id: e.column for e in self.edits}

    def rows(self, field_id: str) -> Ids:
        """Return the ids of rows with edits in a column, in ascending order."""
        return np.unique(self._index(field_id).ids)

    def all_rows(self) -> Ids:
        """Return the ids of edited rows in ascending order."""
        return rows_of(self.edits)

    def edits_at(self, field_id: str, ids: Ids) -> list[list[Edit]]:
        """Return a list of a column's edits for each row, in the order in which they apply."""
        return self._index(field_id).at(ids)

    def columns_at(self, ids: Ids) -> list[set[str]]:
        """Return, for each row, a set with the ids of its edited columns."""
        columns: list[set[str]] = [set() for _ in ids]
        for field_id in self.columns():
            for column_ids, edits in zip(columns, self.edits_at(field_id, ids), strict=True):
                if edits:
                    column_ids.add(field_id)
        return columns

    def after(self, field_id: str, ids: Ids, values: Sequence[Cell]) -> list[Cell]:
        """Return a column's values after all edits, given the values before the edits."""
        cells = list(values)
        for at, edits in enumerate(self.edits_at(field_id, ids)):
            for edit in edits:
                cells[at] = edit.after(cells[at])
        return cells

    def seen(self, field_id: str, ids: Ids) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Return the digest of each cell before its first edit, and a mask of cells with a digest.

        If the edits of a cell do not depend on the value that the user saw, the cell has no digest.
        """
        digests, matters = np.zeros(len(ids), np.uint64), np.zeros(len(ids), bool)
        for edit in reversed(self.of(field_id)):  # so that the digest of a row's first edit is kept
            at = np.minimum(np.searchsorted(edit.ids, ids), len(edit.ids) - 1)
            hit = edit.ids[at] == ids
            if edit.seen is not None:
                digests[hit] = edit.seen[at[hit]]
                matters |= hit
        return digests, matters

    def last_edits(self, field_id: str, ids: Ids) -> NDArray[np.int64]:
        """Return the index, among a column's edits, of each row's last edit.

        Each row must have an edit.
        """
        return self._index(field_id).last(ids)

    def _index(self, field_id: str) -> _Index:
        if field_id not in self._indexes:
            self._indexes[field_id] = _Index(self.of(field_id))
        return self._indexes[field_id]


def rows_of(edits: Iterable[Edit]) -> Ids:
    """Return the unique ids of edited rows in ascending order."""
    return np.unique(np.concatenate([np.empty(0, np.int64), *(e.ids for e in edits)]))


class _Index:
    """An index that finds the edits of a column by row.

    The index consists of pairs (row id, number of the edit), sorted by row id and then by number,
    so that a binary search finds the edits of a row without a pass over all edits.
    """

    def __init__(self, edits: list[Edit]) -> None:
        self._edits = edits
        rows = np.concatenate([np.empty(0, np.int64), *(e.ids for e in edits)])
        numbers = np.repeat(np.arange(len(edits)), [len(e.ids) for e in edits])
        order = np.argsort(rows, kind="stable")
        self.ids, self._numbers = rows[order], numbers[order]

    def at(self, ids: Ids) -> list[list[Edit]]:
        """Return a list of edits for each row."""
        starts = np.searchsorted(self.ids, ids, "left").tolist()
        ends = np.searchsorted(self.ids, ids, "right").tolist()
        return [
            [self._edits[i] for i in self._numbers[a:b].tolist()]
            for a, b in zip(starts, ends, strict=True)
        ]

    def last(self, ids: Ids) -> NDArray[np.int64]:
        """Return the index of the last edit of each row."""
        numbers: NDArray[np.int64] = self._numbers[np.searchsorted(self.ids, ids, "right") - 1]
        return numbers
