"""The versions of a dataset, sorted so that they can be replayed."""

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
    """Key of the previous version; None for the first version."""

    message: str = ""
    time: datetime | None = None
    author: str = ""
    merged: str | None = None
    """If the version is a merge: the key of the version that is merged into the branch."""

    restored: str | None = None
    """If the version restores an older version: the key of the older version."""

    is_draft: bool = False
    """Whether the version consists of uncommitted changes, so that it may still change."""


@dataclass(frozen=True)
class State:
    """The ids of the rows and columns of a version."""

    rows: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Ids of the rows, in order."""

    columns: Mapping[int, str] = field(default_factory=dict)
    """Maps the numbers of columns to their names."""

    coordinates: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """Maps the numbers of columns of boxes to the formats of the boxes."""

    updated: Mapping[int, NDArray[np.uint64]] = field(default_factory=dict)
    """Maps the numbers of columns to the ids of the rows whose cells the version changes."""

    is_reliable: bool = True
    """Whether the ids are reliable, which is not the case after some merges."""


class Versions(ABC):
    """The versions of a dataset."""

    identity: str
    """String that identifies the dataset."""

    ordered: Sequence[Version]
    """The versions, sorted so that each version comes after those on which it depends."""

    main: str
    """Name of the main branch."""

    @abstractmethod
    def open(self, version: Version) -> Snapshot:
        """Open a version for reading."""

    @abstractmethod
    def tags(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the version's key and the query of each tag.

        The query is "" unless the tag refers to the result of a query.
        """

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the dataset."""

    def empty_branches(self) -> Iterator[tuple[str, str | None]]:
        """Yield the branches that have no versions of their own.

        For each branch, its name and the key of the version from which it starts are yielded.
        """
        yield from ()  # in version 3, each branch has at least an uncommitted version

    def state(self, version: Version) -> State | None:  # noqa: ARG002 (version 3 has no log)
        """Return the ids of a version's rows and columns; None if Deep Lake does not record them.

        This must be called for the versions in the order of `ordered`.
        """
        return None

    def release(self) -> None:  # noqa: B027 (version 3 has no states)
        """Discard the states that no later version needs."""


def sort_versions(versions: Sequence[Version]) -> list[Version]:
    """Sort versions so that each version follows those on which it depends.

    Apart from that, their order does not change.

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
    """Return a counter that maps keys of versions to numbers of versions that depend on them.

    >>> count_uses([Version("a", "main", None), Version("b", "main", "a")])
    Counter({'a': 1})
    """
    needed = ({v.base, v.merged, v.restored} - {None} for v in versions)
    return Counter(str(key) for keys in needed for key in keys)
