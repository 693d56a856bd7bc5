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

TIE = 1e-6
"""Vectors tie if their scores differ by at most this fraction."""

MAX_TIED = 4
"""A search gives up if the number of tied vectors is more than this multiple of the number of
vectors that it returns."""

DIGEST_BYTES = 8


type Cache = LRUCache[tuple[object, ...], Any]
"""A cache of limited size."""


@dataclass(frozen=True, eq=False)
class _Compared:
    """The compressed vectors in some lists, compared with a query."""

    lists: NDArray[np.int64]
    """Numbers of the lists."""
    spans: NDArray[np.int64]
    """First and last place of each list in the order of the index, (lists, 2)."""
    slots: Slots
    """Slot of each vector in the queried version, or -1."""
    near: Vectors
    """How near each vector is to the query, or -inf if it is not searched."""

    @property
    def usable(self) -> int:
        """Number of vectors that are searched."""
        return int(np.count_nonzero(self.near > -np.inf))

    def best(self, count: int) -> tuple[Slots, Slots]:
        """Return the slots and the places of the nearest vectors, including those that tie."""
        usable = self.usable
        if count >= usable:
            at = np.flatnonzero(self.near > -np.inf)
        else:
            least = float(np.partition(self.near, len(self.near) - count)[len(self.near) - count])
            # Equal vectors may be compared in blocks of different sizes, and rounded differently.
            at = np.flatnonzero(self.near >= least - TIE * abs(least))
        lengths = self.spans[:, 1] - self.spans[:, 0]
        ends = np.cumsum(lengths)
        of_list = np.searchsorted(ends, at, side="right")
        return self.slots[at], self.spans[of_list, 0] + at - (ends - lengths)[of_list]


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
    steps: NDArray[np.bool_]
    """Mask, (n, counts), of the vectors that a search for each number of rows finds."""


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
        counts: Sequence[int],
        current: Slots,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Nearest | None:
        """Return the vectors nearest to a query, and some more, or None if too many are tied.

        Parameters
        ----------
        query : ndarray, (d,)
            The query.
        counts : sequence of int
            Numbers of rows that are wanted, ascending. What a search finds for one of them does not
            depend on the others.
        current : ndarray, (vectors,) int64
            Slot of each indexed vector in the queried version, or -1 if its row or value is gone.
        allowed : ndarray, (slots,) bool, optional
            Mask of the slots among which to search.
        """
        work = self.metric.working(query[None])[0]
        centres, squares = self._centres
        far = -self.metric.scores(centres @ work, squares)
        probes, total = min(self.probes, self.lists), self.lists
        compared = self._compare(far, probes, work, current, allowed)
        slots, places = list["Slots"](), list["Slots"]()
        for count in counts:
            while probes < total and compared.usable < COMPARED * count:
                probes = min(2 * probes, total)
                compared = self._compare(far, probes, work, current, allowed)
            of_step = compared.best(2 * count + SPARE)
            if len(of_step[0]) > MAX_TIED * (2 * count + SPARE):
                return None
            slots.append(of_step[0])
            places.append(of_step[1])
        entries, first, at = np.unique(
            _join(places, np.int64), return_index=True, return_inverse=True
        )
        steps = np.zeros((len(entries), len(counts)), bool)
        steps[at, np.repeat(np.arange(len(counts)), list(map(len, places)))] = True
        return Nearest(
            _join(slots, np.int64)[first],
            self.vectors(entries),
            len(compared.lists),
            compared.usable,
            steps,
        )

    def _compare(
        self,
        far: Vectors,
        probes: int,
        work: Vectors,
        current: Slots,
        allowed: NDArray[np.bool_] | None,
    ) -> _Compared:
        """Compare a query with the compressed vectors in the nearest lists."""
        total = len(far)
        lists = np.argpartition(far, probes - 1)[:probes] if probes < total else np.arange(total)
        spans = np.stack([self._starts[lists], self._starts[lists + 1]], axis=1)
        slots = _join([current[a:b] for a, b in spans.tolist()], np.int64)
        usable = slots >= 0
        if allowed is not None:
            usable &= allowed[slots]  # -1 reads the last slot, which does not matter
        codes = Codes.join(self._codes(lists.tolist()))
        near = self.metric.scores(codes.products(work), codes.squares)
        near[~usable] = -np.inf
        return _Compared(lists, spans, slots, near)

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
