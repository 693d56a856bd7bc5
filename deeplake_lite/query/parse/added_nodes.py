"""Nodes, arguments and metadata of the syntax tree that sqlglot does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable


AT = "at"
"""Metadata key of a parameter: the position of its ``?`` in the text."""

WRITTEN = "written"
"""Metadata key of a type: the name as written in the query."""

CALL = "call"
"""Metadata key of a CASE: the call that was lowered to it, for messages."""

WORDY = "wordy"
"""Metadata key of a list written as ARRAY[…], which could also be an item of a column."""

UNGROUP = "ungroup"
"""Argument of a SELECT node: the lists that UNGROUP BY splits into rows."""

CLAUSES = "clauses"
"""Argument of a SELECT node: the clauses after LIMIT, in the order written."""


class Arrange(exp.Expression):
    """``ARRANGE BY expr, …``: put rows with equal values next to each other."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Sample(exp.Expression):
    """``SAMPLE BY weight [REPLACE [TRUE | FALSE]] [LIMIT n | n PERCENT] [SEED n]``."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "replace": False,
        "limit": False,
        "percent": False,
        "seed": False,
    }


class Expand(exp.Expression):
    """``EXPAND BY before, after``: add the rows around each row."""

    arg_types: ClassVar[dict[str, bool]] = {"before": True, "after": True}


class Ellipsis(exp.Expression):
    """``...`` in a subscript."""

    arg_types: ClassVar[dict[str, bool]] = {}


def check_extensible(node: Callable[[], object]) -> None:
    """Reject the compiled build of sqlglot, which cannot be extended.

    Python classes cannot inherit from its classes: https://github.com/tobymao/sqlglot/issues/7923.

    Raises
    ------
    MissingPackageError
        If `node`, a class in this module, cannot be instantiated.
    """
    try:
        node()
    except TypeError as error:
        raise MissingPackageError(
            "Queries need sqlglot without its compiled build, which cannot be extended, but the "
            "compiled build is installed. Remove it: pip uninstall sqlglotc."
        ) from error


check_extensible(Ellipsis)
