"""Upkeep of a lake: rewriting it, deleting what nothing needs, reading everything again."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.repr.report import Damaged, Report, without_hint
from deeplake_lite.dataset.saved import named_views
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.commit import TRIES
from deeplake_lite.dataset.versions.expiry import Expiry, plan_expiry
from deeplake_lite.dataset.write.contradictions import contradictions
from deeplake_lite.errors import ConflictError, DamagedError, OptionError
from deeplake_lite.storage.repo import ANNOUNCED_AGE, damaged_versions, local_folder
from deeplake_lite.storage.scratch import clear_dead, open_transactions
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.scratch import Note

LEAST_GRACE = timedelta(minutes=10)
"""How old objects on an object store must be to go: longer than `CONFIRM_AFTER` by what clocks may
differ, and by what the commit of a young transaction may take."""

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
    why: str = ""
    """Why no bytes were freed; empty where some were."""


def optimize(handle: Handle, *, shuffle: bool, seed: int) -> str:
    """Rewrite a lake contiguously; see `Dataset.optimize`."""
    shuffle, seed = checks.flag("shuffle", shuffle), checks.integer("seed", seed, 0)
    branch, message = str(handle.branch), "optimised" + (", shuffled" if shuffle else "")
    with handle.repository.lock():
        for _ in range(TRIES):
            handle.refresh()
            order = handle.table.rows.live()
            if shuffle:
                order = order[np.random.default_rng(seed).permutation(len(order))]
            try:
                done = handle.table.rewrite(branch, order, message)
            except ConflictError:  # on an object store, somebody else has committed meanwhile
                continue
            handle.refresh()
            return done
    raise ConflictError(f"The branch moved {TRIES} times while it was optimised. Try again.")


def verify(handle: Handle) -> Report:
    """Read everything again; see `Dataset.verify`."""
    handle.rows().check_committed("verification")
    repository = handle.repository
    repository = repository.checking()
    fresh = Table.open(repository, repository.reader(handle.version))  # nothing of it is in a cache
    live = fresh.rows.live()
    row_of = dict(zip(live.tolist(), range(len(live)), strict=True))
    every = np.arange(fresh.slots)  # rows that were deleted, too: older versions may have them
    lost = fresh.verify_rows()
    unnamed = {damage.slot for damage in lost}
    found = [
        Damaged(None, None, None, reason, ref) for ref, reason in repository.refs.doubtful().items()
    ]
    found += [Damaged(None, row_of.get(d.slot), None, without_hint(d.reason)) for d in lost]
    for f in fresh.schema:
        for slot, reason in ((d.slot, d.reason) for d in fresh.verify(f.id, every)):
            known = slot is not None and slot not in unnamed
            row_id = int(fresh.ids(np.array([slot]))[0]) if known else None
            gone = known and slot not in row_of
            said = f"in a deleted row, {without_hint(reason)}" if gone else without_hint(reason)
            found.append(Damaged(f.name, row_of.get(slot), row_id, said))
        if not any(damage.column == f.name for damage in found):
            for slot, reason in contradictions(fresh, f, live):
                row_id = int(fresh.ids(np.array([slot]))[0]) if slot not in unnamed else None
                found.append(Damaged(f.name, row_of.get(slot), row_id, without_hint(reason)))
    found += [
        Damaged(None, None, None, without_hint(reason), version=version)
        for version, reason in damaged_versions(repository).items()
    ]
    return Report(handle.version, len(live), len(fresh.schema), found)


def vacuum(handle: Handle, older_than: Any, spare: Any, *, dry_run: bool) -> Vacuumed:
    """Delete what no version needs any more; see `Dataset.vacuum`."""
    dry_run = checks.flag("dry_run", dry_run)
    repository, now = handle.repository, datetime.now(UTC)
    grace, plan = _grace(spare), Expiry(frozenset(), frozenset(), frozenset())
    if local_folder(repository.url) is None:
        _check_grace_of_store(grace, spare)
    cutoff = None if older_than is None else _cutoff(older_than, now)
    with repository.lock(), contextlib.ExitStack() as working:
        repository = (
            repository.reopened()
        )  # past versions of which another vacuum has cut histories
        if not dry_run:
            working.enter_context(repository.announced(_earlier(now, grace)))
        _check_named(repository)
        if not dry_run:
            repository.refs.renew()
        _clear_dead(repository)
        repository.unpin(now - ANNOUNCED_AGE)
        others = _open_transactions(repository)
        held = {*named_views.versions_needed(repository), *(note["version"] for note in others)}
        limit = min(
            [_earlier(now, grace), *(datetime.fromisoformat(note["started"]) for note in others)]
        )
        with repository.pinned(held):
            if cutoff is not None:
                plan = plan_expiry(repository, cutoff, _named(repository), held)
                if not dry_run:
                    _expire(repository, cutoff, plan)
            counts = _count(repository, plan, limit, dry_run=dry_run)
            why = "" if counts["bytes"] else _why(repository, plan, older_than, limit, now, grace)
    return Vacuumed(len(plan.expiring), **counts, why=why)


def _expire(repository: Repository, cutoff: datetime, plan: Expiry) -> None:
    """Let versions go; what those that stay come from is noted first."""
    repository.add_links(plan.links)
    repository.expire(cutoff)
    repository.drop_links(but=plan.links)


def _count(
    repository: Repository, plan: Expiry, limit: datetime, *, dry_run: bool
) -> dict[str, int]:
    """Delete objects older than `limit` that no version needs, or only count them."""
    counts = Counter(repository.collect(limit, dry_run=dry_run))
    if dry_run and plan.expiring:
        counts.update(repository.would_free(plan.expiring, plan.kept, limit))
    return dict(counts)


def _why(
    repository: Repository,
    plan: Expiry,
    older_than: Any,
    limit: datetime,
    now: datetime,
    grace: timedelta,
) -> str:
    """Explain why a vacuum has freed nothing."""
    reasons = []
    if older_than is None:
        reasons.append("no version expires without older_than=")
    elif not plan.expiring:
        reasons.append(
            f"no version is older than {older_than}, but for those that a branch, a tag, a saved "
            "view, a merge or an open transaction needs"
        )
    young = _count(repository, plan, now, dry_run=True)["bytes"]
    if young and limit < _earlier(now, grace):
        reasons.append(
            f"{young:,} bytes that no version needs are spared, because a transaction that has "
            f"been open since {limit:%Y-%m-%d %H:%M:%S} UTC may need them: commit or discard it"
        )
    elif young:
        reasons.append(
            f"{young:,} bytes that no version needs are younger than {_in_words(grace)} and are "
            "spared: wait, or choose a shorter spare="
        )
    else:
        reasons.append("versions need every object")
    text = "; ".join(reasons)
    return f"{text[0].upper()}{text[1:]}."


def _in_words(age: timedelta) -> str:
    """Return an age as `vacuum` takes it.

    >>> _in_words(timedelta(hours=24)), _in_words(timedelta(seconds=90)), _in_words(timedelta(0))
    ('1d', '90s', '0s')
    """
    for unit, name in reversed(UNITS.items()):
        if age and not age % timedelta(**{name: 1}):
            return f"{age // timedelta(**{name: 1})}{unit}"
    return f"{age.total_seconds():g}s"


def _clear_dead(repository: Repository) -> None:
    """Remove what killed processes left in and beside a local lake."""
    if local_folder(repository.url) is not None:
        clear_dead(repository.writers_folder())
        repository.clear_staged()


def _named(repository: Repository) -> set[str]:
    """Return the versions that branches and tags name."""
    return {*history.branches(repository).values(), *history.tags(repository).values()}


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


def _grace(spare: Any) -> timedelta:
    """Return how old objects must be to go. Raises OptionError.

    >>> _grace("90m")
    datetime.timedelta(seconds=5400)
    """
    grace = spare if isinstance(spare, timedelta) else _parse_age("spare", spare, "24h")
    if grace < timedelta(0):
        raise OptionError(f"spare is how old objects must be, but it is {spare}. Try spare='24h'.")
    return grace


def _check_grace_of_store(grace: timedelta, spare: Any) -> None:
    """Refuse to spare too little on an object store, where nobody sees the transactions of others.

    Writers commit a transaction that is younger than `CONFIRM_AFTER` without asking whether its
    chunks are still there.

    Raises
    ------
    OptionError
    """
    if grace < LEAST_GRACE:
        raise OptionError(
            f"On an object store spare is at least {_in_words(LEAST_GRACE)}, because nobody can "
            f"see which objects somebody is about to commit, but it is {spare}. Try "
            "spare='24h', or copy the lake to a folder."
        )


def _cutoff(older_than: Any, now: datetime) -> datetime:
    """Return the time before which versions expire.

    >>> now = datetime(2026, 1, 31, tzinfo=UTC)
    >>> _cutoff("30d", now).date().isoformat()
    '2026-01-01'
    """
    if isinstance(older_than, datetime):
        return _in_utc(older_than)
    if isinstance(older_than, timedelta):
        if older_than < timedelta(0):
            raise OptionError(
                f"older_than must not be a negative age, but it is {older_than}. For example: "
                "older_than='30d'."
            )
        return _earlier(now, older_than)
    return _earlier(now, _parse_age("older_than", older_than, "30d"))


def _earlier(now: datetime, age: timedelta) -> datetime:
    """Return the time that was an age ago, or the earliest there is."""
    try:
        return now - age
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, or the first or last one of UTC where it lies beyond.

    >>> from datetime import timezone
    >>> _in_utc(datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))).year
    1
    """
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError):
        end = datetime.min if moment.year == datetime.min.year else datetime.max
        return end.replace(tzinfo=UTC)


def _parse_age(name: str, value: Any, example: str) -> timedelta:
    """Return an age that is written as text, or the longest there is. Raises OptionError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", str(value))
    if found is None:
        kinds = "a time, a timedelta" if name == "older_than" else "a timedelta"
        raise OptionError(
            f"{name} must be {kinds}, or a number with s, m, h, d or w, but it is {brief(value)}. "
            f"For example: {name}={example!r}."
        )
    try:
        return timedelta(**{UNITS[found[2]]: float(found[1])})
    except OverflowError:
        return timedelta.max
