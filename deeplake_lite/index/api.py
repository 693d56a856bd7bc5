"""Creating, listing and dropping the indexes of a lake."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.errors import NotFoundError, OptionError, SchemaError
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.index.build_vectors import Options, build_vectors
from deeplake_lite.index.metrics import METRICS
from deeplake_lite.index.stored import find_index, new_chunks, open_index, publish
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

    column: str
    """Name of the column, or an empty string if this version has no such column."""
    kind: str
    """``"vector"`` or ``"text"``."""
    version: str
    """The version for which the index was built."""
    used: bool
    """Whether queries of this version use the index."""
    rows: int
    """Number of rows in the index."""
    nbytes: int
    """Size of the index in bytes."""
    metric: str = ""
    """For vectors, how they are compared: ``"cosine"``, ``"l2"`` or ``"dot"``."""
    recall: float | None = None
    """For vectors, the share of the 10 nearest vectors that a search finds, measured after the
    build."""
    key: str = ""
    """Id of the index."""

    def __repr__(self) -> str:
        metric = f" ({self.metric})" if self.metric else ""
        recall = "" if self.recall is None else f", recall {self.recall:.3f}"
        used = "" if self.used else ", not used by this version"
        return (
            f"{self.kind} index on {self.column or 'a dropped column'}{metric}, "
            f"{pluralize(self.rows, 'row')}{recall}, version {self.version}{used}"
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
    return _describe(stored, f.name, used=True)


def _field(table: Table, name: str) -> Field:
    """Return a column. Raises ColumnNotFoundError."""
    return table.schema[name]


def _check_vectors(f: Field) -> None:
    """Check that a column has vectors of one length. Raises SchemaError."""
    layout: Any = f.htype.layout
    is_dense = isinstance(layout, Dense) and len(layout.shape) == 1 and layout.shape[0] > 0
    if not is_dense or np.dtype(layout.dtype).kind not in "iuf":
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
    opened = (open_index(repository, n) for n in index_names(repository.branch_names()))
    complete = [stored for stored in opened if stored is not None]
    uses = {s.name.use for s in complete if s.name.column in names}
    found = (find_index(repository, table.snapshot_id, use) for use in uses)
    used = {s.name for s in found if s is not None}
    return [_describe(s, names.get(s.name.column, ""), used=s.name in used) for s in complete]


def _describe(stored: StoredIndex, column: str, *, used: bool) -> Index:
    name, d = stored.name, stored.document
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
            raise NotFoundError(
                f"There is no {'' if kind is None else f'{kind} '}index on {index!r}. "
                "ds.indexes lists the indexes."
            )
        for name in dropped:
            repository.delete_branch(name.branch)
    return len(dropped)
