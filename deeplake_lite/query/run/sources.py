"""The sources of a query, which read the rows of views as Arrow columns for DuckDB or NumPy arrays.

Columns of committed versions are cached in memory (see `run.cache`), so that a second query does
not read them again. Rows are numbered by their position in the view. The slot of a row is its index
in the arrays of the lake.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow.cells import array_of, numbers_in, numbers_of, strings_of
from deeplake_lite.dataset.read.values import decode_block, decode_one, with_none
from deeplake_lite.dataset.write.keys import digests_by_value
from deeplake_lite.errors import LakeError, QueryTypeError
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.database.convert import as_sql_numbers
from deeplake_lite.query.database.times import check_times
from deeplake_lite.query.functions.base import Type
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.query.run.parts import Tally, read_parts
from deeplake_lite.query.run.text_search import find_text_index, open_text_index
from deeplake_lite.query.tensors.trees import objects, rows_of
from deeplake_lite.query.values import Kind
from deeplake_lite.storage import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable, RowSelection
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.index.words import Searchable
    from deeplake_lite.query.functions.value_type import Block
    from deeplake_lite.query.run.cache import Sized
    from deeplake_lite.schema import Field

BLOCK_BYTES = 64 * 2**20
"""Approximate size of a block of values in memory."""

READ_ROWS = 2**22
"""Maximum number of rows of a column that are read at once."""

SCAN_BYTES = 4 * 2**20
"""If consecutive rows of at least this many bytes are requested, the query is assumed to need all
rows. The whole column is then read and cached."""

type Rows = NDArray[np.int64]


SAMPLED = 256
"""Number of rows from which the size of a column in the cache is estimated."""

PROBED = 1_000
"""Number of rows, from the start, in which the first image of a column is looked for."""


@dataclass(frozen=True, eq=False)
class Source:
    """The rows of a view that a query reads."""

    view: View
    name: str
    """Name of the source in messages."""

    tally: Tally = field(default_factory=Tally)
    memo: dict[Any, Any] = field(default_factory=dict)
    """Results that need to be computed only once per query, by key."""

    @cached_property
    def _selection(self) -> RowSelection:
        """The version to read and its rows, which do not change during a query."""
        return self.view.rows

    @property
    def table(self) -> ReadTable:
        """The version to read."""
        return self._selection.table

    @cached_property
    def _slots(self) -> Rows:
        """The slots of all rows, (rows,)."""
        return self._selection.live()

    @property
    def positions(self) -> Rows:
        """The positions of all rows, (rows,)."""
        return chunks.count_up(len(self))

    @cached_property
    def _is_all(self) -> bool:
        """Whether the source has the rows of all slots of the version, in order of their slots."""
        if len(self) != self.table.slots:
            return False
        if self._selection.slots is None and self.table.is_in_slot_order:
            return True
        return chunks.counts_up(self._slots)

    def at(self, rows: Rows) -> Rows:
        """Return the slots of the given rows."""
        return rows if self._is_all else self._selection.at(rows)

    def rows_in_chunks(self, wanted: NDArray[np.bool_], size: int, rows: slice) -> Rows:
        """Return the positions of the given rows whose slots are in wanted chunks.

        Each chunk has `size` slots, and `wanted` says for each chunk whether it is wanted. Rows in
        chunks beyond the end of `wanted` are included.
        """
        padded = np.append(wanted, True)
        if self._is_all:  # the work is per chunk, and not per row
            numbers = np.arange(rows.start // size, -(-rows.stop // size))
            numbers = numbers[padded[np.minimum(numbers, len(wanted))]]
            starts = np.maximum(numbers * size, rows.start).tolist()
            stops = np.minimum((numbers + 1) * size, rows.stop).tolist()
            parts = [np.arange(start, stop) for start, stop in zip(starts, stops, strict=True)]
            return np.concatenate([np.empty(0, np.int64), *parts])
        positions = np.arange(rows.start, rows.stop)
        remaining: Rows = positions[padded[np.minimum(self.at(positions) // size, len(wanted))]]
        return remaining

    def __len__(self) -> int:
        return len(self._selection)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the view."""
        return self.view.schema.fields

    def scalar(self, f: Field, rows: Rows | slice | None = None) -> pa.Array:
        """Return a column for DuckDB, (rows,), with the given rows or with all rows.

        If all rows of the source are needed, and the source has many of the version's rows, the
        column is read for all rows of the version and cached.
        """
        if isinstance(rows, slice):
            if self._is_all and self.is_cached(f):
                return self._cached(f, "scalar", lambda: self.read_all(f))[rows]
            rows = np.arange(rows.start, rows.stop)
        few = rows is not None or len(self) * 8 <= self.table.slots
        if few and not self.is_cached(f):
            return self._read_scalar(f, self._slots if rows is None else self.at(rows))
        whole = self._cached(f, "scalar", lambda: self.read_all(f))
        if rows is None and self._is_all:
            return whole
        return whole.take(numbers_of(self._slots if rows is None else self.at(rows)))

    def fits_cache(self, f: Field) -> bool:
        """Return whether `scalar` caches a column when all of its rows are read."""
        if self.is_cached(f):
            return True
        slots = self.table.slots
        if self.table.uncommitted or not slots:
            return False
        sample = np.linspace(0, slots - 1, min(slots, SAMPLED), dtype=np.int64)
        row_bytes = self._read_scalar(f, sample).nbytes / len(sample)
        return CACHE.has_room(int(row_bytes * slots))

    def is_cached(self, f: Field) -> bool:
        """Return whether `scalar` can return a column from the cache."""
        return not self.table.uncommitted and self._key(f, "scalar") in CACHE

    def shapes(self, f: Field, rows: Rows) -> NDArray[np.int32]:
        """Return the shapes of values, (rows, ndim) int32, padded with -1 for missing axes.

        If the lake does not store shapes for the column's type, the values are decoded.
        """
        if not f.htype.stores_shapes:
            decode = self.decoder(f, rows)
            return _pad_shapes([np.shape(decode(i)) for i in range(len(rows))])

        def read() -> NDArray[np.int32]:
            return self.tally.add_array(self.table.shapes(f.id, self._all_slots()))

        whole = self._cached(f, "shapes", read)
        return whole[_as_slice(self.at(rows))]

    def sizes(self, f: Field, rows: Rows) -> NDArray[np.int64]:
        """Return the stored sizes of values in bytes, (rows,), without reading the values."""
        return self.table.sizes(f.id, self.at(rows))

    def values(self, f: Field, rows: Rows) -> Block:
        """Return values as an array, masked where they are null, or as a list with None."""
        cells = self._cells(f, self.at(rows))
        return decode_block(f.htype, cells, self.view.rows.lake.allow)

    def dense(self, f: Field, rows: Rows) -> Any:
        """Return values of a column of fixed shape, from a cache of the column if possible."""
        if (values := self._known(f, rows)) is not None:
            return values
        whole = self._whole(f, rows)
        return self.values(f, rows) if whole is None else whole[_as_slice(rows)]

    def auxiliary(
        self, f: Field, of: Callable[[NDArray[Any]], NDArray[Any]], rows: Rows
    ) -> NDArray[Any] | None:
        """Return entries of a helper array that the function `of` computes from a column.

        The helper array has one entry for each row of the column, and is cached for later queries.
        Returns None if the column is not cached, because the helper array is then not computed.
        """
        if ("known", f.id) in self.memo:  # a few rows, in a column that need not be read
            return None
        whole = self._whole(f, rows)
        if whole is None or np.ma.isMaskedArray(whole) or self.table.uncommitted:
            return None
        name = getattr(of, "func", of), tuple(getattr(of, "keywords", {}).items())
        return self._cached(f, name, lambda: _in_blocks(of, whole))[_as_slice(rows)]

    def keep_known(self, f: Field, slots: Rows, values: NDArray[Any]) -> None:
        """Use values that an index has returned instead of reading them again.

        Parameters
        ----------
        f : Field
            A column of fixed shape.
        slots : ndarray, (n,) int64
            Slots of the rows.
        values : ndarray, (n, *shape)
            The values as stored. None of them is null.
        """
        order = np.argsort(slots)
        self.memo["known", f.id] = slots[order], values[order]

    def _known(self, f: Field, rows: Rows) -> Any:
        """Return values that are known from an index, or None if some of them are not known."""
        slots, values = self.memo.get(("known", f.id), (None, None))
        if slots is None or not len(slots):
            return None
        wanted = self.at(rows)
        at = np.minimum(np.searchsorted(slots, wanted), len(slots) - 1)
        if not np.array_equal(slots[at], wanted):
            return None
        return decode_block(f.htype, DenseCells(values[at]), self.view.rows.lake.allow)

    def part(self, f: Field, rows: Rows, index: tuple[Any, ...]) -> Any:
        """Return the values of a column of fixed shape after indexing.

        Only the bytes that the index selects are read. Returns None if whole values have to be
        read, or if the column is cached.
        """
        if self._key(f, "dense") in CACHE and not self.table.uncommitted:
            return None
        part = self.table.part(f.id, self.at(rows), index)
        if part is None:
            return None
        cells = self.tally.add_cells(part)
        return decode_block(f.htype, cells, self.view.rows.lake.allow)

    def _whole(self, f: Field, rows: Rows) -> NDArray[Any] | None:
        """Return all values of a column of fixed shape from the cache. If needed, fill the cache.

        Returns None if the source has only some rows of the version, or uncommitted edits, and if
        the column is not worth caching. A column is worth caching if it is small, or if `rows`,
        which the query needs now, are many of its rows.
        """
        layout = f.htype.layout
        assert isinstance(layout, Dense)
        if self.table.uncommitted or not self._is_all:
            return None
        size = np.dtype(layout.dtype).itemsize * int(np.prod(layout.shape)) * len(self)
        wanted = (
            size <= BLOCK_BYTES
            or len(rows) * 4 >= len(self)
            or (
                isinstance(_as_slice(rows), slice) and len(rows) * (size // len(self)) >= SCAN_BYTES
            )
        )
        if not (self._key(f, "dense") in CACHE or (wanted and CACHE.has_room(size))):
            return None

        def read() -> NDArray[Any]:
            return np.asanyarray(self.values(f, chunks.count_up(len(self))))

        return self._cached(f, "dense", read)

    def read_all(self, f: Field) -> pa.Array:
        """Read a column as `_read_scalar` does, in all slots of the version.

        A long column is read in blocks, because reading needs several times the memory of a block.
        """
        slots = self.table.slots
        if slots <= READ_ROWS:
            return self._read_scalar(f, self._all_slots())
        blocks = (np.arange(b.start, b.stop) for b in chunks.spans(slots, READ_ROWS))
        return pa.concat_arrays([self._read_scalar(f, block) for block in blocks])

    def _read_scalar(self, f: Field, slots: Rows) -> pa.Array:
        """Read a column, and return it as Arrow, with classes as integers and JSON as strings."""
        interrupt.check()
        layout = f.htype.layout
        if isinstance(layout, Ragged) and layout.dtype in ("utf8", "json"):
            return strings_of(self.tally.add_cells(self.table.flat(f.id, slots)))
        cells = self._cells(f, slots)
        if f.htype.sql == "class":
            return numbers_of(cells.values, None if cells.valid is None else ~cells.valid)
        array = array_of(f.htype, cells)
        check_times(array, f.name)
        return as_sql_numbers(array)

    def _cells(self, f: Field, slots: Rows) -> Any:
        return self.tally.add_cells(self.table.read([f.id], slots)[f.id])

    def narrow_kind(self, f: Field, kind: Kind) -> Kind:
        """Return `kind` with `real` true only if a value of the column is NaN or infinite.

        If `real` is false, the SQL needs no checks for NaN, and is faster.
        """
        if not kind.real:
            return kind
        return replace(kind, real=bool(self._cached(f, "real", lambda: self._not_finite(f))))

    def type_of(self, f: Field) -> Type:
        """Return the type of a column's values.

        If all values have the same number of axes, the type contains this number. For image files,
        the dtype is that of the first image, because files with the same codec may have different
        dtypes.
        """
        declared = type_of(f.htype, self._pixels(f))
        if declared.shape is not None or not f.htype.stores_shapes:
            return declared
        axes = (self.shapes(f, self.positions) >= 0).sum(axis=1)
        without_axes = self.positions[axes == 0]  # rows with a null, or an array without axes
        counts = np.unique(axes[axes > 0])
        if len(counts) != 1 or (len(without_axes) and self.present(f, without_axes).any()):
            return declared
        return Type(declared.dtype, (None,) * int(counts[0]), declared.meaning)

    def _pixels(self, f: Field) -> str:
        """Return the dtype of the first image in a column of files, or "uint8" if there is none."""
        if not _has_files(f.htype):
            return "uint8"
        if ("pixels", f.id) not in self.memo:
            images = (image for row in self.positions[:PROBED] for image in self._images_at(f, row))
            self.memo["pixels", f.id] = next((image.dtype.name for image in images), "uint8")
        return str(self.memo["pixels", f.id])

    def _images_at(self, f: Field, row: int) -> Iterator[NDArray[Any]]:
        """Yield the images in a row of a column, or nothing if they cannot be read."""
        cells = self._cells(f, self.at(np.array([row])))
        try:
            yield from _images(decode_one(f.htype, cells, self.view.rows.lake.allow))
        except (LakeError, OSError):  # raised again if the query uses the row
            return

    def _not_finite(self, f: Field) -> NDArray[np.bool_]:
        """Return whether any value of a column is NaN or infinite, as an array of one boolean.

        The result is an array, because only arrays can be cached.
        """
        statistics = None if self.table.uncommitted else self.table.statistics(f.id)
        # Statistics may count a NaN that has been overwritten since.
        if statistics is not None:
            (low, high), nans = statistics[0].T, statistics[1][:, 1]
            return np.asarray((nans > 0).any() or (np.isinf([low, high]) & (low <= high)).any())
        values = numbers_in(self.scalar(f).drop_null())
        return np.asarray(not np.isfinite(values).all())

    def decoder(self, f: Field, positions: NDArray[Any]) -> Callable[[int], Any]:
        """Read the stored bytes of a column in some rows, and return a function that decodes them.

        This function takes an index into `positions`, and returns the value in the row at this
        position, or None if the position is null.
        """
        rows = np.asarray(np.ma.getdata(positions), np.int64)
        null = np.ma.getmaskarray(positions)
        present = np.flatnonzero(~null)
        cells = self._cells(f, self.at(rows[present]))
        at = np.full(len(rows), -1)
        at[present] = np.arange(len(present))
        allow = self.view.rows.lake.allow

        def decode(row: int) -> object:
            index = int(at[row])
            if index < 0:
                return None
            return self._check_dtype(f, decode_one(f.htype, select_cell(cells, index), allow))

        if isinstance(cells, RaggedCells):
            return decode
        values = with_none(decode_block(f.htype, cells, allow))
        kind = type_of(f.htype)

        def item(row: int) -> object:
            index = int(at[row])
            return None if index < 0 else _as_items(self._check_dtype(f, values[index]), kind)

        return item

    def part_reader(
        self, f: Field, positions: NDArray[Any], index: tuple[Any, ...]
    ) -> Callable[[int], Any] | None:
        """Read the part of each cell that an index selects. Returns a function like `decoder`.

        The result is None if whole cells have to be read; see `read_parts`.
        """
        layout = f.htype.layout
        if not isinstance(layout, Ragged) or layout.dtype != type_of(f.htype).dtype:
            return None  # the bytes are files, or have to be converted
        return read_parts(self.table, f, self._slots, positions, index, self.tally)

    def _check_dtype(self, f: Field, value: object) -> object:
        """Return a value. Raises QueryTypeError if the column's dtype cannot represent an image."""
        if _has_files(f.htype):
            dtype = self._pixels(f)
            for image in _images(value):
                if not np.can_cast(image.dtype, dtype):
                    raise QueryTypeError(
                        f"A query reads the images of {f.name} as {dtype}, the dtype of the first "
                        f"image, but another image is {image.dtype}. Store the images of different "
                        "dtypes in two columns, or query the rows separately."
                    )
        return value

    def each(self, f: Field, positions: NDArray[Any]) -> list[Any]:
        """Return the values of a column in some rows as a list, with None for null.

        The values may differ in shape.
        """
        rows, null = rows_of(positions)
        present = np.flatnonzero(np.ones(len(rows), bool) if null is None else ~null)
        values = with_none(self.values(f, rows[present]))
        kind, out = type_of(f.htype), [None] * len(rows)
        for row, value in zip(present.tolist(), values, strict=True):
            out[row] = None if value is None else _as_items(self._check_dtype(f, value), kind)
        return out

    def digests(self, f: Field, rows: Rows) -> NDArray[np.uint64]:
        """Return the digests of values, (rows,). Equal values have equal digests.

        Values are read only if the lake's stored digests may differ for equal values.
        """
        return digests_by_value(self.table, f, self.at(rows), lambda at: self._cells(f, at))

    def present(self, f: Field, rows: Rows) -> NDArray[np.bool_]:
        """Return a mask, (rows,) bool, that is true for the values that are not null."""
        valid = self.table.valid(f.id, self.at(rows))
        return np.ones(len(rows), bool) if valid is None else np.asarray(valid)

    def text_index(self, f: Field) -> tuple[Searchable, Rows | None]:
        """Return the text index of a column, which numbers strings by slot, and the source's slots.

        Instead of the slots, this returns None if the source has the rows of all slots.
        """
        stored = find_text_index(self, f)  # a newer one may exist than when a query last looked
        what = "words", "" if stored is None else stored.name.key
        index = self._cached(f, what, lambda: open_text_index(self, f, stored))
        return index, None if self._is_all else self._slots

    def _all_slots(self) -> Rows:
        return chunks.count_up(self.table.slots)

    def _key(self, f: Field, what: object) -> tuple[Any, ...]:
        # A lake that checks its reads must not use data that was cached without a check.
        checked = self.view.rows.lake.repository.checks_reads
        return self.view.url, self.table.snapshot_id, f.id, checked, what

    def _cached[T: Sized](self, f: Field, what: object, make: Callable[[], T]) -> T:
        """Return a value from the cache. If the value is not cached, call `make`.

        The result of `make` is then cached, unless the table has uncommitted edits.
        """
        return make() if self.table.uncommitted else CACHE.get_or_make(self._key(f, what), make)


def kind_of(htype: Htype) -> Kind | None:
    """Return the kind of a column whose values are scalars in SQL, or None for tensors.

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
    """Return whether cells are image files, or lists of them, that may have different dtypes.

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


def _images(value: Any) -> Iterator[NDArray[Any]]:
    """Yield the images of a value, which may be a sequence of images."""
    if isinstance(value, list):
        for item in value:
            yield from _images(item)
    elif value is not None:
        yield value


def type_of(htype: Htype, pixels: str = "uint8") -> Type:
    """Return the type that the values of a column have as tensors.

    `pixels` is the dtype of the images, if the values are image files.

    >>> from deeplake_lite.htypes import Embedding, Scalar, Sequence
    >>> str(type_of(Embedding(4))), str(type_of(Sequence(Scalar("int32"))))
    ('float32 (4,)', 'int32 (?,)')
    """
    layout = htype.layout
    if htype.target is not None:
        return type_of(htype.target, pixels)
    if isinstance(layout, Nested):
        return type_of(layout.item, pixels).as_list(htype)
    whole = Type.of(htype)
    return replace(whole, dtype=pixels) if _has_files(htype) else whole


def _pad_shapes(shapes: Sequence[tuple[int, ...]]) -> NDArray[np.int32]:
    """Return shapes as the rows of an array, padded with -1.

    >>> _pad_shapes([(4, 5), (), (2, 3, 3)]).tolist()
    [[4, 5, -1], [-1, -1, -1], [2, 3, 3]]
    """
    padded = np.full((len(shapes), max(map(len, shapes), default=0)), -1, np.int32)
    for row, shape in enumerate(shapes):
        padded[row, : len(shape)] = shape
    return padded


def _as_items(value: object, kind: Type) -> Any:
    """Return a list as an array whose first axis is the items. Return other values unchanged.

    If the items are strings, or may differ in shape, this is an array of objects. `kind` is the
    type of the value.
    """
    if not isinstance(value, list):
        return value
    if kind.items is not None:
        return objects([_as_items(item, kind.items.of) for item in value])
    if kind.dtype == "object":  # a list within JSON is a value, not a list of items
        return objects(value)
    inner = tuple(n or 0 for n in (kind.shape or ())[1:])
    return np.asarray(value, kind.dtype).reshape(len(value), *inner)


def select_cell(cells: RaggedCells, row: int) -> RaggedCells:
    """Return one of several cells, without copying its bytes."""
    valid = None if cells.valid is None else cells.valid[row : row + 1]
    return RaggedCells([cells.buffers[row]], cells.shapes[row : row + 1], valid)


def _as_slice(rows: Rows) -> slice | Rows:
    """Return consecutive rows as a slice, so that indexing does not copy.

    Other rows are returned unchanged.
    """
    return chunks.contiguous(rows) or rows


def _in_blocks(of: Callable[[NDArray[Any]], NDArray[Any]], whole: NDArray[Any]) -> NDArray[Any]:
    """Return the results of a function for all values, computed in blocks to save memory."""
    size = max(1, BLOCK_BYTES // max(1, whole[:1].nbytes))
    spans = chunks.spans(len(whole), size)
    return np.concatenate([of(whole[span]) for span in spans] or [of(whole)])
