"""All exceptions and warnings of the package, grouped by how to handle them.

::

    LakeError
    ├── NotFoundError (KeyError)            a name that does not exist: look it up, or create it
    │   ├── LakeNotFoundError (FileNotFoundError)
    │   ├── ColumnNotFoundError
    │   └── VersionNotFoundError
    ├── ExistsError (FileExistsError)       a name that is taken: choose another name
    ├── OptionError (ValueError, TypeError) an invalid argument: pass another value
    ├── RowIndexError (IndexError)          a row that does not exist: look at len()
    ├── InvalidValueError (ValueError)      data that the schema rejects: fix the data
    │   └── TooLargeError                   a value above the limits: raise the limits, or skip it
    ├── QueryError (ValueError)             an invalid query: fix the query
    │   ├── QuerySyntaxError                a syntax error, with its line and column
    │   └── QueryTypeError                  an operation on values of the wrong type or shape
    ├── SchemaError (ValueError)            a schema that contradicts itself: fix the schema
    │   └── ColumnAttributeError (AttributeError)   not an attribute of a column of this type
    ├── ReadOnlyError (PermissionError)     a write to a fixed version: open a branch
    ├── UncommittedError (RuntimeError)     uncommitted edits: commit or discard them first
    ├── LoaderError (RuntimeError)          a row that cannot be loaded: fix it, or skip it
    ├── JobError (RuntimeError)             a job that stopped: fix the function, and run it again
    ├── ConflictError (RuntimeError)        two writers changed the same cell: choose one
    ├── ForkedError (RuntimeError)          a forked process whose parent used a lake: spawn instead
    ├── FormatError (RuntimeError)          data from a newer release: upgrade
    ├── StorageError (OSError)              a store that fails: free space, fix the network
    │   ├── DamagedError                    stored bytes that have changed: restore a backup
    │   └── UnsafeStoreError                a store that loses commits: use another store
    └── MissingPackageError (ImportError)   a missing optional package: install it

The warnings are not LakeErrors::

    UserWarning
    ├── ExportWarning                       columns that a format cannot store: export separately
    ├── IndexWarning                        damaged indexes: build them again
    └── ReencodedWarning                    images that lost detail: append files, not pixels

Messages state the rule, the offending value and, if there is one, a fix.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True)
class Place:
    r"""A position in the text of a query.

    >>> print(Place.at("SELECT a,\n  labl", 12))
    Line 2, column 3:
        labl
        ^
    """

    text: str
    """Text of the query."""
    line: int
    """Line number, from 1."""
    column: int
    """Column number, from 1."""

    @classmethod
    def at(cls, text: str, offset: int) -> Place:
        """Return the line and column of the character at an offset in the text."""
        before = text[:offset]
        return cls(text, before.count("\n") + 1, offset - before.rfind("\n"))

    def without(self, prefix: str) -> Place:
        """Return the position of the same character in the text without `prefix`."""
        column = max(1, self.column - len(prefix)) if self.line == 1 else self.column
        return Place(self.text.removeprefix(prefix), self.line, column)

    def excerpt(self) -> str:
        """Return the line with a caret below the position. Of a long line, a part is shown."""
        lines = self.text.splitlines() or [""]
        line, at = lines[min(self.line, len(lines)) - 1], self.column - 1
        first = max(0, at - LINE_WIDTH // 2) if len(line) > LINE_WIDTH else 0
        last = first + LINE_WIDTH
        dots = "…" if first else ""
        excerpt = dots + line[first:last] + ("…" if last < len(line) else "")
        return f"  {excerpt}\n  {' ' * (at - first + len(dots))}^"

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}:\n{self.excerpt()}"


LINE_WIDTH = 160
"""Maximum number of characters that an error shows of a line of a query."""


def message_of(error: BaseException) -> str:
    """Return the message of an error, even if its ``__str__`` raises."""
    try:
        return str(error).encode(errors="backslashreplace").decode()
    except Exception:  # a user's `__str__` may raise any error
        return "an error whose message cannot be read, because its __str__ raises"


class LakeError(Exception):
    """Base class of all errors that this package raises on purpose.

    Attributes
    ----------
    place : Place, optional
        Position of the error in the text of a query, or None.
    """

    place: Place | None = None

    def __str__(self) -> str:
        message = str(self.args[0]) if self.args else ""
        return message if self.place is None else f"{message} {self.place}"

    @property
    def finding(self) -> str:
        """The message without its last sentence, for callers that suggest another fix.

        >>> LakeError("The file must not be empty, but it has 0 bytes. Fetch it again.").finding
        'The file must not be empty, but it has 0 bytes'
        """
        message = str(self.args[0]) if self.args else ""
        return message.rpartition(". ")[0] or message


class NotFoundError(LakeError, KeyError):
    """A name that does not exist."""

    @classmethod
    def named(cls, kind: str, name: object, known: Iterable[str]) -> NotFoundError:
        """Build the error for an unknown `name`, with the most similar of the `known` names.

        >>> print(NotFoundError.named("column", "lable", ["image", "label"]))
        There is no column 'lable'. Did you mean 'label'? Known: 'image', 'label'.
        """
        names = list(known)
        matches = get_close_matches(str(name), names, n=1)
        hint = f" Did you mean {matches[0]!r}?" if matches else ""
        listing = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        return cls(f"There is no {kind} {name!r}.{hint} Known: {listing or 'none'}.")


class LakeNotFoundError(NotFoundError, FileNotFoundError):
    """A URL or path at which there is no lake."""


class ColumnNotFoundError(NotFoundError):
    """A column that is not in the schema."""


class VersionNotFoundError(NotFoundError):
    """A branch, tag, commit or time that the lake does not have."""


class ExistsError(LakeError, FileExistsError):
    """A name or a location that is already taken."""


class OptionError(LakeError, ValueError, TypeError):
    """An argument that is invalid, or that cannot be combined with another argument."""


class RowIndexError(LakeError, IndexError):
    """A row that does not exist, or an index that does not select rows."""


class InvalidValueError(LakeError, ValueError):
    """A value that the column's htype rejects.

    Parameters
    ----------
    message : str
        The rule, the value and the fix.
    column : str, optional
        Name of the column.
    row : int, optional
        Position of the value in the data that was passed in. If the call specifies which rows to
        change, this is the position of the row in the dataset.
    """

    def __init__(self, message: str, *, column: str | None = None, row: int | None = None) -> None:
        super().__init__(message)
        self.column = column
        self.row = row

    def __str__(self) -> str:
        place = [f"column {self.column!r}"] if self.column is not None else []
        place += [f"row {self.row}"] if self.row is not None else []
        return (", ".join(place) + ": " if place else "") + super().__str__()

    def at(self, *, column: str | None = None, row: int | None = None) -> InvalidValueError:
        """Return the same error with its column and row, if these are not given yet.

        >>> print(InvalidValueError("must be positive, but it is 0.").at(column="area", row=7))
        column 'area', row 7: must be positive, but it is 0.
        """
        return type(self)(
            super().__str__(),
            column=self.column if column is None else column,
            row=self.row if row is None else row,
        )


class TooLargeError(InvalidValueError):
    """A value whose decoded size exceeds the limits with which the lake was opened."""


class QueryError(LakeError, ValueError):
    """An invalid query."""


class QuerySyntaxError(QueryError):
    """A query that cannot be parsed.

    Attributes
    ----------
    line, column : int
        Line and column of the error, from 1.
    """

    line: int = 1
    column: int = 1
    _text_and_reason: tuple[str, str] = ("", "")
    """Text of the query, and the reason why it cannot be parsed."""

    @classmethod
    def at(cls, text: str, line: int, column: int, reason: str) -> QuerySyntaxError:
        """Build the error, with the line in question and a caret below it.

        >>> print(QuerySyntaxError.at("SELECT a FROM", 1, 13, "Expected a source"))
        Expected a source: line 1, column 13.
          SELECT a FROM
                      ^
        """
        place = Place(text, line, column)
        error = cls(f"{reason}: line {line}, column {column}.\n{place.excerpt()}")
        error.line, error.column = line, column
        error._text_and_reason = text, reason
        return error

    def without(self, prefix: str) -> QuerySyntaxError:
        """Return the same error for the text without `prefix`.

        >>> print(QuerySyntaxError.at("SELECT a FROM", 1, 13, "Expected more").without("SELECT "))
        Expected more: line 1, column 6.
          a FROM
               ^
        """
        text, reason = self._text_and_reason
        place = Place(text, self.line, self.column).without(prefix)
        return self.at(place.text, place.line, place.column, reason)


class QueryTypeError(QueryError):
    """A query that uses a value of the wrong type or shape."""


class SchemaError(LakeError, ValueError):
    """A schema, or a change to a schema, that contradicts itself."""


class ColumnAttributeError(SchemaError, AttributeError):
    """A missing attribute of a column, for which `hasattr` returns False."""


class ReadOnlyError(LakeError, PermissionError):
    """A write to a version that cannot change."""


class UncommittedError(LakeError, RuntimeError):
    """Uncommitted edits that the operation would discard or ignore."""


class ConflictError(LakeError, RuntimeError):
    """Two writers, or two sides of a merge, changed the same cell, row or column.

    Parameters
    ----------
    message : str
        The conflict and the fix.
    conflicts : sequence
        One entry per conflicting cell, row or column.
    """

    def __init__(self, message: str, conflicts: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.conflicts = list(conflicts)


class LoaderError(LakeError, RuntimeError):
    """A row that cannot be decoded, a transform that fails, or a worker process that died.

    Parameters
    ----------
    message : str
        The failure and the fix.
    row_id : int, optional
        Id of the row.
    column : str, optional
        Name of the column.
    position : int, optional
        Position of the row in its view.
    source : int, optional
        Index of the view in a mix.
    """

    def __init__(
        self,
        message: str,
        *,
        row_id: int | None = None,
        column: str | None = None,
        position: int | None = None,
        source: int | None = None,
    ) -> None:
        super().__init__(message)
        self.row_id = row_id
        self.column = column
        self.position = position
        self.source = source


class JobError(LakeError, RuntimeError):
    """A job that stopped, because its function failed, a worker died or the job was cancelled.

    Parameters
    ----------
    message : str
        The failure and the fix.
    row_ids : sequence of int
        Ids of the rows in the batch that failed.
    """

    def __init__(self, message: str, *, row_ids: Iterable[int] = ()) -> None:
        super().__init__(message)
        self.row_ids = tuple(row_ids)


class ForkedError(LakeError, RuntimeError):
    """Use of a lake in a forked process, in which the storage engine does not work."""


class FormatError(LakeError, RuntimeError):
    """An on-disk format that this release cannot read."""


class StorageError(LakeError, OSError):
    """A store that cannot be read or written: full disk, missing permission, no network."""


class DamagedError(StorageError):
    """Stored bytes that have changed since they were written."""


class UnsafeStoreError(StorageError):
    """An object store that ignores the conditions of writes, so that commits could get lost."""


class MissingPackageError(LakeError, ImportError):
    """An optional package that is not installed."""

    @classmethod
    def needed(cls, package: str, extra: str, purpose: str) -> MissingPackageError:
        """Build the error for a missing `package`, with the command that installs it.

        >>> print(MissingPackageError.needed("umap-learn", "umap", "A map by UMAP"))
        A map by UMAP needs umap-learn. Install it: pip install "deeplake-lite[umap]".
        """
        return cls(f'{purpose} needs {package}. Install it: pip install "deeplake-lite[{extra}]".')


class ExportWarning(UserWarning):
    """Columns that an export leaves out, because the format cannot store them."""


class IndexWarning(UserWarning):
    """Indexes that are damaged, so that a query compared all rows instead."""


class ReencodedWarning(UserWarning):
    """Images that lost detail when they were re-encoded, or that are read with fewer bits."""


@contextmanager
def shorten_tracebacks(*, lines: bool = True) -> Iterator[None]:
    """Make IPython hide the stack frames of this package in errors raised in the block.

    Parameters
    ----------
    lines : bool
        Whether to show the line of the user's code that caused the error.
    """
    try:
        yield
    except LakeError as error:
        render = short_traceback if lines else _message
        # If an exception has this method, IPython calls it instead of its own formatter.
        error._render_traceback_ = partial(render, error)  # type: ignore[attr-defined]
        raise


def _message(error: BaseException) -> list[str]:
    return [f"{type(error).__name__}: {error}"]


def short_traceback(error: BaseException) -> list[str]:
    """Return a short traceback of an error, as a list of lines without frames of this package.

    The lines are the last line of user code before the error; the user's frames in the traceback of
    the error's cause, if the cause was raised in the user's own code, such as a function in a
    query; and the message. Frames of an installed library would add nothing to the message.

    >>> short_traceback(QueryError("A query must be a SELECT, but it is 'hello'."))
    ["QueryError: A query must be a SELECT, but it is 'hello'."]
    """
    import traceback
    from itertools import takewhile

    package = __file__.rpartition("errors")[0]
    frames = traceback.extract_tb(error.__traceback__)
    before = list(takewhile(lambda f: not f.filename.startswith(package), frames))
    lines = [f"line {f.lineno}: {f.line}" for f in before[-1:] if f.line]
    cause = error.__cause__
    causes = traceback.extract_tb(cause.__traceback__) if cause is not None else []
    user_frames = [f for f in causes if not f.filename.startswith(package) and f.name != "<lambda>"]
    if cause is not None and user_frames and "site-packages" not in user_frames[-1].filename:
        lines += [line.rstrip() for line in traceback.format_list(user_frames)]
    return [*lines, *_message(error)]
