"""Rows of a view as a document: by their ids, or as part of a query's result.

A query's document has those of the views that it was asked of and that FROM named, and so on down
to rows of lakes. Arrays lie beside the document, by path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.virtual import question_of
from deeplake_lite.dataset.saved.again import answered_again, fingerprint
from deeplake_lite.dataset.saved.parameters import params_from_json, params_to_json
from deeplake_lite.dataset.saved.question import Question
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.versions.apply import slots_of
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.selection import Lake

DEEPEST = 32
"""Queries of queries that a document may hold within each other."""

MOST_ROWS = 2**47
"""Most rows of a view or a result."""

ANY = r".*"
TEXTS = {
    "version": r"[0-9A-Z]{20}",
    "url": r".+",
    "array": r"views/[0-9a-f]{32}",
    "hash": r"[0-9a-f]{16}",
    "origin": ANY,
    "saved": ANY,
}
"""Regular expression of each text in a document, by key."""

REQUIRED = {True: {"version", "array", "hash", "origin", "saved"}, False: {"version"}}
"""Texts that must be there, by whether the document is that of a saved view itself."""

type Document = dict[str, Any]


class Keeper:
    """Makes documents of views, and collects their arrays.

    Parameters
    ----------
    url : str
        The lake that keeps them, which needs no address in them.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.arrays: dict[str, NDArray[np.int64]] = {}

    def keep(self, view: View, *, whole: bool = True) -> Document:
        """Return the document of a view; where it is a whole version, without an array."""
        question = question_of(view)
        rows = view.rows.live() if question is not None else view.row_ids
        document: Document = {"version": view.version, "columns": list(view.columns)}
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

    def _query(self, question: Question, view: View) -> Document:
        asked = question.asked
        return {
            **({} if question.kind == "query" else {"kind": question.kind}),
            "text": question.text,
            "params": params_to_json(question.params),
            "seed": question.seed,
            "rows": view.rows.table.slots,
            "fingerprint": fingerprint(view, view.rows.live()),
            "asked": None if asked is None else self._source(asked, "the view that is asked"),
            "sources": [
                {"name": name, "label": label, **self._source(view, f"the source {name!r}")}
                for (name, label), view in question.sources.items()
            ],
        }

    def _source(self, view: View, what: str) -> Document:
        if not view.version:
            raise InvalidValueError(
                f"A saved query needs sources that can be opened again, and {what} is in no lake. "
                "Materialize it first."
            )
        return self.keep(view)


class Opener:
    """Makes views of documents.

    Parameters
    ----------
    lake : Lake
        The lake that keeps them.
    read : callable
        From the path of an array to its values.
    """

    def __init__(self, lake: Lake, read: Callable[[str], NDArray[np.int64]]) -> None:
        self._lake, self._read = lake, read

    def open(self, document: Mapping[str, Any]) -> View:
        """Return the view that a document describes."""
        names = tuple(document["columns"])
        if len(set(names)) < len(names):
            raise DamagedError("A saved view names a column twice. Delete it, and save it again.")
        rows = self._rows(document) if "array" in document else None
        if "query" in document:
            assert rows is not None
            answer = self._answer(document["query"], rows)
            self._check_columns(names, answer.columns)
            text = document["query"]["text"]
            return View(answer.rows.with_slots(rows), names, text, record=answer.record)
        lake, table = self._version(document)
        self._check_columns(names, table.schema.names)
        slots = table.rows.live() if rows is None else slots_of(table, rows)
        return View(RowSelection(lake, table, slots), names, "")

    @staticmethod
    def _check_columns(names: Collection[str], there: Collection[str]) -> None:
        """Refuse columns that are not there. Raises DamagedError."""
        if odd := next((name for name in names if name not in there), None):
            raise DamagedError(
                f"A saved view has the column {brief(odd)}, which its version has not. Delete the "
                "view, and save it again."
            )

    def _rows(self, document: Mapping[str, Any]) -> NDArray[np.int64]:
        """Read a view's rows. Raises DamagedError when they are another's."""
        rows = self._read(document["array"])
        if _hash(rows) != document["hash"]:
            raise DamagedError(
                "The rows of a saved view do not match their hash. Restore the lake from a copy, "
                "or delete the view and save it again."
            )
        return rows

    def _version(self, document: Mapping[str, Any]) -> tuple[Lake, Table]:
        from deeplake_lite.dataset.opening import open_for

        if document.get("url") is not None:
            ds = open_for(self._lake, document["url"], document["version"])
            return ds.handle.lake, ds.handle.table
        repository, version = self._lake.repository, document["version"]
        return self._lake.at(None, version), Table.open(repository, repository.reader(version))

    def _answer(self, query: Mapping[str, Any], rows: NDArray[np.int64]) -> View:
        """Ask a query again. Raises DamagedError when it gives other rows."""
        question = Question(
            query["text"],
            params_from_json(query["params"]),
            query["seed"],
            None if query["asked"] is None else self.open(query["asked"]),
            {(s["name"], s["label"]): self.open(s) for s in query["sources"]},
            query.get("kind", "query"),
        )
        return answered_again(question, query["rows"], rows, query["fingerprint"])


def check_document(name: str, document: Any, *, saved: bool) -> None:
    """Refuse a document that is not one of a view.

    Only the views that a query read may be of another lake; the view itself never is.

    Parameters
    ----------
    name : str
        The saved view that it is of.
    saved : bool
        Whether it is that of the saved view itself, and not of one that its query read.

    Raises
    ------
    DamagedError
    """
    try:
        _check(document, saved=saved, depth=0)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise damaged_view(name, error) from error


def damaged_view(name: str, error: Exception) -> DamagedError:
    """Return the error of a saved view whose document is damaged."""
    reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    return DamagedError(
        f"The saved view {brief(name)} is damaged: {reason.removesuffix('.'):.200}. Delete it, or "
        "restore the lake from a copy."
    )


def _check(document: Any, *, saved: bool, depth: int) -> None:
    """Check a document, and those within. Raises ValueError, TypeError, LookupError."""
    if depth > DEEPEST:
        raise ValueError(f"it is a query of a query, and so on, more than {DEEPEST} deep.")
    for key, pattern in TEXTS.items():
        if key in document or key in REQUIRED[saved]:
            _check_text(document, key, pattern)
    if saved and "url" in document:
        raise ValueError("it is of another lake.")
    names = document["columns"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"'columns' must be a list of names, but it is {brief(names)}.")
    if ("array" in document) != ("hash" in document):
        raise ValueError("'array' and 'hash' come together.")
    if saved:
        _check_count(document)
    if "query" in document:
        _check_text(document, "array", TEXTS["array"])
        _check_query(document["query"], depth)


def _check_query(query: Any, depth: int) -> None:
    """Check the query of a document. Raises ValueError, TypeError, LookupError."""
    _check_text(query, "text", ANY)
    _check_count(query)
    _check_text(query, "fingerprint", TEXTS["hash"])
    if query.get("kind", "query") not in ("query", "suspects"):
        raise ValueError(f"'kind' is 'query' or 'suspects', but it is {brief(query['kind'])}.")
    if not isinstance(query["params"], list | dict):
        raise TypeError(
            f"'params' must be a list or an object, but it is {brief(query['params'])}."
        )
    if query["seed"] is not None and type(query["seed"]) is not int:
        raise TypeError(f"'seed' must be a whole number or null, but it is {brief(query['seed'])}.")
    if query["asked"] is not None:
        _check(query["asked"], saved=False, depth=depth + 1)
    if not isinstance(query["sources"], list):
        raise TypeError(f"'sources' must be a list, but it is {brief(query['sources'])}.")
    for source in query["sources"]:
        _check_text(source, "name", ANY)
        if source["label"] is not None:
            _check_text(source, "label", ANY)
        _check(source, saved=False, depth=depth + 1)


def _check_text(document: Any, key: str, pattern: str) -> None:
    if not isinstance(document, dict):
        raise TypeError(f"it must be an object, but it is {brief(document)}.")
    value = document[key]
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
        raise ValueError(f"{key!r} must be a text like {pattern}, but it is {brief(value)}.")


def _check_count(document: Mapping[str, Any]) -> None:
    value = document["rows"]
    if type(value) is not int or not 0 <= value <= MOST_ROWS:
        raise ValueError(f"'rows' must be a whole number up to {MOST_ROWS}, not {brief(value)}.")


def _hash(rows: NDArray[np.int64]) -> str:
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(rows, "<i8"))


def versions_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the versions of the lake that a view reads."""
    if document.get("url") is None:
        yield str(document["version"])
    query = document.get("query")
    for part in () if query is None else (query["asked"], *query["sources"]):
        if part is not None:
            yield from versions_of(part)
