"""Rows of two versions beside each other: as they were ("a") and as they are ("b").

Steps: `Pairs` are the rows of one kind of change, with a `Side` for each version that has them; a
pair shows a cell of each side, and a row at large one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.images.cells import GridRows, positions_in, side_in
from deeplake_lite.widget.row.detail import Detail
from deeplake_lite.widget.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.storage.table import Table
    from deeplake_lite.widget.images.thumbnails import Thumbnails
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Addition, Host, Request

type Ids = NDArray[np.int64]

TABS = ("changed", "added", "removed")

SETTINGS: dict[str, Any] = {"size": 200, "picture": None, "overlays": {}, "theme": "auto"}
"""Choices of the reader, as they are at first."""


@dataclass(frozen=True, eq=False)
class Side:
    """The rows of one version."""

    view: View
    now: Mapping[str, str]
    """Names that columns have in the newer version, by those that they have in this one."""

    @classmethod
    def of(cls, diff: Diff, table: Table, ids: Ids) -> Side:
        """Return some rows, all of which are there."""
        newer = {f.id: f.name for f in diff._newer.schema}
        names = {f.name: newer.get(f.id) or unlike(f.name, newer.values()) for f in table.schema}
        return cls(View(diff._lake, table, slots_of(table, ids), tuple(names), ""), names)

    def name_of(self, name: Any) -> str | None:
        """Return what a column of the newer version is called here; None where it is not."""
        return next((old for old, new in self.now.items() if new == name), None)

    def names_of(self, names: Any) -> list[str]:
        """Return what some columns are called here, those that are."""
        return [old for name in names if (old := self.name_of(name)) is not None]

    def renamed(self, cell: dict[str, Any]) -> dict[str, Any]:
        """Return a cell by the newer names."""
        for part in {"caption", "marks", "unmarked"} & {*cell}:
            cell[part] = {self.now.get(name, name): value for name, value in cell[part].items()}
        return cell


@dataclass(frozen=True, eq=False)
class Pairs:
    """The rows of one kind of change, as they were ("a") and as they are ("b")."""

    tab: str
    column: str | None
    ids: Ids
    sides: Mapping[str, Side]
    _changed: Mapping[str, Ids]

    @classmethod
    def of(cls, diff: Diff, tab: str, column: Any) -> Pairs:
        """Return the rows of a kind of change, or those of which one column changed."""
        if tab not in TABS:
            raise LakeError(
                f"Rows have 'changed', were 'added' or 'removed', got {brief(tab, 40)}."
            )
        name = str(column) if column is not None and tab == "changed" else None
        ids = ids_of(diff, tab, name)
        tables = {"a": diff._older, "b": diff._newer}
        if tab == "changed":
            ids = ids[np.argsort(slots_of(diff._newer, ids), kind="stable")]
        else:
            del tables["a" if tab == "added" else "b"]
        sides = {side: Side.of(diff, table, ids) for side, table in tables.items()}
        return cls(tab, name, ids, sides, diff.changed if tab == "changed" else {})

    def __len__(self) -> int:
        return len(self.ids)

    def cells(self, request: Request, thumbnails: Thumbnails, pack: Pack) -> list[dict[str, Any]]:
        """Return some rows as they were and as they are."""
        positions = positions_in(request, len(self))
        changed = self.changed(positions)
        columns = dict.fromkeys(chain(fields.names(request, "columns"), *changed))
        found = [
            {"p": p, "id": str(i), "changed": names, "a": None, "b": None}
            for p, i, names in zip(
                positions.tolist(), self.ids[positions].tolist(), changed, strict=True
            )
        ]
        for name, side in self.sides.items():
            sight = GridRows(
                side.view,
                positions,
                thumbnails,
                side=side_in(request, SETTINGS["size"]),
                picture=side.name_of(fields.text_or_none(request, "picture")),
            )
            cells = sight.cells(side.names_of(columns), pack)
            sight.draw_over(cells, side.names_of(fields.names(request, "overlays")), pack)
            for pair, cell in zip(found, cells, strict=True):
                pair[name] = side.renamed(cell)
        return found

    def detail(
        self, name: str, request: Request, thumbnails: Thumbnails, pack: Pack
    ) -> dict[str, Any]:
        """Return one side of a row, large. Raises KeyError where that is not there."""
        side = self.sides[name]
        picture = side.name_of(fields.text_or_none(request, "picture"))
        alone = SideHost(Shown.of(side.view), thumbnails, {"picture": picture})
        host = cast("Host", alone)  # a row asks for no more
        found = Detail(host).detail({**request, "picture": picture}, pack)
        [changed] = self.changed(np.array([fields.whole(request, "p")]))
        for column in found["columns"]:
            column["name"] = side.now.get(column["name"], column["name"])
            column["changed"] = column["name"] in changed
        return found

    def changed(self, positions: Ids) -> list[list[str]]:
        """Return the names of the columns that differ in some rows."""
        ids = self.ids[positions]
        hits = {name: np.isin(ids, some) for name, some in self._changed.items()}
        return [[name for name, hit in hits.items() if hit[i]] for i in range(len(ids))]


def unlike(name: str, others: Collection[str]) -> str:
    """Return the name of a column that is gone, told apart from those that are there by now.

    >>> unlike("x", ["y"]), unlike("x", ["x"])
    ('x', 'x (removed)')
    """
    while name in others:
        name += " (removed)"
    return name


def ids_of(diff: Diff, tab: str, column: str | None = None) -> Ids:
    """Return the ids of the rows that changed, came or went."""
    if tab != "changed":
        return diff.added if tab == "added" else diff.removed
    if column is None:
        return np.unique(np.concatenate([np.empty(0, np.int64), *diff.changed.values()]))
    return diff.changed.get(column, np.empty(0, np.int64))


def whole_view(diff: Diff, table: Table) -> View:
    """Return all rows of one of the versions."""
    return View(diff._lake, table, table.rows.live(), tuple(f.name for f in table.schema), "")


@dataclass(eq=False)
class SideHost:
    """What the part for one row needs of a browser, over the rows of one version."""

    shown: Shown
    thumbnails: Thumbnails
    settings: dict[str, Any]
    about: dict[str, Any] = field(default_factory=lambda: {"writable": False, "has_ids": True})
    additions: list[Addition] = field(default_factory=list)
    staged: Any = None
    staged_count: int = 0
    staged_rows: int = 0

    def part[T](self, kind: type[T]) -> T:
        """Return a part: nothing is staged of a version."""
        assert kind is Editing, "a row shows what is staged, nothing else"
        return kind(self)  # type: ignore[call-arg]
