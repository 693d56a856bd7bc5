"""Bringing another line of versions into a branch, and an older version back.

Steps: find what both sides come from; of several such versions, make one; plan, then apply to the
handle's table, then commit.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.apply import merge_rows, slots_of
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.versions.commit import TRIES, check_message, commit_merge
from deeplake_lite.dataset.versions.conflicts import NO_DOUBTS, Doubts, check_conflicts
from deeplake_lite.dataset.versions.merge_plan import (
    Resolution,
    Sides,
    check_resolution,
    plan_merge,
    plan_restore,
)
from deeplake_lite.errors import ConflictError
from deeplake_lite.storage.table import MovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.versions.merge_plan import MergePlan
    from deeplake_lite.storage.table import Table


def merge(handle: Handle, version: history.Version, on_conflict: Resolution, message: str) -> str:
    """Bring the edits of another version into a branch; see `Dataset.merge`."""
    check_message(message)
    check_resolution(on_conflict)
    with handle.locked():
        handle.check_clean("merging branches")
        handle.check_writable()
        repository, name = handle.repository, history.version_name(version)
        theirs_id = history.resolve(repository, version)
        note, message = {"merge": theirs_id, "merged": name}, message or f"merge {name}"
        for attempt in range(TRIES):
            try:  # others wait only where the branch has moved under us
                with repository.lock() if attempt else contextlib.nullcontext():
                    return _merge_into_tip(
                        handle, theirs_id, on_conflict, message, note, attempt > 0
                    )
            except MovedError:
                continue
    raise ConflictError(f"The branch moved {TRIES} times while it was merged into. Try again.")


def _merge_into_tip(
    handle: Handle,
    theirs_id: str,
    on_conflict: Resolution,
    message: str,
    note: Mapping[str, str],
    locked: bool,
) -> str:
    """Merge a version into what the branch's tip is now.

    Raises
    ------
    MovedError
        When the branch has moved meanwhile, and the merge is another one on its new tip.
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
            return commit_merge(handle, message, note)
    except BaseException:
        merged.release()
        handle.table = before
        raise


def _plan(handle: Handle, bases: list[str], theirs: Table, on_conflict: Resolution) -> MergePlan:
    """Plan the merge of a version into the handle's, whose common ancestors are `bases`."""
    before = handle.table
    base, doubts = _virtual_base(handle, bases)
    try:
        sides = Sides(base, before, theirs, doubts)
        changes = difference(base, before), difference(base, theirs)
        plan, conflicts = plan_merge(sides, *changes, on_conflict)
        if on_conflict == "raise":
            check_conflicts(
                conflicts,
                {"ours": before, "theirs": theirs},
                "Choose a side: ds.merge(…, on_conflict='ours' or 'theirs').",
            )
    finally:
        base.release()
    return plan


def restore(handle: Handle, version: history.Version) -> None:
    """Stage an older version's rows, columns and notes; see `Dataset.restore`."""
    with handle.locked():
        handle.check_clean("restoring an older version")
        old = handle.open(history.resolve(handle.repository, version))
        plan = plan_restore(old, difference(handle.table, old))
        handle.edit(_restore, plan, old, handle.version)


def _restore(table: Table, plan: MergePlan, old: Table, version: str) -> None:
    merge_rows(plan, table, old)
    table.arrange(slots_of(table, old.ids(old.rows.live())))
    table.note_restored(version, old.snapshot_id)


def _virtual_base(handle: Handle, bases: list[str]) -> tuple[Table, Doubts]:
    """Return the version that a merge compares with; of several, what merging them gives.

    Where they conflict there is no value that both tips come from: these are the doubts. So does
    git's recursive strategy with its conflict markers.
    """
    base, doubts = handle.open(bases[0]), NO_DOUBTS
    for i, other_id in enumerate(bases[1:], 1):
        other = handle.open(other_id)
        below = history.merge_bases(handle.repository, bases[:i], other_id)
        older, older_doubts = _virtual_base(handle, below)
        try:
            sides = Sides(older, base, other, older_doubts)
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
        doubts = doubts.joined(conflicts)
    return base, doubts
