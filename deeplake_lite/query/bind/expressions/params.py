"""The values of a query's parameters, which are written as ``?`` or as ``$name``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deeplake_lite.brief import brief
from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.query.bind.expressions.constants import constant
from deeplake_lite.query.parse.added_nodes import AT

if TYPE_CHECKING:
    from deeplake_lite.query.values import Constant


class Params:
    """Looks up the values of parameters.

    A ``?`` is identified by its position in the text. Therefore, an expression that an alias
    repeats has the same value each time.

    Parameters
    ----------
    values : sequence or mapping
        A sequence with a value for each ``?``, or a dict that maps the names of parameters to
        values.
    tree : exp.Query
        The syntax tree of the query.

    Raises
    ------
    QueryTypeError
        If `values` is neither a list nor a dict.
    """

    def __init__(self, values: Sequence[object] | Mapping[str, object], tree: exp.Query) -> None:
        if isinstance(values, str | bytes) or not isinstance(values, Sequence | Mapping):
            raise QueryTypeError(
                "Parameters must be a list with a value for each ?, or a dict with a value for "
                f"each $name, but they are {type(values).__name__} {brief(values)}. Write "
                "query(…, [value])."
            )
        parameters = list(tree.find_all(exp.Placeholder, exp.Parameter))
        self._values = values
        self._positions = sorted({p.meta[AT] for p in parameters if AT in p.meta})
        self._names = {p.name for p in parameters} - {""}

    @property
    def size(self) -> int:
        """Number of values, including the items of lists and arrays."""
        values = self._values.values() if isinstance(self._values, Mapping) else self._values
        return sum(map(_count, values))

    def get_named(self, name: str) -> Constant:
        """Return the value of ``$name``. Raises QueryError if it has no value."""
        if not isinstance(self._values, Mapping) or name not in self._values:
            raise QueryError(
                f"Every parameter needs a value, but ${name} has no value. Pass "
                f"query(…, {{{name!r}: value}})."
            )
        return constant(self._values[name])

    def get_positional(self, position: int) -> Constant:
        """Return the value of the ``?`` at an offset in the text.

        Raises QueryError if it has no value.
        """
        number = self._positions.index(position)
        if isinstance(self._values, Mapping) or number >= len(self._values):
            raise QueryError(
                f"Every parameter needs a value, but ? number {number + 1} has no value. Pass a "
                "list with one value for each ?."
            )
        return constant(self._values[number])

    def check(self) -> None:
        """Raise QueryError if there is a value without a corresponding ``?`` or ``$name``."""
        if isinstance(self._values, Mapping):
            spare = [name for name in self._values if name not in self._names]
            if spare:
                name = str(spare[0]).encode(errors="replace").decode()
                raise QueryError(
                    f"A value was passed for {spare[0]!r}, but the query has no parameter ${name}. "
                    "Leave the value out."
                )
        count = len(self._positions)
        if not isinstance(self._values, Mapping) and count < len(self._values):
            raise QueryError(
                f"The query has {pluralize(count, 'placeholder')} (?), but it was given "
                f"{pluralize(len(self._values), 'value')}. Leave out the extra values."
            )


def _count(value: Any) -> int:
    """Return the number of values that a parameter contains.

    A string, bytes or a scalar counts as one value.
    """
    try:
        return 1 if isinstance(value, str | bytes) else len(value)
    except TypeError:
        return 1
