"""Evaluate `Meta` leaves of trees, such as shapes, sizes and row ids, without reading values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.query.run import text_search
from deeplake_lite.query.tensors.trees import mask_rows, objects, rows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.query.run.sources import Rows, Source
    from deeplake_lite.query.values import Meta
    from deeplake_lite.schema import Field


def metadata(leaf: Meta, positions: NDArray[Any]) -> NDArray[Any]:
    """Return a leaf's values in the rows at some positions. Values at null positions are masked."""
    rows, null = rows_of(positions)
    return mask_rows(_evaluate(leaf, rows), null)


def _evaluate(leaf: Meta, rows: Rows) -> NDArray[Any]:
    source, (what, _, option) = leaf.source, leaf.what.partition(":")
    match what:
        case "row_id":
            return source.table.ids(source.at(rows))
        case "random":
            return _random(int(option), rows)
    assert leaf.field is not None
    match what:
        case "bm25":
            return text_search.scores(source, leaf.field, option).at(rows)
        case "hash":
            digests = source.digests(leaf.field, rows)
            present = source.present(leaf.field, rows) if option == "present" else None
            return digests if present is None else mask_rows(digests, ~present)
        case "nbytes":
            return source.sizes(leaf.field, rows)
        case "present":
            present = source.present(leaf.field, rows)
            return np.ma.MaskedArray(present, ~present)
        case "shape":
            # If None, the slice below keeps the padding.
            axes = leaf.type.shape[0] if leaf.type.shape else None
            shapes = source.shapes(leaf.field, rows).astype(np.int64)[:, :axes]
            return _mask_padding(shapes, _nulls(source, leaf.field, rows, shapes))
    return _from_shapes(source, leaf.field, rows, what, option)


def _mask_padding(shapes: NDArray[np.int64], null: NDArray[np.bool_] | None) -> NDArray[Any]:
    """Return shapes, (rows, axes), in which -1 marks missing axes, as a masked array.

    If a value has no axes, an array of objects is returned instead. In a masked array, all axes of
    this value would be masked, like the axes of a null.

    >>> _mask_padding(np.array([[2, -1], [-1, -1]]), np.array([False, True]))[1].tolist()
    [None, None]
    >>> _mask_padding(np.array([[2, -1], [-1, -1]]), None).tolist()
    [array([2]), array([], dtype=int64)]
    """
    missing = shapes < 0
    null = np.zeros(len(shapes), bool) if null is None else null
    is_unique = not (missing.all(axis=1) & ~null).any() if shapes.shape[1] else not null.any()
    if is_unique:
        return np.ma.MaskedArray(shapes, missing) if missing.any() else shapes
    pairs = zip(shapes, null.tolist(), strict=True)
    return objects([None if is_null else shape[shape >= 0] for shape, is_null in pairs])


def _from_shapes(source: Source, f: Field, rows: Rows, what: str, option: str) -> NDArray[Any]:
    """Return a property of the shapes in a column.

    `what` is "axis" for the length of the axis with the number `option`, "ndim" for the number of
    axes, or "size" for the number of elements.
    """
    shapes = source.shapes(f, rows).astype(np.int64)
    match what:
        case "axis":
            return _axis(shapes, int(option))
        case "ndim":
            return mask_rows((shapes >= 0).sum(axis=1), _nulls(source, f, rows, shapes))
        case "size":
            count = np.where(shapes < 0, 1, shapes).prod(axis=1)
            return mask_rows(count, _nulls(source, f, rows, shapes))
    raise AssertionError(what)


def _nulls(
    source: Source, f: Field, rows: Rows, shapes: NDArray[np.int64]
) -> NDArray[np.bool_] | None:
    """Return a mask of the rows in which a column is null, or None if there are none.

    `shapes` has -1 for missing axes. If all axes of a row are missing, the row is null, or its
    value is an array without axes.
    """
    null = (shapes < 0).all(axis=1)
    if not f.htype.nullable or not null.any():
        return None
    null[null] = ~source.present(f, rows[null])
    return null


def _axis(shapes: NDArray[np.int64], axis: int) -> NDArray[Any]:
    """Return the length of an axis in each row, masked where the axis is missing.

    `shapes` has -1 for missing axes.

    >>> _axis(np.array([[2, 3, -1], [4, 5, 6]]), -1)
    array([3, 6])
    """
    if not shapes.shape[1]:
        return np.ma.masked_all(len(shapes), np.int64)
    ndim = (shapes >= 0).sum(axis=1)
    at = ndim + axis if axis < 0 else np.full(len(shapes), axis)
    missing = (at < 0) | (at >= ndim)
    lengths = shapes[np.arange(len(shapes)), np.where(missing, 0, at)]
    return np.ma.MaskedArray(lengths, missing) if missing.any() else lengths


def _random(seed: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a number in [0, 1) for each row, which depends only on the seed and the row position.

    The algorithm is splitmix64.

    >>> bool((_random(1, np.arange(3)) == _random(1, np.arange(3))).all())
    True
    """
    with np.errstate(over="ignore"):
        z = rows.astype(np.uint64) + np.uint64(1)
        z = z * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.asarray((z >> np.uint64(11)) * 2.0**-53, np.float64)
