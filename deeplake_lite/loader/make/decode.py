"""From the cells of a column to its values: pixels are decoded where they lie in the batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.codecs.base import MisfitError, put
from deeplake_lite.dataset.read.values import decode_block, owned
from deeplake_lite.dataset.read.values import decode_one as decode_cell
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells, take
from deeplake_lite.htypes.pixels import resized
from deeplake_lite.loader.make.sizes import (
    each,
    followed,
    in_mode,
    innermost,
    nearest,
)
from deeplake_lite.loader.memory import aligned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.loader.make.recipe import ColumnRecipe, CachedRows
    from deeplake_lite.loader.make.sizes import Shapes

type Failed = Callable[[Exception, int, str], None]
"""Is told what went wrong, with the row and the column."""


def decode_column(
    name: str,
    recipe: ColumnRecipe,
    cells: Cells,
    good: NDArray[np.bool_],
    failed: Failed,
    kept: CachedRows | None = None,
    allow: tuple[str, ...] = (),
) -> Any:
    """Return a column's values: an array along the rows, or a list with None where null.

    Parameters
    ----------
    name : str
        Of the column.
    recipe : ColumnRecipe
        How it becomes a part of the batch.
    cells : Cells
        Of all rows.
    good : ndarray, (rows,) bool
        Rows to decode; those that fail become False.
    failed : callable
        Is told about them.
    kept : CachedRows, optional
        What earlier epochs have decoded.
    allow : tuple of str
        Roots under which linked files are read.
    """
    if isinstance(cells, DenseCells):
        return owned(decode_block(recipe.htype, cells))
    into = None
    if isinstance(cells, RaggedCells) and recipe.shape is not None and recipe.dtype:
        into = aligned((len(cells), *recipe.shape), np.dtype(recipe.dtype))
    values = into if into is not None else [None] * len(cells)
    missing = np.flatnonzero(good)
    if kept is not None and into is not None:
        missing = np.flatnonzero(good & ~kept.decoded.take(name, kept.positions, into))
    for row in missing.tolist():
        try:
            if into is not None:
                decode_into(recipe, cells, row, into[row])
            else:
                values[row] = decode_one(recipe, cells, row, allow)
        except Exception as error:
            failed(error, row, name)
            good[row] = False
    if kept is not None and into is not None and good.all() and len(missing):
        kept.decoded.put(name, kept.positions[missing], into[missing])
    return values


def decode_into(recipe: ColumnRecipe, cells: Any, row: int, out: NDArray[Any]) -> None:
    """Decode a row's pixels to where they lie in the batch."""
    if recipe.mode is not None and not _is_in_mode(cells.shapes[row], out):
        put(decode_one(recipe, cells, row), out)
    elif recipe.size is None:
        recipe.htype.decode_into(cells.buffers[row], out.shape, out)
    elif recipe.htype.is_image:
        decode_sized(recipe.htype, cells.buffers[row], tuple(cells.shapes[row].tolist()), out)
    else:
        out[...] = decode_one(recipe, cells, row)


def decode_sized(htype: Htype, data: Any, shape: tuple[int, ...], out: NDArray[Any]) -> None:
    """Decode a picture and bring it to the height and width of `out`, at JPEG's least scale."""
    kept = tuple(n for n in shape if n >= 0)
    height, width = out.shape[:2]
    share = max(height / kept[0], width / kept[1])
    side = int(np.ceil(share * max(kept[:2])))
    small = share < 0.5
    pixels = htype.decode_small(data, shape, side) if small else htype.decode(data, shape)
    put(resized(pixels, height, width), out)


def decode_one(recipe: ColumnRecipe, cells: Cells, row: int, allow: tuple[str, ...] = ()) -> Any:
    """Return a row's value; None where it is null."""
    htype = recipe.htype
    value = decode_cell(htype, take(cells, np.array([row])), allow)
    if recipe.mode is not None:
        value = each(htype, value, partial(in_mode, mode=recipe.mode))
    if recipe.size is None:
        return value
    height, width = recipe.size
    change = nearest if innermost(htype).is_mask else resized
    return each(htype, value, lambda picture: change(picture, height, width))


def _is_in_mode(shape: NDArray[np.int32], out: NDArray[Any]) -> bool:
    """Tell whether a stored picture has the channels that are asked for."""
    return tuple(n for n in shape[2:].tolist() if n >= 0) == out.shape[2:]


def follow_images(
    values: dict[str, Any],
    recipes: Mapping[str, ColumnRecipe],
    cells: Mapping[str, Cells],
    good: NDArray[np.bool_],
    failed: Failed,
) -> None:
    """Bring coordinates to the size that the picture of their row was brought to.

    Rows where that is not possible are told to `failed`, and become False in `good`.
    """
    for name, recipe in recipes.items():
        if recipe.follows is None:
            continue
        size, shapes = recipes[recipe.follows].size, _shapes(cells[recipe.follows])
        assert size is not None
        for row in np.flatnonzero(good).tolist():
            try:
                values[name][row] = followed(recipe.htype, values[name][row], shapes[row], size)
            except ValueError as error:
                failed(error, row, name)
                good[row] = False


def _shapes(cells: Cells) -> list[Shapes]:
    """Return the height and width of the pictures of each row, as they are stored."""
    if isinstance(cells, NestedCells):
        items, ends = _shapes(cells.items), np.cumsum(cells.counts)
        starts = ends - cells.counts
        return [items[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert isinstance(cells, RaggedCells), "pictures are bytes of any length"
    return [(h, w) if h > 0 and w > 0 else None for h, w in cells.shapes[:, :2].tolist()]


def advice(error: Exception, name: str) -> str:
    """Return the way out of an error of a column, other than to leave the row out."""
    if isinstance(error, MisfitError):
        return (
            f"Rows that differ in channels go together with mode='RGB', or mode='L'; those that "
            f"differ in dtype, too, with collate={{{name!r}: 'list'}}"
        )
    if isinstance(error, LakeError):
        return ""
    return "Mend the row"
