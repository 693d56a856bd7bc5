"""The one exception tree: what can go wrong, grouped by what a handler would do about it.

::

    LakeError
    ├── NotFoundError (KeyError)            a name that is not there: look it up, or make it
    │   ├── LakeNotFoundError (FileNotFoundError)
    │   ├── ColumnNotFoundError
    │   └── VersionNotFoundError
    ├── ExistsError (FileExistsError)       a name that is taken: choose another
    ├── OptionError (ValueError, TypeError) an argument that does not fit: give another
    ├── RowIndexError (IndexError)          a row that is not there: look at len()
    ├── InvalidValueError (ValueError)      data that the schema refuses: mend the data
    │   └── TooLargeError                   a value over the limits: raise them, or leave it out
    ├── QueryError (ValueError)             a query that does not hold together: mend the query
    │   ├── QuerySyntaxError                at a line and a column of its text
    │   └── QueryTypeError                  values of the wrong kind or shape for what is done
    ├── SchemaError (ValueError)            a schema that contradicts itself: mend the schema
    ├── ReadOnlyError (PermissionError)     a write to a pinned version: open a branch
    ├── UncommittedError (RuntimeError)     edits in the way: commit or discard first
    ├── LoaderError (RuntimeError)          a row that does not load: mend it, or skip it
    ├── ConflictError (RuntimeError)        two writers changed the same cell: choose one
    ├── ForkedError (RuntimeError)          a fork of a process with lakes: spawn it
    ├── FormatError (RuntimeError)          written by a newer release: upgrade
    ├── StorageError (OSError)              a store that refuses: free space, mend the network
    │   └── DamagedError                    bytes that are not what was written: restore them
    └── MissingPackageError (ImportError)   an optional package: install it

and the warnings, which are no LakeErrors::

    UserWarning
    └── ReencodedWarning                    pictures that lost detail: append files, not pixels

Every message gives the rule, the value and the way out.
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
    r"""A place in the text of a query.

    >>> print(Place.at("SELECT a,\n  labl", 12))
    Line 2, column 3:
        labl
        ^
    """

    text: str
    """The query."""
    line: int
    """From 1."""
    column: int
    """From 1."""

    @classmethod
    def at(cls, text: str, offset: int) -> Place:
        """Return the place of a character."""
        before = text[:offset]
        return cls(text, before.count("\n") + 1, offset - before.rfind("\n"))

    def without(self, prefix: str) -> Place:
        """Return the same place in the text that stands behind a prefix."""
        column = max(1, self.column - len(prefix)) if self.line == 1 else self.column
        return Place(self.text.removeprefix(prefix), self.line, column)

    def excerpt(self) -> str:
        """Return the line, around the place where it is long, with a caret below."""
        lines = self.text.splitlines() or [""]
        row, at = lines[min(self.line, len(lines)) - 1], self.column - 1
        first = max(0, at - LINE_WIDTH // 2) if len(row) > LINE_WIDTH else 0
        last = first + LINE_WIDTH
        dots = "…" if first else ""
        shown = dots + row[first:last] + ("…" if last < len(row) else "")
        return f"  {shown}\n  {' ' * (at - first + len(dots))}^"

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}:\n{self.excerpt()}"


LINE_WIDTH = 160
"""Characters of a query's line that an error shows."""


def message_of(error: BaseException) -> str:
    """Return what an error says, whatever its class makes of that."""
    try:
        return str(error).encode(errors="backslashreplace").decode()
    except Exception:  # whatever a class of the user's raises
        return "an error whose message raises one, too"


class LakeError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes
    ----------
    place : Place, optional
        Where in a query, of which it is an error.
    """

    place: Place | None = None

    def __str__(self) -> str:
        said = str(self.args[0]) if self.args else ""
        return said if self.place is None else f"{said} {self.place}"

    @property
    def finding(self) -> str:
        """What is wrong, without the last sentence: a way out that is not that of everybody.

        >>> LakeError("A file has bytes, got 0 of them. Fetch it again.").finding
        'A file has bytes, got 0 of them'
        """
        said = str(self.args[0]) if self.args else ""
        return said.rpartition(". ")[0] or said


class NotFoundError(LakeError, KeyError):
    """A name that is not there."""

    @classmethod
    def named(cls, kind: str, name: object, known: Iterable[str]) -> NotFoundError:
        """Build the error for an unknown `name`, with the nearest of the `known` ones.

        >>> print(NotFoundError.named("column", "lable", ["image", "label"]))
        There is no column 'lable'. Did you mean 'label'? Known: 'image', 'label'.
        """
        names = list(known)
        near = get_close_matches(str(name), names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        shown = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        return cls(f"There is no {kind} {name!r}.{hint} Known: {shown or 'none'}.")


class LakeNotFoundError(NotFoundError, FileNotFoundError):
    """A place that holds no lake."""


class ColumnNotFoundError(NotFoundError):
    """A column that the schema does not have."""


class VersionNotFoundError(NotFoundError):
    """A branch, tag, commit or time that the lake does not know."""


class ExistsError(LakeError, FileExistsError):
    """A name, or a place, that is taken."""


class OptionError(LakeError, ValueError, TypeError):
    """An argument that the function does not take, or that does not go with another."""


class RowIndexError(LakeError, IndexError):
    """A row that is not there, or an index that says no rows."""


class InvalidValueError(LakeError, ValueError):
    """A value that the column's htype refuses.

    Parameters
    ----------
    message : str
        The rule, the value and the way out.
    column : str, optional
        Name of the column.
    row : int, optional
        Position of the value in the data that was handed in; of the row in the dataset, where that
        is told which rows change.
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
        """Return the same error with its place filled in.

        >>> print(InvalidValueError("must be positive, got 0.").at(column="area", row=7))
        column 'area', row 7: must be positive, got 0.
        """
        return type(self)(
            super().__str__(),
            column=self.column if column is None else column,
            row=self.row if row is None else row,
        )


class TooLargeError(InvalidValueError):
    """A value that takes more memory once decoded than the lake was opened to allow."""


class QueryError(LakeError, ValueError):
    """A query that does not hold together."""


class QuerySyntaxError(QueryError):
    """A query whose text does not parse.

    Attributes
    ----------
    line, column : int
        Where, from 1.
    """

    line: int = 1
    column: int = 1
    _found: tuple[str, str] = ("", "")
    """The text of the query, and what is wrong with it."""

    @classmethod
    def at(cls, text: str, line: int, column: int, reason: str) -> QuerySyntaxError:
        """Build the error with the line at fault and a caret below it.

        >>> print(QuerySyntaxError.at("SELECT a FROM", 1, 13, "Expected a source"))
        Expected a source: line 1, column 13.
          SELECT a FROM
                      ^
        """
        where = Place(text, line, column)
        error = cls(f"{reason}: line {line}, column {column}.\n{where.excerpt()}")
        error.line, error.column = line, column
        error._found = text, reason
        return error

    def without(self, prefix: str) -> QuerySyntaxError:
        """Return the same error in the text that stands behind a prefix.

        >>> print(QuerySyntaxError.at("SELECT a FROM", 1, 13, "Expected more").without("SELECT "))
        Expected more: line 1, column 6.
          a FROM
               ^
        """
        text, reason = self._found
        place = Place(text, self.line, self.column).without(prefix)
        return self.at(place.text, place.line, place.column, reason)


class QueryTypeError(QueryError):
    """A value of the wrong kind or shape for what a query does with it."""


class SchemaError(LakeError, ValueError):
    """A schema, or a change of it, that contradicts itself."""


class ReadOnlyError(LakeError, PermissionError):
    """A write to a version that never moves."""


class UncommittedError(LakeError, RuntimeError):
    """Uncommitted edits that the operation would lose or leave out."""


class ConflictError(LakeError, RuntimeError):
    """Two sides changed the same cell, row or column.

    Parameters
    ----------
    message : str
        What collided, and the way out.
    conflicts : sequence
        One entry per conflicting cell, row or column.
    """

    def __init__(self, message: str, conflicts: Iterable[object] = ()) -> None:
        super().__init__(message)
        self.conflicts = list(conflicts)


class LoaderError(LakeError, RuntimeError):
    """A row that does not decode, or that a transform fails on; a worker that has died.

    Parameters
    ----------
    message : str
        What happened, and the way out.
    row_id : int, optional
        Id of the row.
    column : str, optional
        Name of the column.
    position : int, optional
        Position of the row in its view.
    source : int, optional
        Number of that view among those of a mix.
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


class ForkedError(LakeError, RuntimeError):
    """A process that was forked from one that had used a lake, where the engine cannot work."""


class FormatError(LakeError, RuntimeError):
    """An on-disk format that this release does not read."""


class StorageError(LakeError, OSError):
    """A store that does not take or give what it should: disk full, no permission, no network."""


class DamagedError(StorageError):
    """Stored bytes that are not what was written."""


class MissingPackageError(LakeError, ImportError):
    """An optional package that is not installed."""

    @classmethod
    def needed(cls, package: str, extra: str, purpose: str) -> MissingPackageError:
        """Build the error for a missing `package`, with the command that installs it.

        >>> print(MissingPackageError.needed("imagecodecs", "media", "TIFF with JPEG XL"))
        TIFF with JPEG XL needs imagecodecs. Install it: pip install "deeplake-lite[media]".
        """
        return cls(f'{purpose} needs {package}. Install it: pip install "deeplake-lite[{extra}]".')


class ReencodedWarning(UserWarning):
    """Pictures that were encoded anew with losses, or whose files have more bits than are read."""


@contextmanager
def shown_briefly(*, lines: bool = True) -> Iterator[None]:
    """Let IPython show errors from within without the lines of this package.

    Parameters
    ----------
    lines : bool
        Whether the user's line that led to it is shown.
    """
    try:
        yield
    except LakeError as error:
        shown = short_traceback if lines else _message
        error._render_traceback_ = partial(shown, error)  # type: ignore[attr-defined]
        raise


def _message(error: BaseException) -> list[str]:
    return [f"{type(error).__name__}: {error}"]


def short_traceback(error: BaseException) -> list[str]:
    """Return the last line of a user's on the way to an error, the message, and a user's cause.

    >>> short_traceback(QueryError("A query is a SELECT, got 'hello'."))
    ["QueryError: A query is a SELECT, got 'hello'."]
    """
    import traceback
    from itertools import takewhile

    home = __file__.rpartition("errors")[0]
    frames = traceback.extract_tb(error.__traceback__)
    outside = list(takewhile(lambda f: not f.filename.startswith(home), frames))
    shown = [f"line {f.lineno}: {f.line}" for f in outside[-1:] if f.line]
    cause = error.__cause__
    behind = traceback.extract_tb(cause.__traceback__) if cause is not None else []
    theirs = [f for f in behind if not f.filename.startswith(home) and f.name != "<lambda>"]
    if cause is not None and theirs and "site-packages" not in theirs[-1].filename:
        shown += [line.rstrip() for line in traceback.format_list(theirs)]
    return [*shown, *_message(error)]
