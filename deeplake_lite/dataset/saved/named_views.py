"""Named views: which version and which rows, kept with the lake but not as a version of its data.

They live on the branch ``_aux``: per name a document and the row ids. Of a query's result that is
not rows of the lake, the document has the query (`kept_rows`). The vacuum keeps the versions that
they read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.saved.rows import (
    Keeper,
    Opener,
    check_document,
    damaged_view,
    versions_of,
)
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    InvalidValueError,
    LakeError,
    NotFoundError,
    OptionError,
)
from deeplake_lite.storage.arrays import ArraySpec
from deeplake_lite.storage.repo import Repository, branch_ref, run
from deeplake_lite.storage.state import check_seal, sealed
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.selection import Lake, ReadTable
    from deeplake_lite.dataset.view import View
    from deeplake_lite.storage.repo import Session

TRIES = 20
"""Times that a change of the views on an object store is written again when it loses the race."""

DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    RuntimeError,  # of a codec
)
"""Exceptions that a document of an unexpected form leads to."""

KEY = "deeplake_lite_views"
"""Attribute of the root group on ``_aux``: the documents by name, and their digest."""


@dataclass(frozen=True)
class SavedView:
    """What is kept of a view."""

    name: str
    """Its name."""
    version: str
    """Commit that it reads."""
    rows: int
    """How many rows it has."""
    columns: tuple[str, ...]
    """Its columns."""
    origin: str
    """How the rows were chosen: an index, or the query that made it."""
    saved: datetime
    """When it was saved, UTC."""
    array: str
    """Path of the row ids; of the positions in the query's result where there is a query."""
    hash: str
    """Hash of these numbers."""
    query: Mapping[str, Any] | None = None
    """The query whose result it shows, as JSON; None for rows of the lake."""

    def to_json(self) -> dict[str, Any]:
        """Return the document."""
        document = {
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
    def from_json(cls, name: str, document: Mapping[str, Any]) -> SavedView:
        """Read a document. Raises DamagedError where it is none."""
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
    """The saved views of a lake: a mapping from names to views, opened when asked for.

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
        self._session = _reader(lake.repository)
        self._documents = _documents(lake.repository, self._session)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied. Raises OptionError."""
        raise OptionError(
            "The list of saved views reads them where it was made, and cannot be pickled or "
            "copied. Pickle one of the views, or the dataset, and call its views() there."
        )

    def __getitem__(self, name: str) -> View:
        """Open a view. Raises NotFoundError, and DamagedError where its document is none."""
        kept = self.info(name)
        with damage_named(name):
            view = self._opener().open(kept.to_json())
        view.origin = kept.origin
        return view

    def _opener(self) -> Opener:
        session = self._session
        assert session is not None
        return Opener(self._lake, lambda path: run(_read_ids(session, path)))

    def info(self, name: str) -> SavedView:
        """Return what is kept of a view, without opening it. Raises NotFoundError."""
        self._check_known(name)
        return SavedView.from_json(name, self._documents[name])

    def _check_known(self, name: Any) -> None:
        if not isinstance(name, str) or name not in self._documents:
            raise NotFoundError.named("saved view", name, self._documents)

    def __iter__(self) -> Iterator[str]:
        return iter(self._documents)

    def __len__(self) -> int:
        return len(self._documents)

    def delete(self, name: str) -> None:
        """Forget a view; its rows stay where they are."""
        self._check_known(name)
        _write(self._lake.repository, {name: None}, f"delete view {name}")
        del self._documents[name]

    def __repr__(self) -> str:
        lines = (
            f"{k.name}: {k.rows:,} rows of {k.version}, {k.origin or 'all'}"
            for k in map(self.info, self)
        )
        return "\n".join(lines) or "no saved views"


@contextlib.contextmanager
def damage_named(name: str) -> Iterator[None]:
    """Raise what a document leads to that contradicts itself as an error of ours."""
    try:
        yield
    except LakeError:
        raise
    except DAMAGE as error:
        raise DamagedError(
            f"The saved view {brief(name)} does not open: {error!s:.200}. Delete it, or restore "
            "the lake from a copy."
        ) from error


def save(view: View, name: str, *, overwrite: bool) -> None:
    """Keep a view under a name; see `View.save`."""
    view.rows.check_committed("a saved view")
    overwrite = checks.flag("overwrite", overwrite)
    if not isinstance(name, str) or not name or "/" in name:
        raise InvalidValueError(
            f"A view's name is a text, not empty and without a slash, got {brief(name, 80)}. "
            "Choose another."
        )
    if (half := checks.find_lone_surrogate(name)) is not None:
        raise InvalidValueError(
            f"A view's name must be Unicode text, but {brief(name)} has half a surrogate pair at "
            f"character {half}. Choose another."
        )
    if not view.version:
        raise InvalidValueError(
            "A view is saved with the lake that it reads, and this one reads none. Query a lake, "
            "or materialize the view."
        )
    keeper = Keeper(view.url)
    found = keeper.keep(view, whole=False)
    kept = SavedView(
        name,
        view.version,
        len(view),
        view.columns,
        view.origin,
        datetime.now(UTC),
        found["array"],
        found["hash"],
        found.get("query"),
    )
    change, rows = {name: kept.to_json()}, keeper.arrays
    try:
        check_document(name, change[name], saved=True)
    except DamagedError as error:
        raise InvalidValueError(
            "A query of a query of a view, and so on, is saved up to some depth, and this one is "
            "deeper. Materialize one of them first."
        ) from error
    _write(view.rows.lake.repository, change, f"save view {name}", rows, overwrite=overwrite)


def versions_needed(repository: Repository) -> set[str]:
    """Return the versions that saved views read."""
    documents = _documents(repository, _reader(repository))
    for name, document in documents.items():
        check_document(name, document, saved=True)
    return {version for d in documents.values() for version in versions_of(d)}


def materialize(
    view: View, url: str, message: str, storage_options: Mapping[str, Any] | None
) -> Dataset:
    """Write the rows of a view as a lake of their own; see `View.materialize`."""
    from deeplake_lite.dataset.opening import at_branch, open
    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.storage import chunks

    place, options = checks.location("url", url), checks.mapping("storage_options", storage_options)
    schema, (source, slots) = view.schema, view.rows.locate()
    names, spans = [f.id for f in schema], chunks.spans(len(slots), chunks.COPY_ROWS)
    with Repository.creating(place, options) as repository:
        Table.create(repository, schema, source.metadata)
        repository.limits = view.rows.lake.repository.limits
        copy = at_branch(Lake(repository, {}), "main")
        with copy.transaction(message):
            blocks = (source.read(names, slots[span]) for span in spans)
            copy.handle.edit(lambda table: table.append(blocks, _ids_to_keep(source, slots)))
    return open(place, limits=view.rows.lake.repository.limits, storage_options=options)


def _ids_to_keep(table: ReadTable, slots: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Return the rows' ids, unless they have none of their own, or two rows have one."""
    if not table.has_ids:
        return None
    ids = table.ids(slots)
    return None if len(np.unique(ids)) < len(ids) else ids


def _reader(repository: Repository) -> Session | None:
    if repository.checks_reads:
        repository.refs.check(branch_ref(history.AUX))
    tips = repository.branches()
    return repository.reader(tips[history.AUX]) if history.AUX in tips else None


def _documents(repository: Repository, session: Session | None) -> dict[str, Any]:
    """Return the documents of the saved views. Raises DamagedError when they are not as written."""
    if session is None:
        return {}
    found = run(session.attributes()).get(KEY)
    if found is None and session.snapshot_id == _root(repository):
        return {}  # somebody makes the branch, or was killed after that
    if not isinstance(found, dict) or not isinstance(found.get("views"), dict):
        raise DamagedError("The list of saved views is damaged. Restore it from a copy.")
    check_seal(found, "The list of saved views")
    return dict(found["views"])


def _root(repository: Repository) -> str:
    """Return the version that all others come from."""
    return list(repository.ancestry(repository.tip("main")))[-1].id


def _write(
    repository: Repository,
    changes: Mapping[str, Any],
    message: str,
    ids: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = True,
) -> None:
    """Put documents by name, or take out those that are None; all others stay as they are now.

    Raises
    ------
    ExistsError
        When one of the names is taken, unless it is to be overwritten.
    """
    needed = {v for document in filter(None, changes.values()) for v in versions_of(document)}
    with repository.lock(), contextlib.ExitStack() as held:
        for version in sorted(needed):
            held.enter_context(history.kept(repository, version))
        for _ in range(TRIES):
            try:
                return _write_once(repository, changes, message, ids or {}, overwrite=overwrite)
            except ConflictError:  # on an object store, somebody else has saved a view
                continue
    raise ConflictError(f"Others changed the saved views {TRIES} times meanwhile. Try again.")


def _write_once(
    repository: Repository,
    changes: Mapping[str, Any],
    message: str,
    ids: Mapping[str, Any],
    *,
    overwrite: bool,
) -> None:
    if history.AUX not in repository.branches():
        with contextlib.suppress(ExistsError):  # somebody else was faster
            repository.create_branch(history.AUX, _root(repository))
    session = repository.writer(history.AUX)
    there = _documents(repository, session)
    if taken := None if overwrite else next(iter(there.keys() & changes.keys()), None):
        raise ExistsError(
            f"There is a saved view {taken!r} already. Choose another name, or overwrite=True."
        )
    merged = {**there, **changes}
    kept = {name: document for name, document in merged.items() if document is not None}
    run(_put(session, kept, ids))
    session.commit(message)


async def _put(session: Session, documents: Mapping[str, Any], ids: Mapping[str, Any]) -> None:
    await session.set_attributes({KEY: sealed({"views": dict(documents)})})
    for path, rows in ids.items():
        array = await session.create_array(path, ArraySpec("int64"), len(rows))
        if len(rows):
            await array.setitem(slice(0, len(rows)), rows)


async def _read_ids(session: Session, path: str) -> Any:
    """Read a view's rows. Raises DamagedError where their array is not what was written.

    Memory is taken for chunks that are there, whatever the array's metadata says.
    """
    spec, parts = ArraySpec("int64"), [np.empty(0, np.int64)]
    try:
        length = await session.length(path)
        for chunk in range(-(-length // spec.chunk_rows)):
            data = await session.get(f"{path}/c/{chunk}", spec.most_bytes)
            if data is None:
                raise ValueError(f"chunk {chunk} is missing")
            parts.append(spec.decode_chunk(data)[: length - chunk * spec.chunk_rows])
        return np.concatenate(parts)
    except LakeError:
        raise
    except (*DAMAGE, MemoryError, OSError) as error:
        raise DamagedError(
            f"The rows of a saved view do not read: {error!s:.200}. Restore the lake from a copy, "
            "or delete the view and save it again."
        ) from error
