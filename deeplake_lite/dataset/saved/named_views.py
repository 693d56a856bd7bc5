"""Saved views: a version, rows and columns, stored in the lake under a name.

Saved views are stored on the branch ``_aux``, apart from the versions of the data. Each view has a
document and an array of row ids. For a query's result, the document contains the query, and the
array contains positions in the result (see `saved.rows`). A vacuum keeps the versions that saved
views read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.saved.auxiliary import (
    DAMAGE,
    attempt,
    check_name,
    put_arrays,
    read_array,
    writer,
)
from deeplake_lite.dataset.saved.rows import (
    MAX_DEPTH,
    DocumentReader,
    DocumentWriter,
    check_document,
    damaged_view,
)
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.commit import check_message, commit
from deeplake_lite.dataset.versions.viewed import (
    KEY,
    versions_of,
    view_documents,
    views_session,
)
from deeplake_lite.errors import (
    DamagedError,
    ExistsError,
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
)
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.repo import Repository, creating, run
from deeplake_lite.storage.state import add_digest
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.saved.rows import QueryDocument, ViewDocument
    from deeplake_lite.dataset.selection import Lake, ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.storage.repo import Session


@dataclass(frozen=True)
class SavedView:
    """The description of a saved view, which can be read without opening the view."""

    name: str
    """Name of the view."""
    version: str
    """Id of the commit that the view reads."""
    rows: int
    """Number of rows."""
    columns: tuple[str, ...]
    """Names of the columns."""
    origin: str
    """How the rows were selected: an index, or a query."""
    saved: datetime
    """Time at which the view was saved, in UTC."""
    array: str
    """Path of the array of row ids or, if there is a query, of positions in its result."""
    hash: str
    """Hash of the array."""
    query: QueryDocument | None = None
    """The query whose result the view shows, as JSON, or None if it shows rows of the lake."""

    def to_json(self) -> ViewDocument:
        """Return the description as a document."""
        document: ViewDocument = {
            "version": self.version,
            "rows": self.rows,
            "columns": list(self.columns),
            "origin": self.origin,
            "saved": self.saved.isoformat(),
            "array": self.array,
            "hash": self.hash,
        }
        return document if self.query is None else {**document, "query": self.query}

    @classmethod
    def from_json(cls, name: str, document: ViewDocument) -> SavedView:
        """Read a document. Raises DamagedError if it is not valid."""
        check_document(name, document, saved=True)
        try:
            saved = datetime.fromisoformat(document["saved"])
        except ValueError as error:
            raise damaged_view(name, error) from error
        return cls(
            name,
            document["version"],
            document["rows"],
            tuple(document["columns"]),
            document["origin"],
            saved,
            document["array"],
            document["hash"],
            document.get("query"),
        )


class SavedViews(Mapping[str, "View"]):
    """The saved views of a lake: a mapping from names to views, which are opened on access.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://saved-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2, 3]})
    >>> commit = ds.commit("three")
    >>> ds[[2, 0]].save("ends")
    >>> ds.views()
    ends: 2 rows of ..., 2 rows
    >>> ds.views()["ends"]["x"][:]
    array([3, 1], dtype=int32)
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._session = views_session(lake.repository)
        self._documents = view_documents(lake.repository, self._session)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied. Raises OptionError."""
        raise OptionError(
            "The list of saved views cannot be pickled or copied, because it reads the lake in "
            "this process. Pickle one of the views, or pickle the dataset and call its views()."
        )

    def __getitem__(self, name: str) -> View:
        """Open a view. Raises NotFoundError, or DamagedError if its document is not valid."""
        saved = self.info(name)
        with _name_view_in_errors(name):
            view = self._reader(name).open(saved.to_json())
        view.origin = saved.origin
        return view

    def _reader(self, name: str) -> DocumentReader:
        session = self._session
        assert session is not None
        noun = f"view {brief(name)}"
        return DocumentReader(self._lake, lambda path: run(read_array(session, path, noun)), name)

    def info(self, name: str) -> SavedView:
        """Return the description of a view without opening it. Raises NotFoundError."""
        self._check_exists(name)
        return SavedView.from_json(name, self._documents[name])

    def _check_exists(self, name: object) -> None:
        if not isinstance(name, str) or name not in self._documents:
            raise NotFoundError.named("saved view", name, self._documents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def delete(self, name: str) -> None:
        """Delete a saved view. The rows of the lake stay as they are."""
        self._check_exists(name)
        _write(self._lake.repository, {name: None}, f"delete view {name}")
        del self._documents[name]

    def __repr__(self) -> str:
        lines = (
            f"{v.name}: {pluralize(v.rows, 'row')} of {v.version}, {v.origin or 'all'}"
            for v in map(self.info, self)
        )
        return "\n".join(lines) or "no saved views"


@contextlib.contextmanager
def _name_view_in_errors(name: str) -> Iterator[None]:
    """Convert errors that a damaged document causes to a DamagedError that names the view."""
    try:
        yield
    except LakeError:
        raise
    except DAMAGE as error:
        reason = str(error).rstrip(".")
        raise DamagedError(
            f"The saved view {brief(name)} cannot be opened: {reason:.200}. Delete the view, or "
            "restore the lake from a backup."
        ) from error


def save(view: View, name: str, *, overwrite: bool) -> None:
    """Save a view under a name; see `View.save`."""
    view.rows.check_committed("A saved view")
    overwrite = checks.flag("overwrite", overwrite)
    check_name("a view", name)
    if not view.version:
        raise InvalidValueError(
            "A view is saved in the lake that it reads, but this view does not read a lake. "
            "Materialize the view, or query a lake."
        )
    documents = DocumentWriter(view.url)
    written = documents.write(view, whole=False)
    saved = SavedView(
        name,
        view.version,
        len(view),
        view.columns,
        view.origin,
        datetime.now(UTC),
        written["array"],
        written["hash"],
        written.get("query"),
    )
    change, rows = {name: saved.to_json()}, documents.arrays
    try:
        check_document(name, change[name], saved=True)
    except DamagedError as error:  # of a new document, only the depth can be invalid
        raise InvalidValueError(
            f"A saved view may build on at most {MAX_DEPTH} queries, each run on the result of the "
            "previous one, but this view builds on more. Materialize an intermediate result first."
        ) from error
    _write(view.rows.lake.repository, change, f"save view {name}", rows, overwrite=overwrite)


def versions_needed(repository: Repository) -> set[str]:
    """Return the ids of all versions that saved views read."""
    documents = view_documents(repository, views_session(repository))
    for name, document in documents.items():
        check_document(name, document, saved=True)
    return {version for d in documents.values() for version in versions_of(d)}


def materialize(
    view: View, url: str, message: str, storage_options: Mapping[str, object] | None
) -> Dataset:
    """Write the rows of a view to a new lake; see `View.materialize`."""
    from deeplake_lite.dataset.opening import at_branch, open
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.storage import chunks

    location = checks.location("url", url)
    options = checks.mapping("storage_options", storage_options)
    schema, (source, slots) = view.schema, view.rows.checked().locate()
    names, spans = [f.id for f in schema], chunks.spans(len(slots), chunks.COPY_ROWS)
    with creating(location, options) as repository:
        Table.create(repository, schema, source.metadata)
        repository.limits = view.rows.lake.repository.limits
        copy = at_branch(Lake(repository, {}), "main")
        check_message(message)
        blocks = (source.read(names, slots[span]) for span in spans)
        copy.handle.edit(lambda table: table.append(blocks, _unique_ids(source, slots)))
        commit(copy.handle, message, lazy_calls.record_copy(view, "materialize"), empty=True)
    return open(location, limits=view.rows.lake.repository.limits, storage_options=options)


def _unique_ids(table: ReadTable, slots: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the ids of rows, or None if the rows have no ids, or an id occurs twice."""
    if not table.has_ids:
        return None
    ids = table.ids(slots)
    return None if len(np.unique(ids)) < len(ids) else ids


def _write(
    repository: Repository,
    changes: Mapping[str, ViewDocument | None],
    message: str,
    ids: Mapping[str, NDArray[np.int64]] | None = None,
    *,
    overwrite: bool = True,
) -> None:
    """Write the documents in `changes`, delete those set to None there, and keep all others.

    Raises
    ------
    ExistsError
        When one of the names is taken and `overwrite` is false.
    """
    needed = {v for document in filter(None, changes.values()) for v in versions_of(document)}
    with repository.lock(), contextlib.ExitStack() as held:
        for version in sorted(needed):
            held.enter_context(history.keep_version(repository, version))
        attempt(
            lambda: _write_once(repository, changes, message, ids or {}, overwrite=overwrite),
            "views",
        )


def _write_once(
    repository: Repository,
    changes: Mapping[str, ViewDocument | None],
    message: str,
    ids: Mapping[str, NDArray[np.int64]],
    *,
    overwrite: bool,
) -> None:
    session = writer(repository)
    old = view_documents(repository, session)
    if taken := None if overwrite else next(iter(old.keys() & changes.keys()), None):
        raise ExistsError(
            f"A saved view {taken!r} already exists. Choose another name, or pass overwrite=True."
        )
    new = {name: document for name, document in {**old, **changes}.items() if document is not None}
    run(_put(session, new, ids))
    session.commit(message)


async def _put(
    session: Session, documents: Mapping[str, ViewDocument], ids: Mapping[str, NDArray[np.int64]]
) -> None:
    await session.set_attributes({KEY: add_digest({"views": dict(documents)})})
    await put_arrays(session, ids)
