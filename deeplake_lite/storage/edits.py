"""A record of the edits of an open transaction, with the name by which its commit is found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from deeplake_lite.storage.few import few_blocks

if TYPE_CHECKING:
    from deeplake_lite.storage.arrays import Slots


RESTORED = "restored"
"""Key of a commit's metadata: the version that a restore replaced, and the one it restored."""


def _draw_name() -> str:
    return uuid4().hex


@dataclass
class Edits:
    """The edits of an open transaction, in terms of slots."""

    appended: int = 0
    """Number of rows that were added."""
    deleted: list[Slots] = field(default_factory=list)
    """Slots of the rows that were deleted."""
    updated: dict[str, list[Slots]] = field(default_factory=dict)
    """Slots of the cells that were changed, by column id."""
    document: bool = False
    """Whether the schema or the metadata changed."""
    arranged: bool = False
    """Whether the rows were put into another order."""
    spilled: bool = False
    """Whether rows were written before the commit.

    Their slots are free only in the version that the transaction started from: if the branch has
    moved, another writer's rows may be there.
    """
    restored: tuple[str, str] | None = None
    """After a restore: the version that was replaced, and the older one that replaced it."""
    transaction: str = field(default_factory=_draw_name)
    """Random name by which the commit of exactly these edits is found. Every edit draws a new one,
    so that a commit whose reply was lost is not mistaken for one with the edits made since."""
    tried: set[str] = field(default_factory=set)
    """Values of `transaction` with which a commit was attempted, whether it succeeded or not."""

    def __bool__(self) -> bool:
        return bool(self.appended or self.deleted or self.updated or self.document or self.arranged)

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata for the commit of these edits."""
        return {} if self.restored is None else {RESTORED: list(self.restored)}

    def forked(self) -> Edits:
        """Return a copy of the edits to which more can be added."""
        return replace(
            self,
            deleted=few_blocks(self.deleted),
            updated={column: few_blocks(slots) for column, slots in self.updated.items()},
            tried=set(self.tried),
        )

    def grow(self) -> None:
        """Record that another edit was made."""
        self.transaction = _draw_name()

    @property
    def touches_old(self) -> bool:
        """Whether the edits change anything that other writers may have changed, too."""
        return bool(self.deleted or self.updated or self.document or self.arranged)

    def slots_updated(self, column: str) -> Slots:
        """Return the distinct slots of one column's changed cells, in ascending order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.updated.get(column, [])]))

    def slots_deleted(self) -> Slots:
        """Return the slots of the rows that were deleted."""
        return np.concatenate([np.empty(0, np.int64), *self.deleted])
