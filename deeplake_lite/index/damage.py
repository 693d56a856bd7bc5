"""Damage to indexes, which is told from damage to the data of the lake."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.storage.repo.index_refs import IndexName


class DamagedIndexError(DamagedError):
    """Stored bytes of an index that have changed, while the data of the lake may be intact.

    Parameters
    ----------
    reason : str
        Description of the damage, without a full stop.
    """

    name: IndexName | None = None
    """The index, if it is known where the damage is found."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"An index is damaged: {reason}. ds.verify() names it.")
        self.reason = reason
        """Description of the damage."""


@contextmanager
def read_index(name: IndexName | None = None) -> Iterator[None]:
    """Raise damage that is found in the block, which reads an index, as DamagedIndexError."""
    try:
        yield
    except DamagedIndexError as error:
        error.name = error.name or name
        raise
    except DamagedError as error:
        damage = DamagedIndexError(error.finding)
        damage.name = name
        raise damage from error


def describe_index(name: IndexName, column: str) -> str:
    """Return a short description of an index for messages. `column` is empty if it was dropped.

    >>> from deeplake_lite.storage.repo.index_refs import IndexName
    >>> describe_index(IndexName.new("vector", "l2", "c0000000a", "KCD17E4CZYH6CNFH7ZR0"), "v")
    "vector index on 'v' (l2)"
    """
    where = repr(column) if column else "a dropped column"
    return f"{name.kind} index on {where} ({name.metric})"


def way_out(name: IndexName, column: str) -> str:
    """Return the calls that replace a damaged index, as a sentence.

    >>> from deeplake_lite.storage.repo.index_refs import IndexName
    >>> name = IndexName.new("vector", "l2", "c0000000a", "KCD17E4CZYH6CNFH7ZR0")
    >>> way_out(name, "v")
    "Drop it with ds.drop_index('v', 'vector'), then build it again with ds.create_index('v', \
'vector', metric='l2')."
    >>> way_out(name, "")
    'Drop it with ds.drop_index(index), where index is its entry in ds.indexes.'
    """
    if not column:
        return "Drop it with ds.drop_index(index), where index is its entry in ds.indexes."
    metric = f", metric={name.metric!r}" if name.kind == "vector" else ""
    return (
        f"Drop it with ds.drop_index({column!r}, {name.kind!r}), then build it again with "
        f"ds.create_index({column!r}, {name.kind!r}{metric})."
    )


def explain_damage(name: IndexName | None, column: str, error: DamagedIndexError) -> str:
    """Return the message about a damaged index, with the calls that replace it."""
    if name is None:
        return str(error)
    return (
        f"The {describe_index(name, column)} is damaged: {error.reason}. The rows of the lake are "
        f"not affected. {way_out(name, column)}"
    )
