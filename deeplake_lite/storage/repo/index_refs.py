"""Names of the internal branches that hold indexes.

An index is stored on a branch of its own, which begins at the version for which the index was
built. The name of the branch identifies the index, so that indexes are found without a read::

    main        V ──────► W
                └─► index on column c0000000a        branch _index-vector-cosine-c0000000a-V-019c…
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deeplake_lite.storage.repo.lake_refs import uuid7

if TYPE_CHECKING:
    from collections.abc import Iterable

INDEX = "_index-"
"""Beginning of the names of branches that hold indexes."""

_NAME = re.compile(
    rf"{INDEX}([a-z]+)-([a-z0-9]+)-(c[0-9a-f]{{8}})-([0-9A-Z]{{20}})-([0-9a-f]{{32}})"
)


@dataclass(frozen=True)
class IndexName:
    """The identity of an index, which the name of its branch contains."""

    kind: str
    """``"vector"`` or ``"text"``."""
    metric: str
    """The scores that the index serves: ``"cosine"``, ``"l2"``, ``"dot"`` or ``"bm25"``."""
    column: str
    """Id of the indexed column."""
    version: str
    """The version for which the index was built."""
    key: str
    """Id of the index, a UUID of version 7, so that later indexes have larger ids."""

    @classmethod
    def new(cls, kind: str, metric: str, column: str, version: str) -> IndexName:
        """Return the name of a new index."""
        return cls(kind, metric, column, version, uuid7(datetime.now(UTC)))

    @property
    def use(self) -> tuple[str, str, str]:
        """The kind, the metric and the column: indexes of the same use replace each other."""
        return self.kind, self.metric, self.column

    @property
    def branch(self) -> str:
        """Name of the branch."""
        return f"{INDEX}{self.kind}-{self.metric}-{self.column}-{self.version}-{self.key}"

    @classmethod
    def parse(cls, branch: str) -> IndexName | None:
        """Return the index that a branch holds, or None if it holds none.

        >>> name = IndexName.new("vector", "cosine", "c0000000a", "KCD17E4CZYH6CNFH7ZR0")
        >>> IndexName.parse(name.branch) == name, IndexName.parse("main")
        (True, None)
        """
        match = _NAME.fullmatch(branch)
        return cls(*match.groups()) if match else None

    @property
    def begun(self) -> datetime:
        """Time at which the branch was created."""
        return datetime.fromtimestamp(int(self.key[:12], 16) / 1000, UTC)


def index_names(branches: Iterable[str]) -> list[IndexName]:
    """Return the indexes that the given branches hold, the oldest first."""
    names = [name for name in map(IndexName.parse, branches) if name is not None]
    return sorted(names, key=lambda name: name.key)
