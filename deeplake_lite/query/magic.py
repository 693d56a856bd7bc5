"""``%%tql``: a query as a cell of a notebook.

After ``%load_ext deeplake_lite``, a cell such as ::

    %%tql ds -o bright
    SELECT image, label WHERE MEAN(image) > $level

asks the view that the variable ``ds`` holds. FROM has the views of the notebook by the names of
their variables, ``$name`` is the value of a variable, and ``-o`` puts the result into one.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp

from deeplake_lite.dataset.view import View
from deeplake_lite.errors import NotFoundError, QueryError, shown_briefly
from deeplake_lite.query.api import query
from deeplake_lite.query.parse.dialect import AT
from deeplake_lite.query.parse.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping


def load(shell: Any) -> None:
    """Add the magic to a shell of IPython's."""

    def tql(line: str, cell: str) -> View | None:
        found, name = answer(line, cell, shell.user_ns)
        if name is None:
            return found
        shell.user_ns[name] = found
        return None

    tql.__doc__ = __doc__
    shell.register_magic_function(tql, "cell", "tql")


def answer(line: str, cell: str, variables: Mapping[str, Any]) -> tuple[View, str | None]:
    """Return what a cell asks for, and the name of the variable that is to have it.

    Raises
    ------
    LakeError
        As `View.query` does; shown in a notebook by its message alone.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://magic-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> found, name = answer("ds -o large", "SELECT x WHERE x > $least", {"ds": ds, "least": 1})
    >>> name, found["x"][:]
    ('large', array([2, 3], dtype=int32))
    """
    with shown_briefly(lines=False):
        wanted = _Line(prog="%%tql", add_help=False).parse_args(line.split())
        if wanted.output is not None and not wanted.output.isidentifier():
            raise QueryError(f"-o takes the name of a variable, got {wanted.output!r}.")
        views = {
            name: value
            for name, value in variables.items()
            if isinstance(value, View) and not name.startswith("_")
        }
        view = None if wanted.view is None else _named(wanted.view, views)
        found = query(cell, _values(cell, variables), view=view, sources=views)
    return found, wanted.output


class _Line(argparse.ArgumentParser):
    """What stands behind ``%%tql``."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.add_argument("view", nargs="?")
        self.add_argument("-o", "--output")

    def error(self, message: str) -> NoReturn:
        """Raise QueryError instead of leaving the program."""
        raise QueryError(f"It is %%tql [VIEW] [-o NAME], and then the query: {message}.")


def _named(name: str, views: Mapping[str, View]) -> View:
    if name not in views:
        raise NotFoundError.named("variable with a view", name, views)
    return views[name]


def _values(text: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables that a query names. Raises QueryError for one that is not there."""
    values = {}
    for e in parse(text).find_all(exp.Parameter, exp.Placeholder):
        if AT in e.meta:
            raise QueryError("A cell has its values from variables: write $name, not ?.")
        name = e.this if isinstance(e.this, str) else e.name
        if name not in variables:
            raise QueryError(
                f"${name} is the value of the variable {name!r}, which is not there. Set it in a "
                "cell above."
            )
        values[name] = variables[name]
    return values
