"""What a loader works with: rows, recipe, threads and processes, each made when first needed."""

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
from deeplake_lite.loader.make.decoded import Decoded
from deeplake_lite.loader.make.making import PADDING
from deeplake_lite.loader.make.recipe import ColumnRecipe, Recipe
from deeplake_lite.loader.make.sizes import (
    axes_in_mode,
    counts_pixels,
    in_mode,
    innermost,
    is_of_pictures,
    sized,
)
from deeplake_lite.loader.mix import samples_of
from deeplake_lite.loader.order.shares import Shares
from deeplake_lite.loader.order.topology import found_rank
from deeplake_lite.loader.read.blocks import Blocks
from deeplake_lite.loader.read.disk import Disk
from deeplake_lite.loader.read.holding import Holding
from deeplake_lite.loader.read.readers import Readers
from deeplake_lite.loader.read.samples import ROW_ID
from deeplake_lite.loader.workers.processes import LANES, Crew
from deeplake_lite.loader.workers.run import AHEAD, Works
from deeplake_lite.storage.chunks import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.repr.html.values import Axis
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options
    from deeplake_lite.schema import Field

AHEAD_SHARE = 0.1
"""Part of the budget for rows that are read ahead, and as much for batches that are made ahead."""

MOST_AHEAD_SHARE = 0.3
"""That part where rows are large: so that no thread waits for room to make a batch in."""

SHOWN_ROWS = 64
"""Rows that are read at a time to find a picture that is not null."""


class Room(NamedTuple):
    """How a budget is divided, bytes."""

    ahead: int
    """For rows that are read ahead, and as much for batches that are made ahead."""
    stored: int
    """For rows as they are stored."""
    decoded: int
    """For rows as they are decoded."""


class Equipment:
    """What one loader works with.

    Parameters
    ----------
    view : View or Mix
        What is loaded, pinned as it is now.
    options : Options
        How.
    """

    def __init__(self, view: View | Mix, options: Options) -> None:
        self._samples = samples_of(view, options.columns, with_ids=options.needs_ids)
        self.options = options
        """How the user wants batches."""
        options.check_columns(self._samples.fields)
        rank, world_size = found_rank(options.rank, options.world_size)
        last = options.last or ("uneven" if world_size == 1 else "pad")
        n = self._samples.epoch_rows
        self.shares = Shares(n, options.batch_size, rank, world_size, last)
        """How an epoch is cut into batches."""
        self.shuffle = self._samples.shuffled(options.shuffle)
        """How rows are shuffled."""
        self._check_own_keys()

    def _check_own_keys(self) -> None:
        """Refuse columns of the names that batches have for themselves. Raises OptionError."""
        own = {PADDING: self.shares.last == "pad", ROW_ID: self.options.needs_ids}
        for f in self._samples.fields:
            if own.get(f.name):
                raise OptionError(
                    f"A batch says under {f.name!r} which rows it has, and there is a column of "
                    "that name. Leave it out with columns=[…], or rename it."
                )

    def _close(self) -> None:
        """End threads and processes, and give the memory back."""
        pool, crew, readers = (self.__dict__.pop(n, None) for n in ("_pool", "_crew", "_readers"))
        for name in ("_blocks", "_decoded"):
            self.__dict__.pop(name, None)
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
        if crew is not None:
            crew.close()
        if readers is not None:
            readers.close()

    def _converted(self, batch: Any) -> Any:
        """Return a batch as a framework has it: in the thread that made it."""
        return batch

    @cached_property
    def _readers(self) -> Readers:
        return Readers()

    @cached_property
    def _blocks(self) -> Blocks:
        disk = None
        if self.options.cache == "disk":
            disk = Disk.of(self._samples)
        return Blocks(self._samples, self._readers, *self._limits, disk)

    @property
    def _holding(self) -> Holding:
        """How rows are held, also before there are any."""
        on_disk = self.options.cache == "disk"
        return Holding.of(self._samples, *self._limits, on_disk=on_disk)

    @property
    def _limits(self) -> tuple[int, int]:
        """Bytes of rows that may be held, and rows that an order goes through at a time."""
        in_order = self.shuffle.kind == "none"
        window = self.shares.size * AHEAD if in_order else self.shuffle.window_rows
        return self._room.stored if self.options.cache is not None else 0, window

    @cached_property
    def _decoded(self) -> Decoded | None:
        """Pixels of earlier epochs, where they are to be kept."""
        if self.options.cache != "decoded":
            return None
        columns, tally = self._recipe.columns, self._blocks.tally
        return Decoded(columns, len(self._samples), self._room.decoded, tally)

    @cached_property
    def _room(self) -> Room:
        """How the budget is divided."""
        budget, samples, o = self.options.budget, self._samples, self.options
        ahead, total = AHEAD_SHARE * budget, samples.row_bytes * len(samples)
        if total > budget - 2 * ahead or o.cache is None:  # batches of large rows need more of it
            wanted = AHEAD * max(1, o.threads) * 2 * samples.row_bytes * o.batch_size
            ahead = max(ahead, min(wanted, MOST_AHEAD_SHARE * budget))
        most = int(budget - 2 * ahead)
        if o.cache != "decoded":
            return Room(int(ahead), most, 0)
        stored = min(int(total) + 1, most)
        decoded = max(most - stored, most * 3 // 4)
        return Room(int(ahead), most - decoded, decoded)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._lanes, thread_name_prefix="deeplake-lite-load")

    @property
    def _lanes(self) -> int:
        """Batches that are made, or waited for, at a time."""
        each = LANES if self.options.workers == "processes" else 1
        return max(1, each * self.options.threads)

    @cached_property
    def _crew(self) -> Crew:
        return Crew(self._recipe, self.options.threads)

    @property
    def _works(self) -> Works:
        """What batches are made with."""
        return Works(
            self._samples,
            self.shares,
            self._blocks,
            self._pool,
            self._maker,
            self._decoded,
            self.options.threads,
            self._room.ahead,
            2 if isinstance(self._maker, Crew) else 1,
            self._converted,
        )

    @property
    def _maker(self) -> Crew | Recipe:
        """Who makes batches: processes, or whoever asks."""
        o = self.options
        return self._crew if o.workers == "processes" and o.threads else self._recipe

    @cached_property
    def _recipe(self) -> Recipe:
        o = self.options
        return Recipe(
            {f.name: self._without_mask(f, self._column_recipe(f)) for f in self._samples.fields},
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

    def _without_mask(self, f: Field, recipe: ColumnRecipe) -> ColumnRecipe:
        """Note that values have one shape, where they are padded and that is known beforehand.

        It is not after a transform: which keys a batch has should not depend on what one draws.
        """
        if recipe.collate != "pad" or self.options.transform is not None:
            return recipe
        brought = recipe.stacks and recipe.size is not None and not f.htype.nullable
        alike = brought or self._samples.of_one_shape(f)
        return replace(recipe, of_one_shape=True) if alike else recipe

    def _column_recipe(self, f: Field) -> ColumnRecipe:
        """Decide how a column becomes part of a batch, by what all its rows have in common."""
        collate, size, picture = self.options.collate_of(f), None, self._followed
        mode = self._mode_of(f)
        if is_of_pictures(f.htype):
            size = self.options.size_of(f.name)
        if picture is not None and counts_pixels(innermost(f.htype)):
            if innermost(f.htype).coordinates is not None:
                return ColumnRecipe(f.htype, collate=collate, follows=picture)
            size = self.options.size_of(picture)
        if f.htype.pixels is None or f.htype.nullable or not len(self._samples):
            recipe = ColumnRecipe(f.htype, collate=collate, size=size, mode=mode)
            return self._with_blank(f, recipe)
        shape = self._shape_of(f)
        one_size = size is not None and f.htype.varying <= len(size)
        if not one_size and (shape is None or collate == "list"):
            return ColumnRecipe(f.htype, collate=collate, size=size, mode=mode)
        if mode is not None:
            kind, dtype = axes_in_mode(f.htype, (), mode), "uint8"
        else:
            sample = self._shown(f)
            kind, dtype = sample.shape, str(sample.dtype)
        if size is not None:
            shape = sized(f.htype, kind, size)
        return ColumnRecipe(f.htype, shape, collate, size, mode, dtype)

    def _mode_of(self, f: Field) -> str | None:
        """Return what a column's pictures are converted to; None for what is no picture."""
        return self.options.mode_of(f.name) if is_of_pictures(f.htype) else None

    def _axes_of(self, f: Field) -> tuple[Axis, ...]:
        """Return the shape of a column's values, converted: per axis a size, or least to most."""
        axes, mode = self._samples.axes_of(f), self._mode_of(f)
        return axes if mode is None else axes_in_mode(f.htype, axes, mode)

    def _shape_of(self, f: Field) -> tuple[int, ...] | None:
        """Return the shape of a column's values, converted; None where they differ."""
        if self._mode_of(f) is None:
            return self._samples.shape_of(f)
        axes = self._axes_of(f)
        fixed = all(isinstance(size, int) for size in axes)
        return cast("tuple[int, ...]", axes) if fixed else None

    def _with_blank(self, f: Field, recipe: ColumnRecipe) -> ColumnRecipe:
        """Say what nulls are in a stack, so that batches of nulls alone are like the others."""
        how = recipe.collate or ("stack" if recipe.stacks else "list")
        if how != "stack" or not f.htype.nullable:
            return recipe
        axes = self._axes_of(f)
        if recipe.size is not None:
            axes = sized(f.htype, axes, recipe.size)
        if not axes or not all(isinstance(size, int) for size in axes):
            return recipe
        dtype = f.htype.value_dtype or None
        if dtype is None and f.htype.pixels is not None:
            dtype = self._shown(f).dtype.name
        return replace(recipe, most=cast("tuple[int, ...]", axes), dtype=dtype)

    def _shown(self, f: Field) -> NDArray[Any]:
        """Return the first image of a column of images, or of sequences of images.

        Those that do not decode are passed over: they are errors of the batches that have them.
        """
        alone = self._samples.only([f.name])
        few = spans(min(1, len(alone)), 1)  # nearly always enough, and rows may be large
        for span in chain(few, spans(len(alone), SHOWN_ROWS)):
            cells = alone.read(np.arange(span.start, span.stop))[f.name]
            valid = np.arange(len(cells)) if cells.valid is None else np.flatnonzero(cells.valid)
            for row in valid:
                value = None
                with contextlib.suppress(LakeError):
                    value = decode_one(f.htype, take(cells, np.array([row])), self._allow)
                while isinstance(value, list):
                    value = value[0] if value else None
                if value is not None:
                    return in_mode(np.asarray(value), self._mode_of(f))
        return np.zeros((1, 1), np.uint8)

    @cached_property
    def _followed(self) -> str | None:
        """The picture that boxes and their like go with, where it is brought to another size."""
        return self.options.picture_followed(self._samples.fields)

    @property
    def _allow(self) -> tuple[str, ...]:
        """Roots under which linked files are read."""
        return self._samples.sources[0].rows.lake.allow
