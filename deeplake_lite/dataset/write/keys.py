"""Which row of the lake has which key: looked up block by block, kept while rows are added.

Keys are compared by digest: equal values have equal ones, whatever their type.
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
from deeplake_lite.storage.arrays import ChunkCache
from deeplake_lite.storage.column import Place
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


class Keys:
    """Slots of a table's rows by the digest of their key.

    Parameters
    ----------
    table : Table
        The version, with its pending edits.
    key : Field
        The column that tells rows apart.
    """

    def __init__(self, table: Table, key: Field) -> None:
        # A column of our own: `digest` is asked for in the thread that reads ahead, too.
        self._column = make_column(key.htype, Place(table.session, key.id, ChunkCache(), new=True))
        slots = table.rows.live()
        self._htype = key.htype
        digests = digests_by_value(table, key, slots)
        order = np.argsort(digests, kind="stable")
        self._digests, self._slots = digests[order], slots[order]
        self._twice = np.append(self._digests[1:] == self._digests[:-1], False)
        self._added: dict[int, int] = {}
        self._name = key.name

    def digest(self, cells: Cells) -> NDArray[np.uint64]:
        """Return the digests of keys, (n,) uint64.

        Raises
        ------
        InvalidValueError
            For a key of floats so large that other whole numbers round to it.
        """
        if isinstance(cells, DenseCells) and cells.values.dtype.kind == "f":
            self._check_whole(cells.values)
        return self._column.digest(canonical(self._htype, cells))

    def find(self, digests: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the slot of each key, (n,) int64; -1 where there is none.

        Raises
        ------
        InvalidValueError
            When two rows have one of the keys.
        """
        found = np.full(len(digests), -1, np.int64)
        if len(self._digests):
            at = np.minimum(np.searchsorted(self._digests, digests), len(self._digests) - 1)
            hit = self._digests[at] == digests
            self._check(self._twice[at[hit]])
            found[hit] = self._slots[at[hit]]
        for i in np.flatnonzero(found < 0).tolist() if self._added else ():
            found[i] = self._added.get(int(digests[i]), -1)
        return found

    def unique(self) -> Self:
        """Return these, of which every one tells rows apart. Raises InvalidValueError."""
        self._check(self._twice)
        return self

    def _check(self, twice: NDArray[np.bool_]) -> None:
        if twice.any():
            raise InvalidValueError(
                "the lake has rows with the same key. Delete all but one, or choose another key.",
                column=self._name,
            )

    def _check_whole(self, values: NDArray[Any]) -> None:
        bits = np.finfo(values.dtype).nmant + 1
        large = values[np.isfinite(values) & (np.abs(values) >= 2.0**bits)]
        if len(large):
            raise InvalidValueError(
                f"{values.dtype} tells whole numbers apart below 2**{bits}, but a key is "
                f"{large[0]:.20g}, to which others round. Keep such keys as int64 or text.",
                column=self._name,
            )

    def add(self, digests: NDArray[np.uint64], slots: NDArray[np.int64]) -> None:
        """Note rows that were added."""
        self._added.update(zip(digests.tolist(), slots.tolist(), strict=True))


def digests_by_value(
    table: ReadTable,
    f: Field,
    slots: NDArray[np.int64],
    read: Callable[[NDArray[np.int64]], Cells] | None = None,
) -> NDArray[np.uint64]:
    """Return digests of some rows' values, (n,) uint64: equal for equal values.

    They are stored; values that may be equal in different bytes are read, by `read` or from the
    table.
    """
    if not has_synonyms(f.htype):
        return table.digests(f.id, slots)
    read = read or (lambda at: table.read([f.id], at)[f.id])
    found = (
        digests_of(f.htype.layout, canonical(f.htype, read(slots[span])))
        for span in chunks.spans(len(slots), chunks.COPY_ROWS)
    )
    return np.concatenate([np.empty(0, np.uint64), *found])


def canonical(htype: Htype, cells: Cells) -> Cells:
    """Return cells whose bytes are equal where the values are: 0.0 for -0.0, JSON with sorted keys.

    >>> from deeplake_lite.htypes import Json, Scalar
    >>> canonical(Scalar("float32"), Scalar("float32").encode([-0.0])).values
    array([0.], dtype=float32)
    >>> canonical(Json(), Json().encode([{"b": 1.0, "a": True}])).buffers
    [b'{"a": true, "b": 1}']
    """
    if not has_synonyms(htype):
        return cells
    match htype.layout, cells:
        case _, DenseCells():
            return replace(cells, values=_with_one_zero(cells.values))
        case Ragged(dtype=dtype), RaggedCells():
            valid = [True] * len(cells) if cells.valid is None else cells.valid.tolist()
            one = _sorted if dtype == "json" else partial(_zeroed, dtype)
            buffers: list[Buffer] = [
                one(b) if v else b"" for b, v in zip(cells.buffers, valid, strict=True)
            ]
            return replace(cells, buffers=buffers)
        case Nested(item=item), NestedCells():
            return replace(cells, items=canonical(item, cells.items))
    return cells


def has_synonyms(htype: Htype) -> bool:
    """Tell whether equal values may be stored as different bytes.

    >>> from deeplake_lite.htypes import Embedding, Image, Sequence
    >>> has_synonyms(Sequence(Embedding(2))), has_synonyms(Image())
    (True, False)
    """
    match htype.layout:
        case Dense(dtype=dtype):
            return dtype.startswith(_INEXACT)
        case Ragged(dtype=dtype):
            return dtype == "json" or dtype.startswith(_INEXACT)
        case Nested(item=item):
            return has_synonyms(item)


_INEXACT = ("float", "complex")


def _with_one_zero(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers with 0.0 for -0.0, and one NaN for all."""
    found: NDArray[Any] = values + values.dtype.type(0)
    nan = np.isnan(found)
    if nan.any():
        found[nan] = np.nan
    return found


def _zeroed(dtype: str, data: Buffer) -> bytes:
    return _with_one_zero(np.frombuffer(data, dtype)).tobytes()


def _sorted(text: Buffer) -> bytes:
    return canonical_json(parse_json(bytes(text))).encode()
