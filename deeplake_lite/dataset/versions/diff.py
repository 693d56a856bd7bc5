"""What users see of the changes between two versions, and of an open transaction."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite.dataset.read.values import decode_block, owned
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.errors import ColumnNotFoundError, OptionError
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from deeplake_lite.dataset import show
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.dataset.versions.changes import Changes, Ids
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import SchemaChanges
    from deeplake_lite.storage.table import Table
else:
    show = LazyModule("deeplake_lite.dataset.show")


class Diff:
    """What changed from one version to another, by row id.

    Made by `Dataset.diff`.

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
        """Ids of the rows that only the newer version has, in its order."""
        return self._changes.added.copy()

    @property
    def removed(self) -> Ids:
        """Ids of the rows that only the older version has, in its order."""
        return self._changes.removed.copy()

    @property
    def changed(self) -> Mapping[str, Ids]:
        """Ids of the rows whose value changed, by (newer) name of the column."""
        names = {f.id: f.name for f in self.newer.schema}
        return {names[c]: ids.copy() for c, ids in self._changes.cells.items()}

    @property
    def schema(self) -> SchemaChanges:
        """Columns added, dropped, renamed and annotated."""
        return self._changes.schema

    @property
    def metadata(self) -> Mapping[str, tuple[object, object]]:
        """Notes on the dataset that changed: (before, after)."""
        return deepcopy(self._changes.metadata)

    def __bool__(self) -> bool:
        return bool(self._changes)

    def before(self, column: str, ids: Ids | None = None) -> Any:
        """Return a changed column's old values, all of them or those of some row ids.

        Classes are numbers of the older version's names.
        """
        return self._values(self.older, column, ids)

    def after(self, column: str, ids: Ids | None = None) -> Any:
        """Return a changed column's new values, all of them or those of some row ids."""
        return self._values(self.newer, column, ids)

    def to_pandas(self) -> pd.DataFrame:
        """Return one line per row added or removed and per cell changed.

        Columns: ``row_id``, ``change`` ("added", "removed" or "changed"), ``column``, and for a
        cell ``before`` and ``after``: classes by name, what is no scalar or text in a few words.
        """
        import pandas as pd

        lines: list[tuple[Any, ...]] = [(i, "added", None, None, None) for i in self.added.tolist()]
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
            "A diff reads both versions where it was made, and cannot be pickled or copied. "
            "Pickle diff.to_pandas(), or the dataset, and call its diff() there."
        )

    def __repr__(self) -> str:
        return show.diff_text(self)

    def _repr_html_(self) -> str:
        return show.diff_html(self)

    def _htypes(self, column: str) -> tuple[Htype, Htype]:
        """Return the types that a column has in the older and in the newer version."""
        new = self.newer.schema[column]
        return next(f.htype for f in self.older.schema if f.id == new.id), new.htype

    def _values(self, table: Table, column: str, ids: Ids | None) -> Any:
        if not isinstance(column, str) or column not in self.changed:
            raise ColumnNotFoundError.named("changed column", column, self.changed)
        f = self.newer.schema[column]
        htype = self._htypes(column)[table is self.newer]
        slots = slots_of(table, self.changed[column] if ids is None else np.asarray(ids))
        cells = table.read([f.id], slots)[f.id]
        return owned(decode_block(htype, cells, self.lake.allow, follow=False))


@dataclass(frozen=True, repr=False)
class Status:
    """What an open transaction has done so far; true if anything."""

    added: int = 0
    """Rows added."""
    removed: int = 0
    """Rows removed, of those that were there."""
    updated: Mapping[str, int] = field(default_factory=dict)
    """Cells changed, by column."""
    schema: SchemaChanges | None = None
    """Columns added, dropped, renamed, annotated."""
    metadata: bool = False
    """Whether notes on the dataset changed."""
    reordered: bool = False
    """Whether rows were put into another order."""

    @classmethod
    def of(cls, table: Table) -> Status:
        """Return the status of a table."""
        edits = table.edits
        if not edits:
            return cls()
        base = table.committed
        names = {f.id: f.name for f in table.schema}
        old_updates = {c: edits.slots_updated(c) for c in edits.updated if c in names}
        live = table.rows.live()
        return cls(
            added=int((live >= base.slots).sum()),
            removed=int((edits.slots_deleted() < base.slots).sum()),
            updated={
                names[c]: n
                for c, slots in old_updates.items()
                if (n := int(np.isin(slots[slots < base.slots], live).sum()))
            },
            schema=base.schema.compare(table.schema),
            metadata=not same_json(base.metadata, table.state.metadata),
            reordered=edits.arranged,
        )

    def __bool__(self) -> bool:
        return bool(
            self.added
            or self.removed
            or self.updated
            or self.schema
            or self.metadata
            or self.reordered
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
        ]
        return ", ".join(filter(None, parts)) or "clean"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
