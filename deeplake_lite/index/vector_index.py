"""An inverted file: the vectors of a column, grouped into lists of vectors that are close together.

A search compares the query with the centres of all lists, then with the compressed vectors in the
nearest lists, and returns the best ones with their exact values. Lists are read one by one and
cached, so a search of a lake on an object store reads only a few of them.

The method is from Jégou, Douze, Schmid, Product Quantization for Nearest Neighbor Search (PAMI
2011), with one byte per element instead of product quantization.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import xxhash

from deeplake_lite.index.codes import Codes, row_bytes
from deeplake_lite.index.damage import DamagedIndexError
from deeplake_lite.index.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.index.clusters import Vectors
    from deeplake_lite.index.metrics import Metric
    from deeplake_lite.index.parts import PartReader
    from deeplake_lite.lru import LRUCache

type Slots = NDArray[np.int64]

NEIGHBOURS = 10
"""The recall is measured for this many nearest vectors."""

COMPARED = 20
"""A search compares the query with at least this many vectors for each wanted row."""

SPARE = 20
"""A search for n rows returns 2 n vectors plus this number, because scores of compressed vectors
are only approximate."""

DIGEST_BYTES = 8


type Cache = LRUCache[tuple[object, ...], Any]
"""A cache of limited size."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """The vectors that a search has found."""

    slots: Slots
    """Slots of the rows in the queried version, (n,)."""
    vectors: NDArray[Any]
    """The vectors as stored in the column, (n, d)."""
    lists: int
    """Number of lists that were searched."""
    compared: int
    """Number of vectors that were compared."""


class VectorIndex:
    """A stored index of the vectors in a column.

    Parameters
    ----------
    key : str
        Id of the index, for the cache.
    document : mapping
        The parameters of the index.
    reader : PartReader
        Reads its parts.
    cache : Cache
        Caches its lists.
    """

    def __init__(
        self, key: str, document: Mapping[str, Any], reader: PartReader, cache: Cache
    ) -> None:
        self._key, self._reader, self._cache = key, reader, cache
        self.metric: Metric = METRICS[document["metric"]]
        self.dtype = np.dtype(document["dtype"]).newbyteorder("<")
        self.dim: int = document["dim"]
        self.probes: int = document["probes"]
        self._check()

    def _check(self) -> None:
        """Reject parts whose dtypes or shapes do not fit together. Raises DamagedIndexError."""
        reader, rows = self._reader, self._reader.shape("slots")
        lists = self._reader.shape("digests")
        size = self.dim * self.dtype.itemsize + DIGEST_BYTES
        expected = {
            "slots": ("int64", rows[:1]),
            "loose": ("int64", reader.shape("loose")[:1]),
            "starts": ("int64", (lists[0] + 1,)),
            "centres": ("float32", (lists[0], self.dim)),
            "digests": ("uint64", lists[:1]),
            "vectors": ("uint8", (rows[0] * size,)),
            "lists": ("uint8", (rows[0] * row_bytes(self.dim),)),
        }
        for name, (dtype, shape) in expected.items():
            if (reader.dtype(name).name, reader.shape(name)) != (dtype, shape):
                raise DamagedIndexError(f"its part {name!r} does not fit the others")

    @cached_property
    def slots(self) -> Slots:
        """Slots of the indexed vectors in the indexed version, in the order of the lists."""
        return cast("Slots", self._whole("slots"))

    @cached_property
    def loose(self) -> Slots:
        """Slots of vectors that are not in a list, because 32-bit floats cannot compare them."""
        return cast("Slots", self._whole("loose"))

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        starts: NDArray[np.int64] = self._whole("starts")
        if starts[0] != 0 or starts[-1] != len(self.slots) or (np.diff(starts) < 0).any():
            raise DamagedIndexError("the lengths of its lists are not valid")
        return starts

    @cached_property
    def _centres(self) -> tuple[Vectors, Vectors]:
        """The centres of the lists, and their squared lengths."""
        centres: Vectors = self._whole("centres")
        return centres, np.vecdot(centres, centres)

    def __len__(self) -> int:
        return len(self.slots)

    @property
    def lists(self) -> int:
        """Number of lists."""
        return len(self._starts) - 1

    def search(
        self,
        query: NDArray[Any],
        count: int,
        current: Slots,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Nearest:
        """Return the vectors nearest to a query, and some more.

        Parameters
        ----------
        query : ndarray, (d,)
            The query.
        count : int
            Number of rows that are wanted.
        current : ndarray, (vectors,) int64
            Slot of each indexed vector in the queried version, or -1 if its row or value is gone.
        allowed : ndarray, (slots,) bool, optional
            Mask of the slots among which to search.
        """
        work = self.metric.working(query[None])[0]
        centres, squares = self._centres
        far = -self.metric.scores(centres @ work, squares)
        probes, total = min(self.probes, self.lists), self.lists
        while True:
            lists = (
                np.argpartition(far, probes - 1)[:probes] if probes < total else np.arange(total)
            )
            spans = np.stack([self._starts[lists], self._starts[lists + 1]], axis=1)
            slots = _join([current[a:b] for a, b in spans.tolist()], np.int64)
            usable = slots >= 0
            if allowed is not None:
                usable &= allowed[slots]  # -1 reads the last slot, which does not matter
            if probes == total or np.count_nonzero(usable) >= COMPARED * count:
                break
            probes = min(2 * probes, total)
        near = self._compare(lists, work)
        near[~usable] = -np.inf
        best = _largest(near, min(2 * count + SPARE, int(np.count_nonzero(usable))))
        lengths = spans[:, 1] - spans[:, 0]
        ends = np.cumsum(lengths)
        at = np.searchsorted(ends, best, side="right")
        entries = spans[at, 0] + best - (ends - lengths)[at]
        return Nearest(slots[best], self.vectors(entries), len(lists), int(usable.sum()))

    def vectors(self, entries: NDArray[np.int64]) -> NDArray[Any]:
        """Return indexed vectors as stored in the column, (n, d). Raises DamagedIndexError."""
        size = self.dim * self.dtype.itemsize + DIGEST_BYTES
        spans = [(entry * size, size) for entry in entries.tolist()]
        datas = self._reader.ranges("vectors", spans)
        for data in datas:
            if xxhash.xxh3_64_intdigest(data[:-DIGEST_BYTES]) != int.from_bytes(
                data[-DIGEST_BYTES:], "little"
            ):
                raise DamagedIndexError("a vector does not match its digest")
        rows = np.frombuffer(b"".join(datas), np.uint8).reshape(len(spans), size)
        return np.ascontiguousarray(rows[:, :-DIGEST_BYTES]).view(self.dtype)

    def _compare(self, lists: NDArray[np.int64], query: Vectors) -> Vectors:
        """Return the scores of the compressed vectors in some lists for a query."""
        codes = Codes.join(self._codes(lists.tolist()))
        return self.metric.scores(codes.products(query), codes.squares)

    def _codes(self, lists: Sequence[int]) -> list[Codes]:
        """Return the compressed vectors in some lists. Raises DamagedIndexError."""
        keys = [(self._key, "list", number) for number in lists]
        codes: list[Codes | None] = [self._cache.get(key) for key in keys]
        missing = [i for i, part in enumerate(codes) if part is None]
        if missing:
            size, digests = row_bytes(self.dim), self._whole("digests")
            starts = self._starts
            spans = [(int(starts[n]) * size, int(starts[n + 1] - starts[n]) * size)
                     for n in (lists[i] for i in missing)]  # fmt: skip
            for i, data in zip(missing, self._reader.ranges("lists", spans), strict=True):
                if xxhash.xxh3_64_intdigest(data) != int(digests[lists[i]]):
                    raise DamagedIndexError(f"list {lists[i]} does not match its digest")
                codes[i] = part = Codes.from_bytes(data, self.dim)
                self._cache.put(keys[i], part)
        return cast("list[Codes]", codes)

    def _whole(self, name: str) -> Any:
        if (part := self._cache.get((self._key, name))) is None:
            part = self._reader.whole(name)
            self._cache.put((self._key, name), part)
        return part


def _join(parts: Sequence[NDArray[Any]], dtype: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _largest(values: Vectors, count: int) -> NDArray[np.int64]:
    """Return the positions of the `count` largest values, in no particular order."""
    if count >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - count)[len(values) - count :]
