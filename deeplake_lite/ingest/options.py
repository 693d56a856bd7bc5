"""What every ingest can be told, whatever its source, and which of it makes no sense."""

from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import OptionError
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deeplake_lite.codecs.limits import Limits
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.source import Source

type Update = bool | Literal["force"]
type Types = Mapping[str, Any] | Schema | None


class Options(TypedDict, total=False):
    """What every ingest can be told."""

    schema: Mapping[str, Any] | Schema
    """Types of some columns, instead of those that are found: ``{"image": dl.Image("jpeg")}``, or
    the schema of another lake."""
    branch: str
    """The branch to write to, ``"main"`` if left out."""
    on_error: OnError
    """What a bad row does: ``"raise"``, or ``"skip"`` it and list it in `Ingested.skipped`."""
    check: Check
    """How files are checked: ``"header"`` and end, or ``"full"``, by decoding them."""
    update: Update
    """What happens to rows that are there. True: they follow the source, but for what people have
    changed or deleted in the lake since, which stays and is listed in `Ingested.kept`. False: they
    are left unread. ``"force"``: the source counts in every cell, and rows without a key are
    appended even if they were before."""
    commit_every: int | None
    """Commit every so many rows; an interrupted ingest goes on from there when it is run again."""
    message: str
    """Of the commit."""
    progress: bool
    """Whether a bar shows when it takes longer than a second."""
    limits: Limits
    """How much memory one value may take once decoded, as for `open`."""
    storage_options: Mapping[str, Any] | None
    """What an object store needs."""


def _delimiter(name: str, value: Any) -> str:
    """Return the character between the values of a line. Raises OptionError."""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in '\r\n"':
        raise OptionError(
            f"{name} must be one ASCII character, such as ';' or '\\t', but it is "
            f"{brief(value, 80)}."
        )
    return value


def _update(value: Any) -> Update:
    """Return how rows that are there are updated. Raises OptionError."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str) or value != "force":
        raise OptionError(f"update must be True, False or 'force', but it is {brief(value, 80)}.")
    return "force"


def _types(name: str, value: Any) -> Any:
    """Return types of columns, or the schema of a lake. Raises OptionError."""
    return value if isinstance(value, Schema) else checks.mapping(name, value)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "on": checks.optional_text,
    "label": checks.text,
    "file_column": checks.optional_text,
    "columns": lambda name, value: None if value is None else checks.names(name, value),
    "labels": lambda name, value: None if value is None else checks.location(name, value),
    "delimiter": _delimiter,
    "schema": _types,
    "on_error": lambda name, value: checks.choice(name, value, ("raise", "skip")),
    "check": lambda name, value: checks.choice(name, value, ("header", "full")),
    "update": lambda _, value: _update(value),
    "commit_every": lambda name, value: None if value is None else checks.integer(name, value, 1),
    "branch": checks.text,
    "message": checks.text,
    "progress": checks.flag,
}
"""What returns an option as functions take it, or raises."""

PLACE = """    **options
        See `Options`.
"""
"""Where the docstring of a function that takes options gets `LINES`."""

LINES = """    schema : mapping or Schema, optional
        Types of some columns, instead of those that are found: ``{"image": dl.Image("jpeg")}``, or
        the schema of another lake, ``ds.schema``.
    branch : str
        The branch to write to, ``"main"`` if left out.
    on_error : {"raise", "skip"}
        What a bad row does: raise, or be left out and listed in ``ingested.skipped``.
    check : {"header", "full"}
        How files are checked: header and end, or by decoding them.
    update : bool or "force"
        Whether rows that are there follow the source; "force": even over edits in the lake.
    commit_every : int, optional
        Commit every so many rows; run again, an interrupted ingest goes on from there.
    message : str
        Of the commit.
    progress : bool
        Whether a bar shows when it takes longer than a second.
    limits : Limits
        How much memory one value may take once decoded, as for ``dl.open``.
    storage_options : mapping, optional
        What an object store needs.
"""
"""What `Options` says, a line each, for readers of ``help``."""


def types_of(schema: Types) -> Mapping[str, Any]:
    """Return the types that `schema` gives to columns, by name; none for None.

    >>> types_of(Schema.build({"x": "int32"}))
    {'x': Scalar('int32')}
    """
    if isinstance(schema, Schema):
        return {f.name: f.htype for f in schema}
    return schema or {}


def takes_options[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Let a function describe the options in its docstring, and refuse others by its own name."""
    own = [n for n in inspect.signature(function).parameters if n != "options"]
    known = [*own, *Options.__annotations__]

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs.keys() - set(known):
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise OptionError(
                f"{function.__name__}() has no option {name!r}.{hint} Known: {', '.join(known)}."
            )
        for name in kwargs.keys() & _CHECKS.keys():
            kwargs[name] = _CHECKS[name](name, kwargs[name])
        return function(*args, **kwargs)

    run.__doc__ = (function.__doc__ or "").replace(PLACE, LINES)
    return run


def check_commit_every(commit_every: int | None, source: Source) -> None:
    """Refuse commits in between where an interrupted ingest cannot go on. Raises OptionError."""
    if commit_every is not None and source.key is None and source.fingerprint is None:
        raise OptionError(
            f"commit_every= needs a key for rows from {source.title}: without one, an "
            "interrupted ingest that is run again would write rows twice. Name that column: "
            "on=…."
        )
