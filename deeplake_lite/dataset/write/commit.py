"""How the edits of an open transaction become the branch's next version.

Nobody's commit is lost: under the writers' lock the edits go behind whatever the branch's tip has
become, unless somebody else changed the same cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.versions.changes import NONE, difference
from deeplake_lite.dataset.versions.conflicts import check_conflicts
from deeplake_lite.dataset.versions.merge_plan import (
    Resolution,
    Sides,
    check_resolution,
    plan_merge,
)
from deeplake_lite.dataset.write.modes import merge_rows, modes_of
from deeplake_lite.errors import ConflictError, InvalidValueError, VersionNotFoundError
from deeplake_lite.storage.repo import branch_ref
from deeplake_lite.storage.repo.failures import MissingError
from deeplake_lite.storage.table import MovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.versions.changes import Ids
    from deeplake_lite.storage.table import Table

TRIES = 20
"""Times that a commit on an object store is written again when it loses the race."""

WAY_OUT = "Choose a side: ds.rebase(on_conflict='ours' or 'theirs'), then commit."


def check_message(message: Any) -> None:
    """Refuse a message that cannot be written as UTF-8. Raises InvalidValueError."""
    if not isinstance(message, str):
        raise InvalidValueError(f"a commit's message must be text, but it is {brief(message)}.")
    if (half := find_lone_surrogate(message)) is not None:
        raise InvalidValueError(
            f"a commit's message must be Unicode text, but it has half a surrogate pair at "
            f"character {half}. Leave it out: message.encode(errors='replace').decode()."
        )


def commit(ds: Dataset, message: str, note: Mapping[str, Any], *, empty: bool = False) -> str:
    """Make the edits the branch's next version; see `Dataset.commit`.

    With `empty` there is a version for the note, too, where the open transaction has no edits.
    """
    check_message(message)
    with ds._locked():
        ds._check_writable()
        if not ds._pinned.edits and not empty:
            return ds.version
        with ds._lake.repository.lock():
            return _commit_behind_tip(ds, message, note, merges=False, empty=empty)


def commit_merge(ds: Dataset, message: str, note: Mapping[str, Any]) -> str:
    """Make what a merge did the branch's next version, also if it brings nothing.

    The caller holds the writers' lock.

    Raises
    ------
    MovedError
        When the branch has moved to a version that has to be merged anew.
    """
    return _commit_behind_tip(ds, message, note, merges=True)


def _commit_behind_tip(
    ds: Dataset, message: str, note: Mapping[str, Any], *, merges: bool, empty: bool = False
) -> str:
    """Write the edits behind what the branch's tip is, again whenever an object store's moves."""
    repository, branch = ds._lake.repository, str(ds.current_branch)
    for _ in range(TRIES):
        tip_id = repository.refs.checked(branch_ref(branch))
        if _take_landed(ds, tip_id) and not ds._pinned.edits:
            return ds.version
        _check_same_branch(ds, tip_id)
        if merges:
            _check_merge_fits(ds, tip_id)
        elif _overwrites(ds, tip_id) or _has_other_modes(ds, tip_id):
            ds._pinned = _copied_onto(ds, ds._open(tip_id), "raise")
        if not (ds._pinned.edits or merges or empty):  # the tip has all of them
            return ds._go_to(tip_id)
        try:
            done = ds._pinned.commit(branch, tip_id, message, note)
        except MovedError:
            if merges:
                raise
            ds._pinned = _copied_onto(ds, ds._open(tip_id), "raise")
        except ConflictError:
            if repository.tip(branch) == ds.version:
                raise
        else:
            return ds._go_to(done)
    raise ConflictError(f"The branch moved {TRIES} times while this commit was written. Try again.")


def rebase(ds: Dataset, on_conflict: Resolution) -> None:
    """Put the edits onto what the branch's tip has become; see `Dataset.rebase`."""
    check_resolution(on_conflict)
    with ds._locked():
        ds._check_writable()
        with ds._lake.repository.lock():
            branch = branch_ref(str(ds.current_branch))
            tip = ds._open(ds._lake.repository.refs.checked(branch))
            _take_landed(ds, tip.snapshot_id)
            if not ds._pinned.edits:
                ds._go_to(tip.snapshot_id)
            elif tip.snapshot_id != ds.version:
                ds._pinned = _copied_onto(ds, tip, on_conflict)


def _take_landed(ds: Dataset, tip_id: str) -> bool:
    """Go to the commit that a try made although its reply was lost; later edits are kept."""
    landed, edits = ds._pinned.landed(tip_id), ds._pinned.edits
    if landed is None or edits is None:
        return False
    if landed.transaction == edits.transaction:
        ds._go_to(landed.id)
    else:
        there, edits.restored = ds._open(landed.id), None  # the commit that landed has noted it
        ds._pinned = _copied_onto(ds, there, "raise", base=there)
    return True


def _check_same_branch(ds: Dataset, tip_id: str) -> None:
    """Refuse to commit if the handle's branch was deleted and another one has its name now.

    Raises
    ------
    ConflictError
    """
    refs, branch = ds._lake.repository.refs, str(ds.current_branch)
    if tip_id == ds.version:
        return
    try:
        identities = refs.identity_at(ds.version, branch), refs.known_identity(branch)
    except (VersionNotFoundError, MissingError):  # expired: there is nothing to compare
        return
    if None in identities or "" in identities or identities[0] == identities[1]:
        return
    raise ConflictError(
        f"Branch {branch!r} was deleted and created again after this handle opened it, so version "
        f"{ds.version} is not part of it. Call ds.rebase() to put the edits onto the new branch, "
        "or ds.discard() to drop them."
    )


def _overwrites(ds: Dataset, tip_id: str) -> bool:
    """Tell whether a cell that was written with the value it had would undo somebody's change.

    Such a cell is no change, so the other side's counts, as in a merge: the edits cannot be put
    behind the tip as they are.

    Raises
    ------
    ConflictError
        For a cell that both have changed.
    """
    mine = ds._pinned
    if tip_id == ds.version or mine.edits is None or not mine.edits.touches_old:
        return False
    base, tip = ds._open(ds.version), ds._open(tip_id)
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


def _ids_written(mine: Table, base: Table, column: str) -> Ids:
    """Return the ids of the rows of `base` whose cell was written, whatever with."""
    assert mine.edits is not None
    slots = mine.edits.slots_updated(column)
    return base.ids(slots[slots < base.state.slots])


def _has_other_modes(ds: Dataset, tip_id: str) -> bool:
    """Tell whether the tip's pictures have other modes: ours have to be converted, or its own."""
    modes = modes_of(ds._pinned.schema)
    if tip_id == ds.version or not modes:
        return False
    there = modes_of(ds._open(tip_id).schema)
    return any(there.get(column, mode) != mode for column, mode in modes.items())


def _check_merge_fits(ds: Dataset, tip_id: str) -> None:
    """Refuse to put a merge behind a tip for which it would have to be another one.

    Raises
    ------
    MovedError
        When the tip has some of the rows, has changed cells that the merge writes, or has set a
        mode.
    """
    if tip_id == ds.version:
        return
    if ds._pinned.shares_rows(ds._open(tip_id)):
        raise MovedError("The branch has moved to a version that has some of the merged rows.")
    try:
        collides = _overwrites(ds, tip_id)
    except ConflictError as error:
        raise MovedError(
            "The branch has moved to a version that the merge collides with."
        ) from error
    if collides:
        raise MovedError("The branch has moved to a version that the merge would undo.")
    if _has_other_modes(ds, tip_id):
        raise MovedError("The branch has moved to a version that has set a mode.")


def _copied_onto(
    ds: Dataset, tip: Table, on_conflict: Resolution, *, base: Table | None = None
) -> Table:
    """Return the edits since `base`, the handle's version, copied onto `tip`; they are "ours"."""
    base, mine = base or ds._open(ds.version), ds._pinned
    sides = Sides(base, tip, mine, names=("theirs", "ours"))
    changes = difference(base, tip), difference(base, mine)
    side: Resolution = "theirs" if on_conflict == "ours" else "ours"
    plan, conflicts = plan_merge(sides, *changes, side)
    if on_conflict == "raise":
        check_conflicts(conflicts, {"ours": mine, "theirs": tip}, WAY_OUT)
    target = tip.edit().on_branch(str(ds.current_branch))
    try:
        merge_rows(plan, target, mine)
    except BaseException:
        target.release()
        raise
    if mine.edits is not None and mine.edits.restored is not None:
        target.note_restored(*mine.edits.restored)
    mine.release()
    return target
