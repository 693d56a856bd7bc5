"""The keys of appended batches in one version and its open transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.storage.append_keys import (
    NO_ROWS,
    NONE,
    AppendKeys,
    digest_of,
    entries_of,
    has_digest,
    has_entry,
    renumber,
)
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from deeplake_lite.storage.append_keys import Entries
    from deeplake_lite.storage.chunk_cache import ChunkCache
    from deeplake_lite.storage.edits import Edits
    from deeplake_lite.storage.repo import Repository, Session
    from deeplake_lite.storage.state import State


class Keyed(Snapshot):
    """One version of the lake, with the keys of appended batches and of pending edits.

    Parameters
    ----------
    repository, session, state, cache
        As for `Snapshot`.
    """

    def __init__(
        self,
        repository: Repository,
        session: Session,
        state: State,
        cache: ChunkCache | None = None,
    ) -> None:
        super().__init__(repository, session, state, cache)
        self.edits: Edits | None = None
        self._keys = AppendKeys(session)

    def has_key(self, key: str) -> bool:
        """Return whether a batch was appended with a key, in this version or its edits."""
        digest, edits = digest_of(key), self.edits
        if edits is not None and digest in edits.keys:
            return True
        if edits is not None and edits.restored_keys is not None:
            return bool(has_digest(entries_of({digest: NO_ROWS}), edits.restored_keys[1]).any())
        return run(self._keys.find(digest)) is not None

    def key_entries(self) -> Entries:
        """Return the keys of all batches, in this version and its edits. Raises DamagedError."""
        pending = NONE if self.edits is None else entries_of(self.edits.keys)
        if self.edits is not None and self.edits.restored_keys is not None:
            return np.concatenate([self.edits.restored_keys[1], pending])
        return np.concatenate([run(self._keys.all()), pending])

    def keys_since(self, older: Self) -> Entries:
        """Return the keys of this version and its edits that an older one lacks."""
        tables = (self, older)
        if any(t.edits is not None and t.edits.restored_keys is not None for t in tables) or (
            older.edits is not None and older.edits.keys
        ):
            mine = self.key_entries()
            return mine[~has_entry(mine, older.key_entries())]
        pending = NONE if self.edits is None else entries_of(self.edits.keys)
        stored, new = run(self._keys.since(older._keys)), run(older._keys.without(pending))
        return np.concatenate([stored, new])

    def has_same_keys(self, other: Self) -> bool:
        """Return whether two tables surely have the same keys. Reads only their number and sum."""
        tables = (self, other)
        if any(t.edits is not None and (t.edits.keys or t.edits.restored_keys) for t in tables):
            return False
        return run(self._keys.summary()) == run(other._keys.summary())

    def repeats_key(self, tip: Self) -> bool:
        """Return whether `tip` has a key of these edits that this version did not have."""
        pending = {} if self.edits is None else self.edits.keys
        found = {digest: run(tip._keys.find(digest)) for digest in pending}
        return any(r is not None and r != run(self._keys.find(d)) for d, r in found.items())

    def verify_keys(self) -> str | None:
        """Verify the keys of this version; return how they are damaged, or None."""
        return run(self._keys.verify())

    async def write_keys(self, session: Session, ids: NDArray[np.int64]) -> None:
        """Write the keys of the edits to `session`, a writer at the branch's tip.

        `ids` are the ids that the pending rows get at the tip. They differ from those in the edits
        if another writer has drawn the same block.
        """
        edits = self.edits
        assert edits is not None, "keys are written at a commit"
        pending = entries_of(renumber(edits.keys, await self.rows.pending_ids(), ids))
        tip = AppendKeys(session)
        if edits.restored_keys is None:
            await tip.write(pending)
            return
        (replaced, older), now = edits.restored_keys, await tip.all()
        since = now[~has_entry(now, replaced) & ~has_digest(now, pending)]
        kept = older[~has_digest(older, since) & ~has_digest(older, pending)]
        await tip.replace(np.concatenate([kept, since, pending]))
