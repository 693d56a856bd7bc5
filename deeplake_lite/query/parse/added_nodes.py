"""Additions to sqlglot's syntax trees: classes of nodes, arguments of nodes, and metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sqlglot import exp

from deeplake_lite.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable


AT = "at"
"""Key of metadata that a parameter written as ``?`` has: the offset of the ``?`` in the text."""

WRITTEN = "written"
"""Key of metadata that a type has: the name of the type, as written in the query."""

CALL = "call"
"""Key of metadata that a CASE has if it replaces a call: the name and text of the call."""

WORDY = "wordy"
"""Key of metadata that a list has if it is written as ARRAY[…], which could also mean an item of a
column named array."""

UNGROUP = "ungroup"
"""Argument of a SELECT node: the expressions after UNGROUP BY."""

CLAUSES = "clauses"
"""Argument of a SELECT node: the clauses after LIMIT, in the order in which they are written."""


class Arrange(exp.Expression):
    """``ARRANGE BY expr, …``, which puts rows with equal values next to each other."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Sample(exp.Expression):
    """``SAMPLE BY weight [REPLACE [TRUE | FALSE]] [LIMIT n | n PERCENT] [SEED n]``.

    It draws rows at random.
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
