"""The documents of saved views, which describe rows by their ids or as rows of a query's result.

The document of a query contains the documents of the views that the query reads. Documents can
therefore be nested; the innermost ones describe rows of lakes. Arrays are stored separately, and
the documents refer to them by path.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Required, TypedDict
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.virtual import question_of
from deeplake_lite.dataset.saved.parameters import params_from_json, params_to_json
from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.dataset.saved.repeat import fingerprint, repeat_query
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import Lake

MAX_DEPTH = 32
"""Maximum depth of nested queries in a document."""

MAX_ROWS = 2**47
"""Maximum number of rows of a view or a result."""

ANY = r".*"
STRINGS = {
    "version": r"[0-9A-Z]{20}",
    "url": r".+",
    "array": r"views/[0-9a-f]{32}",
    "hash": r"[0-9a-f]{16}",
    "origin": ANY,
    "saved": ANY,
}
"""Maps keys of a document to regular expressions. A string under such a key must match its
expression."""

REQUIRED = {True: {"version", "array", "hash", "origin", "saved"}, False: {"version"}}
"""Keys that the document of a saved view (True), or of a view that its query read (False), must
have, with strings as values."""


class QueryDocument(TypedDict):
    """The document of the query whose result a view shows."""

    text: str
    params: object
    """The parameters, in the JSON form that `params_from_json` reads."""
    seed: int | None
    moment: str | None
    """Time that the query uses as the current time, ISO 8601 without a time zone."""
    asked: ViewDocument | None
    """The view on which the query ran, or None if there was no view."""
    sources: list[SourceDocument]
    rows: int
    """Number of rows of the result."""
    fingerprint: str
    kind: NotRequired[Literal["query", "suspects"]]


class ViewDocument(TypedDict, total=False):
    """The document of a saved view, or of a view that its query read."""

    version: str
    url: str | None
    """URL of the lake of the view. None, or missing, if this is the lake in which the document is
    stored."""
    columns: Required[list[str]]
    array: str
    """Path of the array of row ids or, if there is a query, of positions in its result."""
    hash: str
    """Hash of the array."""
    rows: int
    origin: str
    saved: str
    """Time at which the view was saved, ISO 8601."""
    query: QueryDocument


class SourceDocument(ViewDocument):
    """The document of a view that a query names."""

    name: str
    label: str | None


class DocumentWriter:
    """Writes views as documents, and collects their arrays.

    Parameters
    ----------
    url : str
        URL of the lake in which the documents are stored. The documents omit this URL.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.arrays: dict[str, NDArray[np.int64]] = {}
        """Maps paths to arrays of row ids, or of positions in a query's result."""

    def write(self, view: View, *, whole: bool = True) -> ViewDocument:
        """Return the document of a view. With `whole`, a view of all rows has no array of rows."""
        question = question_of(view)
        rows = view.rows.live() if question is not None else view.row_ids
        document: ViewDocument = {"version": view.version, "columns": list(view.columns)}
        if view.url != self._url:
            document["url"] = view.url
        if question is not None:
            document["query"] = self._query(question, view)
        elif whole and np.array_equal(view.rows.live(), view.rows.table.live()):
            return document
        document["array"] = f"views/{uuid4().hex}"
        document["hash"] = _hash(rows)
        self.arrays[document["array"]] = rows
        return document

    def _query(self, question: Question, view: View) -> QueryDocument:
        asked = question.asked
        document: QueryDocument = {
            "text": question.text,
            "params": params_to_json(question.params),
            "seed": question.seed,
            "moment": None if question.moment is None else question.moment.isoformat(),
            "rows": view.rows.table.slots,
            "fingerprint": fingerprint(view, view.rows.live()),
            "asked": None if asked is None else self._source(asked, "the view that it ran on"),
            "sources": [
                {"name": name, "label": label, **self._source(view, f"the source {name!r}")}
                for (name, label), view in question.sources.items()
            ],
        }
        return document if question.kind == "query" else {**document, "kind": question.kind}

    def _source(self, view: View, name: str) -> ViewDocument:
        if not view.version:
            raise InvalidValueError(
                f"The sources of a saved query must be stored in a lake, but {name} is not. "
                "Materialize that view first."
            )
        return self.write(view)


class DocumentReader:
    """Opens the views that documents describe.

    Parameters
    ----------
    lake : Lake
        The lake in which the documents are stored.
    read : callable
        Function from the path of an array to its values.
    name : str
        Name of the saved view, for messages.
    """

    def __init__(self, lake: Lake, read: Callable[[str], NDArray[np.int64]], name: str) -> None:
        self._lake, self._read, self._name = lake, read, brief(name)

    def open(self, document: ViewDocument) -> View:
        """Return the view that a document describes."""
        names = tuple(document["columns"])
        if len(set(names)) < len(names):
            raise DamagedError(
                f"The columns of the saved view {self._name} must be unique, but one name occurs "
                "twice. Delete the view, and save it again."
            )
        rows = self._rows(document) if "array" in document else None
        if "query" in document:
            assert rows is not None
            result = self._run(document["query"], rows)
            self._check_columns(names, result.columns)
            text = document["query"]["text"]
            return View(result.rows.with_slots(rows), names, text, record=result.record)
        lake, table = self._version(document)
        self._check_columns(names, table.schema.names)
        slots = table.rows.live() if rows is None else slots_of(table, rows)
        return View(RowSelection(lake, table, slots), names, "")

    def _check_columns(self, names: Collection[str], existing: Collection[str]) -> None:
        """Reject columns that do not exist. Raises DamagedError."""
        if unknown := next((name for name in names if name not in existing), None):
            raise DamagedError(
                f"The saved view {self._name} has a column {brief(unknown)}, which does not exist "
                "in its version. Delete the view, and save it again."
            )

    def _rows(self, document: ViewDocument) -> NDArray[np.int64]:
        """Read a view's rows. Raises DamagedError if their hash is wrong."""
        rows = self._read(document["array"])
        if _hash(rows) != document["hash"]:
            raise DamagedError(
                f"The rows of the saved view {self._name} do not match their hash. Restore the "
                "lake from a backup, or delete the view and save it again."
            )
        return rows

    def _version(self, document: ViewDocument) -> tuple[Lake, Table]:
        from deeplake_lite.dataset.opening import open_for

        if (url := document.get("url")) is not None:
            ds = open_for(self._lake, url, document["version"])
            return ds.handle.lake, ds.handle.table
        repository, version = self._lake.repository, document["version"]
        return self._lake.at(None, version), Table.open(repository, repository.reader(version))

    def _run(self, query: QueryDocument, rows: NDArray[np.int64]) -> View:
        """Run a query again. Raises DamagedError if its rows differ from the saved rows."""
        question = Question(
            query["text"],
            params_from_json(query["params"]),
            query["seed"],
            _moment_of(query),
            None if query["asked"] is None else self.open(query["asked"]),
            {(s["name"], s["label"]): self.open(s) for s in query["sources"]},
            query.get("kind", "query"),
        )
        return repeat_query(question, query["rows"], rows, query["fingerprint"])


def check_document(name: str, document: Any, *, saved: bool) -> None:
    """Reject a document that does not describe a view.

    Views that a query read may belong to other lakes. The saved view itself must not.

    Parameters
    ----------
    name : str
        Name of the saved view.
    document : object
        The document.
    saved : bool
        Whether the document describes the saved view itself, not a view that its query read.

    Raises
    ------
    DamagedError
    """
    try:
        _check(document, saved=saved, depth=0)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise damaged_view(name, error) from error


def damaged_view(name: str, error: Exception) -> DamagedError:
    """Return the error for a saved view whose document is damaged."""
    reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return DamagedError(
        f"The saved view {brief(name)} is damaged: {reason.removesuffix('.'):.200}. Delete the "
        "view, or restore the lake from a backup."
    )


def _check(document: Any, *, saved: bool, depth: int) -> None:
    """Check a document and its nested documents. Raises ValueError, TypeError, LookupError."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it has more than {MAX_DEPTH} levels of queries.")
    for key, pattern in STRINGS.items():
        if key in document or key in REQUIRED[saved]:
            _check_string(document, key, pattern)
    if saved and "url" in document:
        raise ValueError("it belongs to another lake.")
    names = document["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"'columns' must be a list of names, but it is {brief(names)}.")
    if ("array" in document) != ("hash" in document):
        raise ValueError("'array' and 'hash' must both be present, but one is missing.")
    if saved:
        _check_count(document)
    if "query" in document:
        _check_string(document, "array", STRINGS["array"])
        _check_query(document["query"], depth)


def _moment_of(query: Any) -> dt.datetime | None:
    """Return the time of a query's first run. Raises ValueError, TypeError, LookupError."""
    moment = query["moment"]
    return None if moment is None else dt.datetime.fromisoformat(moment)


def _check_query(query: Any, depth: int) -> None:
    """Check the query of a document. Raises ValueError, TypeError, LookupError."""
    _check_string(query, "text", ANY)
    _check_count(query)
    _check_string(query, "fingerprint", STRINGS["hash"])
    if query.get("kind", "query") not in ("query", "suspects"):
        raise ValueError(f"'kind' must be 'query' or 'suspects', but it is {brief(query['kind'])}.")
    if not isinstance(query["params"], list | dict):
        raise TypeError(
            f"'params' must be a list or an object, but it is {brief(query['params'])}."
        )
    if query["seed"] is not None and type(query["seed"]) is not int:
        raise TypeError(f"'seed' must be a whole number or null, but it is {brief(query['seed'])}.")
    if (moment := _moment_of(query)) is not None and moment.tzinfo is not None:
        raise ValueError(f"'moment' must have no time zone, but it is {brief(query['moment'])}.")
    if query["asked"] is not None:
        _check(query["asked"], saved=False, depth=depth + 1)
    if not isinstance(query["sources"], list):
        raise TypeError(f"'sources' must be a list, but it is {brief(query['sources'])}.")
    for source in query["sources"]:
        _check_string(source, "name", ANY)
        if source["label"] is not None:
            _check_string(source, "label", ANY)
        _check(source, saved=False, depth=depth + 1)


def _check_string(document: object, key: str, pattern: str) -> None:
    if not isinstance(document, dict):
        raise TypeError(f"it must be a JSON object, but it is {brief(document)}.")
    value = document[key]
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
        raise ValueError(
            f"{key!r} must be a string that matches {pattern}, but it is {brief(value)}."
        )


def _check_count(document: Mapping[str, Any]) -> None:
    value = document["rows"]
    if type(value) is not int or not 0 <= value <= MAX_ROWS:
        raise ValueError(
            f"'rows' must be a whole number up to {MAX_ROWS}, but it is {brief(value)}."
        )


def _hash(rows: NDArray[np.int64]) -> str:
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(rows, "<i8"))
