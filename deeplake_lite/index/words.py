"""Full-text search, with exact BM25 scores over all strings in a column.

Strings are split into words, and an inverted index of the words is built, a `TextIndex`. The scores
are computed from the postings of the words in a query, which may also come from a stored index.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.storage.repo.index_refs import IndexName

type Postings = tuple[NDArray[np.int64], NDArray[np.float64]]
"""The numbers of the strings that contain a word, and the word's count in each of them."""

K1 = 1.2
"""The parameter k1 of BM25. The smaller k1 is, the less a repeated occurrence of a word adds to the
score."""

B = 0.75
"""The parameter b of BM25, from 0 to 1. The larger b is, the more the length of a string reduces
its score."""

NO_WORD = r"[^\pL\pM\pN_]+"
"""Matches the separators of words: all characters except letters, marks, digits and ``_``."""

BLOCK_TEXTS = 65_536
"""Number of strings that are split into words at a time."""


def words(text: str) -> list[str]:
    """Return the words of a string, case-folded and in compatibility form (NFKC).

    >>> words("Straße & STRASSE, nº 5")
    ['strasse', 'strasse', 'no', '5']
    """
    import pyarrow.compute as pc  # takes 0.1 s, and only text search needs it

    parts = pc.split_pattern_regex(pa.array([text]), NO_WORD).flatten().to_pylist()
    return [_fold(part) for part in parts if part]


def _fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word.casefold())


@dataclass(frozen=True, eq=False)
class TextIndex:
    """An inverted index, which lists, for each word, the strings that contain it.

    The entry of a word for one string is called a posting. The arrays hold the postings of all
    words, one word after the other. Strings are numbered by position.

    Examples
    --------
    >>> index = TextIndex.build(pa.array(["a rose is a rose", "a tulip", None]))
    >>> index.scores("rose").round(3).tolist()
    [0.387, 0.0, 0.0]
    """

    name: ClassVar[None] = None
    """Identity of the stored index; None, since this index is only in memory."""
    numbers: dict[str, int]
    """Maps words to their numbers."""
    starts: NDArray[np.int64]
    """Offsets of the first posting of each word, and the end of the last word's, (words + 1,)."""
    texts: NDArray[np.int32]
    """For each posting, the number of its string, (postings,); ascending within a word."""
    counts: NDArray[np.int32]
    """For each posting, how often the word occurs in the string, (postings,)."""
    lengths: NDArray[np.int32]
    """Number of words in each string, (strings,)."""
    present: NDArray[np.bool_]
    """Mask, (strings,), that is true for the strings that are not null."""

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        arrays = (self.starts, self.texts, self.counts, self.lengths, self.present)
        return sum(a.nbytes for a in arrays) + 120 * len(self.numbers)

    @classmethod
    def build(cls, texts: pa.Array) -> TextIndex:
        """Return the index of a column of strings."""
        numbers: dict[str, int] = {}
        blocks = list(_split_words(texts, numbers))
        occurrences = np.concatenate([p for p, _ in blocks]) if blocks else np.empty(0, np.int64)
        lengths = np.concatenate([n for _, n in blocks]) if blocks else np.empty(0, np.int32)
        # Each occurrence becomes one integer, so that one sort orders them by word and then by
        # string.
        keys = occurrences * len(texts) + np.repeat(np.arange(len(texts)), lengths)
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        word, text = np.divmod(keys[starts], max(len(texts), 1))
        return cls(
            numbers,
            np.searchsorted(word, np.arange(len(numbers) + 1)),
            text.astype(np.int32),
            np.diff(starts, append=len(keys)).astype(np.int32),
            lengths,
            texts.is_valid().to_numpy(zero_copy_only=False),
        )

    def scores(self, query: str, rows: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """Return the BM25 score of each string for some words; see `bm25`."""
        return bm25(self, query, rows)

    def find(self, word: str) -> Postings | None:
        """Return the postings of a word, or None if there are none."""
        if (number := self.numbers.get(word)) is None:
            return None
        span = slice(self.starts[number], self.starts[number + 1])
        return self.texts[span].astype(np.int64), self.counts[span].astype(np.float64)


class Searchable(Protocol):
    """An inverted index."""

    @property
    def name(self) -> IndexName | None:
        """Identity of the stored index, or None if this index is only in memory."""
        ...

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Number of words in each string, (strings,)."""
        ...

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask, (strings,), that is true for the strings that are not null."""
        ...

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        ...

    def find(self, word: str) -> Postings | None:
        """Return the postings of a word, or None if there are none."""
        ...


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of strings. If few strings have any of the words, the others are left out.

    >>> scores = Scores(4, np.array([1, 3]), np.array([0.5, 0.2]), np.array([1, 1, 0, 1], bool))
    >>> scores.at(np.array([3, 0, 2])).tolist(), scores.at(np.array([1, 3])).tolist()
    ([0.2, 0.0, None], [0.5, 0.2])
    """

    count: int
    """Number of strings."""
    texts: NDArray[np.int64] | None
    """Numbers of the strings that have a score, in ascending order, or None if all strings have a
    score."""
    values: NDArray[np.float64]
    """The scores of these strings."""
    present: NDArray[np.bool_] | None
    """Mask, (strings,), of the strings that are not null, or None if no string is null."""

    def at(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of some strings, masked where they are null."""
        if self.texts is None:
            out = self.values[rows]
        else:
            out = np.zeros(len(rows))
            at = np.searchsorted(self.texts, rows)
            at[at == len(self.texts)] = 0
            if len(self.texts):
                found = self.texts[at] == rows
                out[found] = self.values[at[found]]
        if self.present is None or (present := self.present[rows]).all():
            return out
        return np.ma.MaskedArray(out, ~present)

    def whole(self) -> NDArray[np.float64]:
        """Return the scores of all strings, with 0 for null."""
        if self.texts is None:
            return self.values
        out = np.zeros(self.count)
        out[self.texts] = self.values
        return out


SPARSE = 8
"""If fewer than one in this many strings contain a word, only the scores of these strings are
computed."""


def bm25(
    index: Searchable, query: str, rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the BM25 score of each string for some words, with 0 for null; see `score`."""
    return score(index, query, rows).whole()


def score(index: Searchable, query: str, rows: NDArray[np.int64] | None = None) -> Scores:
    """Return the BM25 score of each string for some words. A string with none of them scores 0.

    Parameters
    ----------
    index : Searchable
        An index of the strings.
    query : str
        Words to search for. A word that occurs twice counts twice.
    rows : ndarray, (n,) int64, optional
        Positions of the strings to search; by default, all strings are searched.

    Notes
    -----
    The scores are BM25 with k1 = 1.2 and b = 0.75: Robertson and Zaragoza, The probabilistic
    relevance framework: BM25 and beyond, 2009. The weight of a word that occurs in n of N strings
    is ``log(1 + (N − n + 0.5) / (n + 0.5))``, which is never negative, as in Lucene.
    """
    lengths = index.lengths if rows is None else index.lengths[rows]
    present = index.present if rows is None else index.present[rows]
    total = int(np.count_nonzero(present))
    mean = lengths.sum(dtype=np.int64) / total if total else 0.0
    texts: list[NDArray[np.int64]] = []
    parts: list[NDArray[np.float64]] = []
    for word in words(query):
        if (found := index.find(word)) is None:
            continue
        of_word, counts = found if rows is None else _among(found, rows, len(index.lengths))
        weight = np.log1p((total - len(of_word) + 0.5) / (len(of_word) + 0.5))
        length = K1 * (1 - B + B * lengths[of_word] / mean) if len(of_word) else 0.0
        texts.append(of_word)
        parts.append(weight * counts / (counts + length))
    masked = None if total == len(present) else present
    if sum(map(len, texts)) * SPARSE < len(lengths):
        joined = np.concatenate([np.empty(0, np.int64), *texts])
        unique, of = np.unique(joined, return_inverse=True)
        weights = np.concatenate([np.empty(0), *parts])
        # Adding in the order of the words, as below, gives exactly the same sums.
        values = np.bincount(of, weights, len(unique)).astype(np.float64)
        return Scores(len(lengths), unique, values, masked)
    out = np.zeros(len(lengths))
    for of_word, part in zip(texts, parts, strict=True):
        out[of_word] += part
    return Scores(len(lengths), None, out, masked)


def _among(found: Postings, rows: NDArray[np.int64], strings: int) -> Postings:
    """Return the postings of the strings `rows`, with their indices into `rows`."""
    by_text = np.zeros(strings)
    by_text[found[0]] = found[1]
    counts = by_text[rows]
    matches = np.flatnonzero(counts)
    return matches, counts[matches]


def _split_words(
    texts: pa.Array, numbers: dict[str, int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield, for each block of strings, the numbers of all words, and each string's word count.

    New words are added to `numbers`.
    """
    import pyarrow.compute as pc

    for start in range(0, len(texts), BLOCK_TEXTS):
        block = texts.slice(start, BLOCK_TEXTS).cast(pa.string()).fill_null("")
        parts = pc.split_pattern_regex(block, NO_WORD)
        encoded = parts.flatten().dictionary_encode()
        at = [numbers.setdefault(_fold(w), len(numbers)) if w else -1
              for w in encoded.dictionary.to_pylist()]  # fmt: skip
        occurrences = np.asarray(at, np.int64)[encoded.indices.to_numpy()]
        owner = np.repeat(np.arange(len(block)), pc.list_value_length(parts).to_numpy())
        is_word = occurrences >= 0  # a separator at the start or end of a string gives empty parts
        yield (
            occurrences[is_word],
            np.bincount(owner[is_word], minlength=len(block)).astype(np.int32),
        )
