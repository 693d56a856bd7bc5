"""What a query reads: the rows of a view, as Arrow columns for DuckDB and as cells for NumPy.

Columns of committed versions are kept in memory, up to a bound, by lake, version and column: a
second query reads nothing. Everything is by position in the view.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.dataset.arrow.cells import array_of, numbers_in, numbers_of, strings_of
from deeplake_lite.dataset.read.values import decode_block, decode_one, with_none
from deeplake_lite.dataset.read.virtual import sizes_of
from deeplake_lite.dataset.write.keys import digests_by_value
from deeplake_lite.errors import LakeError, QueryTypeError
from deeplake_lite.htypes.cells import FlatCells, RaggedCells
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.database.convert import as_sql_numbers
from deeplake_lite.query.database.spans import check_times
from deeplake_lite.query.functions.base import Type
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.query.run.text_search import TextIndex
from deeplake_lite.query.tensors.trees import objects, rows_of
from deeplake_lite.query.values import Kind
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

BLOCK_BYTES = 64 * 2**20
"""Values of a block, about, once read."""

SCAN_BYTES = 4 * 2**20
"""Rows behind each other of this size are part of a scan, so that the rest is read as well."""

type Rows = NDArray[np.int64]


class Tally:
    """Bytes that were read, as they are once decompressed."""

    def __init__(self) -> None:
        self.bytes = 0

    def of[D: np.generic](self, array: NDArray[D]) -> NDArray[D]:
        """Count an array, and return it."""
        self.bytes += array.nbytes
        return array

    def cells[C: Cells | FlatCells](self, cells: C) -> C:
        """Count cells, and return them."""
        match cells:
            case FlatCells(data):
                self.bytes += data.nbytes
            case _:
                self.bytes += int(sizes_of(cells).sum())
        return cells


PROBED = 1_000
"""Rows among which the first picture of a column is looked for."""


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of one view."""

    view: View
    name: str
    """As messages call it."""

    tally: Tally = field(default_factory=Tally)
    memo: dict[Any, Any] = field(default_factory=dict)
    """What was computed for this query."""

    @cached_property
    def _located(self) -> tuple[ReadTable, Rows]:
        """The version that is read, and the slots of all rows: the same for the whole query."""
        return self.view.rows.locate()

    @property
    def table(self) -> ReadTable:
        """The version that is read."""
        return self._located[0]

    @cached_property
    def positions(self) -> Rows:
        """The rows' positions, (rows,)."""
        return self._located[1] if self._is_all else chunks.count_up(len(self))

    @cached_property
    def _is_all(self) -> bool:
        """Whether the rows are all slots, in their order."""
        slots = self._located[1]
        return len(slots) == self.table.slots and chunks.counts_up(slots)

    def at(self, rows: Rows) -> Rows:
        """Return the slots of some rows."""
        return rows if self._is_all else self._located[1][rows]

    def in_chunks(self, wanted: NDArray[np.bool_], size: int) -> Rows:
        """Return the rows whose slots are in some of the chunks of `size` slots."""
        every = np.append(wanted, True)  # behind what is known
        return np.flatnonzero(every[np.minimum(self._located[1] // size, len(wanted))])

    def __len__(self) -> int:
        return len(self._located[1])

    @property
    def fields(self) -> tuple[Field, ...]:
        """The view's columns."""
        return self.view.schema.fields

    def scalar(self, f: Field, rows: Rows | None = None) -> pa.Array:
        """Return a column that DuckDB computes with, of all rows or some, (rows,)."""
        slots = self._located[1] if rows is None else self.at(rows)
        few = rows is not None or len(slots) * 8 <= self.table.slots
        if few and not self.is_kept(f):
            return self._read_scalar(f, slots)
        whole = self._kept(f, "scalar", lambda: self._read_scalar(f, self._every()))
        return whole if rows is None and self._is_all else whole.take(numbers_of(slots))

    def is_kept(self, f: Field) -> bool:
        """Tell whether `scalar` reads nothing."""
        return not self.table.uncommitted and CACHE.holds(self._key(f, "scalar"))

    def shapes(self, f: Field, rows: Rows) -> NDArray[np.int32]:
        """Return the shapes of some rows' values, (rows, ndim) int32, padded with -1.

        They are stored; where they are not, the values are read, one after the other.
        """
        if not f.htype.stores_shapes:
            decode = self.decoder(f, rows)
            return _padded([np.shape(decode(i)) for i in range(len(rows))])

        def read() -> NDArray[np.int32]:
            return self.tally.of(self.table.shapes(f.id, self._every()))

        whole = self._kept(f, "shapes", read)
        return cast("NDArray[np.int32]", whole[_run(self.at(rows))])

    def sizes(self, f: Field, rows: Rows) -> NDArray[np.int64]:
        """Return the stored size of some rows' values, (rows,) bytes, without reading them."""
        return self.table.sizes(f.id, self.at(rows))

    def values(self, f: Field, rows: Rows) -> Any:
        """Return the values of some rows: an array, masked where null, or a list with None."""
        cells = self._cells(f, self.at(rows))
        return decode_block(f.htype, cells, self.view.rows.lake.allow)

    def dense(self, f: Field, rows: Rows) -> Any:
        """Return values of a column of one shape; what fits is kept whole for the next query."""
        whole = self._whole(f, rows)
        return self.values(f, rows) if whole is None else whole[_run(rows)]

    def aside(self, f: Field, of: Callable[[Any], Any], rows: Rows) -> Any:
        """Return what a function keeps of a column, of some rows; None where nothing is kept."""
        whole = self._whole(f, rows)
        if whole is None or np.ma.isMaskedArray(whole) or self.table.uncommitted:
            return None
        name = getattr(of, "func", of), tuple(getattr(of, "keywords", {}).items())
        return self._kept(f, name, lambda: _in_blocks(of, whole))[_run(rows)]

    def part(self, f: Field, rows: Rows, index: tuple[Any, ...]) -> Any:
        """Return an index of a column of one shape, reading no more bytes than it needs.

        None where that takes reading whole rows.
        """
        if CACHE.holds(self._key(f, "dense")) and not self.table.uncommitted:
            return None
        found = self.table.part(f.id, self.at(rows), index)
        if found is None:
            return None
        cells = self.tally.cells(found)
        return decode_block(f.htype, cells, self.view.rows.lake.allow)

    def _whole(self, f: Field, rows: Rows) -> Any:
        """Return a column of one shape as it is kept; None where it is not, or for a few rows."""
        layout = f.htype.layout
        assert isinstance(layout, Dense)
        if self.table.uncommitted or not self._is_all:
            return None
        size = np.dtype(layout.dtype).itemsize * int(np.prod(layout.shape)) * len(self)
        wanted = (
            size <= BLOCK_BYTES
            or len(rows) * 4 >= len(self)
            or (isinstance(_run(rows), slice) and len(rows) * (size // len(self)) >= SCAN_BYTES)
        )
        if not (CACHE.holds(self._key(f, "dense")) or (wanted and CACHE.has_room(size))):
            return None
        return self._kept(f, "dense", lambda: self.values(f, chunks.count_up(len(self))))

    def _read_scalar(self, f: Field, slots: Rows) -> pa.Array:
        """Read a column as Arrow: numbers as they are, classes as numbers, text as text."""
        interrupt.check()
        layout = f.htype.layout
        if isinstance(layout, Ragged) and layout.dtype in ("utf8", "json"):
            return strings_of(self.tally.cells(self.table.flat(f.id, slots)))
        cells = self._cells(f, slots)
        if f.htype.sql == "class":
            return numbers_of(cells.values, None if cells.valid is None else ~cells.valid)
        array = array_of(f.htype, cells)
        check_times(array, f.name)
        return as_sql_numbers(array)

    def _cells(self, f: Field, slots: Rows) -> Any:
        return self.tally.cells(self.table.read([f.id], slots)[f.id])

    def sharpened(self, f: Field, kind: Kind) -> Kind:
        """Return a kind with what the values say: whether any is NaN or infinite."""
        if not kind.real:
            return kind
        return replace(kind, real=bool(self._kept(f, "real", lambda: self._not_finite(f))))

    def type_of(self, f: Field) -> Type:
        """Return the type of a column's values: of pictures, with axes if all have as many.

        The dtype of pictures is that of the first, as files of one codec may differ.
        """
        found = type_of(f.htype, self._pixels(f))
        if found.shape is not None or not f.htype.stores_shapes:
            return found
        axes = (self.shapes(f, self.positions) >= 0).sum(axis=1)
        bare = self.positions[axes == 0]  # nulls, and arrays of any shape that have no axes
        each = np.unique(axes[axes > 0])
        if len(each) != 1 or (len(bare) and self.present(f, bare).any()):
            return found
        return Type(found.dtype, (None,) * int(each[0]), found.meaning)

    def _pixels(self, f: Field) -> str:
        """Return the dtype of the first picture of a column of files; "uint8" if there is none."""
        if not _has_files(f.htype):
            return "uint8"
        if ("pixels", f.id) not in self.memo:
            pictures = (p for row in self.positions[:PROBED] for p in self._pictures_at(f, row))
            self.memo["pixels", f.id] = next((p.dtype.name for p in pictures), "uint8")
        return str(self.memo["pixels", f.id])

    def _pictures_at(self, f: Field, row: int) -> Iterator[NDArray[Any]]:
        """Yield the pictures of a row; none where a file is not there."""
        cells = self._cells(f, self.at(np.array([row])))
        try:
            yield from _pictures(decode_one(f.htype, cells, self.view.rows.lake.allow))
        except (LakeError, OSError):  # told where it is computed with
            return

    def _not_finite(self, f: Field) -> NDArray[np.bool_]:
        """Tell whether a value is NaN or infinite; as an array, which is what is kept."""
        noted = None if self.table.uncommitted else self.table.statistics(f.id)
        if noted is not None:  # bounds only widen: a NaN that was written over counts, too
            (low, high), nans = noted[0].T, noted[1][:, 1]
            return np.asarray((nans > 0).any() or (np.isinf([low, high]) & (low <= high)).any())
        values = numbers_in(self.scalar(f).drop_null())
        return np.asarray(not np.isfinite(values).all())

    def decoder(self, f: Field, positions: Any) -> Callable[[int], Any]:
        """Read the stored bytes of some rows; return what decodes one of them."""
        rows = np.asarray(np.ma.getdata(positions), np.int64)
        null = np.ma.getmaskarray(positions)
        present = np.flatnonzero(~null)
        cells = self._cells(f, self.at(rows[present]))
        at = np.full(len(rows), -1)
        at[present] = np.arange(len(present))
        allow = self.view.rows.lake.allow

        def decode(row: int) -> Any:
            where = int(at[row])
            if where < 0:
                return None
            return self._checked(f, decode_one(f.htype, one(cells, where), allow))

        if isinstance(cells, RaggedCells):
            return decode
        values = with_none(decode_block(f.htype, cells, allow))
        kind = type_of(f.htype)

        def item(row: int) -> Any:
            where = int(at[row])
            return None if where < 0 else _as_items(self._checked(f, values[where]), kind)

        return item

    def _checked(self, f: Field, value: Any) -> Any:
        """Return a value. Raises QueryTypeError for pictures that the type does not hold."""
        if _has_files(f.htype):
            dtype = self._pixels(f)
            for picture in _pictures(value):
                if not np.can_cast(picture.dtype, dtype):
                    raise QueryTypeError(
                        f"A query takes the pictures of a column as {dtype}, like its first, but "
                        f"{f.name} has one of {picture.dtype}, too. Keep them in two columns, or "
                        "query those rows by themselves."
                    )
        return value

    def each(self, f: Field, positions: Any) -> list[Any]:
        """Return the values of some rows, whatever their shapes; None where null."""
        rows, null = rows_of(positions)
        present = np.flatnonzero(np.ones(len(rows), bool) if null is None else ~null)
        found = with_none(self.values(f, rows[present]))
        kind, out = type_of(f.htype), [None] * len(rows)
        for row, value in zip(present.tolist(), found, strict=True):
            out[row] = None if value is None else _as_items(self._checked(f, value), kind)
        return out

    def digests(self, f: Field, rows: Rows) -> NDArray[np.uint64]:
        """Return digests, equal where values are, (rows,); without reading values if those do."""
        return digests_by_value(self.table, f, self.at(rows), lambda at: self._cells(f, at))

    def present(self, f: Field, rows: Rows) -> NDArray[np.bool_]:
        """Return which rows' values are not null, (rows,) bool."""
        valid = self.table.valid(f.id, self.at(rows))
        return np.ones(len(rows), bool) if valid is None else np.asarray(valid)

    def text_index(self, f: Field) -> tuple[TextIndex, Rows | None]:
        """Return the index of a column's texts, and which of them are ours: None for all."""

        def make() -> TextIndex:
            return TextIndex.build(self._read_scalar(f, self._every()))

        return self._kept(f, "words", make), None if self._is_all else self._located[1]

    def _every(self) -> Rows:
        return self._located[1] if self._is_all else chunks.count_up(self.table.slots)

    def _key(self, f: Field, what: Any) -> tuple[Any, ...]:
        checked = self.view.rows.lake.repository.checks_reads  # what others have read was not
        return self.view.url, self.table.snapshot_id, f.id, checked, what

    def _kept(self, f: Field, what: Any, make: Callable[[], Any]) -> Any:
        return make() if self.table.uncommitted else CACHE.get(self._key(f, what), make)


def kind_of(htype: Htype) -> Kind | None:
    """Return the kind of a column that is a scalar to DuckDB, or None for a tensor.

    >>> from deeplake_lite.htypes import Embedding, Scalar
    >>> kind_of(Scalar("float32")).real, kind_of(Embedding(4))
    (True, None)
    """
    if htype.sql is None:
        return None
    is_real = htype.sql == "number" and np.dtype(htype.value_dtype).kind == "f"
    names = () if htype.classes is None else tuple(htype.classes.names)
    return Kind(htype.sql, real=is_real, names=names, htype=htype)


def _has_files(htype: Htype) -> bool:
    """Tell whether cells are picture files, or lists of them, of a codec that has several dtypes.

    >>> from deeplake_lite.htypes import Image, Link, Sequence
    >>> [_has_files(h) for h in (Image("png"), Sequence("image"), Link("image"))]
    [True, True, True]
    >>> [_has_files(h) for h in (Image("jpeg"), Image("zstd"))]
    [False, False]
    """
    if htype.target is not None:
        return _has_files(htype.target)
    if isinstance(htype.layout, Nested):
        return _has_files(htype.layout.item)
    pixels = htype.pixels
    return pixels is not None and pixels.is_image and pixels.dtype is None


def _pictures(value: Any) -> Iterator[NDArray[Any]]:
    """Yield the pictures of a value, or of a sequence of them."""
    if isinstance(value, list):
        for item in value:
            yield from _pictures(item)
    elif value is not None:
        yield value


def type_of(htype: Htype, pixels: str = "uint8") -> Type:
    """Return the type of a column's values as tensors; `pixels` is the dtype in files of pictures.

    >>> from deeplake_lite.htypes import Embedding, Scalar, Sequence
    >>> str(type_of(Embedding(4))), str(type_of(Sequence(Scalar("int32"))))
    ('float32 (4,)', 'int32 (?,)')
    """
    layout = htype.layout
    if htype.target is not None:
        return type_of(htype.target, pixels)
    if isinstance(layout, Nested):
        return type_of(layout.item, pixels).listed(htype)
    found = Type.of(htype)
    return replace(found, dtype=pixels) if _has_files(htype) else found


def _padded(shapes: Sequence[tuple[int, ...]]) -> NDArray[np.int32]:
    """Return shapes as rows, padded with -1.

    >>> _padded([(4, 5), (), (2, 3, 3)]).tolist()
    [[4, 5, -1], [-1, -1, -1], [2, 3, 3]]
    """
    found = np.full((len(shapes), max(map(len, shapes), default=0)), -1, np.int32)
    for row, shape in enumerate(shapes):
        found[row, : len(shape)] = shape
    return found


def _as_items(value: Any, kind: Type) -> Any:
    """Return a sequence as an array along its items; of texts, or of any shapes, one of objects."""
    if not isinstance(value, list):
        return value
    if kind.items is not None:
        return objects([_as_items(item, kind.items.of) for item in value])
    if kind.dtype == "object":  # JSON, whose lists are values
        return objects(value)
    inner = tuple(n or 0 for n in (kind.shape or ())[1:])
    return np.asarray(value, kind.dtype).reshape(len(value), *inner)


def one(cells: RaggedCells, row: int) -> RaggedCells:
    """Return one cell of a block, without a copy."""
    valid = None if cells.valid is None else cells.valid[row : row + 1]
    return RaggedCells([cells.buffers[row]], cells.shapes[row : row + 1], valid)


def _run(rows: Rows) -> slice | Rows:
    """Return rows as a slice where they follow each other, which copies nothing."""
    return chunks.contiguous(rows) or rows


def _in_blocks(of: Callable[[Any], Any], whole: NDArray[Any]) -> NDArray[Any]:
    """Apply a function of rows in blocks, so that what it needs on the way stays small."""
    size = max(1, BLOCK_BYTES // max(1, whole[:1].nbytes))
    spans = chunks.spans(len(whole), size)
    return np.concatenate([of(whole[span]) for span in spans] or [of(whole)])
