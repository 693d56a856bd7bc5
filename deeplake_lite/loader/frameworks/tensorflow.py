"""Batches as a tf.data.Dataset with a static element spec.

The loader's threads convert each batch to plain arrays. The arrays are aligned in memory, so that
TensorFlow does not copy their values. In TensorFlow's graph, the batch is rebuilt from the arrays.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import LoaderError, MissingPackageError, OptionError
from deeplake_lite.htypes.layouts import Nested
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.frameworks.parts import Part, flatten, tree_of
from deeplake_lite.loader.loader import Loader
from deeplake_lite.loader.make.builder import PADDING
from deeplake_lite.loader.make.recipe import ColumnRecipe, Job
from deeplake_lite.loader.make.sizes import depth, is_of_images, resized_shape
from deeplake_lite.loader.options import check_keys
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.loader.tree import leaves, map_leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.loader.frameworks.parts import Shape, Tree
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.resources import Resources
    from deeplake_lite.schema import Field


def dataset(view: View | Mix, options: Options) -> Any:
    """Return a tf.data.Dataset of batches. See `View.tensorflow`.

    Raises
    ------
    MissingPackageError
        When TensorFlow is not installed.
    LoaderError
        When a transform fails on the first rows, which determine the element spec.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise MissingPackageError.needed("tensorflow", "tensorflow", "A tf.data.Dataset") from error
    flat = Flat()
    loader = Loader(view, options, flat)
    tree = flat.tree(loader.resources)
    if not any(leaves(tree)):
        raise OptionError(
            "A batch of a tf.data.Dataset must have at least one tensor, but columns is []. Name "
            "at least one column."
        )
    arrays = tf.data.Dataset.from_generator(
        _epochs(loader, owned=tf.executing_eagerly()),
        output_signature=tuple(s for _, part in leaves(tree) for s in _specs(tf, part)),
    )
    exact = tf.data.Options()
    # `state_dict` counts the batches that TensorFlow has taken. With these optimizations,
    # TensorFlow would take batches before the user asks for them.
    for rewrite in ("inject_prefetch", "map_parallelization", "map_and_batch_fusion"):
        setattr(exact.experimental_optimization, rewrite, False)
    batches = arrays.map(lambda *tensors: _rebuild(tf, tree, iter(tensors))).with_options(exact)
    batches.loader = loader
    batches.cardinality = lambda: tf.constant(loader.batches_left, tf.int64)  # for Keras, and `len`
    return batches


def _epochs(loader: Loader, *, owned: bool) -> Callable[[], Iterator[object]]:
    """Return a function that starts an epoch, for `tf.data.Dataset.from_generator`.

    TensorFlow never frees this function, which would keep the loader's threads and rows alive.
    Therefore, if the dataset owns the loader (`owned`), the function has only a weak reference to
    the loader. If the dataset is created in a traced function, nothing keeps the dataset alive, so
    the reference is strong.
    """
    if not owned:
        return lambda: iter(loader)
    reference = weakref.ref(loader)

    def begin() -> Iterator[object]:
        owned_loader = reference()
        if owned_loader is None:
            raise LoaderError(
                "The dataset that these batches came from was freed, along with its loader. Keep "
                "the result of view.tensorflow(…) in a variable while its batches are used."
            )
        return iter(owned_loader)

    return begin


def _specs(tf: ModuleType, part: Part) -> Iterator[object]:
    """Yield the TensorSpec of each array to which a part converts its leaf."""
    dtype = tf.string if part.dtype == "text" else tf.as_dtype(part.dtype)
    rows = part.shape[0] if part.shape else None
    inner = part.shape[part.ragged + 1 :]
    yield tf.TensorSpec((None, *inner) if part.ragged else part.shape, dtype)
    for axis in range(part.ragged):
        yield tf.TensorSpec((rows + 1 if rows is not None and not axis else None,), tf.int64)


def _rebuild(tf: ModuleType, tree: Tree, tensors: Iterator[object]) -> object:
    """Rebuild a batch from the tensors of its leaves. This is the inverse of `flatten`."""

    def of_part(part: Part) -> Any:
        values = next(tensors)
        splits = [next(tensors) for _ in range(part.ragged)]
        if not splits:
            return values
        return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)

    return map_leaves(tree, of_part)


class Flat(Framework):
    """Converts each batch to a tuple of plain arrays, given a tree of parts. See `parts`."""

    def __init__(self) -> None:
        self._tree: Tree | None = None

    def tree(self, resources: Resources) -> Tree:
        """Return the parts that describe every batch, in a tree like a batch.

        With a transform, the parts are those of an example batch.
        """
        if self._tree is None:
            self._tree = _BatchParts(resources).tree()
        return self._tree

    def convert(self, batch: object, resources: Resources) -> object:
        """Convert a batch to its plain arrays."""
        tree = self.tree(resources)
        if isinstance(tree, dict) and isinstance(batch, dict):
            batch = dict(batch)
            for key in [key for key in tree if key.endswith("_valid") and key not in batch]:
                values = batch.get(key.removesuffix("_valid"), ())
                batch[key] = np.array([value is not None for value in values], bool)
        return tuple(flatten(batch, tree))


class _BatchParts:
    """Describes the batches of a loader as a tree of parts."""

    def __init__(self, resources: Resources) -> None:
        self._columns = resources.columns
        self._samples, self._recipe = resources.samples, resources.recipe
        self._options, self._shares = resources.options, resources.shares
        self._axes_of, self._first_image = resources.axes_of, resources.first_image

    def tree(self) -> Tree:
        """Return the parts that describe every batch, in a tree like a batch."""
        o = self._options
        if o.transform is not None or o.batch_transform is not None or callable(o.collate):
            return self._example_tree()
        tree: dict[str, Tree] = {}
        for f in self._samples.fields:
            parts = self._parts(f, self._recipe.columns[f.name])
            check_keys(f.name, [*parts][1:], self._columns)
            tree.update(parts)
        if o.row_ids:
            tree[ROW_ID] = Part("int64", (self._rows,))
        if self._recipe.padding:
            tree[PADDING] = Part("bool", (self._rows,))
        return tree

    def _example_tree(self) -> Tree:
        """Return the parts that describe an example batch, in a tree like the batch.

        If the parts that follow from the type of a column describe the example too, these parts are
        returned, because they describe all rows of the column.
        """
        example = self._example()
        tree = tree_of(example, self._rows)
        if not isinstance(tree, dict):
            return tree
        for f in self._samples.fields:
            if f.name not in example:
                continue
            parts = self._parts(f, self._recipe.columns[f.name])
            if all(key in example and part.holds(example[key]) for key, part in parts.items()):
                tree |= parts
            elif isinstance(example[f.name], list):
                plain = self._parts(f, ColumnRecipe(f.htype, collate="list"))[f.name]
                tree[f.name] = plain if plain.holds(example[f.name]) else tree[f.name]
            if f.htype.nullable:
                tree[f.name] = map_leaves(tree[f.name], lambda part: replace(part, nulls=True))
                tree.setdefault(f"{f.name}_valid", Part("bool", (self._rows,)))
        return tree

    @property
    def _rows(self) -> int | None:
        """Number of rows in every batch, or None if it varies."""
        left_out = self._shares.last == "drop" and self._options.on_error == "skip"
        even = self._shares.last != "uneven" and not left_out
        return self._options.batch_size if even else None

    def _example(self) -> Any:
        """Make an example batch from the first rows that do not fail, outside of any epoch."""
        n = len(self._samples)
        if not n:
            raise OptionError(
                "A tf.data element spec must be known in advance. With a transform, it is "
                "determined from the first rows, but this view has no rows. Append rows first, or "
                "leave the transform out."
            )
        for start in range(0, n, self._options.batch_size):
            positions = np.minimum(np.arange(start, start + self._options.batch_size), n - 1)
            cells, where = self._samples.read(positions), self._samples.where(positions)
            unpadded = min(n - start, self._options.batch_size)
            batch = self._recipe.make(Job(cells, unpadded, where), 0).batch
            if batch is not None:
                return batch
        raise LoaderError(
            "A tf.data element spec must be known in advance. With a transform, it is determined "
            f"from the first rows, but every one of them ({n:,}) failed and was skipped. Leave out "
            "on_error='skip' to see the error."
        )

    def _parts(self, f: Field, recipe: ColumnRecipe) -> dict[str, Part]:
        """Return the part of each key that a column adds to a batch, as a dict by key."""
        dtype, axes = self._dtype_and_shape(f, recipe)
        how = recipe.collate
        if how is None:
            how = "stack" if recipe.stacks else "list"
        varying = [i + 1 for i, size in enumerate(axes) if size is None]
        ragged = 1 if how == "ragged" else max(varying, default=0) if how == "list" else 0
        inner = (*[None] * ragged, *axes[ragged:])
        shape, nulls = (self._rows, *inner), f.htype.nullable
        parts = {f.name: Part(dtype, shape, ragged, json=_is_json(f.htype), nulls=nulls)}
        if nulls:
            parts[f"{f.name}_valid"] = Part("bool", (self._rows,))
        if how == "pad" and recipe.masked:
            mask = Part("bool", (self._rows, *axes[: recipe.masked]))
            parts[f"{f.name}_mask"] = mask
        return parts

    def _dtype_and_shape(self, f: Field, recipe: ColumnRecipe) -> tuple[str, Shape]:
        """Return the dtype and shape of a column's values, with None for axes that vary."""
        if recipe.shape is not None and recipe.dtype is not None:
            return recipe.dtype, recipe.shape
        htype = f.htype.target or f.htype
        dtype = htype.value_dtype
        axes: tuple[Any, ...] = htype.axes or ()
        if is_of_images(htype) and not f.htype.is_image:  # links to images, or sequences of them
            axes = (*[None] * depth(htype), None, None, *self._first_image(f).shape[2:])
        elif f.htype.target is None:
            axes = self._axes_of(f)
        if not axes and htype.is_image:  # all images are null
            axes = (None, None)
        if not dtype and is_of_images(htype):
            dtype = self._first_image(f).dtype.name
        if dtype.startswith(("datetime64", "timedelta64")):
            dtype = "int64"
        if recipe.size is not None:
            axes = resized_shape(f.htype, axes, recipe.size)
        if not dtype:  # lists of strings are never arrays, even if they have the same length
            return "text", (None,) * len(axes)
        return dtype, tuple(size if isinstance(size, int) else None for size in axes)


def _is_json(htype: Htype) -> bool:
    """Return whether values are JSON, or lists of JSON."""
    layout = htype.layout
    return _is_json(layout.item) if isinstance(layout, Nested) else layout.dtype == "json"
