"""What happened to one row, version by version: which cells changed, from what to what.

Cells of two versions are compared by their hashes, so that only those that differ are read.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import LakeError
from deeplake_lite.storage.table import Table
from deeplake_lite.widget import fields
from deeplake_lite.widget.pictures import cards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.storage.repo import Commit
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MOST_VERSIONS = 200
"""Versions that are looked at."""

SECONDS = 2.0
"""Time that a look back may take."""


class History:
    """The versions of the row that is looked at."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"history": self.history}

    def history(self, request: Request, pack: Pack) -> dict[str, Any]:  # noqa: ARG002
        """Return the versions that changed a row, newest first."""
        shown = self._host.shown
        ids = shown.ids(np.array([fields.row(request, len(shown.view))]))
        if ids is None:
            raise LakeError(
                "A row of the lake has a history; this one is made by the query. Show rows, such "
                "as those of SELECT *."
            )
        return row_history(shown.base, int(ids[0]))


def row_history(view: View, row_id: int) -> dict[str, Any]:
    """Return what happened to a row: ``versions``, newest first, and whether they are ``complete``.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://history-doc", {"label": dl.ClassLabel(["cat", "dog"])})
    >>> ds.append({"label": ["cat"]})
    >>> version = ds.commit("a cat")
    >>> ds["label"][0] = "dog"
    >>> version = ds.commit("a dog, after all")
    >>> found = row_history(ds, int(ds.row_ids[0]))
    >>> [(v["message"], v["changes"]) for v in found["versions"]]
    [('a dog, after all', [{'column': 'label', 'before': 'cat', 'after': 'dog'}]),
     ('a cat', [{'column': None, 'before': None, 'after': 'added'}])]
    """
    deadline = time.monotonic() + SECONDS
    repository = view.rows.lake.repository
    commits = history.history(repository, view.version, MOST_VERSIONS + 1)
    found: list[dict[str, Any]] = []
    last = commits[0]
    for newer, older in pairwise(_tables(view, commits, row_id)):
        commit, table, slot = newer
        if slot < 0:
            break
        if changes := list(_changes(older[1], older[2], table, slot)):
            found.append(_line(commit, changes))
        last = older[0]
        if older[2] < 0 or time.monotonic() > deadline:
            return {"versions": found, "complete": older[2] < 0}
    return {"versions": found, "complete": last.parent is None or len(commits) <= MOST_VERSIONS}


def _tables(view: View, commits: list[Commit], row_id: int) -> Iterator[tuple[Commit, Table, int]]:
    """Yield each version with the row's slot in it, -1 where it is not there."""
    repository = view.rows.lake.repository
    for commit in commits:
        table = Table.open(repository, repository.reader(commit.id))
        yield commit, table, int(table.find(np.array([row_id]))[0])


def _changes(older: Table, before: int, newer: Table, after: int) -> Iterator[dict[str, Any]]:
    """Yield what differs of a row between two versions."""
    if before < 0:
        yield {"column": None, "before": None, "after": "added"}
        return
    known = {f.id: f for f in older.schema}
    for f in newer.schema:
        if f.id not in known:
            yield {"column": f.name, **_pair(None, _words(newer, f, after))}
        elif older.digests(f.id, np.array([before])) != newer.digests(f.id, np.array([after])):
            was = _words(older, known[f.id], before)
            now = _words(newer, f, after)
            yield {"column": f.name, **_pair(was, now)}


def _words(table: Table, f: Any, slot: int) -> str | None:
    """Return a cell in words, whole; what is wrong with it where it does not read."""
    try:
        cells = table.read([f.id], np.array([slot]))[f.id]
        value = with_none(decode_block(f.htype, cells, follow=False))[0]
    except Exception as error:
        return f"does not read: {error!s:.200}"
    said = None if value is None else f.htype.to_words(value)
    return cards.words(f.htype, value) if said is None else said


def _pair(before: str | None, after: str | None) -> dict[str, str | None]:
    """Return what the page shows of two cells: the part where they differ."""
    was, now = cut_to_difference(before or "", after or "")
    return {"before": before and was, "after": after and now}


def _line(commit: Commit, changes: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "version": commit.id,
        "message": commit.message,
        "time": commit.time.isoformat(),
        "author": commit.metadata.get("author"),
        "changes": changes,
    }
