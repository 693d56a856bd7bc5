"""Lookup of a table's rows by the value of a key column, for upserts and ingests.

Keys are compared by their digests. Equal values have equal digests, even if their bytes differ.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.htypes.json import parse_json
from deeplake_lite.htypes.json_values import canonical_json
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.storage import chunks
from deeplake_lite.storage.chunk_cache import ChunkCache
from deeplake_lite.storage.column import Location
from deeplake_lite.storage.digests import digests_of
from deeplake_lite.storage.layouts import make_column

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import ReadTable
    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


SCALARS = 2**18
"""Number of scalars that are converted to canonical form at a time."""


class KeyColumn:
    """The column whose values identify rows, for digests of further keys.

    Parameters
    ----------
    table : Table
        The version, with its pending edits.
    key : Field
        The column.
    """

    def __init__(self, table: Table, key: Field) -> None:
        # `digest` needs its own column object, because the thread that reads ahead calls it too.
        self._column = make_column(
            key.htype, Location(table.session, key.id, ChunkCache(), new=True)
        )
        self._htype, self._name = key.htype, key.name

    def digest(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests of keys, (n,) uint64.

        Raises
        ------
        InvalidValueError
            When a key is a float so large that several whole numbers round to it.
        """
        if isinstance(cells, DenseCells) and cells.values.dtype.kind == "f":
            self._check_exact(cells.values)
        return self._column.digest(canonical(self._htype, cells))

    def _check_exact(self, values: NDArray[Any]) -> None:
        bits = np.finfo(values.dtype).nmant + 1
        large = values[np.isfinite(values) & (np.abs(values) >= 2.0**bits)]
        if len(large):
            raise InvalidValueError(
                f"keys of {values.dtype} must be below 2**{bits}, because above that, several "
                f"whole numbers round to the same float, but one key is {large[0]:.20g}. Store "
                "such keys as int64 or text.",
                column=self._name,
            )


class Keys(KeyColumn):
    """An index from the digests of keys to the slots of a table's rows.

    Parameters
    ----------
    table : Table
        The version, with its pending edits.
    key : Field
        The column whose values identify rows.
    """

    def __init__(self, table: Table, key: Field) -> None:
        super().__init__(table, key)
        slots = table.rows.live()
        digests = digests_by_value(table, key, slots)
        order = np.argsort(digests, kind="stable")
        self._digests, self._slots = digests[order], slots[order]
        self._is_repeated = np.append(self._digests[1:] == self._digests[:-1], False)
        self._added: dict[int, int] = {}

    def find(self, digests: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slot of the row with each key, (n,) int64, or -1 if no row has the key.

        Raises
        ------
        InvalidValueError
            When several rows of the lake share one of these keys.
        """
        slots = np.full(len(digests), -1, np.int64)
        if len(self._digests):
            index = np.minimum(np.searchsorted(self._digests, digests), len(self._digests) - 1)
            matches = self._digests[index] == digests
            check_not_repeated(self._is_repeated[index[matches]], self._name)
            slots[matches] = self._slots[index[matches]]
        for i in np.flatnonzero(slots < 0).tolist() if self._added else ():
            slots[i] = self._added.get(int(digests[i]), -1)
        return slots

    def others(self, digests: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slots of all rows that have none of these keys, (n,) int64, ascending."""
        others = ~np.isin(self._digests, digests)
        return np.sort(self._slots[others])

    def unique(self) -> Self:
        """Return this object, unless two rows have the same key. Then raise InvalidValueError."""
        check_not_repeated(self._is_repeated, self._name)
        return self

    def add(self, digests: NDArray[np.uint64], slots: NDArray[np.int64]) -> None:
        """Add rows to the index that were appended after the index was created."""
        self._added.update(zip(digests.tolist(), slots.tolist(), strict=True))


def check_not_repeated(is_repeated: NDArray[np.bool_], column: str) -> None:
    """Reject keys that several rows of the lake share. Raises InvalidValueError."""
    if is_repeated.any():
        raise InvalidValueError(
            "keys must be unique, but the lake has several rows with the same key. Delete all "
            "but one of them, or choose another key column.",
            column=column,
        )


def digests_by_value(
    table: ReadTable,
    f: Field,
    slots: NDArray[np.int64],
    read: Callable[[NDArray[np.int64]], Cells] | None = None,
) -> NDArray[np.uint64]:
    """Return digests of the values of rows, (n,) uint64. Equal values have equal digests.

    Stored digests are digests of bytes. Stored digests can be used unless the type may encode equal
    values as different bytes. In that case, cells are read, with `read` or from the table, and
    converted to a canonical form.
    """
    if not has_several_encodings(f.htype):
        return table.digests(f.id, slots)
    read = read or (lambda at: table.read([f.id], at)[f.id])
    digests = (
        digests_of(f.htype.layout, canonical(f.htype, read(slots[span])))
        for span in chunks.spans(len(slots), _rows_at_a_time(f.htype))
    )
    return np.concatenate([np.empty(0, np.uint64), *digests])


def _rows_at_a_time(htype: Htype) -> int:
    layout = htype.layout
    if not isinstance(layout, Dense) or layout.shape:
        return chunks.COPY_ROWS
    return SCALARS


def canonical(htype: Htype, cells: Cells) -> Cells:
    """Return cells in canonical form, in which equal values have equal bytes.

    Negative zeros become 0.0, all NaNs get the same bytes, and JSON keys are sorted. Compressed
    arrays of floats are decompressed.

    >>> from deeplake_lite.htypes import Json, Scalar
    >>> canonical(Scalar("float32"), Scalar("float32").encode([-0.0])).values
    array([0.], dtype=float32)
    >>> canonical(Json(), Json().encode([{"b": 1.0, "a": True}])).buffers
    [b'{"a": true, "b": 1}']
    """
    if not has_several_encodings(htype):
        return cells
    match htype.layout, cells:
        case _, DenseCells():
            return replace(cells, values=_with_one_zero(cells.values))
        case Ragged(dtype=dtype), RaggedCells():
            valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
            shapes = [tuple(n for n in shape if n >= 0) for shape in cells.shapes.tolist()]
            convert = _sort_json if dtype == "json" else partial(_canonical_floats, htype)
            buffers: list[Buffer] = [
                convert(b, shape) if v else b""
                for b, shape, v in zip(cells.buffers, shapes, valid, strict=True)
            ]
            return replace(cells, buffers=buffers)
        case Nested(item=item), NestedCells():
            return replace(cells, items=canonical(item, cells.items))
    return cells


def has_several_encodings(htype: Htype) -> bool:
    """Return whether equal values may be stored as different bytes.

    >>> from deeplake_lite.htypes import Embedding, Image, Sequence
    >>> has_several_encodings(Sequence(Embedding(2))), has_several_encodings(Image())
    (True, False)
    """
    match htype.layout:
        case Dense(dtype=dtype):
            return dtype.startswith(_INEXACT)
        case Ragged(dtype=dtype):
            return dtype == "json" or dtype.startswith(_INEXACT)
        case Nested(item=item):
            return has_several_encodings(item)


_INEXACT = ("float", "complex")


def _with_one_zero(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with 0.0 instead of -0.0, and the same bytes for every NaN."""
    result: NDArray[Any] = values + values.dtype.type(0)
    nan = np.isnan(result)
    if nan.any():
        result[nan] = np.nan
    return result


def _canonical_floats(htype: Htype, data: Buffer, shape: tuple[int, ...]) -> bytes:
    return _with_one_zero(np.asarray(htype.decode(data, shape))).tobytes()


def _sort_json(text: Buffer, shape: tuple[int, ...]) -> bytes:  # noqa: ARG001 JSON has none
    return canonical_json(parse_json(bytes(text))).encode()
