"""Indexes in the lake: where they are written, and which one a version uses.

A build writes chunks that belong to no version yet. At the end, it creates the branch of the index
and commits the chunks to it. If the build is killed before that, it leaves only files that a vacuum
deletes. A version uses the newest index that was built for it or for one of its ancestors.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import VersionNotFoundError
from deeplake_lite.index.damage import DamagedIndexError, read_index
from deeplake_lite.index.parts import ARRAY, PATH, PartReader
from deeplake_lite.storage.repo import local_folder, run
from deeplake_lite.storage.repo.index_refs import IndexName, index_names
from deeplake_lite.storage.scratch import Registration
from deeplake_lite.storage.state import add_digest, check_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.index.parts import PartWriter
    from deeplake_lite.index.vector_index import Cache
    from deeplake_lite.storage.repo import Repository, Session

KEY = "deeplake_lite_index"
"""Attribute of the root group that holds the document of the index, and the document's digest."""

FORMAT = 1
"""Number of the format of indexes. Indexes of other formats are not used."""


@dataclass(frozen=True, eq=False)
class StoredIndex:
    """An index that has been opened."""

    name: IndexName
    document: Mapping[str, Any]
    """The parameters of the index."""
    reader: PartReader
    """Reads its parts."""

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        return 10_000 + 100 * sum(len(part["digests"]) for part in self.document["parts"].values())


@contextlib.contextmanager
def new_chunks(repository: Repository, version: str) -> Iterator[Session]:
    """Provide a session that collects the chunks of an index of a version.

    Vacuums of a local lake spare these chunks. On an object store, they always spare the chunks of
    the last day.
    """
    registration = None
    if local_folder(repository.url) is not None:
        registration = Registration.enter(repository.writers_folder(), version)
    try:
        chunks = repository.fork("main", version)
        run(chunks.create_array(PATH, ARRAY))
        yield chunks
    finally:
        if registration is not None:
            registration.leave()


def publish(
    repository: Repository,
    name: IndexName,
    document: Mapping[str, Any],
    writer: PartWriter,
    chunks: Session,
) -> IndexName:
    """Commit an index. Of the indexes with the same use and version, drop all but the newest.

    Return the newest index. If another process has built an index meanwhile, that may be the
    newest.
    """
    whole = {"format": FORMAT, "nbytes": writer.nbytes, "parts": writer.parts, **document}
    with repository.lock(), history.keep_version(repository, name.version):
        repository.create_branch(name.branch, name.version)
        try:
            session = repository.writer(name.branch)
            session.merge(chunks)
            run(session.set_attributes({KEY: add_digest(whole)}))
            session.commit(f"{name.kind} index")
        except BaseException:
            repository.delete_branch(name.branch)
            raise
        same = [
            other
            for other, tip in history.index_tips(repository).items()
            if (other.use, other.version) == (name.use, name.version) and tip != name.version
        ]
        newest = max(same, key=lambda other: other.key, default=name)
        for other in same:
            if other.key < newest.key:
                with contextlib.suppress(VersionNotFoundError):  # another process has dropped it
                    repository.delete_branch(other.branch)
    return newest


def open_index(repository: Repository, name: IndexName) -> StoredIndex | None:
    """Open an index. Return None if it does not exist, is not complete or has another format.

    Raises
    ------
    DamagedIndexError
        When the document of the index cannot be read.
    """
    with read_index(name):
        try:
            session = repository.reader(repository.tip(name.branch))
        except VersionNotFoundError:  # it has just been dropped
            return None
        document = run(session.attributes()).get(KEY)
        if document is None:
            return None
        if not isinstance(document, dict) or not isinstance(document.get("parts"), dict):
            raise DamagedIndexError("its document is not valid")
        check_digest(document, "its document")
        if document.get("format") != FORMAT:
            return None
        _check_document(name, document)
        return StoredIndex(name, document, PartReader(session, document["parts"]))


def open_indexes(
    repository: Repository,
) -> Iterator[tuple[IndexName, StoredIndex | DamagedIndexError | None]]:
    """Yield all indexes of a lake, the oldest first, opened or with their damage.

    The second item is None for those that `open_index` ignores.
    """
    for name in index_names(repository.branch_names()):
        try:
            yield name, open_index(repository, name)
        except DamagedIndexError as error:
            yield name, error


def _check_document(name: IndexName, document: Mapping[str, object]) -> None:
    """Reject the document of an index that is not valid. Raises DamagedIndexError."""
    match document:
        case {"rows": int(rows), "nbytes": int(), "words": int()} if (
            name.kind == "text" and rows >= 0
        ):
            return
        case {
            "rows": int(rows),
            "nbytes": int(),
            "metric": str(metric),
            "dtype": str(),
            "dim": int(dim),
            "probes": int(probes),
            "recall": float() | int(),
            "sampled": int(),
        } if name.kind == "vector" and metric == name.metric and min(dim, probes) > 0 <= rows:
            return
    raise DamagedIndexError("its document is not complete")


def find_index(
    repository: Repository,
    version: str,
    use: tuple[str, str, str],
    cache: Cache | None = None,
) -> StoredIndex | None:
    """Return the index that a version uses for a column, or None if there is none.

    Parameters
    ----------
    repository : Repository
        The lake.
    version : str
        The version.
    use : tuple
        Kind, metric and column of the index (see `IndexName.use`).
    cache : Cache, optional
        Caches opened indexes.

    Raises
    ------
    DamagedIndexError
        When the newest index is damaged.
    """
    names = [name for name in index_names(repository.branch_names()) if name.use == use]
    for name in nearest_first(repository, version, names):
        key = repository.url, repository.checks_reads, name.branch
        stored: StoredIndex | None = None if cache is None else cache.get(key)
        if (
            stored is None
            and (stored := open_index(repository, name)) is not None
            and cache is not None
        ):
            cache.put(key, stored)
        if stored is not None:
            return stored
    return None


def nearest_first(
    repository: Repository, version: str, names: list[IndexName]
) -> Iterator[IndexName]:
    """Yield the indexes of a version and its ancestors, the newest versions first.

    Usually the indexed version is in the line of first parents. Merged versions, and versions
    beyond a truncated history, are read only if it is not.
    """
    of_version = {name.version: name for name in names}
    if not of_version:
        return
    for commit in repository.ancestry(version):
        if commit.id in of_version:
            yield of_version.pop(commit.id)
    if of_version:
        graph = history.Graph.read(repository, [version])
        rest = graph.ancestors([version]) & of_version.keys()
        for v in sorted(rest, key=lambda v: graph.commits[v].time, reverse=True):
            yield of_version[v]
