"""The interface between a loader and an array framework, such as PyTorch or JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.loader.make.recipe import BatchResult, ColumnRecipe, Recipe
    from deeplake_lite.loader.resources import Resources
    from deeplake_lite.loader.workers.run import Run
    from deeplake_lite.schema import Field


class Framework:
    """Base class for frameworks. This class itself leaves batches as NumPy arrays.

    A loader calls `start` in the user's thread, `convert` in the thread that made the batch, and
    `hand_over` in the user's thread again.

    Examples
    --------
    A framework whose batches are lists of Python numbers:

    >>> import deeplake_lite as dl
    >>> from deeplake_lite.loader import Loader, Options
    >>> class Lists(Framework):
    ...     def convert(self, batch, resources):
    ...         return {name: array.tolist() for name, array in batch.items()}
    >>> ds = dl.create("memory://framework-doc", {"x": "int32"})
    >>> ds.append({"x": range(3)})
    >>> list(Loader(ds, Options.of(batch_size=2), Lists()))
    [{'x': [0, 1]}, {'x': [2]}]
    """

    def find_rank(self) -> tuple[int, int] | None:
        """Return the rank of this process and the number of ranks, or None if both are unknown.

        Ranks that are set by torch.distributed, JAX or a launcher are detected without this method.
        """
        return None

    def start(self) -> None:
        """Prepare for an epoch, for example by reading the user's settings of the framework."""

    def adjust_recipe(self, recipe: Recipe) -> Recipe:
        """Return `recipe`, which follows the user's options, or a changed copy of it."""
        return recipe

    def adjust_column(
        self,
        f: Field,  # noqa: ARG002 # used by subclasses
        recipe: ColumnRecipe,
        resources: Resources,  # noqa: ARG002
    ) -> ColumnRecipe:
        """Return the recipe to use for a column: `recipe`, or for example a copy that pads."""
        return recipe

    def convert(self, batch: object, resources: Resources) -> object:  # noqa: ARG002
        """Convert a batch to the framework's arrays."""
        return batch

    def hand_over(self, run: Run) -> Iterator[BatchResult]:
        """Yield the batches of an epoch in order.

        Subclasses may, for example, copy each batch to a device before they yield it.
        """
        return run.batches()
