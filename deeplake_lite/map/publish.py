"""Write the results of a job to its branch.

The results belong to the version that the job read, but other writers may have committed since.
Their edits are kept: a cell that they changed stays as it is, and rows that they deleted stay
deleted. If they changed an input of a row, the row gets its result nevertheless. It is reported,
because the result belongs to the old input.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.versions.commit import TRIES, commit
from deeplake_lite.dataset.write.columns import fill_column, interleave
from deeplake_lite.errors import ConflictError, JobError
from deeplake_lite.htypes import from_config
from deeplake_lite.map.places import Cut
from deeplake_lite.map.record import check_not_overtaken, commits_of, parts_of
from deeplake_lite.schema import Field
from deeplake_lite.storage import chunks
from deeplake_lite.storage.defaults import default_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.dataset.versions.changes import Changes
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.map.journal import Document, Target
    from deeplake_lite.map.results import Results
    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table

type Ids = NDArray[np.int64]

NONE: Ids = np.empty(0, np.int64)


@dataclass(frozen=True)
class Published:
    """A commit of results, and the rows that other writers changed while the job ran."""

    version: str
    """Id of the commit."""
    added: int = 0
    """Number of rows that were added."""
    edited: Ids = field(default_factory=lambda: NONE)
    """Ids of the rows whose cells other writers changed; the other writers' values were kept."""
    outdated: Ids = field(default_factory=lambda: NONE)
    """Ids of the rows whose inputs other writers changed."""
    deleted: Ids = field(default_factory=lambda: NONE)
    """Ids of the rows that other writers deleted."""


def published_parts(lake: Lake, document: Document, tip: str | None = None) -> set[int]:
    """Return the parts whose results earlier runs of the job have committed.

    The driver may have been killed between such a commit and its next step. `tip` is the version
    whose history is searched, by default that of the job's branch.
    """
    repository = lake.repository
    commits = commits_of(repository, tip or repository.tip(document["branch"]), document)
    every = range(len(Cut.of(document["rows"], document["batch"])))
    return {part for commit in commits for part in parts_of(commit, every)}


def publish(
    lake: Lake,
    document: Document,
    base: Table,
    ids: Ids,
    results: Results,
    message: str,
    record: Mapping[str, Any],
) -> Published:
    """Commit results on top of the branch's tip.

    Parameters
    ----------
    lake : Lake
        The lake.
    document : Document
        The parameters of the job.
    base : Table
        The version that the job read.
    ids : ndarray, (rows,) int64
        Ids of the rows of the job.
    results : Results
        The results to write.
    message : str
        Commit message.
    record : mapping
        The record of the job, for the metadata of the commit.

    Raises
    ------
    JobError
        When a column of the job was dropped, or its name was taken.
    ConflictError
        When other writers commit faster than this function.
    """
    for _ in range(TRIES):
        ds = at_branch(lake, document["branch"])
        try:
            writing = _Writing(ds.handle.table, document, base, ids, results)
            writing.find_changes(lake)
            if not writing.has_edits:
                return writing.published(ds.version)
            ds.handle.edit(writing.write)
            found = {**record, **writing.summary()}
            version = commit(ds.handle, message, {"map": found})
            return writing.published(version)
        except ConflictError:  # another writer has just changed one of the same cells
            continue
        finally:
            ds.discard()
    raise ConflictError(
        f"Other writers changed the same cells during {TRIES} attempts to commit the results of "
        f"the job {document['name']!r}. The results are kept: run the job again."
    )


class _Writing:
    """One attempt to write results to a branch's tip."""

    def __init__(
        self, tip: Table, document: Document, base: Table, ids: Ids, results: Results
    ) -> None:
        self._document, self._base, self._results = document, base, results
        self._ids = ids[results.rows]
        self._slots = tip.find(self._ids)
        self._order = np.argsort(self._slots)
        self._tip = tip
        self._edited: dict[str, Ids] = {}
        self._outdated = NONE

    @property
    def has_edits(self) -> bool:
        """Whether there are cells to write, or columns to add."""
        known = {f.id for f in self._tip.schema}
        return bool((self._slots >= 0).any()) or any(
            t["id"] not in known for t in self._document["into"]
        )

    def find_changes(self, lake: Lake) -> None:
        """Find the changes of other writers since the version that the job read."""
        self._check_columns(lake)
        tip, base = self._tip, self._base
        if tip.snapshot_id == base.snapshot_id:
            return
        changes = difference(base, tip)
        filled = {target["id"] for target in self._document["into"]}
        read = set(self._document["columns"].values()) - filled
        inputs = [changes.cells.get(column, NONE) for column in sorted(read)]
        self._outdated = np.intersect1d(self._ids, np.concatenate([NONE, *inputs]))
        for target in self._document["into"]:
            since = changes if not target["new"] else self._changes_since_first(lake)
            cells = since.cells.get(target["id"], NONE) if since is not None else NONE
            self._edited[target["id"]] = np.intersect1d(self._ids, cells)

    def _changes_since_first(self, lake: Lake) -> Changes | None:
        """Return the changes since the job added its columns, or None if it has not done so."""
        commits = commits_of(lake.repository, self._tip.snapshot_id, self._document)
        if not commits:
            return None
        first = type(self._tip).open(lake.repository, lake.repository.reader(commits[-1].id))
        return difference(first, self._tip)

    def _check_columns(self, lake: Lake) -> None:
        known = {f.id: f for f in self._tip.schema}
        names = {f.name for f in self._tip.schema}
        for target in self._document["into"]:
            name = target["name"]
            if target["id"] not in known and not target["new"]:
                raise JobError(
                    f"The job {self._document['name']!r} fills the column {name!r}, but another "
                    "writer has dropped it. Restore the column, or run the job with restart=True."
                )
            if target["id"] not in known and name in names:
                check_not_overtaken(lake.repository, self._tip.snapshot_id, self._document)
                raise JobError(
                    f"The job {self._document['name']!r} adds the column {name!r}, but another "
                    "writer has added a column of that name. Rename or drop that column, then run "
                    "the job again; its results are kept."
                )
            if target["id"] in known and known[target["id"]].htype.bare != _htype(target).bare:
                raise JobError(
                    f"The job {self._document['name']!r} fills the column {name!r} with values of "
                    f"type {_htype(target)}, but another writer has changed the column to "
                    f"{known[target['id']].htype}. Run the job with restart=True."
                )

    def write(self, table: Table) -> None:
        """Write the results to a table that accepts edits."""
        known = {f.id for f in table.schema}
        for target in self._document["into"]:
            if target["id"] in known:
                self._update(table, target["id"])
            else:
                htype = _htype(target).limited(table.repository.limits)
                f = Field(target["name"], target["id"], htype)
                table.add_column(f, fill_column(table, f, partial(self._cells, f)))

    def _update(self, table: Table, column: str) -> None:
        """Write the results to an existing column, except to cells that other writers changed."""
        keep = (self._slots >= 0) & ~np.isin(self._ids, self._edited.get(column, NONE))
        rows, slots = self._results.rows[keep], self._slots[keep]
        for span in chunks.spans(len(rows), chunks.COPY_ROWS):
            table.update(slots[span], {column: self._results.read(column, rows[span])})

    def _cells(self, f: Field, slots: Slots) -> Cells:
        """Return a new column's cells for the rows in `slots`: results, or else default or null."""
        if not len(self._slots):
            return default_cells(f, len(slots))
        at = np.searchsorted(self._slots, slots, sorter=self._order)
        at = self._order[np.minimum(at, len(self._order) - 1)]
        has = self._slots[at] == slots
        rows = self._results.rows[at]

        def read(places: Ids) -> Cells:
            return self._results.read(f.id, rows[places])

        return interleave(
            (np.flatnonzero(has), read),
            (np.flatnonzero(~has), lambda places: default_cells(f, len(places))),
        )

    def summary(self) -> dict[str, object]:
        """Return the numbers of rows for the record of the job."""
        done = self.published("")
        return {
            "rows": int((self._slots >= 0).sum()),
            "edited": len(done.edited),
            "outdated": len(done.outdated),
            "deleted": len(done.deleted),
        }

    def published(self, version: str) -> Published:
        """Return the report for a commit."""
        edited = np.unique(np.concatenate([NONE, *self._edited.values()]))
        deleted = self._ids[self._slots < 0]
        outdated = np.setdiff1d(self._outdated, deleted)
        return Published(version, 0, np.setdiff1d(edited, deleted), outdated, deleted)


def _htype(target: Target) -> Any:
    return from_config(target["htype"])


def merge_reports(reports: Sequence[Published], version: str) -> Published:
    """Return one report for several commits."""
    return Published(
        reports[-1].version if reports else version,
        sum(r.added for r in reports),
        *(
            np.unique(np.concatenate([NONE, *(getattr(r, name) for r in reports)]))
            for name in ("edited", "outdated", "deleted")
        ),
    )
