"""Functions of users: which Python functions queries may call, and by which names."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

from sqlglot import exp

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import ExistsError, NotFoundError, QueryError, QueryTypeError
from deeplake_lite.query.bind.calls.allowed import ALLOWED, GRAMMAR
from deeplake_lite.query.bind.calls.call import NAMED
from deeplake_lite.query.bind.calls.known import AGGREGATES, NAMES
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN, Returns, declared_type, entry
from deeplake_lite.query.parse.parsing import parse


def function[F: Callable[..., Any]](
    *,
    returns: Returns,
    per: Literal["row", "block"] = "row",
    name: str | None = None,
    override: bool = False,
) -> Callable[[F], F]:
    """Let queries call a Python function.

    Parameters
    ----------
    returns : str, (str, tuple) or Htype
        What comes out of a row: a dtype ("float32", "str", "object" for JSON), a dtype and a shape
        (None for lengths that vary), or an htype.
    per : {"row", "block"}
        Whether the function takes the values of one row, or of many: arrays stacked along a first
        axis, or lists where shapes vary, and gives as many results. Constants come as they are.
    name : str, optional
        In queries, whatever its case; by default the function's own.
    override : bool
        Whether to replace a built-in function of the name, whatever the types of its arguments: an
        aggregate, too, is then called per row. One of yours is replaced anyway, as when a
        notebook's cell runs again.

    Raises
    ------
    ExistsError
        When a built-in function has the name and `override` is False.
    QueryTypeError
        When `returns` is no type, or the name none that a query can write.

    Notes
    -----
    A function may write into the arrays, lists and dicts that it is given, and into those that it
    has given: they are copied. Nulls are not handed on: a null among the arguments of a row makes
    its result null, and a result of None is null. An error of the function comes as a QueryError
    that has it as its cause.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://function-doc", {"x": dl.Array("uint8", (2,))})
    >>> ds.append({"x": [[10, 20], [30, 90]]})
    >>> @dl.function(returns="float64")
    ... def contrast(image):
    ...     return float(image.max()) - float(image.min())
    >>> ds.query("SELECT CONTRAST(x) AS c")["c"][:]
    array([10., 60.])
    >>> unregister("contrast")
    """
    type_ = declared_type(returns)
    checks.choice("per", per, ("row", "block"))
    name = checks.optional_text("name", name)
    override = checks.flag("override", override)

    def register(written: F) -> F:
        key = (name or written.__name__).upper()
        _check_name(key, override=override)
        OWN[key] = entry(key, written, type_, per)
        return written

    return register


def _check_name(key: str, *, override: bool) -> None:
    """Refuse a name that no query can call, or that the language has for a function of its own.

    Raises
    ------
    QueryTypeError, ExistsError
    """
    if not key.isidentifier():
        raise QueryTypeError(f"A function's name is letters, digits and _, got {brief(key)}.")
    if not _is_callable(key):
        raise QueryTypeError(
            f"A function's name is one that a query can write in front of arguments, but {key} is "
            "a word of the language there. Choose another name=."
        )
    if key in built_in() and not override:
        raise ExistsError(
            f"Queries have a function {key} already. Choose another name=, or say override=True."
        )


def _is_callable(key: str) -> bool:
    """Tell whether a name in front of arguments is a call wherever expressions stand.

    >>> _is_callable("SPREAD"), _is_callable("KEEP"), _is_callable("CAST")
    (True, False, False)
    """
    call = f"{key}(x)"
    try:
        tree = parse(f"SELECT {call}, {call} WHERE {call} ORDER BY {call}")
    except QueryError:
        return False
    calls = [e for e in tree.find_all(exp.Anonymous) if e.name.upper() == key]
    return len(calls) == 4


@cache
def built_in() -> frozenset[str]:
    """Return the names of the functions of the language, in capitals."""
    theirs = {name.upper() for name in ALLOWED | GRAMMAR}
    return frozenset({*REGISTRY, *NAMED, *AGGREGATES, *NAMES} | theirs)


def unregister(name: str) -> None:
    """Take a user's function out again; what it replaced comes back.

    Raises
    ------
    NotFoundError
        When there is no such function of a user.
    """
    if name.upper() not in OWN:
        raise NotFoundError.named("function of yours", name, [*OWN])
    del OWN[name.upper()]
