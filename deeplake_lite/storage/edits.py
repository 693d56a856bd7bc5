"""A record of the edits in an open transaction. Its random name later identifies the commit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np

from deeplake_lite.storage.block_lists import limit_blocks

if TYPE_CHECKING:
    from deeplake_lite.storage.append_keys import Digest, Entries, Runs
    from deeplake_lite.storage.stored_array import Slots


RESTORED = "restored"
"""Key in the metadata of a commit that restored an older version. The value is a list of two
snapshot ids: the id of the replaced version and the id of the restored version."""


KEYS = "keys"
"""Key in the metadata of a commit that appended batches with keys. The value is a list of the keys,
of which at most `MOST_NAMES` are listed."""

MOST_NAMES = 100


def _draw_name() -> str:
    return uuid4().hex


@dataclass
class Edits:
    """The edits in an open transaction, in terms of slots."""

    appended: int = 0
    """Number of added rows."""
    deleted: list[Slots] = field(default_factory=list)
    """Slots of deleted rows, one array per edit."""
    updated: dict[str, list[Slots]] = field(default_factory=dict)
    """Slots of changed cells, one array per edit. The keys are column ids."""
    document: bool = False
    """Whether the schema or the metadata changed."""
    arranged: bool = False
    """Whether the rows were put into a different order."""
    spilled: bool = False
    """Whether rows were written before the commit.

    The slots of these rows are free only in the version that the transaction started from. If the
    branch has moved, the slots may contain another writer's rows.
    """
    restored: tuple[str, str] | None = None
    """Snapshot ids of the version that a restore replaced and of the older version that it
    restored, or None if no version was restored."""
    keys: dict[Digest, Runs] = field(default_factory=dict)
    """Keys of appended batches, with the ids of their rows."""
    key_names: dict[Digest, str] = field(default_factory=dict)
    """The first of these keys as strings, for the metadata of the commit."""
    restored_keys: tuple[Entries, Entries] | None = None
    """Keys of the two versions in `restored`, if they differ."""
    transaction: str = field(default_factory=_draw_name)
    """Random name that identifies the commit of exactly these edits. Every edit draws a new name,
    so that a commit whose reply was lost is not confused with a commit of later edits."""
    tried: set[str] = field(default_factory=set)
    """Values of `transaction` for which a commit was attempted, whether it succeeded or not."""

    def __bool__(self) -> bool:
        return bool(
            self.appended
            or self.deleted
            or self.updated
            or self.document
            or self.arranged
            or self.keys
            or self.restored_keys
        )

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata for the commit of these edits."""
        restored = {} if self.restored is None else {RESTORED: list(self.restored)}
        return {**restored, **({KEYS: list(self.key_names.values())} if self.key_names else {})}

    def forked(self) -> Edits:
        """Return a copy. Edits added to the copy do not change this record."""
        return replace(
            self,
            deleted=limit_blocks(self.deleted),
            updated={column: limit_blocks(slots) for column, slots in self.updated.items()},
            keys=dict(self.keys),
            key_names=dict(self.key_names),
            tried=set(self.tried),
        )

    def add_key(self, digest: Digest, runs: Runs, name: str | None) -> None:
        """Add the key of an appended batch, with the ids of its rows."""
        self.keys[digest] = runs
        if name is not None and len(self.key_names) < MOST_NAMES:
            self.key_names[digest] = name

    def grow(self) -> None:
        """Record that another edit was made, by drawing a new name for the transaction."""
        self.transaction = _draw_name()

    @property
    def touches_old(self) -> bool:
        """Whether the edits change anything that other writers may have changed, too."""
        return bool(self.deleted or self.updated or self.document or self.arranged)

    def slots_updated(self, column: str) -> Slots:
        """Return the distinct slots of changed cells in one column, in ascending order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.updated.get(column, [])]))

    def slots_deleted(self) -> Slots:
        """Return the slots of deleted rows."""
        return np.concatenate([np.empty(0, np.int64), *self.deleted])
