"""Datasets and views as a few plain values, which open the same version elsewhere.

A worker process gets the URL, the snapshot and which rows, and reads for itself. Nothing that is
not committed goes along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.read.virtual import question_of
from deeplake_lite.dataset.saved.again import answered_again, fingerprint
from deeplake_lite.dataset.selection import Lake, RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.storage import chunks
from deeplake_lite.storage.repo import (
    MEMORY,
    Repository,
    engine_is_lost,
    local_folder,
    use_engine,
    welcome,
)
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.saved.question import Question


@dataclass(frozen=True)
class Address:
    """One version of a lake, from wherever it can be reached."""

    url: str
    """Where the lake is."""
    folder: str | None
    """Of a ``memory://`` lake, its folder, which goes with the process that made it."""
    version: str
    """Snapshot id."""
    options: Mapping[str, Any]
    """What the object store needs."""
    allow: tuple[str, ...]
    """Roots under which linked files are read."""
    checks_reads: bool = False
    """Whether every read is compared with checksums and hashes."""
    limits: Limits = DEFAULT_LIMITS
    """How much memory a value may take."""
    branch: str | None = None
    """The branch that its handle was on; None for a version that never moves."""
    name: str = ""
    """The branch, tag, commit or time that the handle was opened at, if any."""

    @classmethod
    def of(cls, view: View) -> Address:
        """Return where a view's version is. Raises UncommittedError when it has edits."""
        view.rows.check_committed("pickling")
        lake = view.rows.lake
        folder = str(local_folder(view.url)) if view.url.startswith(MEMORY) else None
        return cls(
            view.url,
            folder,
            view.version,
            dict(lake.options),
            lake.allow,
            lake.repository.checks_reads,
            lake.repository.limits,
            lake.branch,
            lake.name,
        )

    def open(self) -> tuple[Lake, Table]:
        """Open the version. Raises LakeNotFoundError where it cannot be reached."""
        if self.folder is not None:
            welcome(self.url, self.folder)
        repository = Repository.open(self.url, self.options, self.limits)
        if self.checks_reads:
            repository = repository.checking()
        table = Table.open(repository, repository.reader(self.version))
        lake = Lake(repository, dict(self.options), self.allow, self.branch, self.name)
        return lake, table


class Stranded:
    """Stands for a dataset or view in a process where the engine cannot work: any use says so.

    Unpickling must not raise there: the worker of a `multiprocessing.Pool` would die over its task,
    and the pool wait for it.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by Python itself, pickle for one
            raise AttributeError(name)
        self._refuse()

    def __len__(self) -> int:
        self._refuse()

    def __iter__(self) -> Any:
        self._refuse()

    def __getitem__(self, index: Any) -> Any:
        self._refuse()

    def _refuse(self) -> NoReturn:
        use_engine()
        raise AssertionError("the engine works here")


def view_parts(view: View) -> tuple[Any, ...]:
    """Return what `pickle` is to keep of a view."""
    slots = view.rows.live()
    rows = chunks.contiguous(slots)
    question = question_of(view)
    if question is not None:
        view.rows.check_committed("pickling")
        kept = (question, view.rows.table.slots, slots if rows is None else rows)
        return open_answer, (*kept, fingerprint(view, slots), view.columns, view.origin)
    return open_view, (Address.of(view), slots if rows is None else rows, view.columns, view.origin)


def dataset_parts(ds: Dataset) -> tuple[Any, ...]:
    """Return what `pickle` is to keep of a dataset."""
    return open_dataset, (Address.of(ds), ds.handle.branch, ds.handle.lake.name)


def open_view(
    address: Address, rows: slice | NDArray[np.int64], names: tuple[str, ...], origin: str
) -> View | Stranded:
    """Return the view that was pickled."""
    if engine_is_lost():
        return Stranded()
    return View(RowSelection(*address.open(), _slots(rows)), names, origin)


def open_answer(
    question: Question,
    count: int,
    rows: slice | NDArray[np.int64],
    expected: str,
    names: tuple[str, ...],
    origin: str,
) -> View | Stranded:
    """Return the view of a query's result that was pickled: the query is asked again."""
    if engine_is_lost():
        return Stranded()
    slots = _slots(rows)
    answer = answered_again(question, count, slots, expected)
    return View(answer.rows.with_slots(slots), names, origin, record=answer.record)


def _slots(rows: slice | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def open_dataset(address: Address, branch: str | None, name: str) -> Dataset | Stranded:
    """Return the dataset that was pickled: the same version, to commit to the same branch."""
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.handle import Handle

    if engine_is_lost():
        return Stranded()
    lake, table = address.open()
    return Dataset(Handle(lake.at(branch, name), table))
