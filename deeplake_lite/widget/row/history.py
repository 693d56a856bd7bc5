"""The history of a row: the versions that changed the row, with its cells before and after.

Cells of two versions are compared by hash, so only differing cells are read.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, with_none
from deeplake_lite.dataset.repr.excerpts import cut_to_difference
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import LakeError
from deeplake_lite.storage.table import Table
from deeplake_lite.widget import fields
from deeplake_lite.widget.images import cards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Commit
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MAX_VERSIONS = 200
"""Maximum number of versions to compare."""

SECONDS = 2.0
"""Time limit for the comparison of versions."""


class Change(TypedDict):
    """A change to one column of a row, or to the row as a whole."""

    column: str | None
    """Name of the column, or None for the row itself."""
    before: str | None
    after: str | None


class Line(TypedDict):
    """A version that changed the row."""

    version: str
    message: str
    time: str
    """Time of the commit, ISO 8601."""
    author: object
    changes: list[Change]


class RowHistory(TypedDict):
    """The history of a row."""

    versions: list[Line]
    """The versions that changed the row, the newest first."""
    complete: bool
    """Whether these are all versions that changed the row."""


class History:
    """The part of the browser that sends the history of a row."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"history": self.history}

    def history(self, request: Request, pack: Pack) -> RowHistory:  # noqa: ARG002
        """Return the versions that changed a row, newest first."""
        shown = self._host.shown
        ids = shown.ids(np.array([fields.row(request, len(shown.view))]))
        if ids is None:
            raise LakeError(
                "Only rows of the lake have a history, but the query computes this row. Show rows "
                "of the lake, for example with SELECT *."
            )
        return row_history(shown.base, int(ids[0]))


def row_history(view: View, row_id: int) -> RowHistory:
    """Return the history of a row: ``versions``, newest first, and whether it is ``complete``.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://history-doc", {"label": dl.ClassLabel(["cat", "dog"])})
    >>> ds.append({"label": ["cat"]})
    >>> version = ds.commit("a cat")
    >>> ds["label"][0] = "dog"
    >>> version = ds.commit("a dog, after all")
    >>> versions = row_history(ds, int(ds.row_ids[0]))["versions"]
    >>> [(v["message"], v["changes"]) for v in versions]
    [('a dog, after all', [{'column': 'label', 'before': 'cat', 'after': 'dog'}]),
     ('a cat', [{'column': None, 'before': None, 'after': 'added'}])]
    """
    deadline = time.monotonic() + SECONDS
    repository = view.rows.lake.repository
    # Read one more version than is listed, so that the oldest listed version can be compared too.
    commits = history.history(repository, view.version, MAX_VERSIONS + 1)
    versions: list[Line] = []
    last = commits[0]
    for newer, older in pairwise(_tables(view, commits, row_id)):
        commit, table, slot = newer
        if slot < 0:
            break
        if changes := list(_changes(older[1], older[2], table, slot)):
            versions.append(_line(commit, changes))
        last = older[0]
        if older[2] < 0 or time.monotonic() > deadline:
            return {"versions": versions, "complete": older[2] < 0}
    return {"versions": versions, "complete": last.parent is None or len(commits) <= MAX_VERSIONS}


def _tables(view: View, commits: list[Commit], row_id: int) -> Iterator[tuple[Commit, Table, int]]:
    """Yield each version's commit, its table, and the slot of the row, or -1 without the row."""
    repository = view.rows.lake.repository
    for commit in commits:
        table = Table.open(repository, repository.reader(commit.id))
        yield commit, table, int(table.find(np.array([row_id]))[0])


def _changes(older: Table, before: int, newer: Table, after: int) -> Iterator[Change]:
    """Yield the changes to a row between two versions."""
    if before < 0:
        yield {"column": None, "before": None, "after": "added"}
        return
    old_fields = {f.id: f for f in older.schema}
    for f in newer.schema:
        if f.id not in old_fields:
            yield _change(f.name, None, _words(newer, f, after))
        elif older.digests(f.id, np.array([before])) != newer.digests(f.id, np.array([after])):
            old, new = _words(older, old_fields[f.id], before), _words(newer, f, after)
            yield _change(f.name, old, new)


def _words(table: Table, f: Field, slot: int) -> str | None:
    """Format a cell in full, or return the error if it cannot be read."""
    try:
        cells = table.read([f.id], np.array([slot]))[f.id]
        value = with_none(decode_block(f.htype, cells, follow=False))[0]
    except Exception as error:
        return f"cannot be read: {error!s:.200}"
    text = None if value is None else f.htype.to_words(value)
    return cards.words(f.htype, value) if text is None else text


def _change(column: str, before: str | None, after: str | None) -> Change:
    """Return a change with the texts of both cells, shortened to where they differ."""
    old, new = cut_to_difference(before or "", after or "")
    return {"column": column, "before": before and old, "after": after and new}


def _line(commit: Commit, changes: list[Change]) -> Line:
    return {
        "version": commit.id,
        "message": commit.message,
        "time": commit.time.isoformat(),
        "author": commit.metadata.get("author"),
        "changes": changes,
    }
