"""The log of a version: recent entries of arrays, which are stored in the document.

Writing a few rows to arrays rewrites a chunk, a manifest and the metadata of each array. So small
commits only add their entries to the log, and so do updates of scattered rows, which would rewrite
thousands of chunks. If the log becomes too large, arrays are written (see `choose_written`)::

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
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage.array_spec import rows_per_chunk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.storage.array_spec import ArraySpec

MAX_BYTES = 64 * 1024
"""Maximum size in bytes of an ordinary log of a lake in a folder. Every commit writes the whole log
again."""

LARGE_FACTOR = 8
"""A log may be this many times as large if moving its entries would rewrite many chunks. At 10⁷
rows, updating 10,000 rows of three columns took 2.8 s of CPU time and 50 MB with the arrays, and
0.3 s and 0.2 MB with the log. Each later commit took 15 ms and 0.2 MB more, and opening 3 ms."""

REMOTE_FACTOR = 8
"""On an object store, an ordinary log may be this many times as large, since each array that a
commit writes takes several requests, one after another."""

CHUNK_BYTES = 16 * 1024
"""Estimated size of a stored chunk."""

MIN_RATIO = 32
"""Entries stay in a large log only if the chunks to which they belong are at least this many times
as large, and if fewer commits than this ratio have written the large log again."""

COLUMNS = 128
"""Lakes with more columns have larger logs, in proportion. Their documents are larger anyway, and
every row adds entries to several arrays of each column."""

MAX_COUNT = 2**31
"""Maximum number of entries of an array in a log that is read."""


class Size(NamedTuple):
    """The size of the entries of an array in a log."""

    nbytes: int
    """Number of bytes."""
    chunks: int
    """Number of chunks that are rewritten when the entries are moved to the array."""

    @property
    def ratio(self) -> float:
        """Size of the chunks relative to the size of the entries."""
        return self.chunks * CHUNK_BYTES / max(1, self.nbytes)


class Limits(NamedTuple):
    """Maximum sizes of a log in bytes."""

    ordinary: int
    """Maximum size of a log of any entries."""
    large: int
    """Maximum size of a log whose entries would rewrite many chunks."""


def limits(columns: int, *, is_remote: bool = False) -> Limits:
    """Return the maximum sizes of the log of a lake.

    Parameters
    ----------
    columns : int
        Number of columns.
    is_remote : bool, default False
        Whether the lake is on an object store.

    >>> limits(6), limits(1_280).ordinary
    (Limits(ordinary=65536, large=524288), 655360)
    >>> limits(6, is_remote=True)
    Limits(ordinary=524288, large=524288)
    """
    factor = max(1.0, columns / COLUMNS)
    ordinary = MAX_BYTES * REMOTE_FACTOR if is_remote else MAX_BYTES
    return Limits(int(ordinary * factor), int(max(ordinary, MAX_BYTES * LARGE_FACTOR) * factor))


def choose_written(sizes: Mapping[str, Size], most: Limits, age: int = 0) -> set[str]:
    """Return the arrays whose entries move from the log to the arrays, because it is too large.

    Arrays with the fewest chunks per byte of entries come first. They are written until the log is
    at most half full, or until the other entries are worth keeping in a large log.

    Parameters
    ----------
    sizes : mapping
        The size of each array's entries, by path.
    most : Limits
        The maximum sizes of the log.
    age : int
        Number of successive versions with a log larger than an ordinary one. Keeping a large log is
        worthwhile until the commits that write it again have written as much as the chunks.

    Examples
    --------
    >>> sizes = {"a": Size(90_000, 3), "b": Size(30_000, 200), "c": Size(10_000, 1)}
    >>> choose_written(sizes, Limits(130_000, 130_000)), sorted(choose_written(sizes, limits(6)))
    (set(), ['a', 'c'])
    >>> scattered = {"a": Size(90_000, 1_000), "bounds": Size(30_000, 1)}
    >>> choose_written(scattered, limits(6)), sorted(choose_written(scattered, limits(6), 200))
    ({'bounds'}, ['a', 'bounds'])
    """
    written, nbytes = set[str](), sum(size.nbytes for size in sizes.values())
    if nbytes <= most.ordinary:
        return written
    for path in sorted(sizes, key=lambda path: (sizes[path].ratio, path)):
        is_worthwhile = nbytes <= most.large and sizes[path].ratio >= max(MIN_RATIO, age)
        if is_worthwhile or nbytes <= most.ordinary / 2:
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
        if not len(slots):
            return self
        rows, is_row = self.rows, slots >= first
        if is_row.any():
            rows = rows.copy()
            rows[slots[is_row] - first] = values[is_row]
        other = ~np.isin(self.slots, slots)
        joined = np.concatenate([self.slots[other], slots[~is_row]])
        order = np.argsort(joined)
        new = np.concatenate([self.values[other], values[~is_row]])
        return Entries(rows, joined[order], new[order])

    def find(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the index of each slot in `self.slots`, (n,), and a mask of the updated slots."""
        if not len(self.slots):
            return np.zeros(len(slots), np.int64), np.zeros(len(slots), bool)
        at = np.minimum(np.searchsorted(self.slots, slots), len(self.slots) - 1)
        return at, np.asarray(self.slots[at] == slots)

    def apply_updates(self, slots: NDArray[np.int64], values: NDArray[Any]) -> None:
        """Replace those `values` of the given slots that are updated."""
        at, is_updated = self.find(slots)
        values[is_updated] = self.values[at[is_updated]]

    def same_updates(self, other: Entries) -> NDArray[np.int64]:
        """Return the slots that have the same new value here and in `other`, byte by byte."""
        at, is_common = other.find(self.slots)
        slots = self.slots[is_common]
        values, others = self.values[is_common], other.values[at[is_common]]
        if not values.size:
            return slots
        raw, other_raw = (np.ascontiguousarray(v).view(np.uint8) for v in (values, others))
        is_same = (raw == other_raw).reshape(len(slots), -1).all(axis=1)
        return np.asarray(slots[is_same])

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

    age: int = 0
    """Number of successive versions with a log larger than an ordinary one, up to this version."""

    def __len__(self) -> int:
        return len(self.data)

    def size(self, path: str) -> Size:
        """Return the size of the entries of an array that is in the index."""
        at, nbytes, rows, updates = self.index[path]
        value_bytes = (nbytes - 8 * updates) // max(1, rows + updates)
        first = at + rows * value_bytes
        data = self.data[first : first + 8 * updates]
        slots = np.frombuffer(data, "<i8", len(data) // 8)
        size = rows_per_chunk(max(1, value_bytes))
        return Size(nbytes, count_chunks(slots, size) + -(-rows // size))

    def entries(self, path: str, spec: ArraySpec) -> Entries:
        """Return the entries of an array. Raises DamagedError if they contradict each other."""
        if path not in self.index:
            return Entries.empty(spec)
        at, size, rows, updates = self.index[path]
        end = at + size
        dtype = np.dtype(spec.dtype).newbyteorder("<")

        def take(count: int, kind: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
            nonlocal at
            size = count * prod(shape) * kind.itemsize
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
        age = {"age": self.age} if self.age else {}
        return {"arrays": index, "data": b64encode(self.data).decode(), **age}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Log:
        """Read a log from the document. An invalid log may raise any exception."""
        data, index = b64decode(stored["data"], validate=True), {}
        for path, entry in stored["arrays"].items():
            if len(entry) != 4 or not all(type(n) is int and 0 <= n <= MAX_COUNT for n in entry):
                raise ValueError(f"the log's entry for {path} must have four small numbers.")
            index[path] = (entry[0], entry[1], entry[2], entry[3])
        age = stored.get("age", 0)
        if type(age) is not int or not 0 <= age <= MAX_COUNT:
            raise ValueError("the log's age must be a small number.")
        return cls(index, data, age)


def count_chunks(slots: NDArray[np.int64], size: int) -> int:
    """Return the number of chunks of `size` rows that contain slots.

    >>> count_chunks(np.array([1, 9, 2]), 8)
    2
    """
    return len(np.unique(slots // size))


class LogWriter:
    """Collects the entries of a new log.

    Parameters
    ----------
    written : collection of str
        Paths, within the generation, of arrays whose entries do not go into the log.
    ordinary : int, optional
        Maximum size in bytes of an ordinary log.
    age : int
        The age of the previous version's log.
    """

    def __init__(
        self, written: Collection[str] = (), ordinary: int | None = None, age: int = 0
    ) -> None:
        self._parts: dict[str, tuple[int, int, bytes]] = {}
        self._written, self._ordinary, self._age = written, ordinary, age

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
        is_large = self._ordinary is not None and at > self._ordinary
        data = b"".join(data for _, (_, _, data) in sorted(self._parts.items()))
        return Log(index, data, self._age + 1 if is_large else 0)


def _damaged(reason: str) -> DamagedError:
    return DamagedError(
        f"The lake's root document is damaged: {reason}. Restore the lake from a backup."
    )
