"""Upkeep of a lake: rewriting it, deleting what nothing needs, reading everything again."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset import saved, versions
from deeplake_lite.dataset.report import Damaged, Report, finding
from deeplake_lite.errors import ConflictError, DamagedError
from deeplake_lite.storage.repo import local_folder
from deeplake_lite.storage.scratch import open_transactions
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.scratch import Note

SPARED = timedelta(hours=24)
"""Objects younger than this are never deleted: a transaction that has not committed may need
them."""

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Vacuumed:
    """What a vacuum deleted, or would.

    A dry run on an object store counts the objects that no version needs already, not those of the
    versions that would expire: only their manifests, which lie there, tell what they consist of.
    """

    expired: int
    """Versions."""
    bytes: int
    """Bytes of all objects."""
    chunks: int
    """Chunk files."""
    manifests: int
    """Manifest files."""
    snapshots: int
    """Snapshot files."""


def optimize(ds: Dataset, *, shuffle: bool, seed: int) -> str:
    """Rewrite a lake contiguously; see `Dataset.optimize`."""
    repository, branch = ds._lake.repository, str(ds.current_branch)
    with repository.lock():
        if repository.tip(branch) != ds.version:
            raise ConflictError(f"Branch {branch!r} has moved. Run ds.refresh(), then optimise.")
        order = ds._table.rows.live()
        if shuffle:
            order = order[np.random.default_rng(seed).permutation(len(order))]
        done = ds._table.rewrite(branch, order, "optimised" + (", shuffled" if shuffle else ""))
    ds.refresh()
    return done


def verify(ds: Dataset) -> Report:
    """Read everything again; see `Dataset.verify`."""
    ds._check_committed("verification")
    repository = ds._lake.repository
    repository = repository.checking()
    fresh = Table.open(repository, repository.reader(ds.version))  # nothing of it is in a cache
    live = fresh.rows.live()
    row_of = dict(zip(live.tolist(), range(len(live)), strict=True))
    every = np.arange(fresh.slots)  # rows that were deleted, too: older versions may have them
    lost = fresh.verify_rows()
    unnamed = {damage.slot for damage in lost}
    found = [Damaged(None, row_of.get(d.slot), None, finding(d.reason)) for d in lost]
    for f in fresh.schema:
        for slot, reason in ((d.slot, d.reason) for d in fresh.verify(f.id, every)):
            known = slot is not None and slot not in unnamed
            row_id = int(fresh.ids(np.array([slot]))[0]) if known else None
            gone = known and slot not in row_of
            said = f"in a deleted row, {finding(reason)}" if gone else finding(reason)
            found.append(Damaged(f.name, row_of.get(slot), row_id, said))
    return Report(ds.version, len(live), len(fresh.schema), found)


def vacuum(ds: Dataset, older_than: Any, *, dry_run: bool) -> Vacuumed:
    """Delete what no version needs any more; see `Dataset.vacuum`."""
    repository, now, expiring = ds._lake.repository, datetime.now(UTC), set[str]()
    with repository.lock():
        _check_named(repository)
        repository.unpin(now - SPARED)
        others = _open_transactions(repository)
        needed = saved.versions_needed(repository)
        with repository.pinned(needed):
            if older_than is not None:
                bases = {*_branch_points(repository), *(note["version"] for note in others)}
                cutoff = min([_cutoff(older_than, now), *(_time(repository, b) for b in bases)])
                expiring, kept = _expiring(repository, cutoff, needed)
                if not dry_run:
                    repository.expire(cutoff)
            started = (datetime.fromisoformat(note["started"]) for note in others)
            limit = min([now - SPARED, *started])
            counts = Counter(repository.collect(limit, dry_run=dry_run))
            if dry_run and expiring:
                counts.update(repository.would_free(expiring, kept, limit))
    return Vacuumed(len(expiring), **counts)


def _check_named(repository: Repository) -> None:
    """Refuse to work where ``main`` is not seen: every version would count as one nobody needs.

    Raises
    ------
    DamagedError
        A store that does not list the names, or has lost them, says the same: there is none.
    """
    if "main" not in repository.branches():
        raise DamagedError(
            f"A vacuum keeps what branches and tags name, but {repository.url!r} lists no branch "
            "'main', which every lake has. See to the permission to list its refs/, or restore "
            "that from a copy."
        )


def _open_transactions(repository: Repository) -> list[Note]:
    """Return the notes of a local lake's writers; those of an object store are not seen."""
    local = local_folder(repository.url) is not None
    return open_transactions(repository.writers_folder()) if local else []


def _branch_points(repository: Repository) -> set[str]:
    """Return where the histories of any two branches meet.

    Nothing behind them expires: a history that is cut no longer leads there, and a merge would find
    no base.
    """
    tips = sorted(set(versions.branches(repository).values()))
    return {
        base for a, b in combinations(tips, 2) for base in versions.merge_bases(repository, [a], b)
    }


def _time(repository: Repository, snapshot_id: str) -> datetime:
    return next(repository.ancestry(snapshot_id)).time


def _expiring(
    repository: Repository, cutoff: datetime, needed: set[str]
) -> tuple[set[str], set[str]]:
    """Return the versions that would expire, and those that stay.

    What stays is not older than `cutoff`, or named, or `needed`, or the engine's own first one.
    """
    tips = {*needed, *repository.branches().values(), *repository.tags().values()}
    every = {c.id: c for tip in tips for c in repository.ancestry(tip)}
    expiring = {c.id for c in every.values() if c.parent and c.time < cutoff} - tips
    return expiring, every.keys() - expiring


def _cutoff(older_than: Any, now: datetime) -> datetime:
    """Return the time before which versions expire.

    >>> now = datetime(2026, 1, 31, tzinfo=UTC)
    >>> _cutoff("30d", now).date().isoformat()
    '2026-01-01'
    """
    if isinstance(older_than, datetime):
        return older_than.astimezone(UTC)
    if isinstance(older_than, timedelta):
        return now - older_than
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(older_than))
    if found is None:
        raise ValueError(
            "older_than is a time, a timedelta, or a number with s, m, h, d or w, "
            f"got {older_than!r}. For example: older_than='30d'."
        )
    try:
        return now - timedelta(**{UNITS[found[2]]: float(found[1])})
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)
