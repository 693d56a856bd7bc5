"""A user's function as a loader calls it: with what it draws from, and what is said where it fails.

What a transform draws depends on the seed, the epoch and the row alone. One with a parameter `rng`
gets a generator of its own, and generators that it holds itself are seeded before each sample. So
are the global ones, except in threads, which share them.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deeplake_lite.errors import LakeError, LoaderError, message_of
from deeplake_lite.loader.make.global_generators import seed_globals
from deeplake_lite.loader.make.generators import OwnGenerators
from deeplake_lite.loader.order.order import mix64

if TYPE_CHECKING:
    from collections.abc import Callable


class FirstRow(NamedTuple):
    """The first row of a batch."""

    row_id: int
    """Its id."""
    place: str = "of no rows"
    """Where it is, as people read it."""
    position: int | None = None
    """In its view."""
    source: int | None = None
    """Number of that view among those of a mix."""


@dataclass(frozen=True)
class Function:
    """One function of a user.

    Parameters
    ----------
    option : str
        What it was given as, such as ``"transform"``.
    call : callable
        The function.
    seed : int
        The user's.
    seeds : bool
        Whether the global generators are seeded for a function without `rng`.

    Examples
    --------
    >>> Function("transform", lambda x, rng: [x, rng.random() < 1])(3, epoch=0, row_id=7)
    [3, True]
    """

    option: str
    """What it was given as."""
    call: Callable[..., Any]
    """The function."""
    seed: int = 0
    """The user's."""
    seeds: bool = False
    """Whether the global generators are seeded for a function without `rng`."""

    def __call__(self, value: Any, epoch: int, row_id: int) -> Any:
        """Return what the function makes of a value. Raises LoaderError where it forgot to."""
        drawn_from = mix64(self.seed, epoch, row_id)
        rng = {}
        if self._takes_rng:
            rng = {"rng": np.random.Generator(np.random.PCG64(drawn_from))}
        elif self.seeds:
            seed_globals(drawn_from)
        return returned(self.option, self._seeded(drawn_from, epoch, value, **rng))

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def call_on_batch(self, value: Any, epoch: int, first: FirstRow) -> Any:
        """Return what it makes of a batch, or of its samples.

        Raises
        ------
        LoaderError
            With the function and the batch that it fails on.
        """
        try:
            return self(value, epoch, first.row_id)
        except Exception as error:
            said = message_of(error).removesuffix(".")
            raise LoaderError(
                f"{self.option} failed on the batch that begins with {first.place}: "
                f"{type(error).__name__}: {said}. {self.advice(error)}",
                row_id=first.row_id,
                position=first.position,
                source=first.source,
            ) from error

    def advice(self, error: Exception) -> str:
        """Return the way out of an error of this function."""
        if isinstance(error, LakeError):
            return f"Mend your function {self.name}."
        return f"Mend your function {self.name}: the traceback above leads to the line."

    @cached_property
    def name(self) -> str:
        """What people call it.

        >>> Function("collate", len).name, Function("transform", np.vectorize(abs)).name
        ("'len'", "'vectorize'")
        """
        found = getattr(self.call, "__qualname__", None) or type(self.call).__qualname__
        return repr(found.rpartition("<locals>.")[2])

    @cached_property
    def _seeded(self) -> OwnGenerators:
        """The function, its own generators seeded at each call."""
        return OwnGenerators(self.call)

    @cached_property
    def _takes_rng(self) -> bool:
        return takes_rng(self.call)


def takes_rng(function: Callable[..., Any]) -> bool:
    """Tell whether a function has a parameter `rng`.

    >>> takes_rng(lambda sample, rng: sample), takes_rng(dict)
    (True, False)
    """
    try:
        return "rng" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def returned(option: str, value: Any) -> Any:
    """Return what a user's function gave. Raises LoaderError where it forgot to.

    >>> returned("transform", {"x": 1})
    {'x': 1}
    """
    if value is None:
        raise LoaderError(f"{option} returned None. End it with `return` and what it makes.")
    return value
