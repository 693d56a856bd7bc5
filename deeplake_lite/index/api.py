"""Creating, listing and dropping the indexes of a lake."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.errors import NotFoundError, OptionError, SchemaError, VersionNotFoundError
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.index.build_vectors import Options, build_vectors
from deeplake_lite.index.damage import DamagedIndexError
from deeplake_lite.index.metrics import METRICS
from deeplake_lite.index.stored import (
    nearest_first,
    new_chunks,
    open_index,
    open_indexes,
    publish,
)
from deeplake_lite.index.text_index import build_texts
from deeplake_lite.storage.repo.index_refs import IndexName, index_names

if TYPE_CHECKING:
    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Repository
    from deeplake_lite.storage.table import Table

KINDS = ("vector", "text")
"""The kinds of indexes."""

RECALL = 0.98
"""The default recall. Enough lists are searched to reach it."""


@dataclass(frozen=True)
class Index:
    """An index of a column, which `Dataset.indexes` lists.

    >>> Index("embedding", "vector", "V1", True, 1000, 700_000, "cosine", 0.985)
    vector index on embedding (cosine), 1,000 rows, recall 0.985, version V1
    """

    column: str | None
    """Name of the column, or None if this version has no such column."""
    kind: str
    """``"vector"`` or ``"text"``."""
    version: str
    """The version for which the index was built."""
    used: bool
    """Whether queries of this version use the index."""
    rows: int
    """Number of rows in the index; 0 if it is damaged."""
    nbytes: int
    """Size of the index in bytes; 0 if it is damaged."""
    metric: str = ""
    """For vectors, how they are compared: ``"cosine"``, ``"l2"`` or ``"dot"``."""
    recall: float | None = None
    """For vectors, the share of the 10 nearest vectors that a search finds, measured after the
    build."""
    key: str = ""
    """Id of the index."""
    damage: str = ""
    """Description of the damage, if the index cannot be opened. `Dataset.verify` also reads all
    bytes of the indexes."""

    def __repr__(self) -> str:
        metric = f" ({self.metric})" if self.metric else ""
        recall = "" if self.recall is None else f", recall {self.recall:.3f}"
        used = "" if self.used else ", not used by this version"
        rows = f"damaged: {self.damage}" if self.damage else pluralize(self.rows, "row")
        return (
            f"{self.kind} index on {self.column or 'a dropped column'}{metric}, "
            f"{rows}{recall}, version {self.version}{used}"
        )


def create_index(
    repository: Repository,
    table: Table,
    column: object,
    kind: object = None,
    *,
    metric: object = None,
    recall: object = None,
    lists: object = None,
    progress: object = True,
) -> Index:
    """Build an index of a column; see `Dataset.create_index`."""
    f = _field(table, checks.text("column", column))
    if kind is None and not _has_texts(f) and not _has_vectors(f):
        raise SchemaError(
            "An index needs a column of strings, or of vectors of numbers that all have the same "
            f"length, such as dl.Embedding(128), but column {f.name!r} has the type {f.htype}. "
            "Choose another column."
        )
    if kind is None:
        kind = "text" if _has_texts(f) else "vector"
    checks.choice("kind", kind, KINDS)
    visible, table = checks.flag("progress", progress), table.clean()
    name, build = IndexName.new("text", "bm25", f.id, table.snapshot_id), build_texts
    if kind == "text":
        _check_texts(f)
        for option, value in (("metric", metric), ("recall", recall), ("lists", lists)):
            if value is not None:
                raise OptionError(f"{option} is an option of vector indexes only. Leave it out.")
    else:
        _check_vectors(f)
        chosen = str(
            checks.choice("metric", "cosine" if metric is None else metric, tuple(METRICS))
        )
        options = Options(
            METRICS[chosen],
            RECALL if recall is None else _recall(recall),
            None if lists is None else checks.integer("lists", lists, 1),
        )
        name = IndexName.new("vector", chosen, f.id, table.snapshot_id)
        build = partial(build_vectors, options=options)
    with new_chunks(repository, table.snapshot_id) as session:
        document, writer = build(table, f, session, progress=visible)
        name = publish(repository, name, document, writer, session)
    stored = open_index(repository, name)
    assert stored is not None, "it has just been written"
    return _describe(name, stored, f.name, used=True)


def _field(table: Table, name: str) -> Field:
    """Return a column. Raises ColumnNotFoundError."""
    return table.schema[name]


def _has_vectors(f: Field) -> bool:
    """Return whether a column has vectors of real numbers, not times, of one length."""
    layout: Any = f.htype.layout
    if not isinstance(layout, Dense) or len(layout.shape) != 1 or layout.shape[0] == 0:
        return False
    dtypes = {str(layout.dtype), str(getattr(f.htype, "dtype", layout.dtype))}
    return all(np.dtype(dtype).kind in "iuf" for dtype in dtypes)


def _check_vectors(f: Field) -> None:
    """Reject a column without vectors of one length. Raises SchemaError."""
    if not _has_vectors(f):
        raise SchemaError(
            "A vector index needs a column of vectors of numbers that all have the same length, "
            f"such as dl.Embedding(128), but column {f.name!r} has the type {f.htype}. Choose "
            "another column."
        )


def _has_texts(f: Field) -> bool:
    layout: Any = f.htype.layout
    return isinstance(layout, Ragged) and layout.dtype == "utf8"


def _check_texts(f: Field) -> None:
    """Check that a column has strings. Raises SchemaError."""
    if not _has_texts(f):
        raise SchemaError(
            f"A text index needs a column of strings, but column {f.name!r} has the type "
            f"{f.htype}. Choose another column."
        )


def _recall(recall: object) -> float:
    """Return the recall after checking it. Raises OptionError."""
    if isinstance(recall, int | float) and not isinstance(recall, bool) and 0 < recall <= 1:
        return float(recall)
    raise OptionError(
        f"recall must be greater than 0 and at most 1, but it is {recall!r:.80}. Try recall=0.98."
    )


def list_indexes(repository: Repository, table: Table) -> list[Index]:
    """Return the indexes of a lake; see `Dataset.indexes`."""
    names = {f.id: f.name for f in table.schema}
    opened = [item for item in open_indexes(repository) if item[1] is not None]
    first = dict[tuple[str, str, str], IndexName]()
    for use in {name.use for name, _ in opened if name.column in names}:
        of_use = [name for name, _ in opened if name.use == use]
        for nearest in nearest_first(repository, table.snapshot_id, of_use):
            first[use] = nearest
            break
    return [
        _describe(name, stored, names.get(name.column), used=first.get(name.use) == name)
        for name, stored in opened
        if stored is not None
    ]


def _describe(
    name: IndexName, stored: StoredIndex | DamagedIndexError, column: str | None, *, used: bool
) -> Index:
    if isinstance(stored, DamagedIndexError):
        return Index(
            column, name.kind, name.version, False, 0, 0, name.metric, key=name.key,
            damage=stored.reason,
        )  # fmt: skip
    d = stored.document
    return Index(
        column, name.kind, name.version, used, d["rows"], d["nbytes"], name.metric,
        d.get("recall"), name.key,
    )  # fmt: skip


def drop_index(repository: Repository, table: Table, index: object, kind: object = None) -> int:
    """Drop indexes; see `Dataset.drop_index`."""
    if kind is not None:
        checks.choice("kind", kind, KINDS)
    with repository.lock():
        names = index_names(repository.branch_names())
        if isinstance(index, Index):
            dropped = [name for name in names if name.key == index.key]
        else:
            f = _field(table, checks.text("index", index))
            dropped = [n for n in names if n.column == f.id and kind in (None, n.kind)]
        if not dropped:
            raise _no_index(index, kind)
        for name in dropped:
            with contextlib.suppress(VersionNotFoundError):  # another process has just dropped it
                repository.delete_branch(name.branch)
    return len(dropped)


def _no_index(index: object, kind: object) -> NotFoundError:
    """Return the error for an index that does not exist."""
    if isinstance(index, Index):
        return NotFoundError(
            f"The {index.kind} index on {index.column or 'a dropped column'} ({index.metric}) of "
            f"version {index.version} no longer exists: it was dropped, or a later build or a "
            "vacuum has replaced it. ds.indexes lists the indexes."
        )
    return NotFoundError(
        f"There is no {'' if kind is None else f'{kind} '}index on {index!r}. Another call may "
        "have dropped it. ds.indexes lists the indexes."
    )
