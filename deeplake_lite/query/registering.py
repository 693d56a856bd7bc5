"""Register Python functions that queries may call."""

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
from deeplake_lite.query.bind.calls.function_names import AGGREGATES, NAMES
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
        Type of the result for one row: a dtype ("float32", "str", or "object" for JSON), a pair of
        a dtype and a shape (with None for each axis whose length varies), or an htype.
    per : {"row", "block"}
        With "row", the function is called once for each row, with the values of that row. With
        "block", it is called with the values of many rows, and returns one result per row: each
        argument is an array whose first axis is the rows, or a list if the values differ in shape.
        Constants are passed as single values in either case.
    name : str, optional
        The name to call the function by in queries, in upper or lower case. By default, it is the
        name of the Python function.
    override : bool
        Whether to replace a built-in function with the same name, for all types of arguments. If
        you replace an aggregate, your function is called for each row instead. Functions that you
        have registered yourself are always replaced, so you can rerun a notebook cell.

    Raises
    ------
    ExistsError
        If there is a built-in function with the name, and `override` is False.
    QueryTypeError
        If `returns` is not a type, or if the name is not an identifier or is a keyword.

    Notes
    -----
    Arguments and results are copied, so a function may modify its arguments, and also the results
    that it has returned. It does not receive nulls: if an argument is null in a row, the result of
    that row is null. A result of None means null, too. If the function raises an error, the query
    raises a QueryError with that error as its cause.

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

    def register(python_function: F) -> F:
        key = (name or python_function.__name__).upper()
        _check_name(key, override=override)
        OWN[key] = entry(key, python_function, type_, per)
        return python_function

    return register


def _check_name(key: str, *, override: bool) -> None:
    """Check that a function may be registered under `key`, which is its name in capitals.

    Raises
    ------
    QueryTypeError
        If the name is not an identifier, or is a keyword.
    ExistsError
        If it is the name of a built-in function, and `override` is False.
    """
    if not key.isidentifier():
        raise QueryTypeError(
            "The name of a function must consist of letters, digits and _, but it is "
            f"{brief(key)}. Pass a different name=."
        )
    if not _is_callable(key):
        raise QueryTypeError(
            "The name of a function must not be a keyword of the query language, but "
            f"{key} is a keyword. Pass a different name=."
        )
    if key in built_in() and not override:
        raise ExistsError(
            f"A built-in function {key} already exists. Pass a different name=, or pass "
            "override=True to replace the built-in function."
        )


def _is_callable(key: str) -> bool:
    """Return whether the parser reads ``key(x)`` as a function call in every clause.

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
    """Return the names of the built-in functions, in capitals."""
    duckdb_names = {name.upper() for name in ALLOWED | GRAMMAR}
    return frozenset({*REGISTRY, *NAMED, *AGGREGATES, *NAMES} | duckdb_names)


def unregister(name: str) -> None:
    """Remove a function that you registered, and restore the built-in function that it replaced.

    Raises
    ------
    NotFoundError
        If you have not registered a function with this name.
    """
    if name.upper() not in OWN:
        raise NotFoundError.named("registered function", name, [*OWN])
    del OWN[name.upper()]
