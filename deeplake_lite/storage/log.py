"""The log of a version: recent entries of arrays, which are stored in the document.

Writing a few rows to arrays rewrites a chunk, a manifest and the metadata of each array. So small
commits only add their entries to the log. A commit that would make the log larger than `limits`
allows writes the largest arrays, with their entries in the log (see `choose_written`)::

    slot 0                          slots in chunks           slots
         │ Zarr array               │ rows in the log         │
         │       ↑ updates in the log

An array all of whose rows are in the log need not exist. In the document, the bytes of the log are
encoded as base64. They are not compressed, because Icechunk compresses the document. The document's
digest covers them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.storage.array_spec import ArraySpec

MAX_BYTES = 64 * 1024
"""Maximum size in bytes of the log of a lake in a folder. Every commit writes the whole log again.
"""

REMOTE_FACTOR = 8
"""On an object store, a log may be this many times as large, since each array that a commit writes
takes several requests, one after another."""

MAX_UPDATES = 1_024
"""Maximum number of updated entries in a log. Moving them to arrays may rewrite as many chunks."""

COLUMNS = 128
"""Lakes with more columns have larger logs, in proportion. Their documents are larger anyway, and
every row adds entries to several arrays of each column."""

MAX_COUNT = 2**31
"""Maximum number of entries of an array in a log that is read."""


class Size(NamedTuple):
    """The size of the entries of an array, or of a log."""

    nbytes: int
    """Number of bytes."""
    updates: int
    """Number of updated entries."""


def limits(columns: int, *, is_remote: bool = False) -> Size:
    """Return the maximum size of the log of a lake.

    Parameters
    ----------
    columns : int
        Number of columns.
    is_remote : bool, default False
        Whether the lake is on an object store.

    >>> limits(6).updates, limits(1_280).updates
    (1024, 10240)
    >>> limits(6, is_remote=True).nbytes // limits(6).nbytes
    8
    """
    factor = max(1.0, columns / COLUMNS)
    nbytes = MAX_BYTES * REMOTE_FACTOR if is_remote else MAX_BYTES
    return Size(int(nbytes * factor), int(MAX_UPDATES * factor))


def choose_written(sizes: Mapping[str, Size], most: Size) -> set[str]:
    """Return the arrays whose entries move from the log to the arrays, because it is too large.

    These are the arrays with the largest entries, until the log is at most half full. Other arrays
    stay in the log, because each array that is written costs several objects.

    >>> sizes = {"a": Size(90, 0), "b": Size(30, 2), "c": Size(10, 9)}
    >>> choose_written(sizes, Size(130, 11)), choose_written(sizes, Size(129, 11))
    (set(), {'a'})
    >>> sorted(choose_written(sizes, Size(200, 10)))
    ['a', 'c']
    """
    nbytes = sum(size.nbytes for size in sizes.values())
    updates = sum(size.updates for size in sizes.values())
    written = set[str]()
    if nbytes <= most.nbytes and updates <= most.updates:
        return written
    by_updates = sorted(sizes, key=lambda path: -sizes[path].updates)
    for path in by_updates if updates > most.updates else ():
        if updates <= most.updates / 2:
            break
        written.add(path)
        nbytes, updates = nbytes - sizes[path].nbytes, updates - sizes[path].updates
    for path in sorted(sizes.keys() - written, key=lambda path: -sizes[path].nbytes):
        if nbytes <= most.nbytes / 2:
            break
        written.add(path)
        nbytes -= sizes[path].nbytes
    return written


@dataclass(frozen=True)
class Entries:
    """The entries of one array in a log."""

    rows: NDArray[Any]
    """Rows after those in the array, (n, *shape)."""

    slots: NDArray[np.int64]
    """Slots of updated rows that are in the array, ascending."""

    values: NDArray[Any]
    """Values of these slots, (len(slots), *shape)."""

    @classmethod
    def empty(cls, spec: ArraySpec) -> Entries:
        """Return no entries."""
        none = np.zeros((0, *spec.shape), spec.dtype)
        return cls(none, np.zeros(0, np.int64), none)

    def __bool__(self) -> bool:
        return bool(len(self.rows) or len(self.slots))

    def check(self, stored: int, path: str) -> None:
        """Reject entries that contradict the number of committed rows. Raises DamagedError."""
        in_array = stored - len(self.rows)
        if in_array < 0:
            raise _damaged(f"the log has {len(self.rows)} rows of {path}, which has only {stored}")
        if self.slots[-1:].max(initial=-1) >= in_array:
            raise _damaged(
                f"the log has an update of slot {self.slots[-1]} of {path}, but only slots below "
                f"{in_array} are in the array"
            )

    def extended(self, rows: NDArray[Any]) -> Entries:
        """Return these entries with more rows at the end."""
        if not len(self.rows):
            return replace(self, rows=rows)
        return replace(self, rows=np.concatenate([self.rows, rows]))

    def updated(self, first: int, slots: NDArray[np.int64], values: NDArray[Any]) -> Entries:
        """Return these entries with updates, where `first` is the slot of the first row.

        Parameters
        ----------
        slots : ndarray, (n,) int64
            The updated slots, ascending.
        values : ndarray, (n, *shape)
            Their new values.
        """
        rows, is_row = self.rows, slots >= first
        if is_row.any():
            rows = rows.copy()
            rows[slots[is_row] - first] = values[is_row]
        other = ~np.isin(self.slots, slots)
        joined = np.concatenate([self.slots[other], slots[~is_row]])
        order = np.argsort(joined)
        new = np.concatenate([self.values[other], values[~is_row]])
        return Entries(rows, joined[order], new[order])

    def apply_updates(self, slots: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Replace those `values` of the given slots that are updated."""
        if not len(self.slots):
            return
        at = np.minimum(np.searchsorted(self.slots, slots), len(self.slots) - 1)
        is_updated = self.slots[at] == slots
        values[is_updated] = self.values[at[is_updated]]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.rows.nbytes + self.slots.nbytes + self.values.nbytes


@dataclass(frozen=True)
class Log:
    """Entries of all arrays, by path in the generation."""

    index: Mapping[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """For each array: position and size of its entries in `data`, and the numbers of rows and
    updates."""

    data: bytes = b""
    """For each array: rows, slots of the updates, values of the updates."""

    def __len__(self) -> int:
        return len(self.data)

    def size(self, path: str) -> Size:
        """Return the size of the entries of an array that is in the index."""
        _, nbytes, _, updates = self.index[path]
        return Size(nbytes, updates)

    def entries(self, path: str, spec: ArraySpec) -> Entries:
        """Return the entries of an array. Raises DamagedError if they contradict each other."""
        if path not in self.index:
            return Entries.empty(spec)
        at, size, rows, updates = self.index[path]
        end = at + size
        dtype = np.dtype(spec.dtype).newbyteorder("<")

        def take(count: int, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
            nonlocal at
            size = count * int(np.prod(shape)) * kind.itemsize
            part = self.data[at : min(at + size, end)]
            if len(part) != size:
                raise _damaged(f"the log is too short for its entries of {path}")
            at += size
            return np.frombuffer(part, kind).reshape(count, *shape)

        entries = Entries(
            take(rows, dtype, spec.shape),
            take(updates, np.dtype("<i8"), ()),
            take(updates, dtype, spec.shape),
        )
        slots = entries.slots
        if at != end:
            raise _damaged(f"the log has more bytes than entries of {path}")
        if len(slots) and (slots[0] < 0 or (slots[1:] <= slots[:-1]).any()):
            raise _damaged(f"the updated slots of {path} in the log are not in ascending order")
        return entries

    def encoded(self, path: str) -> tuple[int, int, bytes] | None:
        """Return the numbers of rows and updates of an array and their bytes, or None."""
        if path not in self.index:
            return None
        at, size, rows, updates = self.index[path]
        return rows, updates, self.data[at : at + size]

    def to_json(self) -> dict[str, object]:
        """Return the log as it is stored in the document."""
        index = {path: list(entry) for path, entry in self.index.items()}
        return {"arrays": index, "data": b64encode(self.data).decode()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Log:
        """Read a log from the document. An invalid log may raise any exception."""
        data, index = b64decode(stored["data"], validate=True), {}
        for path, entry in stored["arrays"].items():
            if len(entry) != 4 or not all(type(n) is int and 0 <= n <= MAX_COUNT for n in entry):
                raise ValueError(f"the log's entry for {path} must have four small numbers.")
            index[path] = (entry[0], entry[1], entry[2], entry[3])
        return cls(index, data)


class LogWriter:
    """Collects the entries of a new log.

    Parameters
    ----------
    written : collection of str
        Paths, within the generation, of arrays whose entries do not go into the log.
    """

    def __init__(self, written: Collection[str] = ()) -> None:
        self._parts: dict[str, tuple[int, int, bytes]] = {}
        self._written = written

    def takes(self, path: str) -> bool:
        """Return whether the entries of the array at `path` go into the log."""
        return path.partition("/")[2] not in self._written

    def add(self, path: str, entries: Entries) -> None:
        """Add the entries of the array at `path`."""
        if not entries:
            return
        arrays = (entries.rows, entries.slots, entries.values)
        data = b"".join(a.astype(a.dtype.newbyteorder("<"), copy=False).tobytes() for a in arrays)
        self._parts[path.partition("/")[2]] = len(entries.rows), len(entries.slots), data

    def copy(self, log: Log, path: str) -> None:
        """Add the entries that another log has for an array, given its path in the generation."""
        if (encoded := log.encoded(path)) is not None:
            self._parts[path] = encoded

    def log(self) -> Log:
        """Return the new log, which does not depend on the order in which entries were added."""
        index, at = dict[str, tuple[int, int, int, int]](), 0
        for path, (rows, updates, data) in sorted(self._parts.items()):
            index[path] = at, len(data), rows, updates
            at += len(data)
        return Log(index, b"".join(data for _, (_, _, data) in sorted(self._parts.items())))


def _damaged(reason: str) -> DamagedError:
    return DamagedError(
        f"The lake's root document is damaged: {reason}. Restore the lake from a backup."
    )
