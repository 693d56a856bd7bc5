"""Functions that collate the values of several rows, by stacking, padding or concatenating them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.loader.make.arrays import NUMBERS, as_array, as_numpy, concatenate, pad, stack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.htypes import Htype
    from deeplake_lite.loader.make.recipe import ColumnRecipe

CHOICES = ("stack", "pad", "list", "ragged")
"""The ways to collate the values of several rows."""

NO_COLUMNS: Mapping[str, Any] = MappingProxyType({})
"""An empty mapping, the default for mappings from column names."""

_NUMERIC = (bool, int, float, np.number, np.bool_, np.datetime64, np.timedelta64, np.ndarray)


def fits(htype: Htype, how: Collate) -> bool:
    """Return whether a way to collate that is set for all columns applies to columns of this type.

    >>> from deeplake_lite.htypes import Boxes, Scalar, Text
    >>> [fits(htype, "pad") for htype in (Boxes(), Text(), Scalar("int32"))]
    [True, False, False]
    """
    layout = htype.layout
    if isinstance(layout, Nested):
        return how == "list" or (isinstance(layout.item.layout, Dense) and not layout.item.nullable)
    return how == "list" or htype.varying > 0


def collate_column(name: str, values: Any, recipe: ColumnRecipe) -> dict[str, object]:
    """Return a column's entries in the batch, which are values and masks of nulls and padding.

    Raises
    ------
    OptionError
        When the values cannot be collated in the chosen way.
    """
    how = recipe.collate
    if how is None:
        how = "stack" if isinstance(values, np.ndarray) or recipe.stacks else "list"
    if how == "list":
        return {name: list(with_none(values))}
    valid = _valid(values)
    if isinstance(values, np.ma.MaskedArray):
        values = values.data
    elif isinstance(values, list) and not valid.all():
        values = _fill_nulls(name, values, recipe.blank, how)
    values = _replace_empty_lists(values, recipe)
    out = _collate(name, values, how, recipe.masked, recipe.full_shape)
    if recipe.htype.nullable:
        out[f"{name}_valid"] = valid
    return out


def _replace_empty_lists(values: Any, recipe: ColumnRecipe) -> object:
    """Replace empty lists with empty arrays that have the dtype and shape of items."""
    if not isinstance(recipe.htype.layout, Nested):
        return values
    item = recipe.htype.layout.item.layout
    inner = item.shape if isinstance(item, Dense) else ()
    empty = np.zeros((0, *inner), recipe.htype.value_dtype or None)
    return [value if len(value) else empty for value in values]


def collate_samples(
    samples: list[Any],
    collate: object,
    columns: Mapping[str, ColumnRecipe] = NO_COLUMNS,
    untouched: Mapping[str, object] = NO_COLUMNS,
) -> object:
    """Collate the results of a transform to a batch, key by key if the results are mappings.

    By default, values of the same shape are stacked, and other values are collected in a list.
    `collate` sets another way for all arrays, or for each key. JAX arrays and PyTorch tensors
    become NumPy arrays, except that PyTorch tensors which are stacked by default stay tensors.

    Parameters
    ----------
    samples : list
        Mappings, tuples or arrays.
    collate : str or mapping, optional
        The user's choice.
    columns : mapping
        Recipes of the columns. A key with the name of a column gets the same masks as the column,
        unless the samples already have keys with the names of the masks.
    untouched : mapping
        Values of the columns that the transform returned unchanged.

    Raises
    ------
    OptionError
        When samples differ in their keys, or values cannot be collated in the chosen way.
    """
    if not samples:
        return {}
    first = samples[0]
    if isinstance(first, tuple):
        return tuple(_stack_if_equal([sample[i] for sample in samples]) for i in range(len(first)))
    if not isinstance(first, Mapping):
        return _stack_if_equal(samples)
    out: dict[str, object] = {}
    for key in first:
        if key in untouched:
            entries = collate_column(key, untouched[key], columns[key])
        else:
            entries = _collate_key(key, _values_of(samples, key), collate, columns.get(key))
        out |= {name: value for name, value in entries.items() if name == key or name not in first}
    return out


def _values_of(samples: list[Any], key: str) -> list[object]:
    """Return the values of a key. Raises OptionError if a sample does not have the key."""
    for sample in samples:
        if not isinstance(sample, Mapping) or key not in sample:
            actual = (
                f"has only {sorted(map(str, sample))}" if isinstance(sample, Mapping)
                else f"is of type {type(sample).__name__}"
            )  # fmt: skip
            raise OptionError(
                "A transform must return the same keys for every sample, but one sample has no "
                f"{key!r}: it {actual}. Return None for a missing value, or pass a function as "
                "collate=."
            )
    return [sample[key] for sample in samples]


def _collate_key(
    key: str, values: list[Any], collate: object, recipe: ColumnRecipe | None
) -> dict[str, object]:
    """Return the entries of a key in the batch, given the values that a transform returned.

    A transform does not declare the shapes of the values, so any axis may vary.
    """
    originals, values = values, list(map(as_numpy, values))
    valid = _valid(values)
    present = [value for value, v in zip(values, valid.tolist(), strict=True) if v]
    nullable = recipe is not None and recipe.htype.nullable
    how = collate.get(key) if isinstance(collate, Mapping) else None
    if isinstance(collate, str) and present and all(_is_array(v) and v.ndim for v in present):
        how = collate
    if how is None and nullable and recipe is not None and recipe.stacks and _stackable(present):
        how = "stack"
    if how in (None, "list"):
        return {key: list(originals) if how == "list" else _stack_if_equal(originals)}
    if nullable and recipe is not None and not valid.all():
        values = _fill_nulls(key, values, recipe.blank, how)
    varying = _varying([as_array(key, value, how) for value in present], recipe)
    least = recipe.full_shape if recipe is not None and varying == recipe.htype.varying else None
    out = _collate(key, values, how, varying, least)
    return {**out, f"{key}_valid": valid} if nullable else out


def _varying(arrays: list[NDArray[Any]], recipe: ColumnRecipe | None) -> int:
    """Return the number of axes that the mask of padded values covers.

    The mask covers the varying axes of the column, or all axes if arrays also differ in other axes.
    """
    ndim = max((a.ndim for a in arrays), default=0)
    varying = ndim if recipe is None else recipe.htype.varying
    return varying if len({a.shape[varying:] for a in arrays}) <= 1 and varying <= ndim else ndim


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray)


def _stackable(values: list[object]) -> bool:
    """Return whether values are numbers, or arrays of numbers, of one shape."""
    kinds = {np.asarray(v).dtype.kind for v in values if isinstance(v, _NUMERIC)}
    shapes = {np.shape(v) for v in values if isinstance(v, _NUMERIC)}
    return all(isinstance(v, _NUMERIC) for v in values) and (
        kinds <= {*NUMBERS} and len(shapes) <= 1
    )


def _collate(
    name: str, values: Any, how: Collate, varying: int, least: tuple[int, ...] | None = None
) -> dict[str, object]:
    """Collate values in the given way. Padded values have a mask."""
    if how == "list":
        return {name: list(values)}
    if how == "ragged":
        return {name: concatenate(name, values)}
    if how == "stack" or not varying:
        return {name: stack(name, values, how)}
    value, mask = pad(name, values, varying, least)
    return {name: value, f"{name}_mask": mask}


def _stack_if_equal(values: list[Any]) -> object:
    """Stack values if they have the same shape and dtype. Otherwise, return a list."""
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(v, torch.Tensor) for v in values):
        return torch.stack(values) if len({(v.shape, v.dtype) for v in values}) == 1 else values
    values = list(map(as_numpy, values))
    first = values[0]
    if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in values):
        return np.asarray(values)
    if isinstance(first, np.ndarray) and (first.dtype.kind in NUMBERS or first.dtype.isbuiltin > 1):
        kinds = {(v.shape, v.dtype) if isinstance(v, np.ndarray) else None for v in values}
        return stack("", values) if len(kinds) == 1 else values
    return values


def _valid(values: Any) -> NDArray[np.bool_]:
    """Return a mask of the values that are not null, (rows,)."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return ~mask.any(axis=tuple(range(1, mask.ndim)))
    if isinstance(values, np.ndarray):
        return np.ones(len(values), bool)
    return np.array([value is not None for value in values], bool)


def _fill_nulls(name: str, values: list[object], blank: NDArray[Any], how: Collate) -> list[object]:
    """Replace nulls with zeros if values are stacked, and with empty arrays otherwise."""
    model = next((as_array(name, v, how) for v in values if v is not None), blank)
    filler = np.zeros_like(model) if how == "stack" or not model.ndim else model[:0]
    return [filler if value is None else value for value in values]
