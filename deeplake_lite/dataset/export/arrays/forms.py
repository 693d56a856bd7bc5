"""Conversion of columns to plain arrays: of values, of offsets, of shapes, and of flags for nulls.

A column's *form* says which arrays represent it:

==========  ========================================================================================
form        arrays of the column ``x``, which has n rows
==========  ========================================================================================
``stack``   ``x`` (n, …), if all values have the same shape
``flat``    ``x``, the concatenated values, and ``x_offsets`` (n + 1,): row i has
            ``x[x_offsets[i]:x_offsets[i + 1]]``. If only the first axis varies, ``x`` keeps the
            other axes; otherwise ``x`` has one axis, and ``x_shapes`` (n, axes) has the shape
            of each value, padded with -1
``text``    ``x`` (n,), NumPy strings
``utf8``    ``x``, UTF-8 strings as uint8, and ``x_offsets``, if NumPy strings would be large, or
            lose a NUL at the end
``bytes``   ``x``, bytes as uint8, and ``x_offsets``
``lists``   ``x_offsets``: row i has the items from ``x_offsets[i]`` to ``x_offsets[i + 1]`` of
            ``x_items``, which is stored like a column
==========  ========================================================================================

A nullable column has ``x_valid`` (n,), False for nulls, which are also NaN, NaT, or -1 for classes.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.dataset.export.portable import is_file, values_of
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import DenseCells, NestedCells
from deeplake_lite.htypes.layouts import Nested

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells

NOTE = "deeplake_lite"
"""Name of the array in npz files that records the column types, as JSON."""

IN_MEMORY = 16 * 2**20
"""Size, in bytes, above which a column is collected in a temporary file."""

PIECE = 4 * 2**20
"""Number of bytes that are read from a temporary file at a time."""


@dataclass(frozen=True)
class Stored:
    """An array that an export writes, given as consecutive pieces of its bytes."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Iterator[bytes]
    """The bytes of the array, in C order."""

    def array(self) -> NDArray[Any]:
        """Return the whole array."""
        array = np.empty(self.shape, self.dtype)
        target, position = array.reshape(-1).view(np.uint8), 0
        for piece in self.pieces:
            target[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
            position += len(piece)
        return array


class Form(Protocol):
    """A collector of a column's cells, which converts the cells to the arrays of one form."""

    def add(self, cells: Cells) -> None:
        """Append cells to the column."""

    @property
    def exported_type(self) -> Htype:
        """The type with which an importer restores the column."""

    def note(self) -> dict[str, object]:
        """Return a JSON description of the form. Call this after all cells have been added."""

    def arrays(self) -> Iterator[Stored]:
        """Yield the column's arrays. Call this after all cells have been added."""


def form_of(name: str, htype: Htype, files: ExitStack, *, pixels: bool) -> Form:
    """Return an empty form for a column.

    Parameters
    ----------
    name : str
        Name of the column.
    htype : Htype
        Type of the column.
    files : ExitStack
        Stack that closes the temporary files.
    pixels : bool
        Whether to decode image files, instead of keeping their bytes.
    """
    spool = _Spool(files)
    if isinstance(htype.layout, Nested):
        items = form_of(f"{name}_items", htype.layout.item, files, pixels=pixels)
        return _Lists(name, htype, spool, items=items)
    if getattr(htype.layout, "dtype", "") in ("utf8", "json"):
        return _Strings(name, htype, spool)
    if is_file(htype) and not (pixels and htype.pixels is not None):
        return _Bytes(name, htype, spool)
    return _Numbers(name, htype, spool)


class _Spool:
    """Bytes that are collected in memory, or in a temporary file above `IN_MEMORY` bytes."""

    def __init__(self, files: ExitStack) -> None:
        spooled = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 (`files` closes it)
        self._file = files.enter_context(spooled)
        self.size = 0

    def write(self, data: Any) -> None:
        self._file.write(data)
        self.size += len(data)

    def pieces(self, size: int = PIECE) -> Iterator[bytes]:
        self._file.seek(0)
        while piece := self._file.read(size):
            yield piece

    def parts(self, sizes: NDArray[np.int64]) -> Iterator[bytes]:
        """Yield consecutive parts of the bytes, with the given sizes."""
        self._file.seek(0)
        for size in sizes.tolist():
            yield self._file.read(size)


@dataclass
class _Base:
    """The base class of forms, which holds the name, the type and the nulls."""

    name: str
    htype: Htype
    spool: _Spool
    """Bytes of the values."""
    valid: list[NDArray[np.bool_]] = field(default_factory=list)

    def add_valid(self, cells: Cells) -> None:
        valid = np.ones(len(cells), bool) if cells.valid is None else cells.valid
        self.valid.append(valid)

    @property
    def exported_type(self) -> Htype:
        return self.htype

    @property
    def all_valid(self) -> NDArray[np.bool_]:
        return np.concatenate([np.empty(0, bool), *self.valid])

    def nulls(self) -> Iterator[Stored]:
        """Yield the array that says which values are not null, if the column is nullable."""
        if self.htype.nullable:
            yield _stored(f"{self.name}_valid", self.all_valid)


def _stored(name: str, array: NDArray[Any]) -> Stored:
    return Stored(name, array.dtype, array.shape, iter([array.tobytes()]))


def _offsets(name: str, counts: NDArray[np.int64]) -> Stored:
    return _stored(f"{name}_offsets", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


@dataclass
class _Bytes(_Base):
    """Files and other bytes."""

    counts: list[int] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        self.add_valid(cells)
        for value in values_of(self.htype, cells):
            data: Any = b"" if value is None else value
            self.counts.append(len(data))
            self.spool.write(data)

    def note(self) -> dict[str, object]:
        return {"form": "bytes"}

    def arrays(self) -> Iterator[Stored]:
        shape = (self.spool.size,)
        yield Stored(self.name, np.dtype(np.uint8), shape, self.spool.pieces())
        yield _offsets(self.name, np.array(self.counts, np.int64))
        yield from self.nulls()


@dataclass
class _Strings(_Base):
    """Strings, and JSON as strings."""

    counts: list[int] = field(default_factory=list)
    longest: int = 1
    ends_with_nul: bool = False

    @property
    def is_json(self) -> bool:
        return self.htype.sql == "json"

    def add(self, cells: Cells) -> None:
        self.add_valid(cells)
        for value in values_of(self.htype, cells):
            text = "" if value is None else self._text(value)
            data = text.encode()
            self.counts.append(len(data))
            self.longest = max(self.longest, len(text))
            self.ends_with_nul |= text.endswith("\0")
            self.spool.write(data)

    def _text(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False) if self.is_json else str(value)

    @property
    def is_text(self) -> bool:
        """Whether NumPy strings can hold the values unchanged, without wasting much memory."""
        size = 4 * self.longest * len(self.counts)
        return not self.ends_with_nul and size <= 16 * self.spool.size + 2**20

    def note(self) -> dict[str, object]:
        return {"form": "text" if self.is_text else "utf8", "json": self.is_json}

    def arrays(self) -> Iterator[Stored]:
        counts = np.array(self.counts, np.int64)
        if self.is_text:
            dtype = np.dtype(f"<U{self.longest}")
            texts = (data.decode() for data in self.spool.parts(counts))
            pieces = (np.array(text, dtype).tobytes() for text in texts)
            yield Stored(self.name, dtype, (len(counts),), pieces)
        else:
            yield Stored(self.name, np.dtype(np.uint8), (self.spool.size,), self.spool.pieces())
            yield _offsets(self.name, counts)
        yield from self.nulls()


@dataclass
class _Numbers(_Base):
    """Numbers, times, arrays, and the pixels of images."""

    dtype: np.dtype[Any] | None = None
    shapes: list[tuple[int, ...] | None] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        self.add_valid(cells)
        if isinstance(cells, DenseCells):
            values = np.ascontiguousarray(self.htype.decode(cells.values, ()))
            if cells.valid is not None:
                values = values.copy()
                values[~cells.valid] = _null(values.dtype, is_class=self.htype.classes is not None)
            self._check_dtype(values.dtype)
            self.shapes += [values.shape[1:]] * len(values)
            self.spool.write(values.tobytes())
            return
        for value in self.htype.decode_cells(cells):
            if value is None:
                self.shapes.append(None)
                continue
            array = np.asarray(value)
            self._check_dtype(array.dtype)
            self.shapes.append(array.shape)
            self.spool.write(array.tobytes())

    def _check_dtype(self, dtype: np.dtype[Any]) -> None:
        self.dtype = self.dtype or dtype
        if dtype != self.dtype:
            raise InvalidValueError(
                f"All values of column {self.name!r} must have the same dtype, but row "
                f"{len(self.shapes):,} has {dtype}, and the rows before it have {self.dtype}. "
                'Select rows with the same dtype, or export files unchanged: images="files".',
                row=len(self.shapes),
            )

    @property
    def exported_type(self) -> Htype:
        """The column's type. If images are decoded, its codec stores pixels losslessly."""
        pixels = self.htype.pixels
        if pixels is None or not pixels.is_image or not is_file(self.htype):
            return self.htype
        channels = {shape[2:] for shape in self.distinct_shapes}
        is_png = self.dtype in (None, np.uint8) and channels <= {(), (2,), (3,), (4,)}
        if is_png:
            return replace(self.htype, codec="png")  # type: ignore[call-arg]
        return replace(self.htype, codec="zstd", dtype=str(self.dtype))  # type: ignore[call-arg]

    @property
    def distinct_shapes(self) -> set[tuple[int, ...]]:
        """The distinct shapes of values."""
        return {shape for shape in self.shapes if shape is not None}

    def note(self) -> dict[str, object]:
        return {"form": "stack" if self._common_shape is not None else "flat"}

    @property
    def _common_shape(self) -> tuple[int, ...] | None:
        """The shape of all values, or None if shapes differ."""
        shapes = self.distinct_shapes
        if not shapes and None not in (axes := self.htype.axes or (None,)):
            return tuple(size for size in axes if size is not None)
        return next(iter(shapes)) if len(shapes) == 1 else None

    def arrays(self) -> Iterator[Stored]:
        dtype = self.dtype or np.dtype(self.htype.value_dtype or np.uint8)
        shape = self._common_shape
        if shape is not None:
            blank = np.zeros(shape, dtype)
            if None in self.shapes:
                blank[...] = _null(dtype, is_class=False)
            rows = (len(self.shapes), *shape)
            yield Stored(self.name, dtype, rows, self._rows(blank.tobytes()))
        else:
            yield from self._flat(dtype)
        yield from self.nulls()

    def _rows(self, blank: bytes) -> Iterator[bytes]:
        """Yield the bytes of the stacked values, with `blank` for each null."""
        if None not in self.shapes:
            yield from self.spool.pieces()
            return
        present = np.array([shape is not None for shape in self.shapes])
        parts = self.spool.parts(np.full(int(present.sum()), len(blank)))
        for is_present in present.tolist():
            yield next(parts) if is_present else blank

    def _flat(self, dtype: np.dtype[Any]) -> Iterator[Stored]:
        distinct = self.distinct_shapes
        inner_shapes = {shape[1:] for shape in distinct}
        axes = self.htype.axes
        if not distinct and axes is not None and None not in axes[1:]:
            inner_shapes = {tuple(size for size in axes[1:] if size is not None)}
        if len(inner_shapes) == 1 and all(distinct):
            inner = next(iter(inner_shapes))
            counts = np.array([shape[0] if shape else 0 for shape in self.shapes], np.int64)
            total = (int(counts.sum()), *inner)
            yield Stored(self.name, dtype, total, self.spool.pieces())
            yield _offsets(self.name, counts)
            return
        counts = np.array(
            [0 if shape is None else math.prod(shape) for shape in self.shapes], np.int64
        )
        max_axes = max(map(len, distinct), default=len(axes or (0,)))
        shapes = np.full((len(self.shapes), max_axes), -1, np.int64)
        for row, shape in enumerate(self.shapes):
            shapes[row, : len(shape or ())] = shape or ()
        yield Stored(self.name, dtype, (int(counts.sum()),), self.spool.pieces())
        yield _offsets(self.name, counts)
        yield _stored(f"{self.name}_shapes", shapes)


def _null(dtype: np.dtype[Any], *, is_class: bool) -> Any:
    """Return the placeholder for nulls: NaN, NaT, -1 for classes, or 0 for other numbers."""
    if dtype.kind in "mM":
        return np.array("NaT", dtype)
    if dtype.kind in "fc":
        return np.nan
    return -1 if is_class else 0


@dataclass
class _Lists(_Base):
    """Sequences, and other lists of values."""

    items: Form = field(kw_only=True)
    counts: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, cells: Cells) -> None:
        assert isinstance(cells, NestedCells)
        self.add_valid(cells)
        self.counts.append(np.asarray(cells.counts, np.int64))
        self.items.add(cells.items)

    @property
    def exported_type(self) -> Htype:
        if self.htype.item is None or self.items.exported_type == self.htype.item:
            return self.htype
        return replace(self.htype, of=self.items.exported_type)  # type: ignore[call-arg]

    def note(self) -> dict[str, object]:
        return {"form": "lists", "item": self.items.note()}

    def arrays(self) -> Iterator[Stored]:
        yield _offsets(self.name, np.concatenate([np.empty(0, np.int64), *self.counts]))
        yield from self.items.arrays()
        yield from self.nulls()
