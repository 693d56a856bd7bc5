"""The options that all ingest functions share, and checks of their values."""

from __future__ import annotations

import functools
import inspect
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import OptionError
from deeplake_lite.remote.executor import check_executor
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deeplake_lite.codecs.limits import Limits
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.encoding import OnError
    from deeplake_lite.ingest.source import Source

type Update = bool | Literal["force"]
type Types = Mapping[str, object] | Schema | None


class Options(TypedDict, total=False):
    """The options that all ingest functions share."""

    schema: Mapping[str, object] | Schema
    """Types of columns, which replace the inferred types, such as ``{"image": dl.Image("jpeg")}``
    or the schema of another lake."""
    branch: str
    """The branch to write to, ``"main"`` by default."""
    on_error: OnError
    """How to handle bad rows: ``"raise"`` raises an error, and ``"skip"`` skips the row and lists
    it in `Ingested.skipped`."""
    check: Check
    """How to check files: ``"header"`` checks only the beginning and end of a file, and ``"full"``
    decodes the whole file."""
    update: Update
    """How to handle rows that are already in the lake. With True, they are updated from the source,
    except for cells and rows that people have changed or deleted in the lake, which are listed in
    `Ingested.kept`. With False, rows that are already in the lake are not read. With ``"force"``,
    the source overwrites every cell, and rows without a key are appended again."""
    commit_every: int | None
    """Number of rows after which to commit. If an interrupted ingest is run again, it resumes from
    the last commit."""
    message: str
    """Commit message."""
    progress: bool
    """Whether to show a progress bar if the ingest takes longer than a second."""
    limits: Limits
    """Limits on the memory that a decoded value may take, as for `open`."""
    storage_options: Mapping[str, object] | None
    """Options of the object store."""
    executor: Any
    """Where rows are read and encoded: None for a thread of this process, a number of processes, or
    an object with a method ``submit``, such as a client of Dask. This process writes the rows in
    their order, so the lake does not depend on the executor."""


def _delimiter(name: str, value: object) -> str:
    """Check the delimiter of a CSV file, and return it. Raises OptionError if it is invalid."""
    if not isinstance(value, str) or len(value) != 1 or not value.isascii() or value in '\r\n"':
        raise OptionError(
            f"{name} must be one ASCII character, such as ';' or '\\t', but it is "
            f"{brief(value, 80)}."
        )
    return value


def _update(value: object) -> Update:
    """Check the value of the option `update`, and return it.

    Raises OptionError if it is invalid.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str) or value != "force":
        raise OptionError(f"update must be True, False or 'force', but it is {brief(value, 80)}.")
    return "force"


def _types(name: str, value: object) -> object:
    """Check a mapping of types or the schema of a lake, and return it.

    Raises OptionError if it is invalid.
    """
    return value if isinstance(value, Schema) else checks.mapping(name, value)


_CHECKS: dict[str, Callable[[str, object], object]] = {
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
    "executor": lambda _, value: check_executor(value),
}
"""Maps each option to a function that checks a value and returns it in its canonical form."""

TABLE_PLACE = """    on, columns
        See `TABLE_LINES`.
"""
"""The lines of a docstring that `takes_options` replaces with `TABLE_LINES`."""

TABLE_LINES = """    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended.
    columns : sequence of str, optional
        The columns to ingest. By default, all columns.
"""
"""A description, for ``help``, of the parameters that all functions for tables have."""

PLACE = """    **options
        See `Options`.
"""
"""The lines of a docstring that `takes_options` replaces with `LINES`."""

LINES = """    schema : mapping or Schema, optional
        Types of columns, in place of the inferred ones, such as ``{"image": dl.Image("jpeg")}`` or
        the schema of another lake, ``ds.schema``.
    branch : str
        The branch to write to, ``"main"`` by default.
    on_error : {"raise", "skip"}
        Whether to raise an error for a bad row, or to skip the row and list it in
        ``ingested.skipped``.
    check : {"header", "full"}
        Whether to check only the beginning and end of files, or to decode them.
    update : bool or "force"
        Whether to update rows that are already in the lake. "force" also overwrites edits.
    commit_every : int, optional
        Number of rows after which to commit. If an interrupted ingest is run again, it resumes from
        the last commit.
    message : str
        Commit message.
    progress : bool
        Whether to show a progress bar if the ingest takes longer than a second.
    limits : Limits
        Limits on the memory that a decoded value may take, as for ``dl.open``.
    storage_options : mapping, optional
        Options of the object store.
    executor : int or object, optional
        Where rows are read and encoded: a number of processes, or an object with a method
        ``submit``, such as a client of Dask. By default, in a thread of this process.
"""
"""A short description of `Options`, for ``help``."""


def types_of(schema: Types) -> Mapping[str, object]:
    """Return a dict from the names of columns to declared types, which is empty for None.

    >>> types_of(Schema.build({"x": "int32"}))
    {'x': Scalar('int32')}
    """
    if isinstance(schema, Schema):
        return {f.name: f.htype for f in schema}
    return schema or {}


def takes_options[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Add the options to a function's docstring, and check their values in each call."""
    parameters = [n for n in inspect.signature(function).parameters if n != "options"]
    known = [*parameters, *Options.__annotations__]

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs.keys() - set(known):
            near = get_close_matches(name, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise OptionError(
                f"{function.__name__}() has no option {name!r}.{hint} The options are "
                f"{', '.join(known)}."
            )
        for name in kwargs.keys() & _CHECKS.keys():
            kwargs[name] = _CHECKS[name](name, kwargs[name])
        return function(*args, **kwargs)

    text = (function.__doc__ or "").replace(TABLE_PLACE, TABLE_LINES)
    run.__doc__ = text.replace(PLACE, LINES)
    return run


def check_commit_every(commit_every: int | None, source: Source) -> None:
    """Raise OptionError for `commit_every` if an interrupted ingest could not be resumed."""
    if commit_every is not None and source.key is None and source.fingerprint is None:
        raise OptionError(
            f"commit_every= requires a key column for {source.title}, because rerunning an "
            "interrupted ingest without a key would write rows twice. Pass the key column: on=…."
        )
