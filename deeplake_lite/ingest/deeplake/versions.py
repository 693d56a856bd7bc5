"""The versions of a Deep Lake dataset, sorted so that they can be replayed as commits of a lake."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from deeplake_lite.ingest.deeplake.snapshot import Snapshot


@dataclass(frozen=True)
class Version:
    """A version of a Deep Lake dataset."""

    key: str
    """String that identifies the version among all branches."""

    branch: str
    """Name of the branch to which the version belongs."""

    base: str | None
    """Key of the previous version, or None for the first version."""

    message: str = ""
    time: datetime | None = None
    author: str = ""
    merged: str | None = None
    """Key of the version that is merged into the branch, or None if this is not a merge."""

    restored: str | None = None
    """Key of the older version that is restored, or None if no version is restored."""

    is_draft: bool = False
    """Whether the version consists of uncommitted changes, so that it may still change."""


@dataclass(frozen=True)
class State:
    """The ids of the rows and columns of a version."""

    rows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Ids of the rows, in the order of the rows."""

    columns: Mapping[int, str] = field(default_factory=dict)
    """Maps the number of each column to its name."""

    coordinates: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Maps the number of each column of boxes to the format of the boxes."""

    updated: Mapping[int, NDArray[np.uint64]] = field(default_factory=dict)
    """Maps the number of each column to the ids of the rows whose cells the version changes."""

    is_reliable: bool = True
    """Whether the row ids are those of the version. After a merge, they may not be."""


class Versions(ABC):
    """The versions of a Deep Lake dataset."""

    identity: str
    """String that identifies the dataset."""

    ordered: Sequence[Version]
    """The versions, sorted so that each version comes after the versions on which it depends."""

    main: str
    """Name of the main branch."""

    @abstractmethod
    def open(self, version: Version) -> Snapshot:
        """Open a version for reading."""

    @abstractmethod
    def tags(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name of each tag, the key of its version, and its query.

        The query is "" unless the tag refers to the result of a query.
        """

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the dataset."""

    def empty_branches(self) -> Iterator[tuple[str, str | None]]:
        """Yield the branches that have no versions of their own.

        The items are the name of a branch, and the key of the version from which the branch starts.
        """
        yield from ()  # in version 3, each branch has at least an uncommitted version

    def state(self, version: Version) -> State | None:  # noqa: ARG002 (version 3 has no log)
        """Return the ids of a version's rows and columns, or None if Deep Lake records no ids.

        Call this method for the versions in the order of `ordered`.
        """
        return None

    def release(self) -> None:  # noqa: B027 (version 3 has no states)
        """Discard the states that no later version needs."""


def sort_versions(versions: Sequence[Version]) -> list[Version]:
    """Sort versions so that each version follows the versions on which it depends.

    Apart from that, the order of the versions does not change.

    >>> a, b = Version("a", "main", None), Version("b", "main", "a")
    >>> [version.key for version in sort_versions([b, a])]
    ['a', 'b']
    """
    known, done, order = {v.key: v for v in versions}, set[str](), list[Version]()
    for version in versions:
        todo = [version]
        while todo:
            needed = [
                known[key]
                for key in (todo[-1].base, todo[-1].merged, todo[-1].restored)
                if key in known and key not in done and known[key] not in todo
            ]
            if needed:
                todo += needed[:1]
                continue
            last = todo.pop()
            if last.key not in done:
                done.add(last.key)
                order.append(last)
    return order


def count_uses(versions: Sequence[Version]) -> Counter[str]:
    """Return a counter from the keys of versions to the numbers of versions that depend on them.

    >>> count_uses([Version("a", "main", None), Version("b", "main", "a")])
    Counter({'a': 1})
    """
    needed = ({v.base, v.merged, v.restored} - {None} for v in versions)
    return Counter(str(key) for keys in needed for key in keys)
