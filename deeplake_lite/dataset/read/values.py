"""Decoding of stored cells to the values that users get: arrays and lists, with nulls.

Encoded samples are decoded in several threads, because the decoders release the GIL.
"""

from __future__ import annotations

import os
from functools import cache, partial
from itertools import compress, starmap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells, take
from deeplake_lite.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.htypes.layouts import Nested, Ragged

LARGE_BYTES = 8 * 1024
"""When a single row is read, cells above this size may be decoded in another thread."""

THREAD_BYTES = 256 * 1024
"""Blocks of up to this size are decoded in the caller's thread."""


@cache
def decode_pool() -> Pool:
    """Return the pool of threads that decode samples, which is created on first use."""
    return Pool(os.cpu_count() or 1)


def decode_block(
    htype: Htype, cells: Cells, allow: tuple[str, ...] = (), *, follow: bool = True
) -> NDArray[Any] | list[Any]:
    """Return the values of a block of cells.

    Parameters
    ----------
    htype : Htype
        The type of the cells.
    cells : Cells
        The stored cells.
    allow : tuple of str
        Roots below which links are followed.
    follow : bool
        Whether links are followed. If not, their addresses are returned.

    Returns
    -------
    ndarray, (n, *shape)
        If the type fixes the shape. It is a masked array if some values are null.
    list
        The n values otherwise, with None for nulls.
    """
    match cells:
        case DenseCells(values, valid):
            return _mask_nulls(htype.decode(values, ()), valid)
        case RaggedCells():
            decoded = _decode_ragged(htype, cells)
            if not follow or htype.target is None:
                return decoded
            return [None if v is None else htype.load(v, allow) for v in decoded]
        case NestedCells():
            return _decode_nested(htype, cells, allow, follow=follow)


def decode_one(htype: Htype, cells: Cells, allow: tuple[str, ...] = ()) -> object:
    """Return the value of a block that has a single cell, or None if the cell is null."""
    if cells.valid is not None and not cells.valid[0]:
        return None
    if isinstance(cells, RaggedCells):
        value = htype.decode(cells.buffers[0], _shape(cells.shapes[0].tolist()))
        return htype.load(value, allow)
    return decode_block(htype, cells, allow)[0]


def images_of(htype: Htype, cells: Cells) -> list[object]:
    """Return images as files or pixels, and None for nulls, to be stored in another mode."""
    assert isinstance(cells, RaggedCells)
    if cast("Ragged", htype.layout).dtype != "bytes":  # pixels are stored, not files
        return [decode_one(htype, take(cells, np.array([i]))) for i in range(len(cells))]
    valid = np.ones(len(cells), bool) if cells.valid is None else cells.valid
    return [bytes(b) if ok else None for b, ok in zip(cells.buffers, valid.tolist(), strict=True)]


def decode_row(
    htypes: Mapping[str, Htype], cells: Mapping[str, Cells], allow: tuple[str, ...] = ()
) -> dict[str, object]:
    """Return a dict that maps column names to a row's values, decoding large cells in parallel."""
    jobs = {name: partial(decode_one, h, cells[name], allow) for name, h in htypes.items()}
    large = [name for name, column in cells.items() if _is_large(column)]
    # The caller's thread decodes the first large cell itself.
    futures = {name: decode_pool().submit(jobs[name]) for name in large[1:]}
    return {n: futures[n].result() if n in futures else jobs[n]() for n in htypes}


def _is_large(cells: Cells) -> bool:
    """Return whether a cell is large enough to be decoded in a separate thread."""
    return isinstance(cells, RaggedCells) and memoryview(cells.buffers[0]).nbytes > LARGE_BYTES


def items_of(htype: Htype) -> Htype | None:
    """Return the item type of lists, or None if values are not lists or are lists of classes.

    >>> from deeplake_lite.htypes import ClassLabel, Sequence
    >>> items_of(Sequence("int8")), items_of(ClassLabel(multiple=True))
    (Scalar('int8'), None)
    """
    return htype.item if htype.classes is None else None


def freeze(values: object) -> None:
    """Make an array and its mask read-only before they are shared. Other values stay unchanged.

    >>> array = np.arange(3)
    >>> freeze(array)
    >>> array[1:].flags.writeable
    False
    """
    if isinstance(values, np.ndarray):
        values.flags.writeable = False
        mask = np.ma.getmask(values)
        if isinstance(mask, np.ndarray):
            mask.flags.writeable = False


def copy_if_shared[T](values: T) -> T:
    """Return values that the caller may modify. Shared arrays, which are read-only, are copied.

    >>> shared = np.arange(3)
    >>> freeze(shared)
    >>> copy_if_shared(shared[1:]).flags.writeable
    True
    """
    if not isinstance(values, np.ndarray):
        return values
    mask = np.ma.getmask(values)
    has_own_mask = not isinstance(mask, np.ndarray) or mask.flags.writeable
    return values if values.flags.writeable and has_own_mask else cast("T", values.copy())


def with_none(values: NDArray[Any] | list[object]) -> Sequence[Any] | NDArray[Any]:
    """Return values for iteration, with None for the nulls of a masked array.

    >>> with_none(np.ma.MaskedArray([1, 2], [False, True]))
    [np.int64(1), None]
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    null = np.ma.getmaskarray(values).any(axis=tuple(range(1, values.ndim)))
    return [None if n else v for v, n in zip(values.data, null, strict=True)]


def _mask_nulls(values: NDArray[Any], valid: NDArray[np.bool_] | None) -> NDArray[Any]:
    if valid is None:
        return values
    mask = np.broadcast_to(~valid.reshape(-1, *[1] * (values.ndim - 1)), values.shape)
    return np.ma.MaskedArray(values, mask)


def _decode_ragged(htype: Htype, cells: RaggedCells) -> list[object]:
    shapes = map(_shape, cells.shapes.tolist())
    jobs = list(zip(cells.buffers, shapes, strict=True))
    valid = [True] * len(jobs) if cells.valid is None else cells.valid.tolist()
    present = list(compress(jobs, valid))
    if len(present) > 1 and sum(memoryview(b).nbytes for b in cells.buffers) > THREAD_BYTES:
        values = iter(_decode_in_threads(htype.decode, present))
    else:
        values = starmap(htype.decode, present)
    return [next(values) if v else None for v in valid]


def _decode_in_threads(
    decode: Callable[..., object], jobs: list[tuple[Any, tuple[int, ...]]]
) -> list[object]:
    pool = decode_pool()
    # Four parts per thread, so that no thread waits long for a thread with larger samples.
    size = -(-len(jobs) // (4 * pool.threads))
    parts = [jobs[i : i + size] for i in range(0, len(jobs), size)]
    decoded = pool.map(lambda part: list(starmap(decode, part)), parts)
    return [value for part in decoded for value in part]


def _decode_nested(
    htype: Htype, cells: NestedCells, allow: tuple[str, ...], *, follow: bool
) -> list[object]:
    item = cast("Nested", htype.layout).item
    items = with_none(decode_block(item, cells.items, allow, follow=follow))
    ends = np.cumsum(cells.counts).tolist()
    starts = [0, *ends][:-1]
    values = [htype.decode(items[a:b], ()) for a, b in zip(starts, ends, strict=True)]
    if cells.valid is None:
        return values
    return [value if v else None for value, v in zip(values, cells.valid, strict=True)]


def _shape(stored: list[int]) -> tuple[int, ...]:
    """Return a shape without missing axes, which are stored as -1."""
    return tuple(n for n in stored if n >= 0)
