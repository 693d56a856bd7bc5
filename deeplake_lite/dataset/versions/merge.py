"""Merges of another version into a branch, and restoring of an older version.

Steps of a merge: find the merge bases, combine several bases into one, plan the merge, apply the
plan to the handle's table, and commit.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.apply import merge_rows, slots_of
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.versions.commit import (
    TRIES,
    check_message,
    commit_merge,
    missing_default,
)
from deeplake_lite.dataset.versions.conflicts import ALL_RESOLVED, Unresolved, check_conflicts
from deeplake_lite.dataset.versions.merge_plan import (
    Resolution,
    Sides,
    check_resolution,
    plan_merge,
    plan_restore,
)
from deeplake_lite.errors import ConflictError
from deeplake_lite.storage.defaults import MissingDefaultError
from deeplake_lite.storage.table import MovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.versions.merge_plan import MergePlan
    from deeplake_lite.errors import InvalidValueError
    from deeplake_lite.storage.table import Table


def merge(
    handle: Handle,
    version: history.Version,
    on_conflict: Resolution,
    message: str,
    metadata: Mapping[str, object] | None = None,
) -> str:
    """Merge another version into the handle's branch; see `Dataset.merge`.

    `metadata` is added to the metadata of the commit.
    """
    check_message(message)
    check_resolution(on_conflict)
    with handle.locked():
        handle.check_clean("merging branches")
        handle.check_writable()
        repository, name = handle.repository, history.version_name(version)
        theirs_id = history.resolve(repository, version)
        metadata = {**(metadata or {}), "merge": theirs_id, "merged": name}
        message = message or f"merge {name}"
        for attempt in range(TRIES):
            try:  # first try without the lock, so that other writers need not wait
                with repository.lock() if attempt else contextlib.nullcontext():
                    return _merge_into_tip(
                        handle, theirs_id, on_conflict, message, metadata, attempt > 0
                    )
            except MovedError:
                continue
            except MissingDefaultError as error:
                raise _missing_default(handle, error, name, theirs_id, on_conflict) from error
    raise ConflictError(
        f"Other writers committed to the branch during {TRIES} attempts to merge. Try again."
    )


def _missing_default(
    handle: Handle, error: MissingDefaultError, name: str, theirs_id: str, on_conflict: Resolution
) -> InvalidValueError:
    """Return the error for a missing default, with statements that set it on the right branch."""
    ours, theirs = handle.table.schema, handle.open(theirs_id).schema
    setup, url, branch = "", handle.url, name
    if any(f.id == error.field_id for f in theirs) and not any(
        f.id == error.field_id for f in ours
    ):
        if name not in history.branch_names(handle.repository):  # a tag or commit cannot be edited
            branch = f"default-{error.column}-{theirs_id[:6]}"
            setup = f"dl.open({url!r}, version={name!r}).branch({branch!r}); "
        setup += f"other = dl.open({url!r}, branch={branch!r})"
    options = "" if on_conflict == "raise" else f", on_conflict={on_conflict!r}"
    return missing_default(handle, error, f"ds.merge({branch!r}{options})", setup)


def _merge_into_tip(
    handle: Handle,
    theirs_id: str,
    on_conflict: Resolution,
    message: str,
    metadata: Mapping[str, object],
    locked: bool,
) -> str:
    """Merge a version into the current tip of the branch, and return the id of the new version.

    Raises
    ------
    MovedError
        When the branch has moved in the meantime to a tip that needs another merge.
    """
    handle.refresh()
    bases = history.merge_bases(handle.repository, [handle.version], theirs_id)
    if bases == [theirs_id]:
        return handle.version
    before, theirs = handle.table, handle.open(theirs_id)
    plan = _plan(handle, bases, theirs, on_conflict)
    merged = before.edit().on_branch(str(handle.branch))
    try:
        merge_rows(plan, merged, theirs)
        handle.table = merged
        with contextlib.nullcontext() if locked else handle.repository.lock():
            return commit_merge(handle, message, metadata)
    except BaseException:
        merged.release()
        handle.table = before
        raise


def _plan(handle: Handle, bases: list[str], theirs: Table, on_conflict: Resolution) -> MergePlan:
    """Plan the merge of `theirs` into the handle's version, with the merge bases `bases`."""
    before = handle.table
    base, unresolved = _combine_bases(handle, bases)
    try:
        sides = Sides(base, before, theirs, unresolved)
        changes = difference(base, before), difference(base, theirs)
        plan, conflicts = plan_merge(sides, *changes, on_conflict)
        if on_conflict == "raise":
            check_conflicts(
                conflicts,
                {"ours": before, "theirs": theirs},
                "Keep this branch's values with ds.merge(…, on_conflict='ours'), or the merged "
                "version's with ds.merge(…, on_conflict='theirs').",
            )
    finally:
        base.release()
    return plan


def restore(handle: Handle, version: history.Version) -> None:
    """Bring back an older version as uncommitted edits; see `Dataset.restore`."""
    with handle.locked():
        handle.check_clean("restoring an older version")
        handle.check_writable()
        old = handle.open(history.resolve(handle.repository, version))
        changes, same_columns = difference(handle.table, old), handle.table.schema == old.schema
        same_keys = handle.table.has_same_keys(old)
        if changes or not (same_columns and same_keys and _is_arranged_like(handle.table, old)):
            handle.edit(_restore, plan_restore(old, changes), old, handle.version)


def _restore(table: Table, plan: MergePlan, old: Table, version: str) -> None:
    merge_rows(plan, table, old)
    if not _is_arranged_like(table, old):
        table.arrange(slots_of(table, old.ids(old.rows.live())))
    table.record_restore(version, old.snapshot_id)


def _is_arranged_like(table: Table, old: Table) -> bool:
    """Return whether two tables have the same rows in the same order."""
    return np.array_equal(table.ids(table.rows.live()), old.ids(old.rows.live()))


def _combine_bases(handle: Handle, bases: list[str]) -> tuple[Table, Unresolved]:
    """Return the base of a merge. Several merge bases are first merged with each other.

    Conflicts between the bases are returned as unresolved, because such items have no common base
    value. In this case, Git's recursive strategy leaves conflict markers in its virtual base.
    """
    base, unresolved = handle.open(bases[0]), ALL_RESOLVED
    for i, other_id in enumerate(bases[1:], 1):
        other = handle.open(other_id)
        older_bases = history.merge_bases(handle.repository, bases[:i], other_id)
        older, older_unresolved = _combine_bases(handle, older_bases)
        try:
            sides = Sides(older, base, other, older_unresolved)
            changes = difference(older, base), difference(older, other)
            plan, conflicts = plan_merge(sides, *changes, "ours")
            if base.edits is None:
                base = base.edit().on_branch(str(handle.branch))
            merge_rows(plan, base, other)
        except BaseException:
            base.release()
            raise
        finally:
            older.release()
        unresolved = unresolved.with_conflicts(conflicts)
    return base, unresolved
