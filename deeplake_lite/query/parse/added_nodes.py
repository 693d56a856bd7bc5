"""Additions to sqlglot's syntax trees: classes of nodes, arguments of nodes, and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable


AT = "at"
"""Metadata key of a parameter that is written as ``?``. Its value is the offset of the ``?``."""

WRITTEN = "written"
"""Metadata key of a type. Its value is the name of the type, as written in the query."""

CALL = "call"
"""Metadata key of a CASE that replaces a call. Its value is the name and the text of the call."""

WORDY = "wordy"
"""Metadata key of a list that is written as ARRAY[…], which could also mean an item of a column
named array."""

UNGROUP = "ungroup"
"""Argument of a SELECT node. Its value is the expressions after UNGROUP BY."""

CLAUSES = "clauses"
"""Argument of a SELECT node. Its value is the clauses after LIMIT, in the order of the query."""


USING_INDEX = "using_index"
"""Argument of a SELECT node. Its value is a node for USING INDEX, which asks for an approximate
search."""


class UsingIndex(exp.Expression):
    """``USING INDEX``, after LIMIT."""

    arg_types: ClassVar[dict[str, bool]] = {}


class Arrange(exp.Expression):
    """``ARRANGE BY expr, …``, which puts rows with equal values next to each other."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Sample(exp.Expression):
    """``SAMPLE BY weight [REPLACE [TRUE | FALSE]] [LIMIT n | n PERCENT] [SEED n]``.

    This clause draws rows at random.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "replace": False,
        "limit": False,
        "percent": False,
        "seed": False,
    }


class Expand(exp.Expression):
    """``EXPAND BY before, after``, which adds the rows before and after each row."""

    arg_types: ClassVar[dict[str, bool]] = {"before": True, "after": True}


class Ellipsis(exp.Expression):
    """``...`` in a subscript, which stands for all axes that have no index."""

    arg_types: ClassVar[dict[str, bool]] = {}


def check_extensible(node: Callable[[], object]) -> None:
    """Check that the compiled build of sqlglot is not installed.

    Python classes cannot inherit from the classes in that build:
    https://github.com/tobymao/sqlglot/issues/7923.

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
            "compiled build is installed. Remove the compiled build: pip uninstall sqlglotc."
        ) from error


check_extensible(Ellipsis)
