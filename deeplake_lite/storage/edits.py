"""What an open transaction has done, and by which name its commit is found again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from deeplake_lite.storage.few import few_blocks

if TYPE_CHECKING:
    from deeplake_lite.storage.arrays import Slots


RESTORED = "restored"
"""Key of a commit's metadata: the version that it replaced by an older one, and the older one."""


def _draw() -> str:
    return uuid4().hex


@dataclass
class Edits:
    """What an open transaction has done, in terms of slots."""

    appended: int = 0
    """Rows added."""
    deleted: list[Slots] = field(default_factory=list)
    """Slots of rows removed."""
    updated: dict[str, list[Slots]] = field(default_factory=dict)
    """Slots of cells changed, by column id."""
    document: bool = False
    """Whether the schema or the metadata changed."""
    arranged: bool = False
    """Whether rows were put into another order."""
    spilled: bool = False
    """Whether rows were written ahead of the commit, at slots that only the base's tip has free."""
    restored: tuple[str, str] | None = None
    """The version that was there and the older one that was put in its place, if one was."""
    transaction: str = field(default_factory=_draw)
    """By which the commit of these edits is known; with another edit it is another one."""
    tried: set[str] = field(default_factory=set)
    """Those of the edits that a commit was tried with, whatever became of it."""

    def __bool__(self) -> bool:
        return bool(self.appended or self.deleted or self.updated or self.document or self.arranged)

    @property
    def note(self) -> dict[str, Any]:
        """What the commit of the edits says of them."""
        return {} if self.restored is None else {RESTORED: list(self.restored)}

    def forked(self) -> Edits:
        """Return the same edits, to which others can be added."""
        return replace(
            self,
            deleted=few_blocks(self.deleted),
            updated={column: few_blocks(slots) for column, slots in self.updated.items()},
            tried=set(self.tried),
        )

    def grow(self) -> None:
        """Note that there is another edit."""
        self.transaction = _draw()

    @property
    def touches_old(self) -> bool:
        """Whether anything but new rows was written, which others may have changed too."""
        return bool(self.deleted or self.updated or self.document or self.arranged)

    def slots_updated(self, column: str) -> Slots:
        """Return the distinct slots of one column's changed cells, ascending."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.updated.get(column, [])]))

    def slots_deleted(self) -> Slots:
        """Return the slots of the rows removed."""
        return np.concatenate([np.empty(0, np.int64), *self.deleted])
