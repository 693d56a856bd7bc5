"""Upkeep of a lake: rewriting it contiguously, deleting what nothing needs, reading everything again."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset import saved, versions
from deeplake_lite.errors import ConflictError
from deeplake_lite.storage.repo import local_folder
from deeplake_lite.storage.scratch import open_transactions

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Repository

SPARED = timedelta(hours=24)
"""Objects younger than this are never deleted: a transaction that has not committed may need them."""

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Vacuumed:
    """What a vacuum deleted, or would."""

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


@dataclass(frozen=True)
class Damaged:
    """One damaged cell, or column."""

    column: str
    """Name of the column."""
    row: int | None
    """Position of the row; None where the column as a whole does not read."""
    row_id: int | None
    """Id of the row."""
    reason: str
    """What was found."""


@dataclass(frozen=True)
class Report:
    """What `verify` found; true if all is well."""

    rows: int
    """Rows read."""
    columns: int
    """Columns read."""
    damaged: list[Damaged] = field(default_factory=list)
    """Every damaged cell."""

    def __bool__(self) -> bool:
        return not self.damaged

    def __repr__(self) -> str:
        if not self.damaged:
            return f"{self.rows:,} rows, {self.columns} columns: all bytes are what was written"
        lines = [
            f"  column {d.column!r}"
            + (f", row {d.row}" if d.row is not None else "")
            + f": {d.reason}"
            for d in self.damaged[:20]
        ]
        more = f"\n  … {len(self.damaged) - 20} more" if len(self.damaged) > 20 else ""
        return f"{len(self.damaged)} damaged cells:\n" + "\n".join(lines) + more


def optimize(ds: Dataset, *, shuffle: bool, seed: int) -> str:
    """Rewrite a lake contiguously; see `Dataset.optimize`."""
    repository, branch = ds._lake.repository, str(ds.current_branch)
    with repository.lock():
        if repository.tip(branch) != ds.version:
            raise ConflictError(f"Branch {branch!r} has moved. Run ds.refresh(), then optimise.")
        order = ds._table.rows.live()
        if shuffle:
            order = np.random.default_rng(seed).permutation(order)
        done = ds._table.rewrite(branch, order, "optimised" + (", shuffled" if shuffle else ""))
    ds.refresh()
    return done


def verify(ds: Dataset) -> Report:
    """Read everything again; see `Dataset.verify`."""
    ds._check_committed("verification")
    fresh, found = ds._open(ds.version), list[Damaged]()
    live = fresh.rows.live()
    row_of = dict(zip(live.tolist(), range(len(live)), strict=True))
    for f in fresh.schema:
        for damage in fresh.verify(f.id, live):
            row = None if damage.slot is None else row_of[damage.slot]
            row_id = None if damage.slot is None else int(fresh.ids(np.array([damage.slot]))[0])
            found.append(Damaged(f.name, row, row_id, damage.reason))
    return Report(len(live), len(fresh.schema), found)


def vacuum(ds: Dataset, older_than: Any, *, dry_run: bool) -> Vacuumed:
    """Delete what no version needs any more; see `Dataset.vacuum`."""
    repository, now = ds._lake.repository, datetime.now(UTC)
    with repository.lock():
        expired = 0
        if older_than is not None:
            cutoff = _cutoff(older_than, now)
            for needed in _needed(repository):
                saved.keep(repository, needed)
            expired = (
                len(_expiring(repository, cutoff)) if dry_run else len(repository.expire(cutoff))
            )
        counts = repository.collect(_spared_since(repository, now), dry_run=dry_run)
    return Vacuumed(expired, **counts)


def _spared_since(repository: Repository, now: datetime) -> datetime:
    """Return the time from which objects are spared: a day ago, or when the oldest open transaction began."""
    since = now - SPARED
    if local_folder(repository.url) is None:
        return since
    notes = open_transactions(repository.writers_folder())
    return min([since, *(datetime.fromisoformat(note["started"]) for note in notes)])


def _needed(repository: Repository) -> set[str]:
    """Return the versions that names do not keep but work needs: saved views, branch points, merged versions."""
    tips = versions.branches(repository)
    histories = [versions.history(repository, tip) for tip in tips.values()]
    needed = saved.versions_needed(repository)
    needed |= {str(c.metadata["merge"]) for h in histories for c in h if "merge" in c.metadata}
    for i, a in enumerate(tips.values()):
        for b in list(tips.values())[i + 1 :]:
            needed.add(versions.merge_base(repository, a, b))
    known = {c.id for h in histories for c in h}
    return {n for n in needed if n in known or _readable(repository, n)}


def _readable(repository: Repository, snapshot_id: str) -> bool:
    try:
        return bool(repository.ancestry(snapshot_id))
    except KeyError:
        return False


def _expiring(repository: Repository, cutoff: datetime) -> set[str]:
    named = {*repository.branches().values(), *repository.tags().values()}
    return {
        c.id
        for tip in repository.branches().values()
        for c in versions.history(repository, tip)
        if c.time < cutoff and c.id not in named
    }


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
            f"older_than is a time, a timedelta, or a number with s, m, h, d or w, got {older_than!r}. "
            "For example: older_than='30d'."
        )
    return now - timedelta(**{UNITS[found[2]]: float(found[1])})
