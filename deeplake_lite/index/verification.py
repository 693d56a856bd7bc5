"""Verifying indexes, by reading all of their bytes again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import LakeError
from deeplake_lite.index.damage import DamagedIndexError, describe_index, read_index, way_out
from deeplake_lite.index.stored import nearest_first, open_indexes
from deeplake_lite.index.text_index import StoredTextIndex
from deeplake_lite.index.vector_index import VectorIndex
from deeplake_lite.lru import LRUCache
from deeplake_lite.storage.repo.index_refs import index_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.repo.index_refs import IndexName
    from deeplake_lite.storage.table import Table


@dataclass(frozen=True)
class DamagedIndex:
    """An index that must be built again."""

    description: str
    """Its kind and column."""
    reason: str
    """Description of the damage, and the calls that replace the index."""
    tip: str
    """The version on the branch of the index."""


def find_damage(
    repository: Repository, table: Table, damaged: Mapping[str, str]
) -> Iterator[DamagedIndex]:
    """Yield the damaged indexes.

    All bytes are read of the indexes that the version of a table, or an ancestor of it, has.

    Parameters
    ----------
    repository : Repository
        The lake.
    table : Table
        The version.
    damaged : mapping
        A dict from the damaged versions in the histories of all branches, including those of
        indexes, to descriptions of the damage.
    """
    tips = history.index_tips(repository)
    names, columns = list(tips), {f.id: f.name for f in table.schema}
    reasons = {
        name: damaged[tip]
        for name, tip in tips.items()
        # An index inherits the files of its version, and their damage.
        if tip in damaged and damaged[tip] != damaged.get(name.version)
    }
    reachable = _reachable(repository, table.snapshot_id, names)
    for name, stored in open_indexes(repository):
        try:
            if isinstance(stored, DamagedIndexError):
                raise stored
            if stored is not None and name in reachable:
                check_bytes(stored)
        except DamagedIndexError as error:
            reasons[name] = error.reason
    for name, reason in reasons.items():
        if name in tips and name in index_names(repository.branch_names()):  # not just dropped
            column = columns.get(name.column, "")
            text = f"{reason}. The rows are not affected. {way_out(name, column)}"
            yield DamagedIndex(describe_index(name, column), text, tips[name])


def _reachable(repository: Repository, version: str, names: list[IndexName]) -> set[IndexName]:
    """Return the indexes of a version and its ancestors, or all of them if these are unknown."""
    try:
        versions = {name.version for name in nearest_first(repository, version, names)}
    except LakeError:  # the history is damaged
        return set(names)
    return {name for name in names if name.version in versions}


def check_bytes(stored: StoredIndex) -> None:
    """Read all bytes of an index. Raises DamagedIndexError if some of them have changed."""
    name, reader = stored.name, stored.reader
    with read_index(name):
        if name.kind == "vector":
            VectorIndex(name.key, stored.document, reader, LRUCache(1))
        else:
            StoredTextIndex(name.key, reader, LRUCache(1))
        for part in reader.names:
            reader.check(part)
