"""The public classes `Diff`, the changes between two versions, and `Status`, uncommitted edits."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite.dataset.read.values import copy_if_shared, decode_block
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.errors import ColumnNotFoundError, OptionError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from deeplake_lite.dataset import show
    from deeplake_lite.dataset.selection import Lake, ReadTable
    from deeplake_lite.dataset.versions.changes import Changes
    from deeplake_lite.dataset.versions.pairs import Ids
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Schema, SchemaChanges
else:
    show = LazyModule("deeplake_lite.dataset.show")


class Diff:
    """The changes from one version to another, with rows matched by id.

    `Dataset.diff` returns a Diff, which is false if the versions are equal.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://diff-doc", {"label": "text"})
    >>> ds.append({"label": ["rose", "tulip"]})
    >>> first = ds.commit("two flowers")
    >>> ds["label"][1] = "lily"
    >>> ds.append({"label": ["iris"]})
    >>> diff = ds.diff()
    >>> len(diff.added), len(diff.removed), {k: len(v) for k, v in diff.changed.items()}
    (1, 0, {'label': 1})
    >>> diff.to_pandas()[["change", "column", "before", "after"]].values.tolist()
    [['added', None, None, None], ['changed', 'label', 'tulip', 'lily']]
    """

    def __init__(
        self, lake: Lake, older: Table, newer: Table, changes: Changes, a: str, b: str
    ) -> None:
        self.lake, self.older, self.newer, self._changes = lake, older, newer, changes
        self.a, self.b = a, b

    @property
    def added(self) -> Ids:
        """Ids of the rows that only the newer version has, in the order of that version."""
        return self._changes.added.copy()

    @property
    def removed(self) -> Ids:
        """Ids of the rows that only the older version has, in the order of that version."""
        return self._changes.removed.copy()

    @property
    def changed(self) -> Mapping[str, Ids]:
        """Maps each column, named as in the newer version, to the ids of its changed rows."""
        names = {f.id: f.name for f in self.newer.schema}
        return {names[c]: ids.copy() for c, ids in self._changes.cells.items()}

    @property
    def schema(self) -> SchemaChanges:
        """Columns that were added, dropped, renamed, changed in type or changed in metadata."""
        return self._changes.schema

    @property
    def metadata(self) -> Mapping[str, tuple[object, object]]:
        """Maps each changed key of the dataset's metadata to (before, after)."""
        return deepcopy(self._changes.metadata)

    def __bool__(self) -> bool:
        return bool(self._changes)

    def before(self, column: str, ids: Ids | None = None) -> Any:
        """Return the old values of a changed column, for all changed rows or for the given row ids.

        Classes are numbered as in the older version.
        """
        return self._values(self.older, column, ids)

    def after(self, column: str, ids: Ids | None = None) -> Any:
        """Return the new values of a changed column, for all changed rows or the given row ids."""
        return self._values(self.newer, column, ids)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame with one line per added or removed row and per changed cell.

        The columns are ``row_id``, ``change`` ("added", "removed" or "changed"), ``column`` and,
        for changed cells, ``before`` and ``after``. Classes are shown as names. Values other than
        scalars and strings are shown as short descriptions.
        """
        import pandas as pd

        lines: list[tuple[object, ...]] = [
            (i, "added", None, None, None) for i in self.added.tolist()
        ]
        lines += [(i, "removed", None, None, None) for i in self.removed.tolist()]
        for name, ids in self.changed.items():
            old, new = self.before(name), self.after(name)
            htypes = self._htypes(name)
            lines += [
                (i, "changed", name, *show.plain_pair(a, b, htypes))
                for i, a, b in zip(ids.tolist(), old, new, strict=True)
            ]
        return pd.DataFrame(
            lines, columns=["row_id", "change", "column", "before", "after"], dtype=object
        )

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied. Raises OptionError."""
        raise OptionError(
            "A diff cannot be pickled or copied, because it reads both versions in this process. "
            "Pickle diff.to_pandas(), or pickle the dataset and call its diff()."
        )

    def __repr__(self) -> str:
        return show.diff_text(self)

    def _repr_html_(self) -> str:
        return show.diff_html(self)

    def _htypes(self, column: str) -> tuple[Htype, Htype]:
        """Return the types of a column in the older and in the newer version."""
        new = self.newer.schema[column]
        return next(f.htype for f in self.older.schema if f.id == new.id), new.htype

    def _values(self, table: Table, column: str, ids: Ids | None) -> object:
        if not isinstance(column, str) or column not in self.changed:
            raise ColumnNotFoundError.named("changed column", column, self.changed)
        f = self.newer.schema[column]
        htype = self._htypes(column)[table is self.newer]
        slots = slots_of(table, self.changed[column] if ids is None else np.asarray(ids))
        cells = table.read([f.id], slots)[f.id]
        return copy_if_shared(decode_block(htype, cells, self.lake.allow, follow=False))


def has_net_effect(table: ReadTable) -> bool:
    """Return whether a table has uncommitted edits that do not cancel each other out.

    `Status` and all errors about uncommitted edits use this definition.
    """
    return table.uncommitted and (not isinstance(table, Table) or bool(Status.of(table)))


@dataclass(frozen=True, repr=False)
class Status:
    """A summary of uncommitted edits. A Status is false if there are no edits.

    `Dataset.status` returns a Status.
    """

    added: int = 0
    """Number of rows added."""
    removed: int = 0
    """Number of committed rows that were removed."""
    updated: Mapping[str, int] = field(default_factory=dict)
    """Maps each column with updated cells to the number of these cells."""
    schema: SchemaChanges | None = None
    """Columns that were added, dropped, renamed, changed in type or changed in metadata."""
    metadata: bool = False
    """Whether metadata of the dataset changed."""
    reordered: bool = False
    """Whether rows were reordered."""
    columns_reordered: bool = False
    """Whether columns were reordered."""
    keys: bool = False
    """Whether keys of appended batches were added or restored."""

    @classmethod
    def of(cls, table: Table) -> Status:
        """Return the status of a table with pending edits."""
        edits = table.edits
        if not edits:
            return cls()
        base = table.committed
        names = {f.id: f.name for f in table.schema}
        old_updates = {c: edits.slots_updated(c) for c in edits.updated if c in names}
        added = table.rows.order.deleted.complement(base.slots, table.rows.slots)
        return cls(
            added=len(added),
            removed=int((edits.slots_deleted() < base.slots).sum()),
            updated={
                names[c]: n
                for c, slots in old_updates.items()
                if (n := int(table.rows.contains(slots[slots < base.slots]).sum()))
            },
            schema=base.schema.compare(table.schema),
            metadata=not same_json(base.metadata, table.state.metadata),
            reordered=edits.arranged,
            columns_reordered=_shared_ids(base.schema, table.schema)
            != _shared_ids(table.schema, base.schema),
            keys=bool(edits.keys or edits.restored_keys),
        )

    def __bool__(self) -> bool:
        return bool(
            self.added
            or self.removed
            or self.updated
            or self.schema
            or self.metadata
            or self.reordered
            or self.columns_reordered
            or self.keys
        )

    def __repr__(self) -> str:
        cells = sum(self.updated.values())
        parts = [
            _count(self.added, "row") + " added" if self.added else "",
            _count(self.removed, "row") + " removed" if self.removed else "",
            _count(cells, "cell") + " updated" if cells else "",
            str(self.schema) if self.schema else "",
            "metadata changed" if self.metadata else "",
            "rows reordered" if self.reordered else "",
            "columns reordered" if self.columns_reordered else "",
            "keys changed" if self.keys else "",
        ]
        return ", ".join(filter(None, parts)) or "clean"


def _shared_ids(a: Schema, b: Schema) -> list[str]:
    """Return the ids of the columns that both schemas have, in the order of `a`."""
    ids = {f.id for f in b}
    return [f.id for f in a if f.id in ids]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
