"""The loader of JAX arrays, which copies each batch to devices before the batch is used.

Dtypes of the arrays, without and with ``jax.config.update("jax_enable_x64", True)``:

=====================================  ================================  ==============
NumPy                                  JAX                               JAX with x64
=====================================  ================================  ==============
bool, int8, int16, int32, uint8,       the same                          the same
uint16, uint32, float16, float32,
complex64
int64, uint64                          int32, uint32; LoaderError if     the same
                                       a value does not fit
float64, complex128                    float32, complex64, rounded;      the same
                                       LoaderError beyond their range
``_row_id``, int64                     list of int                       int64
datetime64, timedelta64                NumPy arrays                      NumPy arrays
text, JSON, bytes                      lists                             lists
=====================================  ================================  ==============

Row ids have up to 63 bits. Without x64, ``jit`` would silently truncate an array of row ids to 32
bits. A list of row ids keeps their values, and cannot be passed to ``jit`` by accident.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import LoaderError, MissingPackageError, OptionError
from deeplake_lite.loader.framework import Framework
from deeplake_lite.loader.loader import Loader
from deeplake_lite.loader.make.arrays import RaggedBatch, as_numpy, pad
from deeplake_lite.loader.make.collate import fits
from deeplake_lite.loader.make.sizes import resized_shape
from deeplake_lite.loader.memory import allocate_aligned
from deeplake_lite.loader.options import check_keys
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.loader.tree import map_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.make.recipe import BatchResult, ColumnRecipe
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.resources import Resources
    from deeplake_lite.loader.workers.run import Run
    from deeplake_lite.schema import Field

NARROW = {
    np.dtype("int64"): np.dtype("int32"),
    np.dtype("uint64"): np.dtype("uint32"),
    np.dtype("float64"): np.dtype("float32"),
    np.dtype("complex128"): np.dtype("complex64"),
}
"""The dtype that JAX uses without x64 instead of each 64-bit dtype."""


class Jax(Framework):
    """Converts batches to JAX arrays on devices.

    Parameters
    ----------
    jax : module
        The package ``jax``.
    sharding : jax.sharding.Sharding, optional
        Layout of the arrays over devices.
    """

    def __init__(self, jax: ModuleType, sharding: object) -> None:
        self._jax, self._wide = jax, False
        self._sharding: Any = sharding

    def start(self) -> None:
        """Read this thread's ``jax_enable_x64``, which determines the dtypes of the epoch."""
        self._wide = self._jax.dtypes.canonicalize_dtype(np.int64) == np.int64

    def adjust_column(self, f: Field, recipe: ColumnRecipe, resources: Resources) -> ColumnRecipe:
        """Pad values to the largest shape in the view, so that `jit` compiles only once."""
        if (
            callable(resources.options.collate)
            or recipe.collate in ("list", "stack")
            or recipe.stacks
            or not (f.htype.varying and fits(f.htype, "pad") and _is_numbers(f))
        ):
            return recipe
        axes = resources.axes_of(f)
        if recipe.size is not None:
            axes = resized_shape(f.htype, axes, recipe.size)
        most = tuple(size[1] if isinstance(size, tuple) else size or 0 for size in axes)
        keys = [f"{f.name}_mask", *([f"{f.name}_valid"] if f.htype.nullable else [])]
        check_keys(f.name, keys, resources.columns)
        # If all values are null, their shape is unknown.
        return replace(recipe, collate="pad", full_shape=most or None)

    def convert(self, batch: object, resources: Resources) -> object:
        """Pad ragged values of a batch, and convert arrays to JAX's dtypes."""
        columns, collate = resources.recipe.columns, resources.options.collate
        if not isinstance(batch, Mapping):
            return map_leaves(batch, lambda leaf: self._narrow("the batch", leaf))
        out: dict[str, object] = {}
        for key, value in batch.items():
            if key == ROW_ID and not self._wide:
                out[key] = value.tolist()
            elif _is_ragged(value) and _collate_of(key, collate) != "list":
                rows = _rows(value)
                axes = max(row.ndim for row in rows)
                if key in columns:
                    axes = min(axes, columns[key].htype.varying)
                array, out[f"{key}_mask"] = pad(key, rows, axes)
                out[key] = self._narrow(key, array)
            else:
                out[key] = map_leaves(value, partial(self._narrow, key))
        return out

    def _narrow(self, name: str, value: object) -> object:
        value = as_numpy(value)
        if self._wide or not isinstance(value, np.ndarray) or value.dtype not in NARROW:
            return value
        return narrow(name, value)

    def hand_over(self, run: Run) -> Iterator[BatchResult]:
        """Copy batches to the devices, and yield them.

        If the next batch is ready, its copy begins before the current batch is yielded. Copies to a
        device are asynchronous, so they continue while the model computes.
        """
        copies = map(self._copy_batch, run.batches())
        ahead: list[BatchResult] = []
        while ahead or (ahead := list(islice(copies, 1))):
            if run.ready:
                ahead += islice(copies, 1)
            yield ahead.pop(0)

    def _copy_batch(self, result: BatchResult) -> BatchResult:
        """Copy the arrays of a batch to the devices."""
        result.batch = map_leaves(result.batch, self._copy)
        return result

    def _copy(self, value: object) -> object:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "biufcV":
            return value
        if self._sharding is None:
            return self._jax.device_put(value)
        sharding = self._sharding_for(value.ndim)
        try:
            return self._jax.make_array_from_process_local_data(sharding, value)
        except ValueError as error:
            raise LoaderError(
                f"An array of shape {value.shape} cannot be divided evenly according to "
                f"{sharding}. Shard only axes whose size is a multiple of the number of devices, "
                "such as the row axis, with PartitionSpec('data')."
            ) from error

    def _sharding_for(self, ndim: int) -> Any:
        """Return the user's sharding for arrays with `ndim` axes, without any further axes."""
        spec = getattr(self._sharding, "spec", ())
        if len(spec) <= ndim:
            return self._sharding
        axes = self._jax.sharding.PartitionSpec(*spec[:ndim])
        return self._jax.sharding.NamedSharding(self._sharding.mesh, axes)


def _collate_of(key: str, collate: object) -> object:
    """Return how the user chose to collate the values of a key."""
    return collate.get(key) if isinstance(collate, Mapping) else collate


class JaxLoader(Loader):
    """A loader of JAX arrays, created by `View.jax`.

    Parameters
    ----------
    view : View or Mix
        Rows to load, pinned to the current version.
    options : Options
        The user's options.
    sharding : jax.sharding.Sharding, optional
        Layout of the arrays over devices. If the partition spec has more axes than an array, only
        the first axes of the spec apply. With a sharding, the last batch is padded by default.

    Raises
    ------
    MissingPackageError
        When JAX is not installed.
    OptionError
        When the rows of a batch cannot be divided evenly among the devices.
    """

    def __init__(self, view: View | Mix, options: Options, sharding: object = None) -> None:
        try:
            import jax
        except ImportError as error:
            raise MissingPackageError.needed("jax", "jax", "A loader of JAX arrays") from error
        if sharding is not None and options.last is None:
            options = replace(options, last="pad")
        super().__init__(view, options, Jax(jax, sharding))
        self.sharding: Any = sharding
        if sharding is not None:
            self._check_sharding(jax.sharding.Sharding)

    def _check_sharding(self, kind: type[Any]) -> None:
        """Raise OptionError if the rows of a batch cannot be divided evenly among the devices."""
        if not isinstance(self.sharding, kind):
            raise OptionError(
                "sharding must be a jax.sharding.Sharding, such as NamedSharding(mesh, "
                f"PartitionSpec('data')), but it is {brief(self.sharding, 80)}. Leave sharding out "
                "to use one device."
            )
        if self.options.on_error == "skip":
            raise OptionError(
                "sharding needs batches of the same size, but on_error='skip' leaves failing rows "
                "out of batches. Fix or filter out the rows that fail, and remove on_error."
            )
        sizes = {self.shares.size}
        if self.shares.last == "uneven":
            sizes.add(self.shares.n % self.shares.size or self.shares.size)
        if len(getattr(self.sharding, "spec", ())) > 1:
            return  # the sharding also divides axes that some columns do not have
        for size in sizes:
            try:
                self.sharding.shard_shape((size,))
            except ValueError as error:
                raise OptionError(
                    f"A batch of {size} rows over all ranks cannot be divided evenly among the "
                    f"devices of {self.sharding}. Set batch_size to a multiple of the number of "
                    "devices, and last='pad' or 'drop'."
                ) from error


def narrow(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """Convert an array of a 64-bit dtype to the 32-bit dtype that JAX uses instead.

    Raises
    ------
    LoaderError
        When a number is out of range for the 32-bit dtype.

    Examples
    --------
    >>> narrow("x", np.array([1, -2])).dtype
    dtype('int32')
    >>> narrow("x", np.array([2**40]))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.LoaderError: 'x' has numbers, such as 1099511627776, that ...
    """
    dtype = NARROW[values.dtype]
    out = allocate_aligned(values.shape, dtype)
    with np.errstate(over="ignore"):
        np.copyto(out, values, casting="unsafe")
    lost = out != values if dtype.kind in "iu" else np.isinf(out) & np.isfinite(values)
    if lost.any():
        raise LoaderError(
            f"{name!r} has numbers, such as {values[lost][0]}, that {dtype} cannot hold, and JAX "
            f"has no {values.dtype} by default. Call "
            'jax.config.update("jax_enable_x64", True) before the first array is created, leave '
            "the column out with columns=, or change the numbers in a transform.",
            column=name,
        )
    return out


def _is_numbers(f: Field) -> bool:
    """Return whether the values of a column are decoded to arrays of numbers."""
    return bool(f.htype.value_dtype) or f.htype.pixels is not None


def _is_ragged(value: object) -> bool:
    """Return whether a value is a `RaggedBatch`, or a list of numeric arrays."""
    if isinstance(value, RaggedBatch):
        return True
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(v, np.ndarray) and v.ndim and v.dtype.kind in "biufc" for v in value)
    )


def _rows(value: Any) -> list[NDArray[Any]]:
    return [value[row] for row in range(len(value))] if isinstance(value, RaggedBatch) else value
