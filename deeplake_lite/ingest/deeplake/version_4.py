"""Finding the versions of a Deep Lake 4 dataset in its log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.deeplake.columns import decode_metadata
from deeplake_lite.ingest.deeplake.log import Change, Log, Merge
from deeplake_lite.ingest.deeplake.snapshot import Snapshot
from deeplake_lite.ingest.deeplake.versions import (
    State,
    Version,
    Versions,
    count_uses,
    sort_versions,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.ingest.deeplake.peer import Peer


class Deeplake4Versions(Versions):
    """The versions of a Deep Lake 4 dataset.

    Parameters
    ----------
    peer : Peer
        The dataset.
    schema : mapping
        Maps names of columns to the types that the user declares.
    """

    def __init__(self, peer: Peer, schema: Mapping[str, object]) -> None:
        self._peer, self._schema, self._log = peer, schema, Log.read(peer)
        self._gaps = self._log.gaps()
        self._dataset = peer.open()
        with peer.translating():
            self.identity = str(self._dataset.id)
            branches = [self._dataset.branches[name] for name in self._dataset.branches.names()]
            self._names = {branch.id: branch.name for branch in branches}
            self._opened = {branch.id: branch.open() for branch in branches}
            self._histories = {key: opened.history for key, opened in self._opened.items()}
        self.main = next(
            (self._names[b] for b, parent in self._log.parents.items()
             if parent is None and b in self._names),
            "main",
        )  # fmt: skip
        self._changes: dict[str, tuple[str, Change]] = {}
        self.ordered = sort_versions(list(self._find()))
        self._states: dict[str, State] = {}
        self._uses = count_uses(self.ordered)

    def _find(self) -> Iterator[Version]:
        """Yield the versions of all branches, except for deleted branches."""
        for branch, name in self._names.items():
            if branch not in self._log.changes:
                raise _unknown(f"it does not contain branch {name!r}")
            base = self._start(branch)
            for change in self._changes_of(branch):
                key = _key(branch, change.id)
                merge = self._log.merges.get((branch, change.id))
                merged = None if merge is None else self._resolve(merge.branch, merge.version)
                self._changes[key] = branch, change
                yield Version(
                    key,
                    name,
                    base,
                    change.message or "",
                    change.time,
                    merged=merged,
                    restored=self._target(branch, change) if change.letter == "w" else None,
                )
                base = key

    def empty_branches(self) -> Iterator[tuple[str, str | None]]:
        """Yield the branches that have no versions of their own.

        The items are the name of a branch, and the key of the version from which the branch starts.
        """
        for branch, name in self._names.items():
            if not self._changes_of(branch):
                yield name, self._start(branch)

    def _changes_of(self, branch: str) -> list[Change]:
        """Return the changes of a branch, without those that only compact the storage."""
        changes = self._log.changes.get(branch, [])
        return [
            change
            for at, change in enumerate(changes)
            if change.letter != "o" or (at == 0 and self._log.parents[branch] is None)
        ]

    def _start(self, branch: str) -> str | None:
        """Return the key of the version where a branch starts, or None for the main branch."""
        parent = self._log.parents[branch]
        return None if parent is None else self._resolve(*parent)

    def _resolve(self, branch: str, version: str) -> str | None:
        """Return the key of a version, or of the last earlier version if it changes nothing.

        Return None if there is no such version.
        """
        for _ in self._log.parents:
            number = int(version[:10]) if version[:10].isdecimal() else -1
            earlier = [c for c in self._changes_of(branch) if c.number <= number]
            if earlier:
                return _key(branch, earlier[-1].id)
            parent = self._log.parents.get(branch)
            if parent is None:
                break
            branch, version = parent
        return None

    def _target(self, branch: str, change: Change) -> str | None:
        return self._resolve(branch, f"{change.target:010d}")

    # ---- reading

    def open(self, version: Version) -> Snapshot:
        """Open a version of the dataset for reading. Raises InvalidValueError if this fails."""
        branch, change = self._changes[version.key]
        with self._peer.translating():
            view = self._histories[branch][change.id].open()
        state = self._states[version.key]
        coordinates = {
            name: state.coordinates[number]
            for number, name in state.columns.items()
            if number in state.coordinates
        }
        gaps = {name for number, name in state.columns.items() if number in self._gaps}
        snapshot = Snapshot.of(self._peer, view, coordinates, gaps, self._schema)
        names = {*snapshot.columns, *snapshot.unreadable}
        agrees = len(snapshot) == len(state.rows) and names == set(state.columns.values())
        if state.is_reliable and not agrees:
            raise _unknown(
                f"version {change.id!r} has {pluralize(len(snapshot), 'row')} and "
                f"{pluralize(len(names), 'column')}, while the log lists "
                f"{pluralize(len(state.rows), 'row')} and {pluralize(len(state.columns), 'column')}"
            )
        return snapshot

    def tags(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name of each tag, the key of its version, and its query.

        The query is "" unless the tag refers to the result of a query.
        """
        with self._peer.translating():
            tags = [self._dataset.tags[name] for name in self._dataset.tags.names()]
            records = [(tag.id, tag.name, tag.version, tag.query) for tag in tags]
        for key, name, version, query in records:
            branch, _ = self._log.tags.get(key, ("", ""))
            yield name, self._resolve(branch, version) or "", query or ""

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the dataset."""
        return dataset_metadata(self._peer, self._dataset)

    # ---- identities

    def state(self, version: Version) -> State:
        """Return the ids of the rows and columns of a version, and keep them for later versions."""
        branch, change = self._changes[version.key]
        base = self._states.get(version.base or "", State())
        if version.restored is not None:
            state = self._states[version.restored]
        else:
            state = _apply(base, change)
            merge = self._log.merges.get((branch, change.id))
            if merge is not None and version.merged is not None:
                state = self._merge(state, merge, version.merged)
                state = replace(
                    state, is_reliable=base.is_reliable and self._has_rows(branch, change, state)
                )
        self._states[version.key] = state
        for key in {version.base, version.merged, version.restored} - {None}:
            self._uses[str(key)] -= 1
        return state

    def release(self) -> None:
        """Discard the states that no later version needs."""
        for key in [key for key in self._states if self._uses[key] <= 0]:
            del self._states[key]

    def _merge(self, ours: State, merge: Merge, key: str) -> State:
        """Return the state after a merge, which appends the new rows of the merged branch."""
        theirs = self._states.get(key)
        if theirs is None:  # the branch was deleted
            return ours
        changes = self._changes_to_merge(merge)
        added = np.concatenate([np.empty(0, np.uint64), *(change.added() for change in changes)])
        is_new = np.isin(theirs.rows, added) & ~np.isin(theirs.rows, ours.rows)
        rows = np.concatenate([ours.rows, theirs.rows[is_new]])
        new = {k: name for k, name in theirs.columns.items() if k not in ours.columns}
        state = State(rows, {**ours.columns, **new}, {**theirs.coordinates, **ours.coordinates})
        for change in changes:
            state = _apply(state, replace(change, blocks={}, created={}, updated={}))
        return state

    def _changes_to_merge(self, merge: Merge) -> list[Change]:
        """Return the changes of a branch since its previous merge into the same branch."""
        former = [
            other.version
            for other in self._log.merges.values()
            if (other.branch, other.into) == (merge.branch, merge.into)
            and other.merged < merge.merged
        ]
        last = max(former, default="")
        return [c for c in self._changes_of(merge.branch) if last < c.id <= merge.version]

    def _has_rows(self, branch: str, change: Change, state: State) -> bool:
        """Return whether a version has as many rows as the log says."""
        with self._peer.translating():
            return len(self._histories[branch][change.id].open()) == len(state.rows)


def _apply(state: State, change: Change) -> State:
    """Return the state that results from applying a change to a state."""
    columns = {
        k: v for k, v in {**state.columns, **change.created}.items() if k not in change.dropped
    }
    columns |= {k: name for k, name in change.renamed.items() if k in columns}
    rows = state.rows
    added = change.added()
    if len(added):
        rows = np.concatenate([rows, added])
    if change.deleted:
        rows = rows[~np.isin(rows, np.concatenate(change.deleted))]
    updated = {k: np.concatenate(ids) for k, ids in change.updated.items()}
    coordinates = {**state.coordinates, **change.coordinates}
    return State(rows, columns, coordinates, updated, state.is_reliable)


def dataset_metadata(peer: Peer, dataset: Any) -> dict[str, Any]:
    """Return the metadata of a dataset.

    The name, description, date and id of the dataset are added under the key ``deeplake``.
    """
    with peer.translating():
        items = decode_metadata(dataset.metadata.to_dict())
        about = {
            "name": dataset.name,
            "description": dataset.description,
            "created": dataset.created_time.isoformat(),
            "id": dataset.id,
        }
    return {**items, "deeplake": {key: text for key, text in about.items() if text}}


def _key(branch: str, version: str) -> str:
    return f"{branch}/{version}"


def _unknown(reason: str) -> InvalidValueError:
    return InvalidValueError(
        f"The dataset's log must match its versions, but {reason}. To ingest only the last "
        "version, without the history, pass history=False."
    )
