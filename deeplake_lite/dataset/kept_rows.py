"""Rows of a view as a document: by their ids, or as part of a query's result.

A query's document has those of the views that it was asked of and that FROM named, and so on down
to rows of lakes. Arrays lie beside the document, by path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import xxhash

from deeplake_lite.dataset.apply import slots_of
from deeplake_lite.dataset.question import Question, params_from_json, params_to_json
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.virtual import question_of
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import Lake

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
        rows = view._live() if question is not None else view.row_ids
        document: Document = {"version": view.version, "columns": list(view.columns)}
        if view.url != self._url:
            document["url"] = view.url
        if question is not None:
            document["query"] = self._query(question, view._table.slots)
        elif whole and np.array_equal(view._live(), view._table.rows.live()):
            return document
        document["array"] = f"views/{uuid4().hex}"
        document["hash"] = _hash(rows)
        self.arrays[document["array"]] = rows
        return document

    def _query(self, question: Question, rows: int) -> Document:
        asked = question.asked
        return {
            **({} if question.kind == "query" else {"kind": question.kind}),
            "text": question.text,
            "params": params_to_json(question.params),
            "seed": question.seed,
            "rows": rows,
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
        rows = self._rows(document) if "array" in document else None
        if "query" in document:
            assert rows is not None
            return self._answer(document["query"])._taken(rows, names, document["query"]["text"])
        lake, table = self._version(document)
        slots = table.rows.live() if rows is None else slots_of(table, rows)
        return View(lake, table, slots, names, "")

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
        from deeplake_lite.dataset.opening import open as open_lake

        if document.get("url") is not None:
            ds = open_lake(document["url"], version=document["version"])
            return ds._lake, ds._table
        repository = self._lake.repository
        return self._lake, Table.open(repository, repository.reader(document["version"]))

    def _answer(self, query: Mapping[str, Any]) -> View:
        """Ask a query again. Raises DamagedError when it gives other rows."""
        found = Question(
            query["text"],
            params_from_json(query["params"]),
            query["seed"],
            None if query["asked"] is None else self.open(query["asked"]),
            {(s["name"], s["label"]): self.open(s) for s in query["sources"]},
            query.get("kind", "query"),
        ).ask()
        if found._table.slots != query["rows"]:
            raise DamagedError(
                f"A saved query gives what it gave, {query['rows']:,} rows, got "
                f"{found._table.slots:,}: {query['text']}. A function of yours may have changed."
            )
        return found


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
