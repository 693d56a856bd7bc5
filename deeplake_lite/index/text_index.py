"""A stored inverted index of strings, which later versions use, too.

Only the postings of the words in a query are read; they are cached. Words are sorted by their UTF-8
bytes, so that bisection finds a word.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import xxhash

from deeplake_lite.dataset.arrow.cells import strings_of
from deeplake_lite.dataset.repr import bars
from deeplake_lite.index.damage import DamagedIndexError
from deeplake_lite.index.delta import Delta
from deeplake_lite.index.parts import PartReader, PartWriter
from deeplake_lite.index.words import TextIndex
from deeplake_lite.storage.chunks import spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.index.vector_index import Cache
    from deeplake_lite.index.words import Postings
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.repo import Session
    from deeplake_lite.storage.repo.index_refs import IndexName
    from deeplake_lite.storage.table import Table

READ_ROWS = 2**18
"""Number of strings that are read at a time."""


def build_texts(
    table: Table, f: Field, session: Session, *, progress: bool
) -> tuple[dict[str, Any], PartWriter]:
    """Write the parts of an index of strings, and return its parameters and the writer."""
    live = np.sort(table.live())
    texts = list[pa.Array]()
    with bars.bar("index", len(live), visible=progress) as bar:
        for span in spans(len(live), READ_ROWS):
            texts.append(read_strings(table, f, live[span]))
            bar.update(len(texts[-1]))
        index = TextIndex.build(pa.concat_arrays(texts) if texts else pa.array([], pa.string()))
    order = sorted(index.numbers, key=str.encode)
    numbers = np.array([index.numbers[word] for word in order], np.int64)
    sizes = np.diff(index.starts)[numbers]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # The postings of word i begin at `first[i]` in the arrays of `index`.
    first = index.starts[:-1][numbers]
    at = np.repeat(first - starts[:-1], sizes) + np.arange(starts[-1])
    of_texts = live[index.texts[at]].astype(np.int32 if table.slots < 2**31 else np.int64)
    counts = _narrow(index.counts[at])
    writer, words = PartWriter(session), [word.encode() for word in order]
    writer.add("words", np.frombuffer(b"".join(words), np.uint8))
    writer.add("word_ends", np.cumsum([0, *map(len, words)]))
    writer.add("starts", starts)
    writer.add("digests", _digests(starts, of_texts, counts))
    for name, values in (("lengths", index.lengths), ("present", index.present.view(np.uint8))):
        by_slot = np.zeros(table.slots, values.dtype)
        by_slot[live] = values
        writer.add(name, by_slot)
    writer.add("texts", of_texts)
    writer.add("counts", counts)
    return {"rows": int(index.present.sum()), "words": len(words)}, writer


def read_strings(table: Table, f: Field, slots: NDArray[np.int64]) -> pa.Array:
    """Return strings as Arrow, with null for null cells."""
    return strings_of(table.flat(f.id, slots))


def _narrow(counts: NDArray[np.int32]) -> NDArray[Any]:
    """Return counts as bytes, if all of them fit."""
    return counts.astype(np.uint8) if counts.max(initial=0) < 256 else counts


def _digests(
    starts: NDArray[np.int64], texts: NDArray[Any], counts: NDArray[Any]
) -> NDArray[np.uint64]:
    """Return the digest of each word's postings."""
    ends = starts.tolist()
    return np.array([_digest(texts[a:b], counts[a:b]) for a, b in pairwise(ends)], np.uint64)


def _digest(texts: NDArray[Any] | memoryview | bytes, counts: Any) -> int:
    state = xxhash.xxh3_64(texts)
    state.update(counts)
    return state.intdigest()


class StoredTextIndex:
    """A stored index of the strings in a column, which are numbered by slot.

    Parameters
    ----------
    key : str
        Id of the index, for the cache.
    reader : PartReader
        Reads its parts.
    cache : Cache
        Caches its parts.
    """

    def __init__(self, key: str, reader: PartReader, cache: Cache) -> None:
        self._key, self._reader, self._cache = key, reader, cache
        self._dtypes = reader.dtype("texts"), reader.dtype("counts")
        words, postings = reader.shape("digests")[0], reader.shape("texts")
        shapes = {
            "starts": (words + 1,), "word_ends": (words + 1,), "counts": postings,
            "present": reader.shape("lengths"),
        }  # fmt: skip
        for name, shape in shapes.items():
            if reader.shape(name) != shape:
                raise DamagedIndexError(f"its part {name!r} does not fit the others")

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Number of words in each string, (slots,)."""
        return cast("NDArray[np.int32]", self._whole("lengths"))

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask, (slots,), that is true for the strings that are not null."""
        return cast("NDArray[np.bool_]", self._whole("present").view(bool))

    def find(self, word: str) -> Postings | None:
        """Return the postings of a word, or None if there are none. Raises DamagedIndexError."""
        blob, ends = self._whole("words").data, self._whole("word_ends")
        wanted, count = word.encode(errors="surrogatepass"), len(ends) - 1
        at = bisect_left(range(count), wanted, key=lambda i: bytes(blob[ends[i] : ends[i + 1]]))
        if at == count or bytes(blob[ends[at] : ends[at + 1]]) != wanted:
            return None
        key = (self._key, "word", at)
        if (found := self._cache.get(key)) is None:
            found = self._read(at)
            self._cache.put(key, found)
        return found.texts, found.counts

    def _read(self, word: int) -> _Found:
        start, stop = self._whole("starts")[word : word + 2].tolist()
        datas = [
            self._reader.ranges(name, [(start * t.itemsize, (stop - start) * t.itemsize)])[0]
            for name, t in zip(("texts", "counts"), self._dtypes, strict=True)
        ]
        if _digest(*datas) != int(self._whole("digests")[word]):
            raise DamagedIndexError("the entries of a word do not match their digest")
        texts, counts = (
            np.frombuffer(data, dtype) for data, dtype in zip(datas, self._dtypes, strict=True)
        )
        if len(texts) and not (texts.min() >= 0 and texts.max() < self._reader.shape("lengths")[0]):
            raise DamagedIndexError("the slots of its strings are not valid")
        return _Found(texts.astype(np.int64), counts.astype(np.float64))

    def _whole(self, name: str) -> Any:
        if (part := self._cache.get((self._key, name))) is None:
            part = self._reader.whole(name)
            self._cache.put((self._key, name), part)
        return part


@dataclass(frozen=True, eq=False)
class _Found:
    """The postings of a word, for the cache."""

    texts: NDArray[np.int64]
    counts: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """Size in memory."""
        return self.texts.nbytes + self.counts.nbytes


@dataclass(frozen=True, eq=False)
class MergedTextIndex:
    """A stored index together with the strings that have changed since it was built.

    Its postings, and so all scores, equal those of an index that is built from the present strings.
    """

    name: IndexName
    """Identity of the stored index."""
    stored: StoredTextIndex
    delta: Delta
    """Where the indexed strings are now."""
    changed: TextIndex
    """An index of the strings in the slots `delta.changed`."""
    lengths: NDArray[np.int32]
    """Number of words in each string, by slot of the present version, (slots,)."""
    present: NDArray[np.bool_]
    """Mask of the strings that are not null, by slot of the present version, (slots,)."""

    @classmethod
    def open(cls, stored: StoredIndex, table: Table, f: Field, cache: Cache) -> MergedTextIndex:
        """Return the index of the strings in a version that descends from the indexed one."""
        name = stored.name
        index = StoredTextIndex(name.key, stored.reader, cache)
        delta = Delta.find(stored, table, cache)
        if len(index.lengths) != len(delta.current):
            raise DamagedIndexError("it has another number of rows")
        changed = TextIndex.build(read_strings(table, f, delta.changed))
        kept = np.flatnonzero(delta.current >= 0)
        lengths, present = np.zeros(table.slots, np.int32), np.zeros(table.slots, bool)
        for now, before, new in (
            (lengths, index.lengths, changed.lengths),
            (present, index.present, changed.present),
        ):
            now[delta.current[kept]] = before[kept]
            now[delta.changed] = new
        return cls(name, index, delta, changed, lengths, present)

    @property
    def nbytes(self) -> int:
        """Approximate size in memory, without the cached parts of the stored index."""
        return self.delta.nbytes + self.changed.nbytes + self.lengths.nbytes + self.present.nbytes

    @cached_property
    def _is_same(self) -> bool:
        """Whether every slot has the string that it had in the indexed version."""
        current = self.delta.current
        return not len(self.delta.changed) and bool((current == np.arange(len(current))).all())

    def find(self, word: str) -> Postings | None:
        """Return the postings of a word, or None if there are none. Raises DamagedIndexError."""
        old, new = self.stored.find(word), self.changed.find(word)
        if self._is_same:
            return old
        texts, counts = [np.empty(0, np.int64)], [np.empty(0)]
        if old is not None:
            now = self.delta.current[old[0]]
            texts.append(now[now >= 0])
            counts.append(old[1][now >= 0])
        if new is not None:
            texts.append(self.delta.changed[new[0]])
            counts.append(new[1])
        return np.concatenate(texts), np.concatenate(counts)
