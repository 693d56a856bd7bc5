"""The keys of appended batches, by which a repeated append is recognised.

A version has an entry for each key: a digest of the key, and the ids of the rows that were appended
with it. The entries are in the array ``keys``, whose chunks are the pages of a tree. A page that is
full has children, one for each value of the next four bits of a digest::

    level 0    page 0                 all digests
    level 1    pages 1 … 16           digests that begin with 0 … f
    level 2    pages 17 … 272         digests that begin with 00 … ff

So a look-up reads a page per level, and a new key rewrites one page, however many keys there are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.errors import DamagedError, StorageError
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.repo import stream

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.storage.repo import Session

PATH = "keys"
"""Path of the array. It is outside of the generation, so that `optimize` keeps it."""

PAGE = 1_024
"""Number of entries in a page."""

FANOUT_BITS = 4
"""Number of bits of a digest that choose the child of a page."""

MOST_LEVELS = 7
"""Maximum number of levels, which have room for 10¹⁰ entries."""

IN_FLIGHT = 32
"""Number of pages that are read at a time when all are read."""

type Digest = bytes
"""Digest of a key, 16 bytes."""

type Runs = tuple[tuple[int, int], ...]
"""Ids of rows as runs: the first id and the number of rows. Without rows, one run has 0 rows."""

type Entries = NDArray[np.uint64]
"""Entries, (n, 4) uint64: two numbers for the digest, the first id and the number of rows. A key
has one entry for each run."""


class _PageSpec(ArraySpec):
    """The layout of the array, with smaller chunks than usual."""

    @property
    def chunk_rows(self) -> int:
        """Number of entries in one chunk."""
        return PAGE


_SPEC = _PageSpec("uint64", (4,), ("field",))

NONE: Entries = np.empty((0, 4), np.uint64)

NO_ROWS: Runs = ((0, 0),)
"""Row ids of a key with which no rows were appended."""


def digest_of(key: str) -> Digest:
    """Return the digest of a key.

    >>> digest_of("batch-17").hex()
    'df996f0e49e540dce403aaf8d5289f0e'
    """
    return xxhash.xxh3_128_digest(key.encode())


@dataclass(frozen=True)
class Summary:
    """The number of entries, and a sum over them that does not depend on their order."""

    count: int = 0
    """Number of entries; a key has one for each run of row ids."""
    total: int = 0
    """Sum of the xxh3_64 of all entries, modulo 2⁶⁴."""

    def __add__(self, entries: Entries) -> Summary:
        added = sum(xxhash.xxh3_64_intdigest(e.tobytes()) for e in entries.astype("<u8"))
        return Summary(self.count + len(entries), (self.total + added) % 2**64)


class AppendKeys:
    """The keys of one version.

    Parameters
    ----------
    session : Session
        The session from which pages are read, and to which they may be written.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pages: dict[int, Entries | None] = {}
        self._summary: Summary | None = None

    async def summary(self) -> Summary:
        """Return the number and the sum of the entries. Raises DamagedError."""
        if self._summary is None:
            stored = await self._session.get(f"{PATH}/zarr.json")
            self._summary = Summary() if stored is None else _read_summary(bytes(stored))
        return self._summary

    async def find(self, digest: Digest) -> Runs | None:
        """Return the row ids of a key, or None if the version does not have the key."""
        if not (await self.summary()).count:
            return None
        runs = list[tuple[int, int]]()
        own = np.frombuffer(digest, ">u8").astype(np.uint64)
        for level in range(MOST_LEVELS):
            page = await self._page(_number(level, digest))
            if page is None:
                break
            found = page[(page[:, :2] == own).all(axis=1), 2:]
            runs += [(int(first), int(count)) for first, count in found]
            if len(page) < PAGE:
                break
        return tuple(runs) or None

    async def all(self) -> Entries:
        """Return all entries. Raises DamagedError if some are missing."""
        summary = await self.summary()
        if not summary.count:
            return NONE
        length = await self._session.length(PATH)
        await stream((self._load(number) for number in range(-(-length // PAGE))), IN_FLIGHT)
        pages = [page for page in self._pages.values() if page is not None]
        entries = np.concatenate([NONE, *pages])
        if Summary() + entries != summary:
            raise _damaged("the entries do not match their sum")
        return entries

    async def since(self, older: AppendKeys) -> Entries:
        """Return the entries that an older version lacks. Pages that are equal are not decoded."""
        summary = await self.summary()
        if not summary.count or summary == await older.summary():
            return NONE
        length, found = await self._session.length(PATH), list[Entries]()

        async def compare(number: int) -> None:
            mine, other = await self._bytes(number), await older._bytes(number)
            if mine is not None and mine != other:
                page, old = _decode(number, mine), await older._page(number)
                found.append(page if old is None else page[~has_entry(page, old)])

        await stream((compare(number) for number in range(-(-length // PAGE))), IN_FLIGHT)
        # After a restore, an entry may be on another page.
        return await older.without(np.concatenate([NONE, *found]))

    async def without(self, entries: Entries) -> Entries:
        """Return the given entries, except those that the version has."""
        is_known = np.zeros(len(entries), bool)
        for i, entry in enumerate(entries):
            runs = await self.find(entry[:2].astype(">u8").tobytes()) or ()
            is_known[i] = (int(entry[2]), int(entry[3])) in runs
        return entries[~is_known]

    async def write(self, entries: Entries) -> None:
        """Add entries of keys that the version does not have."""
        if not len(entries):
            return
        summary, left, changed, level = await self.summary(), entries, set[int](), 0
        while len(left):
            if level == MOST_LEVELS:
                raise StorageError(
                    f"A lake has room for about 10¹⁰ keys of appended batches, but it has "
                    f"{summary.count:,}. Append without key=."
                )
            left = await self._fill(level, left, changed)
            level += 1
        length = PAGE * _first(level)
        if summary.count:
            length = max(length, await self._session.length(PATH))
        total = summary + entries
        metadata = _metadata(length, total)
        if not summary.count:
            await self._session.create_array(PATH, metadata)
        else:
            await self._session.put(f"{PATH}/zarr.json", json.dumps(metadata).encode())
        for number in sorted(changed):
            page = self._pages[number]
            assert page is not None
            await self._session.put(_SPEC.chunk_key(PATH, number), _SPEC.encode_chunk(page))
        self._summary = total

    async def replace(self, entries: Entries) -> None:
        """Replace all entries."""
        if (await self.summary()).count:
            await self._session.delete_tree(PATH)
        self._pages, self._summary = {}, Summary()
        await self.write(entries)

    async def _fill(self, level: int, entries: Entries, changed: set[int]) -> Entries:
        """Put entries on the pages of a level until these are full; return the other entries."""
        shift = np.uint64(64 - FANOUT_BITS * level)
        places = entries[:, 0] >> shift if level else np.zeros(len(entries), np.uint64)
        order = np.argsort(places, kind="stable")
        starts = np.flatnonzero(np.diff(places[order], prepend=places[order[:1]] + np.uint64(1)))
        left = [NONE]
        for start, stop in pairwise([*starts.tolist(), len(entries)]):
            number = _first(level) + int(places[order[start]])
            page = await self._page(number)
            old, new = NONE if page is None else page, entries[order[start:stop]]
            room = PAGE - len(old)
            if room:
                self._pages[number] = np.concatenate([old, new[:room]])
                changed.add(number)
            left.append(new[room:])
        return np.concatenate(left)

    async def _load(self, number: int) -> None:
        await self._page(number)

    async def _page(self, number: int) -> Entries | None:
        """Return the entries of a page, (n, 4) uint64, or None if there is no such page."""
        if number not in self._pages:
            data = await self._bytes(number)
            self._pages[number] = None if data is None else _decode(number, data)
        return self._pages[number]

    async def _bytes(self, number: int) -> memoryview | None:
        """Return the stored bytes of a page, or None if there is no such page."""
        if not (await self.summary()).count:
            return None
        return await self._session.get(_SPEC.chunk_key(PATH, number), _SPEC.most_bytes)

    async def verify(self) -> str | None:
        """Read all entries; return why they are damaged, or None if they are not."""
        try:
            await self.all()
        except DamagedError as error:
            return str(error)
        return None


def entries_of(keys: Mapping[Digest, Runs]) -> Entries:
    """Return the entries of keys."""
    entries = [
        [*np.frombuffer(digest, ">u8").tolist(), *ids]
        for digest, runs in keys.items()
        for ids in runs
    ]
    return np.array(entries, np.uint64).reshape(-1, 4)


def keys_of(entries: Entries) -> dict[Digest, Runs]:
    """Return the keys of entries.

    >>> keys = {digest_of("a"): ((7, 2),), digest_of("b"): ((9, 1), (30, 5))}
    >>> keys_of(entries_of(keys)) == keys
    True
    """
    keys = dict[bytes, Runs]()
    for entry in entries:
        digest = entry[:2].astype(">u8").tobytes()
        keys[digest] = (*keys.get(digest, ()), (int(entry[2]), int(entry[3])))
    return keys


def has_digest(entries: Entries, others: Entries) -> NDArray[np.bool_]:
    """Return a mask of the entries whose key also occurs in the other entries."""
    return np.isin(_as_bytes(entries[:, :2]), _as_bytes(others[:, :2]))


def has_entry(entries: Entries, others: Entries) -> NDArray[np.bool_]:
    """Return a mask of the entries that also occur in the other entries, with the same row ids."""
    return np.isin(_as_bytes(entries), _as_bytes(others))


def _as_bytes(numbers: NDArray[np.uint64]) -> NDArray[np.bytes_]:
    """Return each row as a string of bytes."""
    # NumPy ignores zeros at the end, which is harmless, because all strings have the same length.
    flat = np.ascontiguousarray(numbers)
    return flat.view(f"S{8 * flat.shape[1]}").reshape(-1)


def runs_of(ids: NDArray[np.int64]) -> Runs:
    """Return row ids as runs.

    >>> runs_of(np.array([4, 5, 6, 9])), runs_of(np.array([], int))
    (((4, 3), (9, 1)), ((0, 0),))
    """
    if not len(ids):
        return NO_ROWS
    starts = np.concatenate([[0], np.flatnonzero(np.diff(ids) != 1) + 1])
    lengths = np.diff(np.append(starts, len(ids)))
    return tuple(zip(ids[starts].tolist(), lengths.tolist(), strict=True))


def renumber(
    keys: Mapping[Digest, Runs], before: NDArray[np.int64], after: NDArray[np.int64]
) -> Mapping[Digest, Runs]:
    """Return the keys with the row ids `before` replaced by the row ids `after`.

    >>> renumber({b"a": ((4, 2), (9, 1))}, np.array([4, 5]), np.array([7, 8]))
    {b'a': ((7, 3),)}
    """
    if np.array_equal(before, after):
        return keys
    new = dict(zip(before.tolist(), after.tolist(), strict=True))
    ids = {digest: ids_of(runs).tolist() for digest, runs in keys.items()}
    return {digest: runs_of(np.array([new.get(i, i) for i in own])) for digest, own in ids.items()}


def ids_of(runs: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
    """Return the row ids of runs.

    >>> ids_of(((4, 3), (9, 1)))
    array([4, 5, 6, 9])
    """
    parts = [np.arange(first, first + count, dtype=np.int64) for first, count in runs]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _number(level: int, digest: Digest) -> int:
    """Return the number of the page for a digest on a level.

    >>> digest = bytes.fromhex("a7") + bytes(15)
    >>> [_number(level, digest) for level in range(3)] == [0, 1 + 0xA, 1 + 16 + 0xA7]
    True
    """
    prefix = int.from_bytes(digest) >> (8 * len(digest) - FANOUT_BITS * level)
    return _first(level) + prefix


def _first(level: int) -> int:
    """Return the number of the first page of a level, which equals the number of pages above it."""
    return ((1 << FANOUT_BITS * level) - 1) // ((1 << FANOUT_BITS) - 1)


def _decode(number: int, data: memoryview) -> Entries:
    """Decode a page. Raises DamagedError if it is damaged, or belongs to another place."""
    try:
        rows = _SPEC.decode_chunk(data)
    except (ValueError, RuntimeError) as error:
        raise _damaged(f"page {number}: {str(error).rstrip('.'):.200}") from error
    used = (rows[:, :2] != 0).any(axis=1)
    entries: Entries = rows[used].astype(np.uint64)
    level = next(n for n in range(MOST_LEVELS) if number < _first(n + 1))
    if level:
        prefixes = entries[:, 0] >> np.uint64(64 - FANOUT_BITS * level)
        if (prefixes != number - _first(level)).any():
            raise _damaged(f"page {number} has the entries of another page")
    return entries


def _metadata(length: int, summary: Summary) -> dict[str, Any]:
    attributes = {"count": summary.count, "sum": f"{summary.total:016x}"}
    return {**_SPEC.metadata(length), "attributes": attributes}


def _read_summary(stored: bytes) -> Summary:
    try:
        match json.loads(stored)["attributes"]:
            case {"count": int(count), "sum": str(total)} if count > 0:
                return Summary(count, int(total, 16))
        reason = "its attributes are not complete"
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        reason = str(error).rstrip(".")[:200]
    raise _damaged(reason)


def _damaged(reason: str) -> DamagedError:
    return DamagedError(
        f"The list of keys with which batches were appended is damaged: {reason}. Restore the lake "
        "from a backup."
    )
