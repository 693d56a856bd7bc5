"""Pickling of datasets and views as a few plain values that identify the version and rows.

A worker process receives the URL, the snapshot id and the selected rows, and reads the lake itself.
Uncommitted edits cannot be pickled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.read.virtual import question_of
from deeplake_lite.dataset.saved.repeat import fingerprint, repeat_query
from deeplake_lite.dataset.selection import Lake, RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import StorageError
from deeplake_lite.storage import chunks
from deeplake_lite.storage.repo import (
    MEMORY,
    Repository,
    engine_is_lost,
    local_folder,
    picklable_options,
    register_foreign_memory,
    use_engine,
)
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.saved.question import Question


_kept: dict[str, Mapping[str, object]] = {}
"""Maps the URLs of lakes that this process has pickled to their storage options. Pickles lack the
credentials, which copies in the same process read from here."""


@dataclass(frozen=True)
class Address:
    """The values with which another process can open one version of a lake."""

    url: str
    """URL of the lake."""
    folder: str | None
    """Folder of a ``memory://`` lake, or None. The folder is deleted when the process that created
    it ends."""
    version: str
    """Snapshot id."""
    options: Mapping[str, object] = field(repr=False)
    """Storage options of the object store, without credentials."""
    allow: tuple[str, ...]
    """Roots under which linked files may be read."""
    checks_reads: bool = False
    """Whether every read is compared with checksums and hashes."""
    limits: Limits = DEFAULT_LIMITS
    """Limits on the size of decoded values."""
    branch: str | None = None
    """The branch that the handle was on, or None for a fixed version."""
    name: str = ""
    """The branch, tag, commit or time at which the handle was opened, or an empty string."""
    lacks_credentials: bool = False
    """Whether credentials were left out of `options`."""

    @classmethod
    def of(cls, view: View) -> Address:
        """Return the address of a view's version. Raises UncommittedError if it has edits."""
        view.rows.check_committed("Pickling")
        return cls.at(view.rows.lake, view.url, view.version)

    @classmethod
    def at(cls, lake: Lake, url: str, version: str) -> Address:
        """Return the address of a version of a lake."""
        options = picklable_options(lake.options)
        if options != lake.options:
            _kept[url] = lake.options
        return cls(
            url,
            str(local_folder(url)) if url.startswith(MEMORY) else None,
            version,
            options,
            lake.allow,
            lake.repository.checks_reads,
            lake.repository.limits,
            lake.branch,
            lake.name,
            lacks_credentials=options != lake.options,
        )

    def open(self) -> tuple[Lake, Table]:
        """Open the version. Raises LakeNotFoundError if the lake cannot be reached."""
        if self.folder is not None:
            register_foreign_memory(self.url, self.folder)
        options = _kept.get(self.url, self.options) if self.lacks_credentials else self.options
        try:
            repository = Repository.open(self.url, options, self.limits)
        except StorageError as error:
            if not self.lacks_credentials:
                raise
            raise StorageError(
                f"{error} Credentials in storage_options are not pickled. Set the store's "
                "environment variables in the process that unpickles, or pass profile= or "
                "get_credentials= in storage_options."
            ) from error
        if self.checks_reads:
            repository = repository.checking()
        table = Table.open(repository, repository.reader(self.version))
        lake = Lake(repository, dict(options), self.allow, self.branch, self.name)
        return lake, table


class Stranded:
    """A placeholder for a dataset or view in a process in which Icechunk cannot run.

    Any use of the placeholder raises an error with the reason. Unpickling itself must not raise,
    because the worker of a `multiprocessing.Pool` would die without a result, and the pool would
    wait forever for the worker.
    """

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):  # Python itself looks these up, for example to pickle
            raise AttributeError(name)
        self._refuse()

    def __len__(self) -> int:
        self._refuse()

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __getitem__(self, index: object) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        use_engine()
        raise AssertionError("Icechunk runs in this process")


def view_parts(view: View) -> tuple[object, ...]:
    """Return the result of a view's ``__reduce__``: a function to open it, and arguments."""
    slots = view.rows.live()
    span = chunks.contiguous(slots)
    rows = slots if span is None else span
    question = question_of(view)
    if question is not None:
        view.rows.check_committed("Pickling")
        result = question, view.rows.table.slots, rows, fingerprint(view, slots)
        return open_result, (*result, view.columns, view.origin)
    return open_view, (Address.of(view), rows, view.columns, view.origin)


def dataset_parts(ds: Dataset) -> tuple[object, ...]:
    """Return the result of a dataset's ``__reduce__``: a function and its arguments."""
    return open_dataset, (Address.of(ds), ds.handle.branch, ds.handle.lake.name)


def open_view(
    address: Address, rows: slice | NDArray[np.int64], names: tuple[str, ...], origin: str
) -> View | Stranded:
    """Open a pickled view of a lake's rows."""
    if engine_is_lost():
        return Stranded()
    return View(RowSelection(*address.open(), _slots(rows)), names, origin)


def open_result(
    question: Question,
    count: int,
    rows: slice | NDArray[np.int64],
    expected: str,
    names: tuple[str, ...],
    origin: str,
) -> View | Stranded:
    """Open a pickled view of a query's result, by repeating the query."""
    if engine_is_lost():
        return Stranded()
    slots = _slots(rows)
    result = repeat_query(question, count, slots, expected)
    return View(result.rows.with_slots(slots), names, origin, record=result.record)


def _slots(rows: slice | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def open_dataset(address: Address, branch: str | None, name: str) -> Dataset | Stranded:
    """Open a pickled dataset at the same version and, if it was writable, on the same branch."""
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.handle import Handle

    if engine_is_lost():
        return Stranded()
    lake, table = address.open()
    return Dataset(Handle(lake.at(branch, name), table))
