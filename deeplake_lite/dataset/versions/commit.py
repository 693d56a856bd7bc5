"""Commits, which write the edits of an open transaction as the branch's next version.

No writer's commit is lost. Under the writers' lock, the edits are applied to the branch's current
tip. If another writer has changed the same cell, this is a conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.versions.apply import merge_rows
from deeplake_lite.dataset.versions.changes import difference
from deeplake_lite.dataset.versions.conflicts import check_conflicts
from deeplake_lite.dataset.versions.merge_plan import (
    Resolution,
    Sides,
    check_resolution,
    plan_merge,
)
from deeplake_lite.dataset.versions.pairs import NONE
from deeplake_lite.errors import ConflictError, InvalidValueError, VersionNotFoundError
from deeplake_lite.storage.defaults import MissingDefaultError
from deeplake_lite.storage.repo import branch_ref
from deeplake_lite.storage.repo.failures import MissingError
from deeplake_lite.storage.table import MovedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.versions.pairs import Ids
    from deeplake_lite.storage.table import Table

TRIES = 20
"""Maximum number of attempts to commit to an object store with several writers."""

WAY_OUT = (
    "Keep your edits with ds.rebase(on_conflict='ours'), or the other writer's with "
    "ds.rebase(on_conflict='theirs'), then commit."
)
"""Last line of the message about conflicts between the edits and another writer's commit."""


def check_message(message: object) -> None:
    """Reject a message that cannot be written as UTF-8. Raises InvalidValueError."""
    if not isinstance(message, str):
        raise InvalidValueError(
            f"A commit's message must be a string, but it is {brief(message)}. Use str(…)."
        )
    if (index := find_lone_surrogate(message)) is not None:
        raise InvalidValueError(
            f"A commit's message must be valid Unicode, but it has a lone surrogate at "
            f"character {index}. Replace it: message.encode(errors='replace').decode()."
        )


def missing_default(
    handle: Handle, error: MissingDefaultError, again: str, setup: str = ""
) -> InvalidValueError:
    """Return the error for a missing default, with statements that the user can paste to set it.

    Parameters
    ----------
    handle : Handle
        The handle of the operation.
    error : MissingDefaultError
        The column that has no default.
    again : str
        The call to repeat.
    setup : str
        Statements that open, as ``other``, the branch that has the column. By default, they open
        the handle's own branch, or are left out if the handle has the column itself.
    """
    name = next((f.name for f in handle.table.schema if f.id == error.field_id), None)
    call = f"set_default({name or error.column!r}, …)"
    if name is not None and not setup:
        is_open = bool(handle.table.edits)
        steps = f"ds.{call}" if is_open else f"ds.{call}; ds.commit('default')"
    else:
        setup = setup or f"other = dl.open({handle.url!r}, branch={str(handle.branch)!r})"
        steps = f"{setup}; other.{call}; other.commit('default')"
    return InvalidValueError(
        f"{error.finding}. Set a default, then repeat the call: {steps}; {again}",
        column=error.column,
    )


def commit(
    handle: Handle,
    message: str,
    metadata: Mapping[str, object],
    *,
    empty: bool = False,
    check: Callable[[str], None] | None = None,
) -> str:
    """Commit the edits as the branch's next version; see `Dataset.commit`.

    If `empty` is true, a version with the metadata is written even if there are no edits. `check`
    is called with the version on top of which the edits are about to be written, and may raise an
    error to prevent that.
    """
    check_message(message)
    with handle.locked():
        handle.check_writable()
        if not handle.table.edits and not empty:
            return handle.version
        try:
            with handle.repository.lock():
                return _commit_onto_tip(
                    handle, message, metadata, merges=False, empty=empty, check=check
                )
        except MissingDefaultError as error:
            raise missing_default(handle, error, f"ds.commit({message!r})") from error


def commit_merge(handle: Handle, message: str, metadata: Mapping[str, object]) -> str:
    """Commit the edits of a merge as the branch's next version, even if there are none.

    The caller holds the writers' lock.

    Raises
    ------
    MovedError
        When the branch has moved to a version that needs another merge.
    """
    return _commit_onto_tip(handle, message, metadata, merges=True)


def _commit_onto_tip(
    handle: Handle,
    message: str,
    metadata: Mapping[str, object],
    *,
    merges: bool,
    empty: bool = False,
    check: Callable[[str], None] | None = None,
) -> str:
    """Apply the edits to the branch's tip, and write them as a version.

    If the branch of an object store moves in the meantime, try again.

    On an object store, there is no lock between processes. Instead, moving the branch fails if
    another writer has moved it first.
    """
    repository, branch = handle.repository, str(handle.branch)
    for _ in range(TRIES):
        session = repository.checked_writer(branch)
        tip_id = session.snapshot_id
        if _adopt_unconfirmed_commit(handle, tip_id) and not handle.table.edits:
            return handle.version
        _check_same_branch(handle, tip_id)
        if check is not None:
            check(tip_id)
        if merges:
            _check_merge_fits(handle, tip_id)
        elif _repeats_key(handle, tip_id) or _overwrites(handle, tip_id):
            handle.table = _copy_onto(handle, handle.open(tip_id), "raise")
        if not (handle.table.edits or merges or empty):  # the tip already contains all edits
            return handle.go_to(tip_id)
        try:
            version = handle.table.commit(session, message, metadata)
        except MovedError:
            if merges:
                raise
            handle.table = _copy_onto(handle, handle.open(tip_id), "raise")
        except ConflictError:
            if repository.tip(branch) == handle.version:
                raise
        else:
            return handle.go_to(version, session.committed())
    raise ConflictError(
        f"Other writers committed to the branch during {TRIES} attempts to commit. Try again."
    )


def rebase(handle: Handle, on_conflict: Resolution) -> None:
    """Move the edits onto the branch's current tip; see `Dataset.rebase`."""
    check_resolution(on_conflict)
    with handle.locked():
        handle.check_writable()
        with handle.repository.lock():
            branch = branch_ref(str(handle.branch))
            tip = handle.open(handle.repository.refs.checked(branch))
            _adopt_unconfirmed_commit(handle, tip.snapshot_id)
            if not handle.table.edits:
                handle.go_to(tip.snapshot_id)
            elif tip.snapshot_id != handle.version:
                try:
                    handle.table = _copy_onto(handle, tip, on_conflict)
                except MissingDefaultError as error:
                    again = f"ds.rebase(on_conflict={on_conflict!r})"
                    raise missing_default(handle, error, again) from error


def _adopt_unconfirmed_commit(handle: Handle, tip_id: str) -> bool:
    """Move to the commit of an earlier attempt that succeeded although the reply was lost.

    Edits made after that attempt are kept. Return whether there was such a commit.
    """
    landed, edits = handle.table.landed(tip_id), handle.table.edits
    if landed is None or edits is None:
        return False
    if landed.transaction == edits.transaction:
        handle.go_to(landed.id)
    else:
        # The version in `landed` has recorded the restore.
        base, edits.restored, edits.restored_keys = handle.open(landed.id), None, None
        handle.table = _copy_onto(handle, base, "raise", base=base)
    return True


def _check_same_branch(handle: Handle, tip_id: str) -> None:
    """Refuse to commit if the handle's branch was deleted and recreated.

    Raises
    ------
    ConflictError
    """
    refs, branch = handle.repository.refs, str(handle.branch)
    if tip_id == handle.version:
        return
    try:
        identities = refs.identity_at(handle.version, branch), refs.known_identity(branch)
    except (VersionNotFoundError, MissingError):  # the version has expired
        return
    if None in identities or "" in identities or identities[0] == identities[1]:
        return
    raise ConflictError(
        f"Branch {branch!r} was deleted and recreated after this dataset opened it, so it does not "
        f"contain version {handle.version}. Call ds.rebase() to move the edits to the new branch, "
        "or ds.discard() to drop them."
    )


def _overwrites(handle: Handle, tip_id: str) -> bool:
    """Return whether writing all written cells would undo another writer's change.

    This happens if a cell was written here with its old value, and another writer changed it. As in
    a merge, the cell does not count as changed here, so the other writer's value must be kept.

    Raises
    ------
    ConflictError
        When both sides changed the same cell.
    """
    mine = handle.table
    if tip_id == handle.version or mine.edits is None or not mine.edits.touches_old:
        return False
    base, tip = handle.open(handle.version), handle.open(tip_id)
    theirs, ours = difference(base, tip), difference(base, mine)
    sides = Sides(base, tip, mine, names=("theirs", "ours"))
    _, conflicts = plan_merge(sides, theirs, ours, "ours")
    check_conflicts(conflicts, {"ours": mine, "theirs": tip}, WAY_OUT)
    return any(
        np.isin(
            _ids_written(mine, base, column), ids[~np.isin(ids, ours.cells.get(column, NONE))]
        ).any()
        for column, ids in theirs.cells.items()
    )


def _repeats_key(handle: Handle, tip_id: str) -> bool:
    """Return whether another writer has appended a batch with the same key as these edits.

    The rows of this batch are then dropped when the edits are copied onto the tip.
    """
    edits = handle.table.edits
    if tip_id == handle.version or edits is None or not edits.keys:
        return False
    return handle.table.repeats_key(handle.open(tip_id))


def _ids_written(mine: Table, base: Table, column: str) -> Ids:
    """Return the ids of the rows of `base` whose cell was written, even with an equal value."""
    assert mine.edits is not None
    slots = mine.edits.slots_updated(column)
    return base.ids(slots[slots < base.state.slots])


def _check_merge_fits(handle: Handle, tip_id: str) -> None:
    """Raise MovedError if a merge does not fit on top of a tip, which needs another merge.

    Raises
    ------
    MovedError
        When the tip has some of the merged rows, or has changed cells that the merge writes.
    """
    if tip_id == handle.version:
        return
    if _repeats_key(handle, tip_id):
        raise MovedError("The branch has moved to a version that has some of the merged batches.")
    if handle.table.shares_rows(handle.open(tip_id)):
        raise MovedError(
            "The branch has moved to a version that already has some of the merged rows."
        )
    try:
        collides = _overwrites(handle, tip_id)
    except ConflictError as error:
        raise MovedError(
            "The branch has moved to a version that conflicts with the merge."
        ) from error
    if collides:
        raise MovedError("The branch has moved to a version that the merge would undo.")


def _arrange_like(target: Table, mine: Table) -> None:
    """Put the rows of `target` in the order that they have in `mine`, followed by other rows."""
    slots, live = target.find(mine.ids(mine.rows.live())), target.rows.live()
    slots = slots[slots >= 0]
    order = np.concatenate([slots, live[~np.isin(live, slots)]])
    if not np.array_equal(order, live):
        target.arrange(order)


def _copy_onto(
    handle: Handle, tip: Table, on_conflict: Resolution, *, base: Table | None = None
) -> Table:
    """Copy the edits made since `base` (by default the handle's version) to a table on `tip`.

    In a conflict, the edits count as "ours". Returns the new table, and releases the old table.
    """
    base, mine = base or handle.open(handle.version), handle.table
    sides = Sides(base, tip, mine, names=("theirs", "ours"))
    changes = difference(base, tip), difference(base, mine)
    side: Resolution = "theirs" if on_conflict == "ours" else "ours"
    plan, conflicts = plan_merge(sides, *changes, side)
    if on_conflict == "raise":
        check_conflicts(conflicts, {"ours": mine, "theirs": tip}, WAY_OUT)
    target = tip.edit().on_branch(str(handle.branch))
    try:
        merge_rows(plan, target, mine)
        if mine.edits is not None and mine.edits.arranged:
            _arrange_like(target, mine)
    except BaseException:
        target.release()
        raise
    if mine.edits is not None and mine.edits.restored is not None:
        target.record_restore(*mine.edits.restored)
    mine.release()
    return target
