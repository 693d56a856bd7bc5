"""Calls of a user's function with seeded random generators and clear errors.

The random numbers of a transform depend only on the seed, the epoch, the row, and, if the row
occurs several times in an epoch, on the occurrence. A transform with a parameter `rng` gets its own
generator. Other generators that the transform refers to are seeded before each sample. The global
generators are seeded too, unless several threads share these generators.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deeplake_lite.errors import LakeError, LoaderError, message_of
from deeplake_lite.loader.make.generators import OwnGenerators
from deeplake_lite.loader.make.global_generators import seed_globals
from deeplake_lite.loader.order.order import mix64

if TYPE_CHECKING:
    from collections.abc import Callable


class FirstRow(NamedTuple):
    """The first row of a batch, which identifies the batch in error messages."""

    row_id: int
    """Id of the row."""
    description: str = "no rows"
    """Description of the row for error messages."""
    position: int | None = None
    """Position of the row in its view."""
    source: int | None = None
    """Number of the row's view in a mix; None without a mix."""
    repeat: int = 0
    """A number that differs between the occurrences of a row in an epoch. See `Rows.repeats`."""


@dataclass(frozen=True)
class Function:
    """A user's function, called with seeded generators.

    Parameters
    ----------
    option : str
        Option for which the user passed the function, such as ``"transform"``.
    call : callable
        The function.
    seed : int
        The user's seed.
    seeds : bool
        Whether to seed the global generators at each call.

    Examples
    --------
    >>> Function("transform", lambda x, rng: [x, rng.random() < 1])(3, epoch=0, row_id=7)
    [3, True]
    """

    option: str
    """Option for which the user passed the function."""
    call: Callable[..., object]
    """The function."""
    seed: int = 0
    """The user's seed."""
    seeds: bool = False
    """Whether to seed the global generators at each call."""

    def __call__(self, value: object, epoch: int, row_id: int, repeat: int = 0) -> Any:
        """Call the function with a value. Raises LoaderError if the result is None.

        Parameters
        ----------
        value : object
            Argument of the function.
        epoch, row_id, repeat : int
            Numbers on which the seed of the generators depends. If a row appears several times in
            an epoch, `repeat` differs each time.
        """
        # A row that is not repeated has the same random numbers in every view and every mix.
        sample_seed = mix64(self.seed, epoch, row_id, *([repeat] if repeat else []))
        rng = {}
        if self._takes_rng:
            rng = {"rng": np.random.Generator(np.random.PCG64(sample_seed))}
        if self.seeds:  # even with `rng`: library functions may use the global generators
            seed_globals(sample_seed)
        return check_returned(self.option, self._seeded(sample_seed, epoch, value, **rng))

    def __getstate__(self) -> dict[str, object]:
        """Return only the fields, because cached properties have locks, which cannot be pickled."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def call_on_batch(self, value: object, epoch: int, first: FirstRow) -> object:
        """Call the function with a batch, or with the list of its samples.

        Raises
        ------
        LoaderError
            When the function fails. The message names the function and the batch.
        """
        try:
            return self(value, epoch, first.row_id, first.repeat)
        except Exception as error:
            message = message_of(error).removesuffix(".")
            raise LoaderError(
                f"{self.option} failed on the batch that begins with {first.description}: "
                f"{type(error).__name__}: {message}. {self.advice(error)}",
                row_id=first.row_id,
                position=first.position,
                source=first.source,
            ) from error

    def advice(self, error: Exception) -> str:
        """Return advice about an error in this function."""
        if isinstance(error, LakeError):
            return f"Fix your function {self.name}."
        return f"Fix your function {self.name}; the traceback above shows the line."

    @cached_property
    def name(self) -> str:
        """Name of the function in error messages, quoted.

        >>> Function("collate", len).name, Function("transform", np.vectorize(abs)).name
        ("'len'", "'vectorize'")
        """
        name = getattr(self.call, "__qualname__", None) or type(self.call).__qualname__
        return repr(name.rpartition("<locals>.")[2])

    @cached_property
    def _seeded(self) -> OwnGenerators:
        """The function, wrapped so that the generators it refers to are seeded at each call."""
        return OwnGenerators(self.call)

    @property
    def is_random(self) -> bool:
        """Whether the function has a parameter `rng`, or refers to random generators."""
        return self._takes_rng or self._seeded.has_generators

    @cached_property
    def _takes_rng(self) -> bool:
        return takes_rng(self.call)


def takes_rng(function: Callable[..., object]) -> bool:
    """Return whether a function has a parameter `rng`.

    >>> takes_rng(lambda sample, rng: sample), takes_rng(dict)
    (True, False)
    """
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def check_returned(option: str, value: object) -> object:
    """Return the result of a user's function. Raises LoaderError if the result is None.

    >>> check_returned("transform", {"x": 1})
    {'x': 1}
    """
    if value is None:
        raise LoaderError(
            f"{option} must return a value, but it returned None. End the function by returning "
            "its result."
        )
    return value
