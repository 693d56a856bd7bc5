"""Descriptions of the leaves of a batch, for frameworks that need a fixed structure of batches.

A batch is a tree of dicts and tuples, and a `Part` describes the dtype, shape and ragged axes of
each leaf. A part also converts its leaf to plain arrays, from which the framework rebuilds the
leaf. Without ragged axes, the leaf is one array. With ragged axes, an array has the concatenated
values of all rows, and another array for each ragged axis has the row splits, which are the offsets
at which rows begin and end.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.make.arrays import RaggedBatch
from deeplake_lite.loader.memory import allocate_aligned
from deeplake_lite.loader.tree import map_leaves, pair_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

type Tree = Part | dict[str, Tree] | tuple[Tree, ...]
type Shape = tuple[int | None, ...]


class _NullError(ValueError):
    """A value contains nulls, but the batch has no mask of nulls."""

    def __init__(self, where: str) -> None:
        super().__init__(f"has {where}")


@dataclass(frozen=True)
class Part:
    """The dtype, shape and ragged axes of one leaf of a batch.

    Parameters
    ----------
    dtype : str
        Dtype of the numbers, or ``"text"`` for strings, bytes and JSON.
    shape : tuple of int or None
        Shape including the row axis. None stands for sizes that vary between or within batches.
    ragged : int
        Number of axes after the row axis along which rows of a batch differ in size.
    json : bool
        Whether strings are JSON: ``b'"x"'`` is then the string x, and ``b"null"`` is null.
    nulls : bool
        Whether rows may be null. Nulls become zeros, and another leaf of the batch is the mask.

    Examples
    --------
    >>> boxes = Part("float32", (None, None, 4), ragged=1)
    >>> [a.shape for a in boxes.arrays("boxes", [np.zeros((2, 4), "f4"), np.zeros((0, 4), "f4")])]
    [(2, 4), (3,)]
    """

    dtype: str
    """Dtype of the numbers, or ``"text"``."""
    shape: Shape
    """Shape including the row axis."""
    ragged: int = 0
    """Number of axes after the row axis along which rows of a batch differ in size."""
    json: bool = field(default=False, repr=False)
    """Whether strings are JSON."""
    nulls: bool = field(default=False, repr=False)
    """Whether rows may be null, and become zeros."""

    @classmethod
    def of(cls, value: Any, rows: int | None) -> Part:
        """Return the part that describes a leaf in all batches, given the leaf of one batch.

        Parameters
        ----------
        value : object
            The leaf: an array, a `RaggedBatch`, a list of arrays or strings, or a number.
        rows : int or None
            Number of rows in every batch, or None if it varies.
        """
        if isinstance(value, RaggedBatch):
            inner = value.values.shape[1:]
            return cls(_dtype_name(value.values.dtype), (rows, None, *inner), ragged=1)
        if not isinstance(value, list):
            array = np.asarray(value)
            first = (rows if rows is None else array.shape[0],) if array.ndim else ()
            return cls(_dtype_name(array.dtype), (*first, *array.shape[1:]))
        if not value or not _all_arrays(value):
            return cls._of_items(value, rows)
        value = [v for v in value if v is not None]
        shapes = {np.shape(v) for v in value}
        if len({len(shape) for shape in shapes}) != 1:
            return cls("text", (rows,))  # `arrays` will reject these values
        is_fixed = [len(set(sizes)) == 1 for sizes in zip(*shapes, strict=True)]
        ragged = max((i + 1 for i, fixed in enumerate(is_fixed) if not fixed), default=0)
        inner = next(iter(shapes))[ragged:]
        return cls(_dtype_name(np.result_type(*value)), (rows, *[None] * ragged, *inner), ragged)

    @classmethod
    def _of_items(cls, value: list[Any], rows: int | None) -> Part:
        """Return the part for a list of strings, or for a list of lists of strings or numbers."""
        lists = [v for v in value if v is not None]
        if not lists or not all(isinstance(v, list) for v in lists):
            return cls("text", (rows,), json=not all(map(_is_text, value)))
        inner = cls.of(list(chain.from_iterable(lists)), None)
        return cls(inner.dtype, (rows, *inner.shape), inner.ragged + 1, inner.json)

    def arrays(self, name: str, value: Any) -> list[NDArray[Any]]:
        """Convert a leaf to arrays: its values, and the row splits of each ragged axis.

        The row splits of outer axes come before those of inner axes.

        Raises
        ------
        LoaderError
            When the leaf has another dtype or shape than this part, or unexpected nulls.
        """
        try:
            arrays = [*self.flat(value)]
        except _NullError as error:
            raise LoaderError(
                f"A tf.data element spec cannot represent nulls, but {name!r} {error}. Choose "
                "other columns=, or replace the nulls in a transform, which can return a mask of "
                "the nulls under another key.",
                column=name,
            ) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise self._misfit(name, type(value).__name__) from error
        values = arrays[0]
        if self.dtype != "text" and values.dtype.kind in "mM":
            values = arrays[0] = values.view(np.int64)
        expected = (None, *self.shape[self.ragged + 1 :]) if self.ragged else self.shape
        # An empty list has neither a dtype nor an inner shape, so every part accepts it.
        if values.size == 0 and values.ndim and self.dtype != "text":
            empty = (len(values), *[size or 0 for size in expected[1:]])
            shape = values.shape if _fits(values.shape, expected) else empty
            values = arrays[0] = np.zeros(shape, self.dtype)
        is_other = self.dtype != "text" and values.dtype.name != self.dtype
        if is_other or not _fits(values.shape, expected):
            raise self._misfit(name, f"{values.dtype} {values.shape}")
        return arrays

    def holds(self, value: object) -> bool:
        """Return whether a leaf has the dtype and shape of this part."""
        try:
            self.arrays("", value)
        except LoaderError:
            return False
        return True

    def _misfit(self, name: str, actual: str) -> LoaderError:
        return LoaderError(
            f"{name!r} must be {self.dtype} of shape {self.shape} in every batch, because a "
            f"tf.data element spec is fixed, but it is {actual}. If rows differ in shape, use "
            f"collate={{{name!r}: 'ragged'}} or 'pad'. If images differ in channels, convert them "
            "with mode='RGB'.",
            column=name,
        )

    def flat(self, value: object) -> Iterator[NDArray[Any]]:
        """Yield the arrays of a leaf like `arrays`, but without checking dtypes and shapes."""
        if not self.nulls and not self.json and _has_null(value):
            raise _NullError("null rows")
        if isinstance(value, RaggedBatch):
            yield value.values
            yield _splits(value.lengths)
        elif self.ragged:
            yield from self._of_rows(value)
        elif self.dtype == "text":
            yield _encode_strings(value, _json if self.json else _text)
        elif isinstance(value, list):
            shape = tuple(size or 0 for size in self.shape[1:])
            yield _stack([np.zeros(shape, self.dtype) if v is None else v for v in value])
        else:
            yield np.ma.getdata(np.asarray(value))

    def _of_rows(self, rows: Any) -> Iterator[NDArray[Any]]:
        """Yield the concatenated values of rows, and then the row splits of each ragged axis."""
        if self.dtype == "text" or not _all_arrays(rows):
            yield from self._of_lists(rows)
            return
        inner = tuple(size or 0 for size in self.shape[self.ragged + 1 :])
        empty = np.zeros((*[0] * self.ragged, *inner), self.dtype)
        arrays = [empty if row is None else np.asarray(row) for row in rows]
        if any(a.ndim != empty.ndim for a in arrays):
            raise ValueError("axes")
        lengths = np.array([a.shape[: self.ragged] for a in arrays], np.int64)
        lengths = lengths.reshape(len(arrays), self.ragged)
        yield _concatenate(arrays, lengths.prod(axis=1), empty.reshape(0, *inner))
        # The splits of an inner axis need the length of each item of the outer axes. Within one
        # array, all items have the same length, so each length is repeated once per item.
        item_counts = np.ones(len(arrays), np.int64)
        for axis in lengths.T:
            yield _splits(np.repeat(axis, item_counts))
            item_counts *= axis

    def _of_lists(self, rows: Any) -> Iterator[NDArray[Any]]:
        """Yield the same arrays as `_of_rows`, for rows that are lists of strings or of arrays."""
        rows = [[] if row is None else row for row in rows]
        if not all(isinstance(row, list | tuple | np.ndarray) for row in rows):
            raise TypeError("rows")
        items = list(chain.from_iterable(rows))
        if not self.json and any(item is None for item in items):
            raise _NullError("null items")
        inner = replace(self, shape=self.shape[1:], ragged=self.ragged - 1, nulls=False)
        if self.dtype != "text" and inner.ragged == 0 and not items:
            yield np.zeros((0, *[size or 0 for size in self.shape[2:]]), self.dtype)
            inner_arrays: Iterator[NDArray[Any]] = iter(())
        else:
            inner_arrays = inner.flat(items)
            yield next(inner_arrays)
        yield _splits(np.array([len(row) for row in rows], np.int64))
        yield from inner_arrays


def tree_of(batch: object, rows: int | None) -> Tree:
    """Return the parts that describe the leaves of a batch, in a tree like the batch itself.

    >>> tree_of(({"x": np.zeros((2, 3))}, ["a", "b"]), None)
    ({'x': Part(dtype='float64', shape=(None, 3), ragged=0)}, Part(dtype='text', shape=(None,), ...
    """
    return cast("Tree", map_leaves(batch, lambda value: Part.of(value, rows)))


def flatten(batch: object, tree: Tree) -> Iterator[NDArray[Any]]:
    """Yield the arrays of all leaves of a batch, in the order of `tree`.

    Raises
    ------
    LoaderError
        When the batch has another structure than `tree`.
    """
    for name, value, part in pair_leaves(batch, tree):
        yield from part.arrays(name, value)


def _fits(shape: Shape, expected: Shape) -> bool:
    """Return whether a shape matches an expected shape, in which None matches any size."""
    return len(shape) == len(expected) and all(
        size in (None, actual) for size, actual in zip(expected, shape, strict=True)
    )


def _dtype_name(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "OUST":
        return "text"
    return "int64" if dtype.kind in "mM" else dtype.name


def _all_arrays(values: Sequence[object]) -> bool:
    """Return whether all values are numbers, arrays of numbers, or null."""
    kinds = {type(v) for v in values}
    return all(
        issubclass(kind, np.ndarray | np.generic | bool | int | float | complex | type(None))
        and not issubclass(kind, np.str_ | np.bytes_)
        for kind in kinds
    )


def _encode_strings(value: Any, encode: Callable[[object], bytes]) -> NDArray[np.object_]:
    """Encode strings to an array of bytes objects, which is 0-dimensional for a single string."""
    rows = value.tolist() if isinstance(value, np.ndarray) else value
    scalar = not isinstance(rows, list)
    encoded = [encode(row) for row in ([rows] if scalar else rows)]
    out = np.empty(len(encoded), object)
    out[:] = encoded
    return out.reshape(()) if scalar else out


def _is_text(value: object) -> bool:
    """Return whether a value is a string, bytes, or null."""
    return value is None or isinstance(value, str | bytes)


def _text(value: Any) -> bytes:
    """Encode a string or bytes as bytes, and null as empty bytes. Raises TypeError for others."""
    if not _is_text(value):
        raise TypeError("text")
    return value.encode() if isinstance(value, str) else value or b""


def _has_null(value: object) -> bool:
    """Return whether any row of a batch is null."""
    if isinstance(value, list):
        return any(row is None or row is np.ma.masked for row in value)
    return bool(np.ma.is_masked(value))


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _stack(values: list[object]) -> NDArray[Any]:
    arrays = [np.asarray(v) for v in values]
    out = allocate_aligned((len(arrays), *arrays[0].shape), arrays[0].dtype)
    return np.stack(arrays, out=out)


def _concatenate(
    arrays: list[NDArray[Any]], lengths: NDArray[np.int64], empty: NDArray[Any]
) -> NDArray[Any]:
    """Concatenate arrays after flattening the ragged axes of each array into one axis."""
    inner = empty.shape[1:]
    flat = [a.reshape(n, *inner) for a, n in zip(arrays, lengths.tolist(), strict=True) if n]
    if not flat:
        return empty
    out = allocate_aligned((int(lengths.sum()), *inner), np.result_type(*{a.dtype for a in flat}))
    return np.concatenate(flat, out=out)


def _splits(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    splits = allocate_aligned((len(lengths) + 1,), np.dtype(np.int64))
    splits[0] = 0
    np.cumsum(lengths, out=splits[1:])
    return splits
