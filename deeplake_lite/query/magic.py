"""The cell magic ``%%tql``, which runs the text of a notebook cell as a query.

After ``%load_ext deeplake_lite``, a cell such as ::

    %%tql ds -o bright
    SELECT image, label WHERE MEAN(image) > $level

queries the view in the variable ``ds`` and stores the result in the variable ``bright``. FROM can
refer to any variable of the notebook that contains a view, and ``$level`` stands for the value of
the variable ``level``.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp

from deeplake_lite.dataset.view import View
from deeplake_lite.errors import NotFoundError, QueryError, shorten_tracebacks
from deeplake_lite.query.api import query
from deeplake_lite.query.parse.added_nodes import AT
from deeplake_lite.query.parse.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping


def load(shell: Any) -> None:
    """Register ``%%tql`` in an IPython shell."""

    def tql(line: str, cell: str) -> View | None:
        result, name = run_cell(line, cell, shell.user_ns)
        if name is None:
            return result
        shell.user_ns[name] = result
        return None

    tql.__doc__ = __doc__
    shell.register_magic_function(tql, "cell", "tql")


def run_cell(line: str, cell: str, variables: Mapping[str, object]) -> tuple[View, str | None]:
    """Run the query of a cell.

    Returns the result, and the name of the variable that follows ``-o``, or None without ``-o``.

    Raises
    ------
    LakeError
        In the same cases as `View.query`. A notebook shows the message without the traceback.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://magic-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> variables = {"ds": ds, "least": 1}
    >>> result, name = run_cell("ds -o large", "SELECT x WHERE x > $least", variables)
    >>> name, result["x"][:]
    ('large', array([2, 3], dtype=int32))
    """
    with shorten_tracebacks(lines=False):
        options = _LineParser(prog="%%tql", add_help=False).parse_args(line.split())
        if options.output is not None and not options.output.isidentifier():
            raise QueryError(
                f"In %%tql, -o must be followed by the name of a variable, but it is followed by "
                f"{options.output!r}. Write, for example, -o result."
            )
        views = {
            name: value
            for name, value in variables.items()
            if isinstance(value, View) and not name.startswith("_")
        }
        view = None if options.view is None else _find_view(options.view, views)
        result = query(cell, _values(cell, variables), view=view, sources=views)
    return result, options.output


class _LineParser(argparse.ArgumentParser):
    """Parse the arguments after ``%%tql``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_argument("view", nargs="?")
        self.add_argument("-o", "--output")

    def error(self, message: str) -> NoReturn:
        """Raise QueryError instead of exiting."""
        raise QueryError(
            "The first line must be %%tql [VIEW] [-o NAME], but it cannot be read: "
            f"{message}. Write the query on the following lines."
        )


def _find_view(name: str, views: Mapping[str, View]) -> View:
    if name not in views:
        raise NotFoundError.named("view named", name, views)
    return views[name]


def _values(text: str, variables: Mapping[str, object]) -> dict[str, Any]:
    """Return a dict that maps the variables which a query uses to their values.

    Raises QueryError if there is no variable with the name of a parameter.
    """
    values = {}
    for e in parse(text).find_all(exp.Parameter, exp.Placeholder):
        if AT in e.meta:
            raise QueryError(
                "Parameters in a cell are variables, so they need names. Write $name instead of ?."
            )
        name = e.this if isinstance(e.this, str) else e.name
        if name not in variables:
            raise QueryError(
                f"${name} stands for the variable {name!r}, but there is no such variable. "
                "Set it in a cell above."
            )
        values[name] = variables[name]
    return values
