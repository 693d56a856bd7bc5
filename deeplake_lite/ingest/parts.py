"""Parts of a source that other processes can read by themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.ingest.source import Source


@dataclass(frozen=True)
class Part:
    """Consecutive rows of a source, as a source of their own."""

    source: Source
    """The source of these rows. It can be pickled, and gives the rows the same names as the whole
    source does."""

    rows: int | None = None
    """Number of rows, or None if it is unknown."""


@runtime_checkable
class Divisible(Protocol):
    """A source whose blocks hold data rather than paths, and whose parts can be read separately."""

    def divided(self) -> Sequence[Part]:
        """Return the parts in the order of their rows."""


def part_of[S](source: S, *cached: str, **changes: Any) -> S:
    """Return a copy of a frozen source with other fields, which keeps some cached properties.

    >>> from functools import cached_property
    >>> @dataclass(frozen=True)
    ... class Words:
    ...     text: str
    ...     @cached_property
    ...     def first(self):
    ...         return self.text.split()[0]
    >>> part_of(Words("a b c"), "first", text="b c").first
    'a'
    """
    part = replace(cast("Any", source), **changes)
    for name in cached:
        part.__dict__[name] = getattr(source, name)
    return cast("S", part)
