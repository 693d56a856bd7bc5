"""Replaying the versions of a Deep Lake dataset as commits of a lake.

Each version becomes a commit, and the commit's metadata has a record of the version. A later run
finds these records, so that it only replays new versions, even if the previous run was killed. With
``commit_every``, a version with many new rows becomes several commits, so that a later run can
continue in the middle of the version.

If Deep Lake's log tells which rows have changed, only these rows are read. A merge is repeated in
the lake, and the result is then compared with Deep Lake's result.

The *key* of a version is a string that identifies it among all versions of the dataset. The *state*
of a version (`State`) has the ids of its rows and the numbers of its columns.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.repr import bars
from deeplake_lite.dataset.versions import merge
from deeplake_lite.dataset.versions.commit import commit
from deeplake_lite.dataset.write import edits
from deeplake_lite.errors import ExistsError, InvalidValueError, LakeError, SchemaError
from deeplake_lite.ingest.deeplake.changes import Changes, changes_by_content, changes_by_id
from deeplake_lite.ingest.deeplake.names import safe_name
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.schema import Schema
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.deeplake.snapshot import Snapshot
    from deeplake_lite.ingest.deeplake.versions import State, Version, Versions

RECORD = "deeplake"
"""Key in a commit's metadata for the record of the version that became the commit."""

PART_ROWS = 4_096
"""Number of rows that are written at a time."""


@dataclass(frozen=True)
class Settings:
    """Options of a replay."""

    branch: str
    """The branch of the lake that corresponds to the dataset's main branch."""

    check: Check
    message: str
    """Commit message for versions without a message."""

    commit_every: int | None
    progress: bool
    access: Mapping[str, Any]
    """Options for opening the lake."""


class Replay:
    """The replay of a dataset into a lake.

    Parameters
    ----------
    versions : Versions
        The versions of the dataset.
    url : str
        URL of the lake, which must exist.
    title : str
        Name of the dataset in messages.
    settings : Settings
        The options.
    """

    def __init__(self, versions: Versions, url: str, title: str, settings: Settings) -> None:
        self.versions, self.url, self.title, self.settings = versions, url, title, settings
        self.added = self.changed = 0
        self.replayed = 0
        """Number of versions that this run has replayed."""
        self.skipped: dict[str, Skipped] = {}
        """Maps names such as "tag 'v1'" to the columns and tags that the lake cannot store."""
        self._keys: dict[str, str] = {}
        """Maps the ids of commits of earlier runs to the keys of the versions they replayed."""
        self._done: dict[str, str] = {}
        """Maps the keys of replayed versions to the ids of the lake's versions."""
        self._parts: dict[str, tuple[str, int]] = {}
        """Maps keys of partly replayed versions to the lake's version and the new rows in it."""
        self._drafts: dict[str, str] = {}
        """Maps the keys of uncommitted changes in the dataset to the ids of lake versions."""
        self._branches: dict[str, str] = {}
        """Maps the names of the dataset's branches to the names of the lake's branches."""
        self._states: dict[str, State | None] = {}
        """Maps the keys of versions from which later versions start to the versions' states."""
        self._later = Counter(version.base or "" for version in versions.ordered)

    def run(self) -> Dataset:
        """Replay all versions that are not in the lake yet. Return the main branch's dataset."""
        self._read_records()
        for version in self.versions.ordered:
            before = self._state_before(version)
            after = self.versions.state(version)
            if version.is_draft or version.key not in self._done:
                self._replay(version, before, after)
            elif version.merged in self._done:
                self._check_merge(version)
            self._states[version.key] = after
            self._later[version.base or ""] -= 1
            self._release(version)
        for name, base in self.versions.empty_branches():
            if name not in self._branches:
                self._new_branch(name, self._done.get(base or "", self._first))
        self._write_tags()
        return self._write_metadata()

    # ---- the state of the lake

    def _read_records(self) -> None:
        """Find the versions that earlier runs have replayed, by the records in commits."""
        ds = self._open(self.settings.branch)
        self._first = ds.log()[-1].id
        for branch in ds.branches:
            for entry in self._open(branch).log():
                record = entry.metadata.get(RECORD)
                if not isinstance(record, dict) or entry.branch not in (None, branch):
                    continue
                if record.get("dataset") != self.versions.identity:
                    continue
                key = str(record.get("version", ""))
                self._keys[entry.id] = key
                self._branches.setdefault(str(record.get("branch")), entry.branch or branch)
                if record.get("draft"):
                    self._drafts.setdefault(key, entry.id)
                elif record.get("rows") is None:
                    self._done.setdefault(key, entry.id)
                elif key not in self._done:
                    known = self._parts.get(key, ("", -1))
                    self._parts[key] = max(
                        known, (entry.id, int(record["rows"])), key=lambda p: p[1]
                    )

    def _state_before(self, version: Version) -> State | None:
        return self._states.get(version.base or "")

    def _release(self, version: Version) -> None:
        """Discard the states of versions from which no later version starts."""
        self.versions.release()
        for key in {version.base, version.key} - {None}:
            if not self._later[str(key)]:
                self._states.pop(str(key), None)

    def _open(self, branch: str) -> Dataset:
        return open_lake(self.url, branch=branch, **self.settings.access)

    def _open_branch(self, version: Version) -> Dataset:
        """Open the branch of a version. If the branch is new, create it at the previous version.

        Raises
        ------
        InvalidValueError
            If the branch has other commits.
        """
        start = self._done.get(version.base or "", self._first)
        expected, _ = self._parts.get(version.key, (start, 0))
        expected = self._drafts.get(version.key, expected)
        name = self._branches.get(version.branch)
        if name is None:
            name = self._new_branch(version.branch, start)
        ds = self._open(name)
        if ds.version != expected:
            raise InvalidValueError(
                f"Branch {name!r} of {self.url!r} must contain only versions of {self.title}, "
                f"but it has other commits after version {expected}. Ingest into another lake, or "
                "pass history=False to ingest only the last version."
            )
        return ds

    def _new_branch(self, branch: str, start: str) -> str:
        """Create the lake's branch for a branch of the dataset, and return its name."""
        if branch == self.versions.main:
            self._branches[branch] = self.settings.branch
            return self.settings.branch
        at = open_lake(self.url, version=start, **self.settings.access)
        for name in (branch, safe_name(branch), f"{safe_name(branch)}-{start[:6]}"):
            try:
                if at.branches.get(name) != start:  # an earlier run may have created it
                    at.branch(name)
            except (SchemaError, ExistsError):
                continue
            self._branches[branch] = name
            return name
        raise ExistsError(
            f"The lake must not have a branch {branch!r} yet, but {self.url!r} has one. Ingest "
            "into another lake."
        )

    # ---- a version

    def _replay(self, version: Version, before: State | None, after: State | None) -> None:
        """Replay a version as a commit."""
        ds = self._open_branch(version)
        former = ds.version
        try:
            if version.restored in self._done:
                self._restore(ds, version)
            elif version.merged in self._done and version.key not in self._parts:
                self._merge(ds, version)
            else:
                self._edit(ds, version, before, after, {})
        except BaseException:
            ds.discard()
            raise
        self._done[version.key] = ds.version
        self.replayed += ds.version != former

    def _restore(self, ds: Dataset, version: Version) -> None:
        """Commit the state of an older version."""
        ds.restore(self._done[str(version.restored)])
        self._commit(ds, version, empty=True)

    def _merge(self, ds: Dataset, version: Version) -> None:
        """Merge a branch, and correct the cells and rows that differ from Deep Lake's result."""
        theirs = self._done[str(version.merged)]
        record, before = {RECORD: self._record(version)}, ds.version
        try:
            merge.merge(ds.handle, theirs, "theirs", self._message(version), record)
        except LakeError:
            is_merged = False
        else:
            is_merged = ds.version != before  # there may be nothing to merge
        metadata = {} if is_merged else {"merge": theirs, "merged": str(version.merged)}
        self._edit(ds, version, None, None, metadata)

    def _check_merge(self, version: Version) -> None:
        """Correct the result of a merge if an earlier run was killed before correcting it."""
        ds = self._open(self._branches[version.branch])
        if ds.version == self._done[version.key] and "merge" in ds.log()[0].metadata:
            self._edit(ds, version, None, None, {})
            self._done[version.key] = ds.version

    def _edit(
        self,
        ds: Dataset,
        version: Version,
        before: State | None,
        after: State | None,
        metadata: Mapping[str, object],
    ) -> None:
        """Edit the lake to match the rows and columns of a version, and commit."""
        snapshot = self.versions.open(version)
        for name, reason in snapshot.unreadable.items():
            self.skipped[f"column {name!r}"] = Skipped(f"{self.title}, column {name!r}", reason)
        _, begun = self._parts.get(version.key, ("", 0))
        if version.key not in self._parts:
            self._change_columns(ds, snapshot, before, after)
            changes = None
            if (
                before is not None
                and after is not None
                and before.is_reliable
                and after.is_reliable
            ):
                changes = changes_by_id(before, after)
            changes = changes_by_content(ds, snapshot) if changes is None else changes
            self._change_rows(ds, snapshot, changes)
        self._append(ds, version, snapshot, begun)
        self._commit(ds, version, metadata, empty=not metadata and not version.is_draft)

    def _change_columns(
        self, ds: Dataset, snapshot: Snapshot, before: State | None, after: State | None
    ) -> None:
        """Drop and rename columns, and change types of columns whose cells can be kept."""
        names = _new_names(before, after) if before and after else {}
        for name in ds.columns:
            if names.get(name, name) not in snapshot.columns:
                ds.drop_column(name)
        moves = {old: new for old, new in names.items() if old in ds.columns and old != new}
        for old in moves:
            ds.rename_column(old, f"{old} {TEMPORARY}")
        for old, new in moves.items():
            ds.rename_column(f"{old} {TEMPORARY}", new)
        for name, column in snapshot.columns.items():
            if name not in ds.schema or ds.schema[name].htype == column.htype:
                continue
            if ds.schema[name].htype.layout == column.htype.layout and len(ds):
                _retype(ds, name, column.htype)
            else:
                ds.drop_column(name)

    def _change_rows(self, ds: Dataset, snapshot: Snapshot, changes: Changes) -> None:
        """Delete rows, add columns, and update cells and the metadata of columns."""
        if len(changes.deleted):
            ds.delete(changes.deleted)
        for name, column in snapshot.columns.items():
            if name not in ds.schema:
                values = snapshot.lazy(name, range(changes.kept)) if changes.kept else None
                ds.add_column(name, column.htype, values=values, metadata=column.metadata or None)
            elif dict(ds[name].metadata) != dict(column.metadata):
                items = dict(column.metadata)
                edits.change_metadata(ds.handle, name, partial(_replace_metadata, items))
        touched = [np.empty(0, np.int64)]
        for name, positions in changes.updated.items():
            touched.append(positions)
            for span in chunks.spans(len(positions), PART_ROWS) if name in snapshot.columns else ():
                rows = positions[span]
                ds.update(rows, {name: snapshot.values(name, [int(row) for row in rows])})
        self.changed += len(np.unique(np.concatenate(touched)))

    def _append(self, ds: Dataset, version: Version, snapshot: Snapshot, begun: int) -> None:
        """Append the new rows, with a commit after every `commit_every` rows."""
        start, pending = len(ds), 0
        self.added += len(snapshot) - start
        with bars.bar(
            f"{self.title}, {version.message or version.key[-20:]}",
            len(snapshot) - start,
            visible=self.settings.progress,
        ) as bar:
            every = self.settings.commit_every
            size = min(PART_ROWS, every or PART_ROWS)
            for span in chunks.spans(len(snapshot) - start, size):
                rows = range(start + span.start, start + span.stop)
                ds.append(
                    {name: snapshot.lazy(name, rows) for name in snapshot.columns},
                    check=self.settings.check,
                )
                pending += len(rows)
                bar.update(len(rows))
                if every and pending >= every and rows.stop < len(snapshot):
                    begun += pending
                    record = {**self._record(version), "rows": begun}
                    commit(ds.handle, self._message(version), {RECORD: record})
                    self._parts[version.key] = ds.version, begun
                    pending = 0

    def _commit(
        self,
        ds: Dataset,
        version: Version,
        metadata: Mapping[str, object] | None = None,
        *,
        empty: bool,
    ) -> None:
        record = {RECORD: self._record(version), **(metadata or {})}
        is_merged = version.merged in self._done and not metadata
        if is_merged and not ds.handle.table.edits:
            return  # the merge commit has the record already
        if empty or metadata:
            ds.handle.edit(lambda _: None)  # begin a transaction, which may be empty
        commit(ds.handle, self._message(version), record, empty=empty or bool(metadata))

    def _message(self, version: Version) -> str:
        draft = "uncommitted changes" if version.is_draft else ""
        return version.message or draft or self.settings.message

    def _record(self, version: Version) -> dict[str, object]:
        """Return the record of a version, to be stored in the metadata of its commit."""
        record: dict[str, object] = {
            "dataset": self.versions.identity,
            "version": version.key,
            "branch": version.branch,
        }
        if version.time is not None:
            record["time"] = version.time.isoformat()
        if version.author:
            record["author"] = version.author
        if version.is_draft:
            record["draft"] = True
        return record

    # ---- the end

    def _write_tags(self) -> None:
        """Tag the lake's versions as in the dataset. Tags that are impossible are in `skipped`."""
        existing = self._open(self.settings.branch).tags
        for name, key, query in self.versions.tags():
            version, tag = self._done.get(key), safe_name(name)
            if query:
                self.skipped[f"tag {name!r}"] = Skipped(
                    f"{self.title}, tag {name!r}",
                    f"it refers to the result of the query {query!r:.200} instead of a version",
                )
            elif tag in existing:
                if existing[tag] != version and self._keys.get(existing[tag]) != key:
                    self.skipped[f"tag {name!r}"] = Skipped(
                        f"{self.title}, tag {name!r}",
                        f"tags cannot move, and the lake's tag {tag!r} refers to another version. "
                        "Tag the version with another name: "
                        f"dl.open(url, version={version!r}).tag(…)",
                    )
            elif version is not None:
                try:
                    open_lake(self.url, version=version, **self.settings.access).tag(tag)
                except (SchemaError, ExistsError) as error:
                    where = f"{self.title}, tag {name!r}"
                    self.skipped[f"tag {name!r}"] = Skipped(where, str(error))

    def _write_metadata(self) -> Dataset:
        """Commit the dataset's metadata if it has changed. Return the main branch's dataset."""
        ds = self._open(self.settings.branch)
        items = self.versions.metadata()
        changed = {key: value for key, value in items.items() if ds.metadata.get(key) != value}
        if changed:
            ds.metadata.update(changed)
            at = [v for v in self.versions.ordered if self._done.get(v.key) == ds.version]
            at.sort(key=lambda v: v.is_draft)  # prefer committed versions
            record = {RECORD: self._record(at[0])} if at else {}
            commit(ds.handle, f"metadata of {self.title}", record)
        return ds


def _replace_metadata(items: dict[str, object], _: Mapping[str, object]) -> dict[str, object]:
    """Return `items`, which replace a column's previous metadata."""
    return items


TEMPORARY = "(renamed)"
"""Suffix of the temporary names of columns while several columns are renamed."""


def _new_names(before: State, after: State) -> dict[str, str]:
    """Return a dict from old to new names of columns. The names of dropped columns get a suffix."""
    return {
        name: after.columns.get(number, f"{name} (dropped)")
        for number, name in before.columns.items()
    }


def _retype(ds: Dataset, name: str, htype: Any) -> None:
    """Change the type of a column to a type with the same layout, without changing the cells."""
    fields = tuple(replace(f, htype=htype) if f.name == name else f for f in ds.schema)
    ds.handle.edit(lambda table: table.set_document(schema=Schema(fields)))
