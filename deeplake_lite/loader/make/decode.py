"""Functions that decode a column's cells. Pixels are decoded straight into the batch's memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.codecs.base import MisfitError, put
from deeplake_lite.dataset.read.values import copy_if_shared, decode_block
from deeplake_lite.dataset.read.values import decode_one as decode_cell
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells, take
from deeplake_lite.htypes.pixels import resize
from deeplake_lite.loader.make.sizes import (
    convert_mode,
    each,
    follow,
    innermost,
    resize_nearest,
)
from deeplake_lite.loader.memory import allocate_aligned

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.make.recipe import CachedRows, ColumnRecipe
    from deeplake_lite.loader.make.sizes import Shapes

type ErrorHandler = Callable[[Exception, int, str], None]
"""A function of an error, the row and the column. Unless the function raises, the row is left out.
"""


def decode_column(
    name: str,
    recipe: ColumnRecipe,
    cells: Cells,
    good: NDArray[np.bool_],
    handle_error: ErrorHandler,
    cached: CachedRows | None = None,
    allow: tuple[str, ...] = (),
) -> object:
    """Decode a column's values to an array with the rows as its first axis, or to a list.

    Parameters
    ----------
    name : str
        Name of the column.
    recipe : ColumnRecipe
        How to turn the column into a part of the batch.
    cells : Cells
        Cells of all rows.
    good : ndarray, (rows,) bool
        Mask of the rows to decode. The entries of rows that fail are set to False.
    handle_error : callable
        Called for each row that fails.
    cached : CachedRows, optional
        Pixels of these rows that were decoded in earlier epochs.
    allow : tuple of str
        Roots that linked files may be read from.
    """
    if isinstance(cells, DenseCells):
        return copy_if_shared(decode_block(recipe.htype, cells))
    into = None
    if isinstance(cells, RaggedCells) and recipe.shape is not None and recipe.dtype:
        into = allocate_aligned((len(cells), *recipe.shape), np.dtype(recipe.dtype))
    values = into if into is not None else [None] * len(cells)
    missing = np.flatnonzero(good)
    if cached is not None and into is not None:
        missing = np.flatnonzero(good & ~cached.cache.take(name, cached.positions, into))
    for row in missing.tolist():
        try:
            if into is not None:
                decode_into(recipe, cells, row, into[row])
            else:
                values[row] = decode_one(recipe, cells, row, allow)
        except Exception as error:
            handle_error(error, row, name)
            good[row] = False
    if cached is not None and into is not None and good.all() and len(missing):
        cached.cache.put(name, cached.positions[missing], into[missing])
    return values


def decode_into(recipe: ColumnRecipe, cells: Any, row: int, out: NDArray[Any]) -> None:
    """Decode the pixels of a row into `out`, which is part of the batch's memory."""
    if recipe.mode is not None and not _is_in_mode(cells.shapes[row], out):
        put(decode_one(recipe, cells, row), out)
    elif recipe.size is None:
        recipe.htype.decode_into(cells.buffers[row], out.shape, out)
    elif recipe.htype.is_image:
        decode_sized(recipe.htype, cells.buffers[row], tuple(cells.shapes[row].tolist()), out)
    else:
        out[...] = decode_one(recipe, cells, row)


def decode_sized(htype: Htype, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
    """Decode an image and resize it to the height and width of `out`."""
    old = tuple(n for n in shape if n >= 0)
    height, width = out.shape[:2]
    scale = max(height / old[0], width / old[1])
    side = int(np.ceil(scale * max(old[:2])))
    # JPEG decodes at 1/2, 1/4 or 1/8 of its size in a fraction of the time.
    pixels = htype.decode_small(data, shape, side) if scale < 0.5 else htype.decode(data, shape)
    put(resize(pixels, height, width), out)


def decode_one(recipe: ColumnRecipe, cells: Cells, row: int, allow: tuple[str, ...] = ()) -> Any:
    """Return the decoded value of a row, or None if the value is null."""
    htype = recipe.htype
    value = decode_cell(htype, take(cells, np.array([row])), allow)
    if recipe.mode is not None:
        value = each(htype, value, partial(convert_mode, mode=recipe.mode))
    if recipe.size is None:
        return value
    height, width = recipe.size
    change = resize_nearest if innermost(htype).is_mask else resize
    return each(htype, value, lambda image: change(image, height, width))


def _is_in_mode(shape: NDArray[np.int32], out: NDArray[Any]) -> bool:
    """Return whether a stored image has the same channels as `out`."""
    return tuple(n for n in shape[2:].tolist() if n >= 0) == out.shape[2:]


def follow_images(
    values: dict[str, Any],
    recipes: Mapping[str, ColumnRecipe],
    cells: Mapping[str, Cells],
    good: NDArray[np.bool_],
    handle_error: ErrorHandler,
) -> None:
    """Scale the coordinates of each row by the same factors as its image.

    For rows that fail, `handle_error` is called, and their entries in `good` become False.
    """
    for name, recipe in recipes.items():
        if recipe.follows is None:
            continue
        size, shapes = recipes[recipe.follows].size, _shapes(cells[recipe.follows])
        assert size is not None
        for row in np.flatnonzero(good).tolist():
            try:
                values[name][row] = follow(recipe.htype, values[name][row], shapes[row], size)
            except ValueError as error:
                handle_error(error, row, name)
                good[row] = False


def _shapes(cells: Cells) -> list[Shapes]:
    """Return the stored height and width of each row's image, nested like the cells."""
    if isinstance(cells, NestedCells):
        items, ends = _shapes(cells.items), np.cumsum(cells.counts)
        starts = ends - cells.counts
        return [items[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert isinstance(cells, RaggedCells), "images are bytes of any length"
    return [(h, w) if h > 0 and w > 0 else None for h, w in cells.shapes[:, :2].tolist()]


def advice(error: Exception, name: str) -> str:
    """Return advice about an error in a column, or an empty string if the error has advice itself.

    The advice to leave the row out is not included.
    """
    if isinstance(error, MisfitError):
        return (
            "If rows differ in channels, convert them with mode='RGB' or mode='L'. If they also "
            f"differ in dtype, use collate={{{name!r}: 'list'}}"
        )
    if isinstance(error, LakeError):
        return ""
    return "Fix the row"
