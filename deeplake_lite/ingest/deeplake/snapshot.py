"""A version of a Deep Lake dataset: its columns, and its rows, which are read on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.htypes import ClassLabel, resolve
from deeplake_lite.ingest.deeplake.columns import DeepColumn
from deeplake_lite.ingest.deeplake.kinds import Kind
from deeplake_lite.ingest.deeplake.values import read_values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.ingest.deeplake.peer import Peer


READ_AHEAD = 32
"""Number of values that are read in advance if values are requested one by one."""


@dataclass(frozen=True)
class Snapshot:
    """A version of a Deep Lake dataset, opened for reading."""

    peer: Peer
    view: Any
    """Deep Lake's object for the version, which must stay alive while its columns are used."""

    columns: Mapping[str, DeepColumn]
    """The columns that can be read."""

    unreadable: Mapping[str, str]
    """Maps the names of columns that cannot be read to the reasons."""

    @classmethod
    def of(
        cls,
        peer: Peer,
        view: Any,
        coordinates: Mapping[str, Mapping[str, str]],
        gaps: Collection[str],
        schema: Mapping[str, object],
    ) -> Snapshot:
        """Return a version with all its columns.

        Parameters
        ----------
        peer : Peer
            The dataset.
        view : deeplake.DatasetView
            The version.
        coordinates : mapping
            Maps names of columns to the box formats that the log records.
        gaps : collection of str
            Names of columns that may lack values in some rows.
        schema : mapping
            Maps names of columns to the types that the user declares.
        """
        with peer.translating():
            all_columns = [
                DeepColumn.of(c.name, _kind(peer, c, coordinates), view[c.name].metadata.to_dict())
                for c in view.schema.columns
            ]
        columns = {
            c.name: _with_declared_type(c.with_nulls() if c.name in gaps else c, schema)
            for c in all_columns
            if not c.missing
        }
        return cls(peer, view, columns, {c.name: c.missing for c in all_columns if c.missing})

    def __len__(self) -> int:
        with self.peer.translating():
            return len(self.view)

    def values(self, name: str, rows: slice | list[int]) -> list[Any]:
        """Return the values of some rows of a column.

        Raises InvalidValueError if they cannot be read.
        """
        with self.peer.translating():
            return read_values(self.columns[name], self.view[name], rows)

    def lazy(self, name: str, rows: NDArray[Any] | range) -> LazyValues:
        """Return the values of some rows of a column as a sequence that reads them on access."""
        return LazyValues(self, name, rows)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of the dataset."""
        with self.peer.translating():
            items = getattr(self.view, "metadata", None)
            return {} if items is None else dict(items.to_dict())


def _kind(peer: Peer, definition: Any, coordinates: Mapping[str, Mapping[str, str]]) -> Kind:
    kind = Kind.of_type(definition.dtype)
    if kind.name == "array" and kind.shape is None and peer.htype(definition.name) == "list":
        return Kind("dict")  # a list of version 3, whose type Deep Lake reports as int64
    recorded = coordinates.get(definition.name, {})
    if kind.of is not None:
        return replace(kind, of=replace(kind.of, coordinates=recorded))
    return replace(kind, coordinates=recorded)


def _with_declared_type(column: DeepColumn, schema: Mapping[str, object]) -> DeepColumn:
    """Return a column with the type that the user declares, or unchanged without such a type."""
    if column.name not in schema:
        return column
    htype = resolve(schema[column.name])
    if htype == ClassLabel() and column.htype.classes is not None:
        return column
    return replace(column, htype=htype)


class LazyValues:
    """A sequence of the values of some rows of a column, which are read on access."""

    def __init__(self, snapshot: Snapshot, name: str, rows: NDArray[Any] | range) -> None:
        self._snapshot, self._name, self._rows = snapshot, name, rows
        self._first, self._ahead = 0, list[Any]()
        """Position of the first value that was read in advance, and the values from there on."""

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice | int) -> Any:
        if isinstance(part, slice):
            return self._read(part)
        if not 0 <= part - self._first < len(self._ahead):
            self._first, self._ahead = part, self._read(slice(part, part + READ_AHEAD))
        return self._ahead[part - self._first]

    def _read(self, part: slice) -> list[Any]:
        rows = self._rows[part]
        if not len(rows):
            return []
        if int(rows[-1]) - int(rows[0]) == len(rows) - 1:  # consecutive, because rows are sorted
            return self._snapshot.values(self._name, slice(int(rows[0]), int(rows[-1]) + 1))
        return self._snapshot.values(self._name, [int(row) for row in rows])
