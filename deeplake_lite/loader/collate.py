"""From the values of samples to a batch: stacked, padded, as they are, or back to back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from deeplake_lite.loader.blocks import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from deeplake_lite.loader.recipe import ColumnRecipe

type Collate = Literal["stack", "pad", "list", "ragged"]
"""How values of several rows go together."""

CHOICES = ("stack", "pad", "list", "ragged")


@dataclass(frozen=True)
class RaggedBatch:
    """Values of several rows that differ along their first axis, back to back."""

    values: NDArray[Any]
    """(total, ...): of all rows."""
    lengths: NDArray[np.int64]
    """(rows,): how many are of each row."""

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return the values of one row."""
        end = int(self.lengths[: row % len(self) + 1].sum())
        return self.values[end - int(self.lengths[row]) : end]


def collate_column(name: str, values: Any, recipe: ColumnRecipe) -> dict[str, Any]:
    """Return a column as the batch has it, and what goes with it: which are null, which padded.

    Raises
    ------
    ValueError
        For values that cannot be put together so.
    """
    how = recipe.collate
    out: dict[str, Any] = {}
    if how is None:
        how = "stack" if isinstance(values, np.ndarray) else "list"
    if recipe.htype.nullable and how != "list":
        values, out[f"{name}_valid"] = _filled(values, recipe)
    match how:
        case "stack":
            out[name] = _stacked(name, values)
        case "pad":
            out[name], out[f"{name}_mask"] = padded(name, list(values))
        case "ragged":
            out[name] = ragged(name, list(values))
        case "list":
            out[name] = list(values)
    return {name: out.pop(name), **out}


def collate_samples(samples: list[Any], columns: Mapping[str, ColumnRecipe]) -> Any:
    """Return samples that a transform gave as a batch: by key where they are mappings.

    What has one shape in all of them is stacked, other values are lists.
    """
    if not samples:
        return {}
    if isinstance(samples[0], Mapping):
        out: dict[str, Any] = {}
        for key in samples[0]:
            values = [sample[key] for sample in samples]
            recipe = columns.get(key)
            out |= _loose(key, values, None if recipe is None else recipe.collate)
        return out
    if isinstance(samples[0], tuple):
        return tuple(_plain([sample[i] for sample in samples]) for i in range(len(samples[0])))
    return _plain(samples)


def _loose(key: str, values: list[Any], how: Collate | None) -> dict[str, Any]:
    match how:
        case "pad":
            value, mask = padded(key, values)
            return {key: value, f"{key}_mask": mask}
        case "ragged":
            return {key: ragged(key, values)}
        case "list":
            return {key: values}
        case "stack":
            return {key: _stacked(key, values)}
    return {key: _plain(values)}


def _plain(values: list[Any]) -> Any:
    """Stack what has one shape and dtype; leave the rest a list."""
    first = values[0]
    if isinstance(first, bool | int | float | np.generic):
        return np.asarray(values)
    if isinstance(first, np.ndarray) and first.dtype != object:
        alike = {(v.shape, v.dtype) for v in values if isinstance(v, np.ndarray)}
        if len(alike) == 1 and all(isinstance(v, np.ndarray) for v in values):
            return _stacked("", values)
    elif (
        type(first).__module__ == "torch" and len({getattr(v, "shape", None) for v in values}) == 1
    ):
        import torch

        return torch.stack(values)
    return values


def _stacked(name: str, values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    arrays = [np.asarray(value) for value in values]
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1:
        shown = ", ".join(map(str, sorted(shapes)[:3]))
        raise ValueError(
            f"stack takes values of one shape, got {shown} in {name!r}. Choose collate='pad', "
            "'list' or 'ragged', size=(height, width) for pictures, or a transform that crops."
        )
    if not arrays:
        return np.empty(0)
    out = aligned((len(arrays), *arrays[0].shape), np.result_type(*{a.dtype for a in arrays}))
    return np.stack(arrays, out=out)


def padded(name: str, values: Sequence[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return values as one array, zeros behind the shorter ones, and where they are: (rows, ...).

    The mask has the axes up to the last along which the values of a batch may differ.

    >>> padded("boxes", [np.ones((1, 4)), np.ones((2, 4))])[1].tolist()
    [[True, False], [True, True]]
    """
    arrays = [np.asarray(value) for value in values]
    if not arrays:
        return np.empty(0), np.empty(0, bool)
    if arrays[0].dtype.kind not in "biufcM":
        raise ValueError(f"pad takes numbers, got {arrays[0].dtype} in {name!r}. Choose 'list'.")
    ndim = max(a.ndim for a in arrays)
    if any(a.ndim != ndim for a in arrays):
        raise ValueError(f"pad takes values of as many axes, got some of fewer in {name!r}.")
    shapes = np.array([a.shape for a in arrays]).reshape(len(arrays), ndim)
    most = tuple(shapes.max(axis=0).tolist())
    out = aligned((len(arrays), *most), arrays[0].dtype)
    out[...] = 0
    axes = min(ndim, 2) if ndim != 2 else 1
    mask = np.zeros((len(arrays), *most[:axes]), bool)
    for row, a in enumerate(arrays):
        out[row][tuple(map(slice, a.shape))] = a
        mask[row][tuple(map(slice, a.shape[:axes]))] = True
    return out, mask


def ragged(name: str, values: Sequence[Any]) -> RaggedBatch:
    """Return values back to back along their first axis."""
    arrays = [np.asarray(value) for value in values]
    if any(a.ndim == 0 or a.dtype.kind not in "biufc" for a in arrays):
        raise ValueError(f"ragged takes arrays of numbers, got others in {name!r}. Choose 'list'.")
    if len({a.shape[1:] for a in arrays}) > 1:
        raise ValueError(
            f"ragged takes values that differ along their first axis alone, got "
            f"{arrays[0].shape} and others in {name!r}. Choose 'pad' or 'list'."
        )
    lengths = np.array([len(a) for a in arrays], np.int64)
    return RaggedBatch(np.concatenate(arrays) if arrays else np.empty(0), lengths)


def _filled(values: Any, recipe: ColumnRecipe) -> tuple[Any, NDArray[np.bool_]]:
    """Return values with something in place of null, and which are none."""
    if isinstance(values, np.ndarray):
        mask = np.ma.getmaskarray(values).reshape(len(values), -1)
        return np.ma.getdata(values), ~mask.any(axis=1) if mask.size else np.ones(len(values), bool)
    valid = np.array([value is not None for value in values], bool)
    return [recipe.htype.blank if value is None else value for value in values], valid
