"""The values that a query is asked with: of ``?`` in order, or of ``$name``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.parse.dialect import AT

if TYPE_CHECKING:
    from deeplake_lite.query.values import Constant


class Params:
    """Gives each parameter its value; one that an alias repeats gets it again."""

    def __init__(self, values: Sequence[Any] | Mapping[str, Any], tree: exp.Query) -> None:
        if isinstance(values, str | bytes) or not isinstance(values, Sequence | Mapping):
            raise QueryTypeError(
                "Parameters are a list with a value per ?, or a dict with those of $names, got "
                f"{type(values).__name__} {brief(values)}. Write query(…, [value])."
            )
        found = list(tree.find_all(exp.Placeholder, exp.Parameter))
        self._values = values
        self._places = sorted({p.meta[AT] for p in found if AT in p.meta})
        self._names = {p.name for p in found} - {""}

    @property
    def size(self) -> int:
        """How many values there are, with those of lists and arrays."""
        given = self._values.values() if isinstance(self._values, Mapping) else self._values
        return sum(map(_count, given))

    def named(self, name: str) -> Constant:
        """Return the value of ``$name``. Raises QueryError."""
        if not isinstance(self._values, Mapping) or name not in self._values:
            raise QueryError(
                f"A parameter needs a value, and ${name} has none. Pass "
                f"query(…, {{{name!r}: value}})."
            )
        return constant(self._values[name])

    def at(self, place: int) -> Constant:
        """Return the value of the ``?`` at a place of the text. Raises QueryError."""
        number = self._places.index(place)
        if isinstance(self._values, Mapping) or number >= len(self._values):
            raise QueryError(
                f"A parameter needs a value, and ? number {number + 1} has none. Pass a list with "
                "one value per ?."
            )
        return constant(self._values[number])

    def check(self) -> None:
        """Refuse values that no ``?`` or ``$name`` takes. Raises QueryError."""
        if isinstance(self._values, Mapping):
            spare = [name for name in self._values if name not in self._names]
            if spare:
                name = str(spare[0]).encode(errors="replace").decode()
                raise QueryError(
                    f"There is a value for {spare[0]!r}, but the query has no ${name}."
                )
        count = len(self._places)
        if not isinstance(self._values, Mapping) and count < len(self._values):
            raise QueryError(f"The query has {count} ?, got {len(self._values)} values.")


def _count(value: Any) -> int:
    """Return how many values a parameter has; texts, bytes and arrays without axes are one."""
    try:
        return 1 if isinstance(value, str | bytes) else len(value)
    except TypeError:
        return 1
