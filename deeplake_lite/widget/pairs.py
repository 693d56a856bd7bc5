"""Rows of two versions side by side. Side "a" is the older version, and side "b" the newer one.

`Pairs` contains the rows with one kind of change, and a `Side` for each version that has these
rows. The grid shows both sides of a row, and the detail panel shows one side.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import numpy as np

from deeplake_lite.brief import alternatives, brief
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.browser_state import BrowserState
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.images.cells import GridRows, positions_in, side_in
from deeplake_lite.widget.row.detail import Detail

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.storage.table import Table
    from deeplake_lite.widget.images.cell import Cell
    from deeplake_lite.widget.images.thumbnails import Thumbnails
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Addition, Host, Request
    from deeplake_lite.widget.row.detail import RowDetail

type Ids = NDArray[np.int64]

TABS = ("changed", "added", "removed")

SETTINGS: dict[str, Any] = {"size": 200, "picture": None, "overlays": {}, "theme": "auto"}
"""Initial settings."""


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of a difference in one of the two versions."""

    view: View
    newer_names: Mapping[str, str]
    """Maps the name of each column in this version to the column's name in the newer version."""

    @classmethod
    def of(cls, diff: Diff, table: Table, ids: Ids) -> Side:
        """Return the side for the rows with the given ids, all of which `table` must contain."""
        newer = {f.id: f.name for f in diff.newer.schema}
        names = {
            f.name: newer.get(f.id) or removed_name(f.name, newer.values()) for f in table.schema
        }
        rows = RowSelection(diff.lake, table, slots_of(table, ids))
        return cls(View(rows, tuple(names), ""), names)

    def name_of(self, name: str | None) -> str | None:
        """Return the name that a column of the newer version has on this side.

        Return None if this side does not have the column.
        """
        return next((old for old, new in self.newer_names.items() if new == name), None)

    def names_of(self, names: Iterable[str]) -> list[str]:
        """Return the names that columns of the newer version have on this side.

        Columns that this side does not have are left out.
        """
        return [old for name in names if (old := self.name_of(name)) is not None]

    def renamed(self, cell: Cell) -> Cell:
        """Return a cell in which columns have the names that they have in the newer version."""
        cell["caption"], cell["marks"] = (
            self._renamed(cell["caption"]),
            self._renamed(cell["marks"]),
        )
        if "unmarked" in cell:
            cell["unmarked"] = self._renamed(cell["unmarked"])
        return cell

    def _renamed[T](self, columns: Mapping[str, T]) -> dict[str, T]:
        return {self.newer_names.get(name, name): value for name, value in columns.items()}


class Pair(TypedDict):
    """A row of a difference in the grid."""

    p: int
    """Position among the rows with the same kind of change."""
    id: str
    """Id of the row."""
    changed: list[str]
    """Names of the columns that changed."""
    a: Cell | None
    """The row in the older version, or None if it was added."""
    b: Cell | None
    """The row in the newer version, or None if it was removed."""
    tab: NotRequired[str]
    """Kind of change, in pages without a kernel."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows with one kind of change, each with an older side "a" and a newer side "b"."""

    tab: str
    column: str | None
    ids: Ids
    sides: Mapping[str, Side]
    _changed: Mapping[str, Ids]

    @classmethod
    def of(cls, diff: Diff, tab: str, column: str | None) -> Pairs:
        """Return the rows with a kind of change.

        If a column is given, only rows whose cell in this column changed are returned.
        """
        if tab not in TABS:
            raise LakeError(
                f"The kind of change must be {alternatives(TABS)}, but it is {brief(tab, 40)}. "
                "Reload the page."
            )
        name = column if tab == "changed" else None
        ids = ids_of(diff, tab, name)
        tables = {"a": diff.older, "b": diff.newer}
        if tab == "changed":  # in the row order of the newer version
            ids = ids[np.argsort(slots_of(diff.newer, ids), kind="stable")]
        else:
            del tables["a" if tab == "added" else "b"]
        sides = {side: Side.of(diff, table, ids) for side, table in tables.items()}
        return cls(tab, name, ids, sides, diff.changed if tab == "changed" else {})

    def __len__(self) -> int:
        return len(self.ids)

    def cells(self, request: Request, thumbnails: Thumbnails, pack: Pack) -> list[Pair]:
        """Return the requested rows with both sides and the names of their changed columns."""
        positions = positions_in(request, len(self))
        changed = self.changed(positions)
        columns = dict.fromkeys(chain(fields.names(request, "columns"), *changed))
        cells: dict[str, list[Cell]] = {}
        for name, side in self.sides.items():
            rows = GridRows(
                side.view,
                positions,
                thumbnails,
                side=side_in(request, SETTINGS["size"]),
                picture=side.name_of(fields.text_or_none(request, "picture")),
            )
            drawn = rows.cells(side.names_of(columns), pack)
            rows.draw_over(drawn, side.names_of(fields.names(request, "overlays")), pack)
            cells[name] = [side.renamed(cell) for cell in drawn]
        ids = self.ids[positions].tolist()
        return [
            Pair(
                p=p,
                id=str(ids[k]),
                changed=changed[k],
                a=cells["a"][k] if "a" in cells else None,
                b=cells["b"][k] if "b" in cells else None,
            )
            for k, p in enumerate(positions.tolist())
        ]

    def detail(self, name: str, request: Request, thumbnails: Thumbnails, pack: Pack) -> RowDetail:
        """Return the content of the detail panel for one side of a row.

        Raises KeyError if the row does not exist on this side.
        """
        side = self.sides[name]
        picture = side.name_of(fields.text_or_none(request, "picture"))
        side_host = SideHost(BrowserState.of(side.view), thumbnails, {"picture": picture})
        host = cast("Host", side_host)  # has everything that `Detail` uses of a host
        detail = Detail(host).detail({**request, "picture": picture}, pack)
        [changed] = self.changed(np.array([fields.whole(request, "p")]))
        for column in detail["columns"]:
            column["name"] = side.newer_names.get(column["name"], column["name"])
            column["changed"] = column["name"] in changed
        return detail

    def changed(self, positions: Ids) -> list[list[str]]:
        """Return the names of the changed columns for each row."""
        ids = self.ids[positions]
        hits = {name: np.isin(ids, changed) for name, changed in self._changed.items()}
        return [[name for name, hit in hits.items() if hit[i]] for i in range(len(ids))]


def removed_name(name: str, others: Collection[str]) -> str:
    """Return a name for a removed column that is unused in the newer version.

    >>> removed_name("x", ["y"]), removed_name("x", ["x"])
    ('x', 'x (removed)')
    """
    while name in others:
        name += " (removed)"
    return name


def ids_of(diff: Diff, tab: str, column: str | None = None) -> Ids:
    """Return the ids of the changed, added or removed rows.

    If a column is given, only rows whose cell in this column changed are returned.
    """
    if tab != "changed":
        return diff.added if tab == "added" else diff.removed
    if column is None:
        return np.unique(np.concatenate([np.empty(0, np.int64), *diff.changed.values()]))
    return diff.changed.get(column, np.empty(0, np.int64))


def whole_view(diff: Diff, table: Table) -> View:
    """Return a view of all rows of one of the two versions."""
    return View(RowSelection(diff.lake, table), table.schema.names, "")


@dataclass(eq=False)
class SideHost:
    """A host for the part `Detail`, which shows a row of one version of a difference."""

    shown: BrowserState
    thumbnails: Thumbnails
    settings: dict[str, Any]
    about: dict[str, object] = field(default_factory=lambda: {"writable": False, "has_ids": True})
    additions: list[Addition] = field(default_factory=list)
    staged: object = None
    staged_count: int = 0
    staged_rows: int = 0

    def part[T](self, kind: type[T]) -> T:
        """Return the editing part, which has no staged edits."""
        assert kind is Editing, "the detail of a row uses no other part"
        return kind(self)  # type: ignore[call-arg]
