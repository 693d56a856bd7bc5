"""The rows, recipe, threads and processes of a loader, most of which are created on first use."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from deeplake_lite.dataset.read.values import decode_one
from deeplake_lite.errors import LakeError, OptionError
from deeplake_lite.htypes.cells import take
from deeplake_lite.loader.make.builder import PADDING
from deeplake_lite.loader.make.decoded_cache import DecodedCache
from deeplake_lite.loader.make.recipe import ColumnRecipe, Recipe
from deeplake_lite.loader.make.sizes import (
    axes_in_mode,
    convert_mode,
    counts_pixels,
    innermost,
    is_of_images,
    resized_shape,
)
from deeplake_lite.loader.mix import samples_of
from deeplake_lite.loader.order.shares import Shares
from deeplake_lite.loader.order.topology import find_rank
from deeplake_lite.loader.read.block_policy import BlockPolicy
from deeplake_lite.loader.read.blocks import Blocks
from deeplake_lite.loader.read.disk import Disk
from deeplake_lite.loader.read.readers import Readers
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.loader.workers.processes import CHANNELS, WorkerPool
from deeplake_lite.loader.workers.run import AHEAD, Pipeline
from deeplake_lite.storage.chunks import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.framework import Framework
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.schema import Field

AHEAD_SHARE = 0.1
"""Share of the budget for rows read ahead. Batches prepared ahead get as much again."""

MAX_AHEAD_SHARE = 0.3
"""Maximum share of the budget for rows read ahead, which loaders of large rows use.

With a smaller share, the threads that load large rows would wait for memory.
"""

SAMPLE_ROWS = 64
"""Number of rows that are read at a time to find a non-null image."""


class BudgetSplit(NamedTuple):
    """The parts of a memory budget, in bytes."""

    ahead: int
    """Part for rows read ahead. Batches prepared ahead get as much again."""
    stored: int
    """Part for cached rows in their stored form."""
    decoded: int
    """Part for cached rows in their decoded form."""


class Resources:
    """The resources of one loader.

    Parameters
    ----------
    view : View or Mix
        Rows to load, pinned to the current version.
    options : Options
        The user's options.
    framework : Framework
        Converts the batches.
    """

    def __init__(self, view: View | Mix, options: Options, framework: Framework) -> None:
        self.samples = samples_of(view, options.columns, with_ids=options.needs_ids)
        """The rows to load."""
        self.options = options
        """The user's options."""
        self.framework = framework
        """Converts the batches."""
        options.check_columns(self.samples.fields)
        rank, world_size = find_rank(options.rank, options.world_size, framework.find_rank)
        # All ranks need the same number of batches. Otherwise, some ranks would wait forever in the
        # all-reduce of a batch that other ranks do not have.
        last = options.last or ("uneven" if world_size == 1 else "pad")
        n = self.samples.epoch_rows
        self.shares = Shares(n, options.batch_size, rank, world_size, last)
        """How an epoch is divided into batches."""
        self.shuffle = self.samples.choose_shuffle(options.shuffle, options.exact_bytes)
        """How the rows are shuffled."""
        self._check_reserved_keys()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in a batch."""
        return tuple(f.name for f in self.samples.fields)

    def _check_reserved_keys(self) -> None:
        """Raise OptionError if a column has the name of a key that batches reserve."""
        reserved = {PADDING: self.shares.last == "pad", ROW_ID: self.options.needs_ids}
        for f in self.samples.fields:
            if reserved.get(f.name):
                raise OptionError(
                    f"Batches use the key {f.name!r} to identify their rows, but a column with "
                    "that name exists. Leave that column out with columns=[…], or rename it."
                )

    def close(self) -> None:
        """Stop threads and processes, and free the memory. The next use starts new threads."""
        # `cached_property` keeps its value in `__dict__`. Once the value is removed from there, the
        # next access creates a new one.
        pool = self.__dict__.pop("pool", None)
        worker_pool = self.__dict__.pop("_worker_pool", None)
        readers = self.__dict__.pop("readers", None)
        for name in ("blocks", "decoded_cache"):
            self.__dict__.pop(name, None)
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        if worker_pool is not None:
            worker_pool.close()
        if readers is not None:
            readers.close()

    def convert(self, batch: object) -> Any:
        """Convert a batch to the framework's arrays. Called in the thread that made the batch."""
        return self.framework.convert(batch, self)

    @cached_property
    def readers(self) -> Readers:
        """Threads that read blocks."""
        return Readers()

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of rows that are read ahead or held."""
        disk = None
        if self.options.cache == "disk":
            disk = Disk.of(self.samples, self.options.disk_bytes)
        return Blocks(self.samples, self.readers, *self._limits, disk)

    @property
    def policy(self) -> BlockPolicy:
        """How blocks of rows are kept in memory. The policy is chosen before any block is read."""
        on_disk = self.options.cache == "disk"
        return BlockPolicy.of(self.samples, *self._limits, on_disk=on_disk)

    @property
    def _limits(self) -> tuple[int, int]:
        """Maximum size of cached rows in bytes, and number of rows in a window of the shuffle.

        Without a shuffle, the rows that are read ahead are the window.
        """
        in_order = self.shuffle.kind == "none"
        window = self.shares.size * AHEAD if in_order else self.shuffle.window_rows
        return self._budget_split.stored if self.options.cache is not None else 0, window

    @cached_property
    def decoded_cache(self) -> DecodedCache | None:
        """Decoded pixels of earlier epochs, with ``cache="decoded"``."""
        if self.options.cache != "decoded":
            return None
        columns, tally = self.recipe.columns, self.blocks.tally
        return DecodedCache(columns, len(self.samples), self._budget_split.decoded, tally)

    @cached_property
    def _budget_split(self) -> BudgetSplit:
        """The parts into which the memory budget is divided."""
        budget, samples, o = self.options.budget, self.samples, self.options
        ahead, total = AHEAD_SHARE * budget, samples.row_bytes * len(samples)
        # If not all rows fit in the cache, they are read while batches are made. Batches of large
        # rows then need a larger share, so that threads do not wait for memory.
        if total > budget - 2 * ahead or o.cache is None:
            needed = AHEAD * max(1, o.threads) * 2 * samples.row_bytes * o.batch_size
            ahead = max(ahead, min(needed, MAX_AHEAD_SHARE * budget))
        for_cache = int(budget - 2 * ahead)
        if o.cache != "decoded":
            return BudgetSplit(int(ahead), for_cache, 0)
        stored = min(int(total) + 1, for_cache)
        decoded = max(for_cache - stored, for_cache * 3 // 4)
        return BudgetSplit(int(ahead), for_cache - decoded, decoded)

    @cached_property
    def pool(self) -> ThreadPoolExecutor:
        """Threads that make batches, or that wait for the worker processes to make them."""
        return ThreadPoolExecutor(self.max_tasks, thread_name_prefix="deeplake-lite-load")

    @property
    def max_tasks(self) -> int:
        """Maximum number of concurrent tasks that make batches, or wait for worker processes."""
        each = CHANNELS if self.options.workers == "processes" else 1
        return max(1, each * self.options.threads)

    @cached_property
    def _worker_pool(self) -> WorkerPool:
        return WorkerPool(self.recipe, self.options.threads)

    @property
    def pipeline(self) -> Pipeline:
        """The parts that turn rows into batches."""
        return Pipeline(
            self.samples,
            self.shares,
            self.blocks,
            self.pool,
            self._maker,
            self.decoded_cache,
            self.options.threads,
            self._budget_split.ahead,
            2 if isinstance(self._maker, WorkerPool) else 1,
            self.convert,
        )

    @property
    def _maker(self) -> WorkerPool | Recipe:
        """The object that makes batches, either in worker processes or in the calling thread."""
        o = self.options
        return self._worker_pool if o.workers == "processes" and o.threads else self.recipe

    @cached_property
    def recipe(self) -> Recipe:
        """How to make batches from cells."""
        o = self.options
        recipe = Recipe(
            {f.name: self._column_recipe(f) for f in self.samples.fields},
            o.seed,
            o.transform,
            o.batch_transform,
            o.collate,
            o.on_error == "skip",
            self._allow,
            o.row_ids,
            self.shares.last == "pad",
            o.workers == "processes" or not o.threads,
        )
        return self.framework.adjust_recipe(recipe)

    def _column_recipe(self, f: Field) -> ColumnRecipe:
        recipe = self.framework.adjust_column(f, self._chosen_recipe(f), self)
        return self._drop_mask(f, recipe)

    def _drop_mask(self, f: Field, recipe: ColumnRecipe) -> ColumnRecipe:
        """Return a recipe without a mask of padding if all values are known to have one shape.

        With a transform, which may change shapes at random, padded columns always have a mask,
        because the keys of a batch should not depend on random numbers.
        """
        if recipe.collate != "pad" or self.options.transform is not None:
            return recipe
        resized = recipe.stacks and recipe.size is not None and not f.htype.nullable
        is_uniform = resized or self.samples.of_one_shape(f)
        return replace(recipe, of_one_shape=True) if is_uniform else recipe

    def _chosen_recipe(self, f: Field) -> ColumnRecipe:
        """Return the recipe for a column that follows from the options and the values' shapes."""
        collate, size, image = self.options.collate_of(f), None, self._followed_image
        mode = self._mode_of(f)
        if is_of_images(f.htype):
            size = self.options.size_of(f.name)
        if image is not None and counts_pixels(innermost(f.htype)):
            if innermost(f.htype).coordinates is not None:
                return ColumnRecipe(f.htype, collate=collate, follows=image)
            size = self.options.size_of(image)
        # Only pixels of a known shape are decoded straight into the batch.
        if f.htype.pixels is None or f.htype.nullable or not len(self.samples):
            recipe = ColumnRecipe(f.htype, collate=collate, size=size, mode=mode)
            return self._set_null_shape(f, recipe)
        shape = self._shape_of(f)
        one_size = size is not None and f.htype.varying <= len(size)
        if not one_size and (shape is None or collate == "list"):
            return ColumnRecipe(f.htype, collate=collate, size=size, mode=mode)
        if mode is not None:
            full_shape, dtype = axes_in_mode(f.htype, (), mode), "uint8"
        else:
            sample = self.first_image(f)
            full_shape, dtype = sample.shape, str(sample.dtype)
        if size is not None:
            shape = resized_shape(f.htype, full_shape, size)
        return ColumnRecipe(f.htype, shape, collate, size, mode, dtype)

    def _mode_of(self, f: Field) -> str | None:
        """Return the mode to which a column's images are converted, or None to keep their mode."""
        return self.options.mode_of(f.name) if is_of_images(f.htype) else None

    def axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the shape of a column's values after conversion to the mode.

        The entry of an axis is its size, or (minimum, maximum) if the size varies.
        """
        axes, mode = self.samples.axes_of(f), self._mode_of(f)
        return axes if mode is None else axes_in_mode(f.htype, axes, mode)

    def _shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape of all values of a column after conversion, or None if they differ."""
        if self._mode_of(f) is None:
            return self.samples.shape_of(f)
        axes = self.axes_of(f)
        fixed = all(isinstance(size, int) for size in axes)
        return cast("tuple[int, ...]", axes) if fixed else None

    def _set_null_shape(self, f: Field, recipe: ColumnRecipe) -> ColumnRecipe:
        """Return a recipe with the shape and dtype of stacked nulls, if these are known.

        From a batch that has only nulls, the shape and dtype could not be inferred.
        """
        how = recipe.collate or ("stack" if recipe.stacks else "list")
        if how != "stack" or not f.htype.nullable:
            return recipe
        axes = self.axes_of(f)
        if recipe.size is not None:
            axes = resized_shape(f.htype, axes, recipe.size)
        if not axes or not all(isinstance(size, int) for size in axes):
            return recipe
        dtype = f.htype.value_dtype or None
        if dtype is None and f.htype.pixels is not None:
            dtype = self.first_image(f).dtype.name
        return replace(recipe, full_shape=cast("tuple[int, ...]", axes), dtype=dtype)

    def first_image(self, f: Field) -> NDArray[Any]:
        """Return the first image of a column of images, or of sequences of images.

        Images that cannot be decoded are skipped; the batches that contain them will raise an
        error. If there is no image, the result has one pixel.
        """
        samples = self.samples.only([f.name])
        first = spans(min(1, len(samples)), 1)  # nearly always enough, and rows may be large
        for span in chain(first, spans(len(samples), SAMPLE_ROWS)):
            cells = samples.read(np.arange(span.start, span.stop))[f.name]
            valid = np.arange(len(cells)) if cells.valid is None else np.flatnonzero(cells.valid)
            for row in valid:
                value = None
                with contextlib.suppress(LakeError):
                    value = decode_one(f.htype, take(cells, np.array([row])), self._allow)
                while isinstance(value, list):
                    value = value[0] if value else None
                if value is not None:
                    return convert_mode(np.asarray(value), self._mode_of(f))
        return np.zeros((1, 1), np.uint8)

    @cached_property
    def _followed_image(self) -> str | None:
        """Name of the resized image column that boxes, masks and points are scaled with."""
        return self.options.followed_image(self.samples.fields)

    @property
    def _allow(self) -> tuple[str, ...]:
        """Folders and URLs below which linked files may be read."""
        return self.samples.sources[0].rows.lake.allow
