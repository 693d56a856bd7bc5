"""Maintenance of a lake: rewriting it contiguously, deleting unneeded files, and verifying it.

A vacuum runs under the writers' lock. The vacuum first lets old versions expire, and then deletes
objects that no remaining version needs and that are older than the age `spare`.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.repr.report import Damaged, Report, without_hint
from deeplake_lite.dataset.saved import named_views
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.commit import TRIES
from deeplake_lite.dataset.versions.expiry import Expiry, plan_expiry
from deeplake_lite.dataset.versions.index_expiry import stale_indexes
from deeplake_lite.dataset.write.contradictions import find_contradictions
from deeplake_lite.errors import ConflictError, DamagedError, OptionError
from deeplake_lite.storage.repo import ANNOUNCED_AGE, damaged_versions, local_folder, vacuums
from deeplake_lite.storage.scratch import clear_dead, open_transactions
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.scratch import Note

MIN_AGE = timedelta(minutes=10)
"""Minimum age of the objects that a vacuum deletes from an object store. It is longer than
`CONFIRM_AFTER`, to allow for clocks that differ, and for the duration of a commit."""

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class Vacuumed:
    """Counts of the objects that a vacuum deleted, or would delete.

    On an object store, a dry run counts only objects that no version needs now. Counting the
    objects of versions that would expire would require reading their manifests from the store.
    """

    expired: int
    """Number of versions that expired."""
    bytes: int
    """Total size of the deleted objects, in bytes."""
    chunks: int
    """Number of deleted chunk files."""
    manifests: int
    """Number of deleted manifest files."""
    snapshots: int
    """Number of deleted snapshot files."""
    why: str = ""
    """Reason why no bytes were freed, or an empty string if some were freed."""


def optimize(handle: Handle, *, shuffle: bool, seed: int) -> str:
    """Rewrite a lake contiguously; see `Dataset.optimize`."""
    shuffle, seed = checks.flag("shuffle", shuffle), checks.integer("seed", seed, 0)
    branch, message = str(handle.branch), "optimized" + (", shuffled" if shuffle else "")
    with handle.repository.lock():
        for _ in range(TRIES):
            handle.refresh()
            order = handle.table.rows.live()
            if shuffle:
                order = order[np.random.default_rng(seed).permutation(len(order))]
            try:
                version = handle.table.rewrite(branch, order, message)
            except ConflictError:  # on an object store, another writer may commit at the same time
                continue
            handle.refresh()
            return version
    raise ConflictError(
        f"Other writers committed to the branch during {TRIES} attempts to optimize the lake. Try "
        "again."
    )


def verify(handle: Handle) -> Report:
    """Read all data again and compare it with its hashes; see `Dataset.verify`."""
    handle.rows().check_committed("Verification")
    repository = handle.repository
    repository = repository.checking()
    table = Table.open(repository, repository.reader(handle.version))  # a table with empty caches
    live = table.rows.live()
    all_slots = np.arange(table.slots)  # including deleted rows, which older versions may need
    row_damage = table.verify_rows()
    without_id = {damage.slot for damage in row_damage}
    damages = [
        Damaged(None, None, None, reason, ref) for ref, reason in repository.refs.doubtful().items()
    ]
    damages += [
        Damaged(None, _row_in(table, d.slot), None, without_hint(d.reason)) for d in row_damage
    ]
    if (reason := table.verify_keys()) is not None:
        damages.append(Damaged(None, None, None, without_hint(reason)))
    for f in table.schema:
        for slot, reason in ((d.slot, d.reason) for d in table.verify(f.id, all_slots)):
            has_id = slot is not None and slot not in without_id
            row_id = int(table.ids(np.array([slot]))[0]) if has_id else None
            row = _row_in(table, slot)
            is_deleted = has_id and row is None
            if (
                is_deleted
                and not f.htype.nullable
                and table.digests(f.id, np.array([slot]))[0] == 0
            ):
                continue  # the cell was null in an older version, when the column was nullable
            prefix = "in a deleted row, " if is_deleted else ""
            text = prefix + without_hint(reason)
            damages.append(Damaged(f.name, row, row_id, text))
        if not any(damage.column == f.name for damage in damages):
            for slot, reason in find_contradictions(table, f, live):
                row_id = int(table.ids(np.array([slot]))[0]) if slot not in without_id else None
                damages.append(Damaged(f.name, _row_in(table, slot), row_id, without_hint(reason)))
    versions = damaged_versions(repository)
    for index in lazy_calls.find_index_damage(repository, table, dict(versions)):
        versions.pop(index.tip, None)
        damages.append(
            Damaged(None, None, None, without_hint(index.reason), index=index.description)
        )
    damages += [
        Damaged(None, None, None, without_hint(reason), version=version)
        for version, reason in versions.items()
    ]
    return Report(handle.version, len(live), len(table.schema), damages)


def _row_in(table: Table, slot: int | None) -> int | None:
    """Return the position of the row in a slot, or None if there is no row in the slot."""
    if slot is None or (row := int(table.rows.positions(np.array([slot]))[0])) < 0:
        return None
    return row


def vacuum(handle: Handle, older_than: object, spare: object, *, dry_run: bool) -> Vacuumed:
    """Delete files that no version needs; see `Dataset.vacuum`."""
    dry_run = checks.flag("dry_run", dry_run)
    repository, now = handle.repository, datetime.now(UTC)
    spared_age, plan = _spared_age(spare), Expiry(frozenset(), frozenset(), frozenset())
    if local_folder(repository.url) is None:
        _check_spared_age_on_store(spared_age, spare)
    cutoff = None if older_than is None else _cutoff(older_than, now)
    with repository.lock(), contextlib.ExitStack() as working:
        repository = repository.reopened()  # caches may be older than the last vacuum
        if not dry_run:
            working.enter_context(
                vacuums.announce_vacuum(repository, _time_before(now, spared_age))
            )
        _check_main_exists(repository)
        if not dry_run:
            repository.refs.renew()
        _remove_leftovers(repository)
        vacuums.unpin(repository, now - ANNOUNCED_AGE)
        transactions = _open_transactions(repository)
        needed = {
            *named_views.versions_needed(repository),
            *(note["version"] for note in transactions),
        }
        # Open transactions need no object that is older than all of them.
        starts = (datetime.fromisoformat(note["started"]) for note in transactions)
        limit = min([_time_before(now, spared_age), *starts])
        with vacuums.pin_versions(repository, needed):
            named = _named_versions(repository)
            stale = stale_indexes(repository, cutoff, named, needed)
            tips = history.index_tips(repository)
            dropped = {tips[name] for name in stale if name in tips}
            if not dry_run:
                for name in stale:
                    repository.delete_branch(name.branch)
            named |= set(tips.values()) - dropped
            if cutoff is not None:
                plan = plan_expiry(repository, cutoff, named, needed)
                if not dry_run:
                    _expire(repository, cutoff, plan)
            counts = _collect(repository, plan, limit, dry_run=dry_run, dropped=dropped)
            why = ""
            if not counts["bytes"]:
                why = _explain(repository, plan, older_than, limit, now, spared_age)
    if not dry_run:
        handle.repository.forget_caches()
    return Vacuumed(len(plan.expiring), **counts, why=why)


def _expire(repository: Repository, cutoff: datetime, plan: Expiry) -> None:
    """Let versions expire, after recording the ancestors of the remaining versions as links.

    Links that are no longer needed are dropped, because Icechunk keeps all versions that links
    name, and their parents.
    """
    vacuums.add_links(repository, plan.links)
    vacuums.drop_links(repository, but=plan.links)
    vacuums.expire(repository, cutoff)


def _collect(
    repository: Repository,
    plan: Expiry,
    limit: datetime,
    *,
    dry_run: bool,
    dropped: Collection[str] = (),
) -> dict[str, int]:
    """Delete the objects older than `limit` that no version needs, or only count them.

    `dropped` lists the tips of the branches that held dropped indexes.
    """
    counts = Counter(vacuums.collect(repository, limit, dry_run=dry_run))
    if dry_run and (plan.expiring or dropped):
        kept = plan.kept or history.Graph.read(repository, repository.tips() - set(dropped)).commits
        counts.update(vacuums.would_free(repository, {*plan.expiring, *dropped}, kept, limit))
    return dict(counts)


def _explain(
    repository: Repository,
    plan: Expiry,
    older_than: object,
    limit: datetime,
    now: datetime,
    spared_age: timedelta,
) -> str:
    """Explain why a vacuum has freed nothing."""
    reasons = []
    if older_than is None:
        reasons.append("No version expires without older_than=.")
    elif not plan.expiring:
        reasons.append(
            f"No version is older than {older_than}, except versions needed by a branch, a tag, a "
            "saved view, a merge or an open transaction."
        )
    young = _collect(repository, plan, now, dry_run=True)["bytes"]
    if young and limit < _time_before(now, spared_age):
        reasons.append(
            f"{young:,} bytes that no version needs are spared, because a transaction that has "
            f"been open since {limit:%Y-%m-%d %H:%M:%S} UTC may need them. Commit or discard that "
            "transaction."
        )
    elif young:
        reasons.append(
            f"{young:,} bytes that no version needs are spared, because they are younger than "
            f"{_format_age(spared_age)}. Wait, or pass a shorter spare=."
        )
    else:
        reasons.append("Every object is needed by a version.")
    return " ".join(reasons)


def _format_age(age: timedelta) -> str:
    """Return an age in the form that `vacuum` accepts.

    >>> [_format_age(timedelta(seconds=seconds)) for seconds in (86_400, 90, 0)]
    ['1d', '90s', '0s']
    """
    for unit, name in reversed(UNITS.items()):
        if age and not age % timedelta(**{name: 1}):
            return f"{age // timedelta(**{name: 1})}{unit}"
    return f"{age.total_seconds():g}s"


def _remove_leftovers(repository: Repository) -> None:
    """Remove the files that killed processes left in and next to a local lake."""
    if local_folder(repository.url) is not None:
        clear_dead(repository.writers_folder())
        repository.clear_staged()


def _named_versions(repository: Repository) -> set[str]:
    """Return the versions to which branches and tags point, and the versions of unfinished jobs."""
    branches, tags = history.branches(repository), history.tags(repository)
    return {*branches.values(), *tags.values(), *history.job_tips(repository)}


def _check_main_exists(repository: Repository) -> None:
    """Refuse to vacuum a lake without a branch ``main``, because every version could be deleted.

    Raises
    ------
    DamagedError
        When the store has lost its refs, or does not allow listing them.
    """
    if "main" not in repository.branches():
        raise DamagedError(
            "A vacuum keeps the versions to which branches and tags point, but "
            f"{repository.url!r} lists no branch 'main', which every lake has. Restore its object "
            "'repo' from a backup."
        )


def _open_transactions(repository: Repository) -> list[Note]:
    """Return the records of open transactions of a local lake. Object stores have none."""
    local = local_folder(repository.url) is not None
    return open_transactions(repository.writers_folder()) if local else []


def _spared_age(spare: object) -> timedelta:
    """Return the minimum age of the objects that a vacuum deletes. Raises OptionError.

    >>> _spared_age("90m")
    datetime.timedelta(seconds=5400)
    """
    age = spare if isinstance(spare, timedelta) else _parse_age("spare", spare, "24h")
    if age < timedelta(0):
        raise OptionError(
            f"spare must not be a negative age, but it is {spare}. Pass an age such as spare='24h'."
        )
    return age


def _check_spared_age_on_store(age: timedelta, spare: object) -> None:
    """Reject a short minimum age on an object store, where open transactions are not visible.

    A writer whose transaction is younger than `CONFIRM_AFTER` commits the transaction without
    checking that its chunks still exist.

    Raises
    ------
    OptionError
    """
    if age < MIN_AGE:
        raise OptionError(
            f"On an object store, spare must be at least {_format_age(MIN_AGE)}, but it "
            f"is {spare}. A vacuum cannot tell which objects other writers are about to commit. "
            "Try spare='24h', or copy the lake to a folder."
        )


def _cutoff(older_than: object, now: datetime) -> datetime:
    """Return the time before which a version must be committed to expire. Raises OptionError.

    >>> now = datetime(2026, 1, 31, tzinfo=UTC)
    >>> _cutoff("30d", now).date().isoformat()
    '2026-01-01'
    """
    if isinstance(older_than, datetime):
        return _in_utc(older_than)
    if isinstance(older_than, timedelta):
        if older_than < timedelta(0):
            raise OptionError(
                f"older_than must not be a negative age, but it is {older_than}. Pass an age such "
                "as older_than='30d'."
            )
        return _time_before(now, older_than)
    return _time_before(now, _parse_age("older_than", older_than, "30d"))


def _time_before(now: datetime, age: timedelta) -> datetime:
    """Return the time `age` before `now`, or the earliest time that Python can represent."""
    try:
        return now - age
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _in_utc(moment: datetime) -> datetime:
    """Return a time in UTC. If Python cannot represent it, return the first or last time in UTC.

    >>> from datetime import timezone
    >>> _in_utc(datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))).year
    1
    """
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):
        end = datetime.min if moment.year == datetime.min.year else datetime.max
        return end.replace(tzinfo=UTC)


def _parse_age(name: str, value: object, example: str) -> timedelta:
    """Return the age that a string describes, limited to the longest timedelta.

    Raises
    ------
    OptionError
        When the string does not describe an age.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(value))
    if match is None:
        kinds = "a time, a timedelta" if name == "older_than" else "a timedelta"
        raise OptionError(
            f"{name} must be {kinds}, or a number with a unit (s, m, h, d or w), but it is "
            f"{brief(value)}. For example: {name}={example!r}."
        )
    try:
        return timedelta(**{UNITS[match[2]]: float(match[1])})
    except OverflowError:
        return timedelta.max
