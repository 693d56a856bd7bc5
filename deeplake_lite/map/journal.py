"""The journal of a job: a branch of the lake with the job's parameters and its finished parts.

The branch ``_job-<name>`` begins at the version that the job reads, so that no vacuum deletes this
version before the job ends. If the function returns rows, the branch is in their lake instead.
Every commit on the branch adds the results of finished parts. A killed driver loses the parts that
finished since the last of these commits::

    main        V ───────────────────────────────► W: the results, in one commit
                 └─► parameters ─► parts 0, 1 ─► parts 2, 3, 4      branch _job-<name>

Only one driver may run a job. On a local folder, it holds a file lock. On an object store, a second
driver moves the branch, and the next commit of the first one fails.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    JobError,
    OptionError,
    VersionNotFoundError,
)
from deeplake_lite.map.places import ATTEMPTS, SEGMENTS, VALUES, Cut, chunk_of
from deeplake_lite.remote.segments import read_segment
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.repo import local_folder, run, translate_file_errors
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.scratch import Registration
from deeplake_lite.storage.state import add_digest, check_digest
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from io import FileIO

    from numpy.typing import NDArray

    from deeplake_lite.map.work import Done
    from deeplake_lite.remote.segments import Block
    from deeplake_lite.storage.repo import Repository, Session

KEY = "deeplake_lite_job"
"""Attribute of the root group that holds the document of the job, and the document's digest."""

DONE = "job/done"
"""Path of the array with one entry per part: the number of the attempt plus 1 (0 if the part is not
finished), and the numbers of segments, of rows with results, and of skipped rows."""

CHUNK = 2**25
"""Size of the chunks that the array of results declares, in bytes; actual chunks differ."""

_SPEC = ArraySpec("int64", (4,), ("entry",))

_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}"


class Target(TypedDict):
    """A column that a job fills."""

    name: str
    """Name of the column when the job began."""
    id: str
    """Id of the column."""
    htype: dict[str, Any]
    """Configuration of its type."""
    new: bool
    """Whether the job adds the column."""


class RowsInto(TypedDict):
    """The lake for new rows, if the function returns rows."""

    base: str
    """The version of this lake when the job began."""
    source: str
    """URL of the lake that the job reads, without credentials."""
    keep: dict[str, str]
    """The columns that are copied from the input: a dict from their names to their ids in this
    lake."""
    replaces: bool
    """Whether the rows that the lake had when the job began are replaced."""


class Document(TypedDict):
    """The parameters of a job."""

    id: str
    """Random id that identifies the commits of the job."""
    name: str
    """Name of the job."""
    started: str
    """Time at which the job began (ISO 8601, UTC)."""
    branch: str
    """The branch that the job writes to."""
    version: str
    """The version that the job reads."""
    function: dict[str, Any]
    """Name, module, digest and packages of the function."""
    setup: str | None
    """Digest of the function `setup`."""
    columns: dict[str, str]
    """Maps the names of the columns that the function receives to their ids."""
    into: list[Target]
    """The columns that the job fills."""
    where: str | None
    """The condition that selects rows."""
    batch: int
    """Number of rows in a batch."""
    on_error: str
    """``"raise"`` or ``"skip"``, for rows that fail."""
    update: bool
    """Whether only new and changed rows are computed."""
    whole: bool
    """Whether the job covers all rows of the version, or those that `where` and `update` select."""
    rows: int
    """Number of rows of the job."""
    row_ids: str
    """Digest of the ids of the rows."""
    rows_into: NotRequired[RowsInto]
    """The lake for new rows; missing if the job fills columns."""


def first_version(document: Document) -> str:
    """Return the version of the lake with the journal at which the job began."""
    return document["rows_into"]["base"] if "rows_into" in document else document["version"]


def check_job_name(name: object) -> str:
    """Return the name of a job. Raises OptionError if it is not valid."""
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise OptionError(
            "The name of a job must have at most 100 letters, digits or any of ._+-, and must "
            f"begin with a letter or digit, but it is {brief(name, 120)}. Choose another name."
        )
    return str(name)


@dataclass
class Entry:
    """A finished part."""

    attempt: int
    """Number of the attempt whose results count."""
    segments: int
    """Number of segments of this attempt."""
    rows: int
    """Number of rows with results."""
    skipped: int
    """Number of rows that were skipped because of errors."""


class Journal:
    """The journal of one job.

    Parameters
    ----------
    repository : Repository
        The lake.
    document : Document
        The parameters of the job.
    session : Session
        A session that reads the journal.
    """

    def __init__(self, repository: Repository, document: Document, session: Session) -> None:
        self.repository, self.document = repository, document
        self.branch = f"{history.JOB}{document['name']}"
        self.cut = Cut.of(document["rows"], document["batch"])
        self._reader = session
        self._entries = run(_read_entries(session, len(self.cut)))
        self._base: Session | None = None

    # ---- opening

    @classmethod
    def create(cls, repository: Repository, document: Document) -> Journal:
        """Write the journal of a new job. Raises JobError if there is one already."""
        branch = f"{history.JOB}{document['name']}"
        first = first_version(document)
        with repository.lock(), history.keep_version(repository, first):
            try:
                repository.create_branch(branch, first)
            except ExistsError as error:
                raise _is_running(document["name"]) from error
            session = _writer(repository, document["name"])
            run(_write_new(session, document))
            version = _commit(session, document["name"])
        return cls(repository, document, repository.reader(version))

    @classmethod
    def find(cls, repository: Repository, name: str) -> Journal | None:
        """Open the journal of a job that has not finished, or return None.

        Raises
        ------
        DamagedError
            When the journal cannot be read.
        """
        branch = f"{history.JOB}{name}"
        if branch not in repository.branch_names():
            return None
        try:
            session = repository.reader(repository.tip(branch))
        except VersionNotFoundError:  # a driver on another machine has just finished the job
            return None
        document = run(session.attributes()).get(KEY)
        if document is None:  # the driver was killed just after it had created the branch
            return None
        check_digest(cast("Mapping[str, object]", document), f"The journal of job {name!r}")
        return cls(repository, _check_document(name, document), session)

    # ---- finished parts

    @property
    def done(self) -> NDArray[np.bool_]:
        """A mask of the finished parts, (parts,) bool."""
        mask: NDArray[np.bool_] = self._entries[:, 0] > 0
        return mask

    @property
    def rows_done(self) -> int:
        """Number of rows in finished parts, including skipped rows."""
        return int(self._entries[:, 2:].sum())

    @property
    def skipped(self) -> int:
        """Number of rows that were skipped because of errors."""
        return int(self._entries[:, 3].sum())

    def next_attempt(self) -> int:
        """Return a number larger than those of all recorded attempts."""
        return int(self._entries[:, 0].max(initial=0))

    def entry(self, part: int) -> Entry:
        """Return the record of a finished part."""
        attempt, segments, rows, skipped = self._entries[part].tolist()
        return Entry(attempt - 1, segments, rows, skipped)

    def read(self, part: int) -> tuple[list[Block], list[tuple[int, str]]]:
        """Return the results of a finished part, and its skipped rows with their errors.

        Raises
        ------
        DamagedError
            When the results are damaged.
        """
        entry, blocks, skipped = self.entry(part), list["Block"](), list[tuple[int, str]]()
        span = self.cut.span(part)
        for segment in range(entry.segments):
            key = chunk_of(entry.attempt, segment)
            if (data := run(self._reader.get(key))) is None:
                raise _damaged(self.document["name"], f"chunk {key} is missing")
            more, failed = read_segment(data)
            blocks += more
            skipped += failed
        rows = [row for block in blocks for row in block.rows.tolist()]
        if len(rows) != entry.rows or not all(span.start <= row < span.stop for row in rows):
            raise _damaged(self.document["name"], f"part {part} has the results of other rows")
        return blocks, skipped

    # ---- writing

    def base(self) -> Session:
        """Return the session from which forks are made for workers."""
        if self._base is None:
            self._base = _writer(self.repository, self.document["name"])
        return self._base

    def record(self, finished: Iterable[tuple[Done, Session]]) -> None:
        """Commit finished attempts.

        Parameters
        ----------
        finished : iterable
            Finished attempts, with the sessions from which their forks were made.

        Raises
        ------
        JobError
            When another driver has written to the journal.
        """
        entries = self._entries.copy()
        with self.repository.lock():
            session = _writer(self.repository, self.document["name"])
            if session.snapshot_id != self._reader.snapshot_id:
                raise _is_running(self.document["name"])
            for done, base in finished:
                if done.segments > SEGMENTS:
                    raise _damaged(self.document["name"], f"part {done.part} has too many chunks")
                session.merge(base.at(done.fork))
                entries[done.part] = done.attempt + 1, done.segments, done.rows, done.skipped
            changed = np.flatnonzero((entries != self._entries).any(axis=1)) // _SPEC.chunk_rows
            run(_write_entries(session, entries, np.unique(changed)))
            version = _commit(session, self.document["name"])
        self._entries, self._base = entries, None
        self._reader = self.repository.reader(version)

    def delete(self) -> None:
        """Delete the journal. A vacuum deletes the results."""
        delete_journal(self.repository, self.document["name"])


def delete_journal(repository: Repository, name: str) -> None:
    """Delete the journal of a job, if there is one."""
    with repository.lock():
        if f"{history.JOB}{name}" in repository.branch_names():
            with contextlib.suppress(VersionNotFoundError):  # another machine was faster
                repository.delete_branch(f"{history.JOB}{name}")


def _writer(repository: Repository, name: str) -> Session:
    """Return a session that writes to a journal.

    Raises
    ------
    JobError
        When another driver has finished or replaced the job, and has deleted the journal.
    """
    try:
        return repository.writer(f"{history.JOB}{name}")
    except VersionNotFoundError as error:
        raise _has_ended(name) from error


def _commit(session: Session, name: str) -> str:
    """Commit to a journal. Raises JobError if another driver has moved or deleted it."""
    try:
        return session.commit(f"job {name}")
    except ConflictError as error:
        raise _is_running(name) from error
    except VersionNotFoundError as error:
        raise _has_ended(name) from error


def journal_names(repository: Repository) -> list[str]:
    """Return the names of the jobs that have a journal."""
    names = repository.branch_names()
    return [name.removeprefix(history.JOB) for name in names if name.startswith(history.JOB)]


class Running:
    """The lock of the process that runs a job, on a local folder.

    Parameters
    ----------
    repository : Repository
        The lake.
    name : str
        Name of the job.

    Raises
    ------
    JobError
        When another process runs a job with this name.
    """

    def __init__(self, repository: Repository, name: str) -> None:
        self._repository = repository
        self._lock: FileIO | None = None
        self._registration: Registration | None = None
        if local_folder(repository.url) is None:
            return
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        self._path = repository.writers_folder() / f"job-{digest}.lock"
        with translate_file_errors():
            try:
                self._lock = take_lock(self._path, timeout=0)
            except TimeoutError as error:
                raise _is_running(name) from error

    def spare_chunks(self, version: str) -> None:
        """Keep vacuums from deleting chunks that are written from now on.

        Until these chunks are committed to the journal, they belong to no version. On an object
        store, vacuums always spare the chunks of the last day.
        """
        if self._lock is not None:
            folder = self._repository.writers_folder()
            self._registration = Registration.enter(folder, version)

    def end(self) -> None:
        """Release the lock."""
        if self._registration is not None:
            self._registration.leave()
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            self._lock.close()
            self._lock = None


def _check_document(name: str, document: object) -> Document:
    """Return the document of a journal. Raises DamagedError if it is not valid."""
    match document:
        case {
            "id": str(),
            "name": str(own),
            "started": str(),
            "branch": str(),
            "version": str(),
            "function": {"name": str(), "module": str(), "digest": str(), "packages": dict()},
            "setup": None | str(),
            "columns": dict(),
            "into": list(),
            "where": None | str(),
            "batch": int(batch),
            "on_error": str(),
            "update": bool(),
            "whole": bool(),
            "rows": int(rows),
            "row_ids": str(),
            **others,
        } if (
            own == name
            and _is_target(others.get("rows_into"))
            and batch > 0
            and rows >= 0
            and len(Cut.of(rows, batch)) <= ATTEMPTS
        ):
            return cast("Document", document)
    raise _damaged(name, "its document is not complete")


def _is_target(value: object) -> bool:
    """Return whether a value is None or describes a lake for new rows."""
    match value:
        case None | {"base": str(), "source": str(), "keep": dict(), "replaces": bool()}:
            return True
    return False


def _is_running(name: str) -> JobError:
    return JobError(
        f"Only one process may run a job, but the job {name!r} is running in another process or "
        "thread. Wait for it or cancel it, or pass another name=."
    )


def _has_ended(name: str) -> JobError:
    return JobError(
        f"Only one process may run a job, but another process has run the job {name!r} at the same "
        "time, and has finished it or started it over. Open the lake to see its results, or pass "
        "another name=."
    )


def _damaged(name: str, reason: str) -> DamagedError:
    return DamagedError(
        f"The journal of job {name!r} is damaged: {reason}. Run the job again with restart=True."
    )


async def _write_new(session: Session, document: Document) -> None:
    count = Cut.of(document["rows"], document["batch"])
    values = array_metadata((2**28 * CHUNK,), (CHUNK,), "uint8", [], ["byte"])
    await session.create_array(VALUES, values)
    await session.create_array(DONE, _SPEC.metadata(len(count)))
    await session.set_attributes({KEY: add_digest(cast("Mapping[str, object]", document))})


async def _write_entries(
    session: Session, entries: NDArray[np.int64], chunks: NDArray[np.int64]
) -> None:
    for chunk in chunks.tolist():
        start = chunk * _SPEC.chunk_rows
        rows = _SPEC.encode_chunk(entries[start : start + _SPEC.chunk_rows])
        await session.put(_SPEC.chunk_key(DONE, chunk), rows)


async def _read_entries(session: Session, count: int) -> NDArray[np.int64]:
    """Return the entries of all parts, (parts, 4) int64. Raises DamagedError."""
    await session.check_length(DONE, count)
    entries = np.zeros((count, 4), np.int64)
    for start in range(0, count, _SPEC.chunk_rows):
        key = _SPEC.chunk_key(DONE, start // _SPEC.chunk_rows)
        if (data := await session.get(key, _SPEC.most_bytes)) is None:
            continue  # no part of this chunk has finished
        try:
            rows = _SPEC.decode_chunk(data)
        except (ValueError, RuntimeError) as error:
            raise DamagedError(
                f"The journal of a job is damaged: {str(error).rstrip('.'):.200}. Run the job "
                "again with restart=True."
            ) from error
        entries[start : start + len(rows)] = rows[: count - start]
    return entries
