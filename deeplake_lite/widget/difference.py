"""Two versions side by side in the notebook: rows that changed, came, or went.

It is drawn by the same page as the browser, which asks for pairs instead of rows.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, cast, override

import numpy as np
import traitlets as t

from deeplake_lite.dataset.apply import slots_of
from deeplake_lite.dataset.show import title_of
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import LakeError
from deeplake_lite.widget.display import Display
from deeplake_lite.widget.edits.editing import Editing
from deeplake_lite.widget.messages import Desk
from deeplake_lite.widget.pictures.cells import SIDES, Sight, positions_in
from deeplake_lite.widget.pictures.kinds import about_columns, picture_column
from deeplake_lite.widget.pictures.thumbnails import Thumbnails
from deeplake_lite.widget.row.detail import Detail
from deeplake_lite.widget.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.diff import Diff
    from deeplake_lite.dataset.versions import Version
    from deeplake_lite.storage.table import Table
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Addition, Host, Request

type Ids = NDArray[np.int64]

TABS = ("changed", "added", "removed")

SETTINGS: dict[str, Any] = {"size": 200, "picture": None, "overlays": {}, "theme": "auto"}


class Difference(Display):
    """What changed from one version to another, in the notebook.

    Made by `browse_diff`.

    Parameters
    ----------
    diff : Diff
        What changed.
    cache_bytes : int
        Memory that small pictures may take.
    """

    query = t.Unicode("").tag(sync=True)

    def __init__(self, diff: Diff, *, cache_bytes: int = Thumbnails.MEMORY) -> None:
        self.diff, self._lock, self._generation = diff, threading.RLock(), 1
        self.thumbnails = Thumbnails(diff._lake.repository.url, cache_bytes)
        tab = next((name for name in TABS if len(ids_of(diff, name))), TABS[0])
        self._pairs = Pairs.of(diff, tab, None)
        super().__init__(
            settings={**SETTINGS, "picture": self._picture()},
            about=self._about(),
            state=self._state(),
        )
        self._desk = Desk(
            {
                "hello": self._hello,
                "tab": self._tab,
                "cells": self._cells,
                "detail": self._detail,
                "failed": self._failed,
            },
            lambda reply, buffers: self.send(reply, buffers),
            lambda: self._generation,
            lock=self._lock,
        )

    # ---- messages

    def _hello(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        pack.add(b"\x01\x02\x03\x04", "application/octet-stream")
        return {"probe": 4}

    def _tab(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Show another kind of change, or those of one column."""
        column = request.get("column")
        self._pairs = Pairs.of(self.diff, str(request["tab"]), column)
        self._generation += 1
        self.state = self._state()
        return {"rows": len(self._pairs)}

    def _cells(self, request: Request, pack: Pack) -> dict[str, Any]:
        """Return some rows as they were and as they are."""
        pairs = self._pairs
        positions = positions_in(request, len(pairs))
        changed = pairs.changed(positions)
        columns = dict.fromkeys(chain(request.get("columns") or (), *changed))
        found = [
            {"p": p, "id": str(i), "changed": names, "a": None, "b": None}
            for p, i, names in zip(
                positions.tolist(), pairs.ids[positions].tolist(), changed, strict=True
            )
        ]
        for name, side in pairs.sides.items():
            sight = Sight(
                side.view,
                positions,
                self.thumbnails,
                side=min(max(int(request.get("size") or SETTINGS["size"]), SIDES[0]), SIDES[1]),
                picture=side.name_of(request.get("picture", self._picture())),
            )
            cells = sight.cells(side.names_of(columns), pack)
            sight.draw_over(cells, side.names_of(request.get("overlays") or ()), pack)
            for pair, cell in zip(found, cells, strict=True):
                pair[name] = side.renamed(cell)
        return {"cells": found}

    def _detail(self, request: Request, pack: Pack) -> dict[str, Any]:
        """Return one side of a row, large."""
        name = str(request.get("side") or "b")
        if name not in self._pairs.sides:
            raise LakeError(
                f"The row is not in version {getattr(self.diff, name, name)!r}. Look at the other "
                "side."
            )
        side = self._pairs.sides[name]
        alone = SideHost(Shown.of(side.view), self.thumbnails, dict(self.settings))
        host = cast("Host", alone)  # a row asks for no more
        picture = side.name_of(request.get("picture") or self.settings.get("picture"))
        found = Detail(host).detail({**request, "picture": picture}, pack)
        [changed] = self._pairs.changed(np.array([int(request["p"])]))
        for column in found["columns"]:
            column["name"] = side.now.get(column["name"], column["name"])
            column["changed"] = column["name"] in changed
        return found

    # ---- what is known

    def _picture(self) -> str | None:
        return picture_column(whole_view(self.diff, self.diff._newer))

    def _about(self) -> dict[str, Any]:
        diff, newer = self.diff, whole_view(self.diff, self.diff._newer)
        return {
            "mode": "diff",
            "title": title_of(diff._lake.repository.url),
            "url": diff._lake.repository.url,
            "version": newer.version,
            "a": diff.a,
            "b": diff.b,
            "branch": None,
            "writable": False,
            "counts": {tab: len(ids_of(diff, tab)) for tab in TABS},
            "changed_columns": {name: len(ids) for name, ids in diff.changed.items()},
            "columns": about_columns(newer),
            "picture": self._picture(),
            "total": len(newer),
            "has_ids": True,
        }

    def _state(self) -> dict[str, Any]:
        pairs = self._pairs
        return {
            "generation": self._generation,
            "rows": len(pairs),
            "tab": pairs.tab,
            "column": pairs.column,
            "ms": 0.0,
            "query": "",
            "order": None,
        }

    @override
    def _strip(self, **more: Any) -> str:
        return self.diff._repr_html_()

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(ids_of(self.diff, tab)):,} {tab}" for tab in TABS)
        return f"Difference of {self.diff.a} and {self.diff.b}: rows {counts}"


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
        for part in ("caption", "marks"):
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
            raise LakeError(f"Rows have 'changed', were 'added' or 'removed', got {tab!r:.40}.")
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


def browse_diff(
    ds: Dataset,
    a: Version | None = None,
    b: Version | None = None,
    *,
    cache_bytes: int = Thumbnails.MEMORY,
) -> Difference:
    """Show in the notebook what changed from version `a` to version `b`, side by side.

    Parameters
    ----------
    ds : Dataset
        A dataset with both versions in its lake.
    a : str, datetime, date or Commit, optional
        Branch, tag, commit id, time, or a commit of ``ds.log()``; the current version if left out.
    b : optional
        The same; the dataset, edits included, if left out.
    cache_bytes : int
        Memory that small pictures may take.

    Returns
    -------
    Difference
        A widget: rows that changed, with what changed marked, rows added, and rows removed.

    Raises
    ------
    VersionNotFoundError
        When there is no such version.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://browse-diff-doc", {"label": "text"})
    >>> ds.append({"label": ["rose", "tulip"]})
    >>> version = ds.commit("two flowers")
    >>> ds.tag("v1")
    >>> ds["label"][1] = "lily"
    >>> version = ds.commit("mended")
    >>> dl.browse_diff(ds, "v1", "main")
    Difference of v1 and main: rows 1 changed, 0 added, 0 removed
    """
    return Difference(ds.diff(a, b), cache_bytes=cache_bytes)
