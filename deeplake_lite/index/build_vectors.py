"""Build an index of vectors.

The column is read several times, in blocks. The build holds in memory a sample, the slot and the
list of each vector, and the vectors of as many lists as fit into `PASS_BYTES`:

1. A sample is drawn, in which k-means finds the centres of the lists.
2. Each vector is assigned to the nearest centre. The exact neighbours of a few vectors are found,
   and show how many lists must be searched for the wanted recall.
3. The vectors are written, list by list.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import SchemaError
from deeplake_lite.index.clusters import TRAINING_ROWS, find_centres, nearest_centres
from deeplake_lite.index.codes import Codes, row_bytes
from deeplake_lite.index.metrics import LARGEST
from deeplake_lite.index.parts import PartReader, PartWriter
from deeplake_lite.index.vector_index import DIGEST_BYTES, NEIGHBOURS, VectorIndex
from deeplake_lite.lru import LRUCache
from deeplake_lite.storage.chunks import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.index.metrics import Metric
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.table import Table

BLOCK_BYTES = 32 * 2**20
"""Size of the vectors that are read at a time, in bytes."""

PASS_BYTES = 512 * 2**20
"""Size of the vectors that are sorted at a time, in bytes."""

QUERIES = 128
"""Number of vectors for which the recall is measured."""

LISTS_PER_ROOT = 4
"""The default number of lists is this factor times the square root of the number of vectors.
Comparing a query with the centres then takes about as long as comparing it with the vectors in the
nearest lists."""

MIN_PROBES = 4
"""Minimum number of lists to search, because other queries may be harder than the sampled ones."""

MAX_LOOSE = 4
"""If more than one in so many vectors are outside the range of an index, it is not built, since
queries would compare all of them anyway."""

MAX_MISSED = 0.1
"""By how much the measured recall may be less than the wanted one."""

MIN_LIST = 32
"""Minimum average length of a list."""


_WAY_OUT = (
    "Subtract the mean of the vectors, or divide tiny ones by their size, before you store them, "
    "or search without an index."
)


@dataclass(frozen=True, eq=False)
class Options:
    """The options of an index of vectors."""

    metric: Metric
    """How vectors are compared."""
    recall: float
    """The wanted recall, from which the number of lists to search follows."""
    lists: int | None
    """Number of lists; None chooses it automatically."""


def build_vectors(
    table: Table, f: Field, session: Session, options: Options, *, progress: bool = True
) -> tuple[dict[str, Any], PartWriter]:
    """Write the parts of an index of vectors, and return its parameters and the writer.

    Parameters
    ----------
    table : Table
        The version to index.
    f : Field
        The column.
    session : Session
        Collects the chunks of the index.
    options : Options
        Options of the index.
    progress : bool
        Whether to show a progress bar.
    """
    work = _Work(table, f, options)
    writer = PartWriter(session)
    with bars.bar("index", work.reads * len(work.live), visible=progress) as bar:
        work.train(bar)
        work.assign(bar)
        work.write(writer, bar)
    document: dict[str, Any] = {
        "metric": options.metric.name,
        "dtype": work.dtype.name,
        "dim": work.dim,
        "probes": work.probes(),
        "rows": len(work.slots),
    }
    reader = PartReader(session, writer.parts)
    index = VectorIndex("", document, reader, LRUCache(2**28))
    document["recall"], document["sampled"] = work.measure(index), len(work.queries)
    work.check_recall(document["recall"])
    return document, writer


class _Work:
    """The state of a build."""

    def __init__(self, table: Table, f: Field, options: Options) -> None:
        self._table, self._field, self._metric = table, f, options.metric
        self._options = options
        self.live = np.sort(table.live())
        layout: Any = f.htype.layout
        self.dtype, [self.dim] = np.dtype(layout.dtype), layout.shape
        self._random = np.random.default_rng(0)
        self._lists = 1
        self.slots = self._labels = self._loose = np.empty(0, np.int64)
        self.queries: NDArray[Any] = np.empty((0, self.dim), self.dtype)

    @property
    def reads(self) -> int:
        """Approximate number of times that the column is read."""
        nbytes: int = len(self.live) * self.dim * self.dtype.itemsize
        return 2 + ceil(nbytes / PASS_BYTES)

    def _blocks(self, bar: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
        """Yield the slots and vectors of the rows that can be among the nearest.

        Null vectors and those with NaN never are, and those with infinity only by their products.
        """
        size = max(1, BLOCK_BYTES // (self.dim * max(4, self.dtype.itemsize)))
        for span in spans(len(self.live), size):
            slots = self.live[span]
            cells: Any = self._table.read([self._field.id], slots)[self._field.id]
            usable = ~np.isnan(cells.values).any(axis=1)
            if self._metric.name != "dot":
                usable &= np.isfinite(cells.values).all(axis=1)
            if cells.valid is not None:
                usable &= cells.valid
            bar.update(len(slots))
            yield (slots, cells.values) if usable.all() else (slots[usable], cells.values[usable])

    def train(self, bar: Any) -> None:
        """Draw a sample, and find the centres of the lists."""
        count = len(self.live)
        wanted = self._options.lists
        if wanted is None:
            wanted = ceil(LISTS_PER_ROOT * sqrt(count))
            wanted = max(1, min(wanted, count // MIN_LIST))
        size = min(count, max(QUERIES, wanted * TRAINING_ROWS))
        drawn = self.live[np.sort(self._random.choice(count, size, replace=False))]
        sample = [np.empty((0, self.dim), self.dtype)]
        for slots, vectors in self._blocks(bar):
            picked = np.isin(slots, drawn, assume_unique=True) & self._metric.fits(vectors)
            sample.append(vectors[picked])
        drawn_vectors = np.concatenate(sample)
        at = self._random.permutation(len(drawn_vectors))[:QUERIES]
        self.queries = drawn_vectors[at]
        self._work_queries = self._metric.working(self.queries)
        precise = self._metric.precise(self.queries)
        self._size = float(np.abs(precise).max(initial=0)) or 1.0
        self._precise_queries = precise / self._size
        self._origin = np.zeros(self.dim)
        if len(self.queries):
            self._origin = self._precise_queries.mean(axis=0)
        vectors = self._metric.working(drawn_vectors)
        self._lists = max(1, min(wanted, len(vectors)))
        if len(vectors):
            spherical = self._metric.name == "cosine"
            self._centres = find_centres(vectors, self._lists, spherical=spherical)
        else:
            self._centres = np.zeros((1, self.dim), np.float32)

    def assign(self, bar: Any) -> None:
        """Assign each vector to a list, and find the neighbours of the sampled vectors."""
        slots, labels, loose = [self.slots], [np.empty(0, np.int32)], [self._loose]
        best = np.full((len(self.queries), NEIGHBOURS + 1), -np.inf)
        owners = np.full(best.shape, -1)
        for at, vectors in self._blocks(bar):
            fits = self._metric.fits(vectors)
            loose.append(at[~fits])
            at, vectors = at[fits], vectors[fits]
            work = self._metric.working(vectors)
            of_lists = nearest_centres(work, self._centres)
            slots.append(at)
            labels.append(of_lists)
            best, owners = _better(
                best, owners, self._scores(vectors), np.broadcast_to(of_lists, (len(best), len(at)))
            )
        self.slots, self._labels = np.concatenate(slots), np.concatenate(labels)
        self._loose, self._best, self._owners = np.concatenate(loose), best, owners
        if len(self._loose) * MAX_LOOSE > len(self.live):
            raise SchemaError(
                f"{len(self._loose):,} of {len(self.live):,} vectors in column "
                f"{self._field.name!r} have an element greater than {LARGEST:.0e}, so they are "
                "outside the range in which an index compares vectors. Divide the vectors by a "
                "number, choose metric='cosine', or search without an index."
            )

    def _scores(self, vectors: NDArray[Any]) -> NDArray[np.float64]:
        """Return the scores of vectors for each sampled vector, (queries, n)."""
        precise = self._metric.precise(vectors) / self._size  # no square overflows or vanishes
        return self._metric.precise_scores(precise, self._precise_queries, self._origin)

    def probes(self) -> int:
        """Return the number of lists that must be searched for the wanted recall."""
        centres = self._centres
        near = self._metric.scores(self._work_queries @ centres.T, np.vecdot(centres, centres))
        ranks = np.empty(near.shape, np.int64)
        np.put_along_axis(ranks, np.argsort(-near, axis=1), np.arange(near.shape[1])[None], axis=1)
        found = np.take_along_axis(ranks, np.maximum(self._owners, 0), axis=1)
        places = np.sort(found[:, 1:][self._owners[:, 1:] >= 0])  # without the vector itself
        at = min(len(places) - 1, ceil(self._options.recall * len(places)))
        wanted = int(places[at]) + 1 if len(places) else 1
        return min(self._lists, max(MIN_PROBES, wanted))

    def write(self, writer: PartWriter, bar: Any) -> None:
        """Write the vectors, list by list."""
        order = np.argsort(self._labels, kind="stable")
        starts = np.searchsorted(self._labels[order], np.arange(self._lists + 1))
        self._order, self._starts, self._digests = order, starts, np.empty(self._lists, np.uint64)
        writer.add("centres", self._centres)
        writer.add("starts", starts)
        writer.add("slots", self.slots[order])
        writer.add("loose", self._loose)
        size = self.dim * self.dtype.itemsize + DIGEST_BYTES
        count, codes = len(order), list[bytes]()
        writer.stream("vectors", "uint8", (count * size,), self._sorted(codes, bar))
        writer.stream(
            "lists",
            "uint8",
            (count * row_bytes(self.dim),),
            (np.frombuffer(part, np.uint8) for part in codes),
        )
        writer.add("digests", self._digests)

    def _sorted(self, codes: list[bytes], bar: Any) -> Iterator[NDArray[np.uint8]]:
        """Yield the vectors and their digests, list by list. Add compressed vectors to `codes`."""
        of_pass = max(1, PASS_BYTES // (self.dim * self.dtype.itemsize))
        first = 0
        while first < self._lists:
            limit = self._starts[first] + of_pass
            last = max(first + 1, int(np.searchsorted(self._starts, limit, side="right")) - 1)
            begin, end = int(self._starts[first]), int(self._starts[last])
            vectors = self._gather(begin, end, bar)
            for number in range(first, last):
                part = vectors[self._starts[number] - begin : self._starts[number + 1] - begin]
                data = Codes.of(self._metric.working(part)).to_bytes()
                self._digests[number] = xxhash.xxh3_64_intdigest(data)
                codes.append(data)
                yield _with_digests(part)
            first = last

    def _gather(self, begin: int, end: int, bar: Any) -> NDArray[Any]:
        """Return the vectors at places `begin` to `end`, counted in the order of the lists."""
        wanted = self.slots[self._order[begin:end]]
        by_slot = np.argsort(wanted)
        ordered = wanted[by_slot]
        out = np.empty((end - begin, self.dim), self.dtype)
        for slots, vectors in self._blocks(bar):
            a, b = np.searchsorted(ordered, [slots[0], slots[-1] + 1]) if len(slots) else (0, 0)
            out[by_slot[a:b]] = vectors[np.searchsorted(slots, ordered[a:b])]
        return out

    def measure(self, index: VectorIndex) -> float:
        """Return the recall of searches for the sampled vectors."""
        found, total, tied = 0, 0, 0
        for row, query in enumerate(self.queries):
            best = self._best[row, 1:]  # without the vector itself
            best = best[best > -np.inf]
            near = index.search(query, [NEIGHBOURS], index.slots)
            if near is None:  # a query compares all vectors, as it should if they are equal
                first, last = self._best[row, [0, -1]]
                tied += bool(first - last > 1e-11 * abs(first))
                continue
            scores = self._scores(near.vectors)[row]
            if len(best):
                # Matrix products of other shapes round differently, so scores this close count as
                # equal.
                least = best[-1] - 1e-11 * np.abs(best).max()
                found += max(0, min(len(best), int(np.count_nonzero(scores >= least)) - 1))
                total += len(best)
        if tied > len(self.queries) / 2:
            raise SchemaError(
                f"An index of column {self._field.name!r} would be of no use, because most vectors "
                f"are equal in the 32-bit floats in which it compares them. {_WAY_OUT}"
            )
        return found / total if total else 1.0

    def check_recall(self, recall: float) -> None:
        """Reject vectors whose differences are lost in the index. Raises SchemaError."""
        if recall < self._options.recall - MAX_MISSED:
            raise SchemaError(
                f"An index of column {self._field.name!r} would find only {recall:.0%} of the "
                "nearest vectors, although it searches as many lists as are needed, because the "
                "vectors differ too little for the 32-bit floats in which it compares them. "
                f"{_WAY_OUT}"
            )


def _better(
    best: NDArray[np.float64],
    owners: NDArray[np.int64],
    scores: NDArray[np.float64],
    of_lists: NDArray[Any],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the best scores so far, in descending order, with the lists of the vectors."""
    count = best.shape[1]
    if scores.shape[1] > count:
        top = np.argpartition(scores, -count, axis=1)[:, -count:]
        scores = np.take_along_axis(scores, top, axis=1)
        of_lists = np.take_along_axis(of_lists, top, axis=1)
    scores = np.concatenate([best, scores], axis=1)
    owners = np.concatenate([owners, of_lists], axis=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(owners, order, axis=1)


def _with_digests(vectors: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of vectors, each with its digest at the end."""
    rows = np.ascontiguousarray(vectors, vectors.dtype.newbyteorder("<"))
    rows = rows.view(np.uint8).reshape(len(vectors), vectors.shape[1] * vectors.itemsize)
    digests = [xxhash.xxh3_64_intdigest(row) for row in rows]
    tails = np.array(digests, "<u8").view(np.uint8).reshape(len(rows), DIGEST_BYTES)
    return np.concatenate([rows, tails], axis=1).ravel()
