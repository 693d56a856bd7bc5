"""The values that a query is asked with: of ``?`` in order, or of ``$name``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import QueryError
from deeplake_lite.query.bind.constants import constant

if TYPE_CHECKING:
    from deeplake_lite.query.values import Constant


class Params:
    """Gives each parameter its value, and counts those that were asked for."""

    def __init__(self, values: Sequence[Any] | Mapping[str, Any]) -> None:
        self._values, self._next = values, 0

    def named(self, name: str) -> Constant:
        """Return the value of ``$name``. Raises QueryError."""
        if not isinstance(self._values, Mapping) or name not in self._values:
            raise QueryError(
                f"A parameter needs a value, and ${name} has none. Pass "
                f"query(…, {{{name!r}: value}})."
            )
        return constant(self._values[name])

    def following(self) -> Constant:
        """Return the value of the next ``?``. Raises QueryError."""
        at, self._next = self._next, self._next + 1
        if isinstance(self._values, Mapping) or at >= len(self._values):
            raise QueryError(
                f"A parameter needs a value, and ? number {at + 1} has none. Pass a list with one "
                "value per ?."
            )
        return constant(self._values[at])

    def check(self) -> None:
        """Refuse values that no ``?`` takes. Raises QueryError."""
        if not isinstance(self._values, Mapping) and self._next < len(self._values):
            raise QueryError(f"The query has {self._next} ?, got {len(self._values)} values.")
