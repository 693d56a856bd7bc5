"""From the values of samples to a batch: stacked, padded, as they are, or back to back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import OptionError
from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.loader.make.arrays import NUMBERS, as_array, as_numpy, padded, ragged, stacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.htypes import Htype
    from deeplake_lite.loader.make.recipe import ColumnRecipe

CHOICES = ("stack", "pad", "list", "ragged")
"""How values of several rows go together."""

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No columns."""

_NUMERIC = (bool, int, float, np.number, np.bool_, np.datetime64, np.timedelta64, np.ndarray)


def fits(htype: Htype, how: Collate) -> bool:
    """Tell whether a way that was chosen for all columns is one for this: pads are for arrays.

    >>> from deeplake_lite.htypes import Boxes, Scalar, Text
    >>> [fits(htype, "pad") for htype in (Boxes(), Text(), Scalar("int32"))]
    [True, False, False]
    """
    layout = htype.layout
    if isinstance(layout, Nested):
        return how == "list" or (isinstance(layout.item.layout, Dense) and not layout.item.nullable)
    return how == "list" or htype.varying > 0


def collate_column(name: str, values: Any, recipe: ColumnRecipe) -> dict[str, Any]:
    """Return a column as the batch has it, and what goes with it: which are null, which padded.

    Raises
    ------
    OptionError
        For values that cannot be put together so.
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
        values = _filled(name, values, recipe.blank, how)
    out = _together(name, _typed(values, recipe), how, recipe.masked, recipe.full_shape)
    if recipe.htype.nullable:
        out[f"{name}_valid"] = valid
    return out


def _typed(values: Any, recipe: ColumnRecipe) -> Any:
    """Return values with those rows of lists that have no items as arrays of the items' dtype."""
    if not isinstance(recipe.htype.layout, Nested):
        return values
    item = recipe.htype.layout.item.layout
    inner = item.shape if isinstance(item, Dense) else ()
    nothing = np.zeros((0, *inner), recipe.htype.value_dtype or None)
    return [value if len(value) else nothing for value in values]


def collate_samples(
    samples: list[Any],
    collate: Any,
    columns: Mapping[str, ColumnRecipe] = NOTHING,
    untouched: Mapping[str, Any] = NOTHING,
) -> Any:
    """Return samples that a transform gave as a batch: by key where they are mappings.

    What has one shape in all of them is stacked, other values are lists, unless `collate`, a way
    for all arrays or a mapping of ways by key, says otherwise. Arrays of JAX are put together as
    NumPy's; tensors of PyTorch as well, and where they are simply stacked stay tensors.

    Parameters
    ----------
    samples : list
        Mappings, tuples or arrays.
    collate : str or mapping, optional
        As the user wants it.
    columns : mapping
        Recipes of columns: a key of that name brings what the column does, unless the samples have
        it themselves.
    untouched : mapping
        Values of those columns that the transform handed on as it got them.

    Raises
    ------
    OptionError
        For samples that differ in their keys, and values that cannot be put together.
    """
    if not samples:
        return {}
    first = samples[0]
    if isinstance(first, tuple):
        return tuple(_plain([sample[i] for sample in samples]) for i in range(len(first)))
    if not isinstance(first, Mapping):
        return _plain(samples)
    out: dict[str, Any] = {}
    for key in first:
        if key in untouched:
            found = collate_column(key, untouched[key], columns[key])
        else:
            found = _loose(key, _of_key(samples, key), collate, columns.get(key))
        out |= {name: value for name, value in found.items() if name == key or name not in first}
    return out


def _of_key(samples: list[Any], key: str) -> list[Any]:
    """Return the values of a key. Raises OptionError where a sample does not have it."""
    for sample in samples:
        if not isinstance(sample, Mapping) or key not in sample:
            got = sorted(map(str, sample)) if isinstance(sample, Mapping) else type(sample).__name__
            raise OptionError(
                f"A transform gives the same keys for every sample, got one without {key!r}: "
                f"{got}. Give None, or a collate function."
            )
    return [sample[key] for sample in samples]


def _loose(
    key: str, values: list[Any], collate: Any, recipe: ColumnRecipe | None
) -> dict[str, Any]:
    """Return the values of a key of samples: its axes are not declared, so any may vary."""
    given, values = values, list(map(as_numpy, values))
    valid = _valid(values)
    there = [value for value, v in zip(values, valid.tolist(), strict=True) if v]
    nullable = recipe is not None and recipe.htype.nullable
    how = collate.get(key) if isinstance(collate, Mapping) else None
    if isinstance(collate, str) and there and all(_is_array(v) and v.ndim for v in there):
        how = collate
    if how is None and nullable and recipe is not None and recipe.stacks and _alike(there):
        how = "stack"
    if how in (None, "list"):
        return {key: list(given) if how == "list" else _plain(given)}
    if nullable and recipe is not None and not valid.all():
        values = _filled(key, values, recipe.blank, how)
    varying = _varying([as_array(key, value, how) for value in there], recipe)
    least = recipe.full_shape if recipe is not None and varying == recipe.htype.varying else None
    out = _together(key, values, how, varying, least)
    return {**out, f"{key}_valid": valid} if nullable else out


def _varying(arrays: list[NDArray[Any]], recipe: ColumnRecipe | None) -> int:
    """Return how many axes a mask has: as many as the column's, unless values differ behind."""
    most = max((a.ndim for a in arrays), default=0)
    own = most if recipe is None else recipe.htype.varying
    return own if len({a.shape[own:] for a in arrays}) <= 1 and own <= most else most


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _alike(values: list[Any]) -> bool:
    """Tell whether values are numbers, or arrays of them, of one shape."""
    kinds = {np.asarray(v).dtype.kind for v in values if isinstance(v, _NUMERIC)}
    shapes = {np.shape(v) for v in values if isinstance(v, _NUMERIC)}
    return all(isinstance(v, _NUMERIC) for v in values) and (
        kinds <= {*NUMBERS} and len(shapes) <= 1
    )


def _together(
    name: str, values: Any, how: Collate, varying: int, least: tuple[int, ...] | None = None
) -> dict[str, Any]:
    """Return values as they were asked for, and the mask where they are padded."""
    if how == "list":
        return {name: list(values)}
    if how == "ragged":
        return {name: ragged(name, values)}
    if how == "stack" or not varying:
        return {name: stacked(name, values, how)}
    value, mask = padded(name, values, varying, least)
    return {name: value, f"{name}_mask": mask}


def _plain(values: list[Any]) -> Any:
    """Stack what has one shape and dtype; leave the rest a list."""
    torch = sys.modules.get("torch")
    if torch is not None and all(isinstance(v, torch.Tensor) for v in values):
        return torch.stack(values) if len({(v.shape, v.dtype) for v in values}) == 1 else values
    values = list(map(as_numpy, values))
    first = values[0]
    if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in values):
        return np.asarray(values)
    if isinstance(first, np.ndarray) and (first.dtype.kind in NUMBERS or first.dtype.isbuiltin > 1):
        alike = {(v.shape, v.dtype) if isinstance(v, np.ndarray) else None for v in values}
        return stacked("", values) if len(alike) == 1 else values
    return values


def _valid(values: Any) -> NDArray[np.bool_]:
    """Return which values are not null, (rows,)."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return ~mask.any(axis=tuple(range(1, mask.ndim)))
    if isinstance(values, np.ndarray):
        return np.ones(len(values), bool)
    return np.array([value is not None for value in values], bool)


def _filled(name: str, values: list[Any], blank: NDArray[Any], how: Collate) -> list[Any]:
    """Return values with zeros in place of null where they are stacked, and no items elsewhere."""
    model = next((as_array(name, v, how) for v in values if v is not None), blank)
    hole = np.zeros_like(model) if how == "stack" or not model.ndim else model[:0]
    return [hole if value is None else value for value in values]
