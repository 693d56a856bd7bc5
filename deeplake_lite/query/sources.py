"""What a query reads: the rows of a view, as Arrow columns for DuckDB and as cells for NumPy.

Columns of committed versions are kept in memory, up to a bound, by lake, version and column: a
second query reads nothing. Everything is by position in the view.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deeplake_lite.dataset.arrow import array_of, numbers_of, texts_of
from deeplake_lite.dataset.values import decode_block, decode_one, with_none
from deeplake_lite.htypes import (
    ClassLabel,
    Json,
    Link,
    Scalar,
    Text,
)
from deeplake_lite.htypes.base import Dense, Nested, Ragged
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.query.functions.base import Type
from deeplake_lite.query.values import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

CACHE_BYTES = 1 << 30
"""Columns kept for the next query, at the most."""


class ColumnCache:
    """Arrays by lake, version and column; least recently used out first."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self._limit, self._held, self._lock = limit, 0, Lock()
        self._found: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def get(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """Return what is kept, or make it and keep it."""
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        with self._lock:
            if key not in self._found and made.nbytes <= self._limit // 2:
                self._found[key] = made
                self._held += made.nbytes
            while self._held > self._limit:
                self._held -= self._found.popitem(last=False)[1].nbytes
        return made

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._found.clear()
            self._held = 0


CACHE = ColumnCache()


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of one view."""

    view: View
    name: str
    """As messages call it."""

    def __len__(self) -> int:
        return len(self.view)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The view's columns."""
        return self.view._fields()

    def scalar(self, f: Field) -> pa.Array:
        """Return a column that DuckDB computes with, (rows,)."""
        slots = self.view._live()
        if self._is_whole(slots):
            return self._kept(f, "scalar", lambda: _read_scalar(self.view, f, slots))
        if len(slots) * 8 > self.view._table.slots:
            whole = self._kept(f, "scalar", lambda: _read_scalar(self.view, f, self._every()))
            return pc.take(whole, numbers_of(slots))
        return _read_scalar(self.view, f, slots)

    def shapes(self, f: Field) -> NDArray[np.int32]:
        """Return the shapes of a column's values, (rows, ndim) int32, without reading them."""
        slots = self.view._live()
        read = self.view._table.shapes
        whole = self._kept(f, "shapes", lambda: read(f.id, self._every()))
        return whole if self._is_whole(slots) else whole[slots]

    def values(self, f: Field, rows: NDArray[np.int64]) -> Any:
        """Return the values of some rows: an array, masked where null, or a list with None."""
        slots = self.view._at(rows)
        cells = self.view._table.read([f.id], slots)[f.id]
        return decode_block(f.htype, cells, self.view._lake.allow)

    def dense(self, f: Field) -> NDArray[Any]:
        """Return all values of a column of one shape, kept for the next query."""
        rows = np.arange(len(self.view))
        if self._is_whole(self.view._live()):
            return self._kept(f, "dense", lambda: self.values(f, rows))
        return self.values(f, rows)

    def sharpened(self, f: Field, kind: Kind) -> Kind:
        """Return a kind with what the values say: whether any is NaN or infinite."""
        if not kind.real:
            return kind
        return replace(kind, real=bool(self._kept(f, "real", lambda: self._has_nan(f))))

    def _has_nan(self, f: Field) -> NDArray[np.bool_]:
        noted = None if self.view._table.edits else self.view._table.statistics(f.id)
        if noted is not None:  # bounds only widen: a NaN that was written over counts, too
            (low, high), nans = noted[0].T, noted[1][:, 1]
            return np.asarray((nans > 0).any() or (np.isinf([low, high]) & (low <= high)).any())
        values = numbers_in(self.scalar(f))
        return np.asarray(not np.isfinite(values).all())

    def decoder(self, f: Field, positions: Any) -> Callable[[int], Any]:
        """Read the stored bytes of some rows; return what decodes one of them."""
        rows = np.asarray(np.ma.getdata(positions), np.int64)
        null = np.ma.getmaskarray(positions)
        present = np.flatnonzero(~null)
        cells = self.view._table.read([f.id], self.view._at(rows[present]))[f.id]
        at = np.full(len(rows), -1)
        at[present] = np.arange(len(present))
        allow = self.view._lake.allow

        def decode(row: int) -> Any:
            where = int(at[row])
            return None if where < 0 else decode_one(f.htype, one(cells, where), allow)

        if isinstance(cells, RaggedCells):
            return decode
        values = with_none(decode_block(f.htype, cells, allow))
        return lambda row: None if at[row] < 0 else values[int(at[row])]

    def meta(self, f: Field | None, what: str, rows: NDArray[np.int64]) -> Any:
        """Return what is known of values, or of rows, without reading them."""
        slots = self.view._at(rows)
        if what == "row_id":
            return self.view._table.ids(slots)
        if what.startswith("random:"):
            return _random(int(what[7:]), rows)
        assert f is not None
        if what == "hash":
            return self.view._table.digests(f.id, slots)
        if what == "nbytes":
            return self.view._table.sizes(f.id, slots)
        if what == "present":
            cells = self.view._table.read([f.id], slots)[f.id]
            every = np.ones(len(rows), bool) if cells.valid is None else cells.valid
            return np.ma.MaskedArray(every, ~every)
        shapes = self.shapes(f)[rows].astype(np.int64)
        if what == "ndim":
            return (shapes >= 0).sum(axis=1)
        if what == "size":
            return np.where(shapes < 0, 1, shapes).prod(axis=1)
        return np.ma.MaskedArray(shapes, shapes < 0) if (shapes < 0).any() else shapes

    def hashes(self, f: Field) -> NDArray[np.uint64]:
        """Return digests of a column's values, (rows,): equal values have equal ones."""
        return self.view._table.digests(f.id, self.view._live())

    def _every(self) -> NDArray[np.int64]:
        return np.arange(self.view._table.slots)

    def _is_whole(self, slots: NDArray[np.int64]) -> bool:
        count = self.view._table.slots
        return len(slots) == count and (count == 0 or bool((slots == np.arange(count)).all()))

    def _kept(self, f: Field, what: str, make: Callable[[], Any]) -> Any:
        table = self.view._table
        if table.edits:
            return make()
        return CACHE.get((self.view.url, table.snapshot_id, f.id, what), make)


def kind_of(htype: Htype) -> Kind | None:
    """Return the kind of a column that is a scalar to DuckDB, or None for a tensor.

    >>> kind_of(Scalar("float32")).real, kind_of(Embedding(4))
    (True, None)
    """
    match htype:
        case Scalar(dtype="bool"):
            return Kind("bool", htype=htype)
        case Scalar(dtype=dtype) if dtype.endswith("]"):
            return Kind("time", htype=htype)
        case Scalar(dtype=dtype):
            if np.dtype(dtype).kind == "c":
                return None
            return Kind("number", real=np.dtype(dtype).kind == "f", htype=htype)
        case ClassLabel(multiple=False, names=names):
            return Kind("class", names=names, htype=htype)
        case Text():
            return Kind("text", htype=htype)
        case Json():
            return Kind("json", htype=htype)
        case Link():
            return None
        case _:
            return None


def type_of(htype: Htype) -> Type:
    """Return the type of a column's values as tensors.

    >>> str(type_of(Embedding(4)))
    'float32 (4,)'
    """
    layout = htype.layout
    if isinstance(htype, Text | Json):
        return Type("str" if isinstance(htype, Text) else "object", (), htype)
    if isinstance(htype, Link):
        return type_of(htype.of)
    if isinstance(layout, Dense):
        dtype = getattr(htype, "dtype", layout.dtype)
        return Type(str(np.dtype(dtype)), layout.shape, htype)
    if isinstance(layout, Nested):
        item = type_of(layout.item)
        return Type(item.dtype, (None, *item.shape), htype)
    assert isinstance(layout, Ragged)
    dtype = getattr(htype, "dtype", None) or layout.dtype
    shape = _declared_shape(htype, layout.ndim)
    return Type("uint8" if dtype == "bytes" else str(dtype), shape, htype)


def _declared_shape(htype: Htype, ndim: int) -> tuple[int | None, ...]:
    declared = getattr(htype, "shape", None)
    if isinstance(declared, tuple):
        return declared
    if htype.name == "boxes":
        return (None, 4)
    return (None,) * ndim


def numbers_in(column: pa.Array) -> NDArray[Any]:
    """Return numbers of an Arrow array that are not null, (n,)."""
    return np.asarray(column.drop_null().to_numpy(zero_copy_only=False))


def _random(seed: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return numbers in [0, 1): splitmix64 of the seed and the row, the same in any order.

    >>> bool((_random(1, np.arange(3)) == _random(1, np.arange(3))).all())
    True
    """
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.0**-53


def one(cells: RaggedCells, row: int) -> RaggedCells:
    """Return one cell of a block, without a copy."""
    valid = None if cells.valid is None else cells.valid[row : row + 1]
    return RaggedCells([cells.buffers[row]], cells.shapes[row : row + 1], valid)


def _read_scalar(view: View, f: Field, slots: NDArray[np.int64]) -> pa.Array:
    """Read a column as Arrow: numbers as they are, classes as numbers, text as text."""
    if isinstance(f.htype, Text | Json):
        return texts_of(view._table.flat(f.id, slots))
    cells = view._table.read([f.id], slots)[f.id]
    if isinstance(f.htype, ClassLabel):
        null = None if cells.valid is None else ~cells.valid
        return numbers_of(cells.values, null)
    return array_of(f.htype, cells)
