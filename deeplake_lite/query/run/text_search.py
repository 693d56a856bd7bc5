"""Text search with exact BM25 scores over all strings of a column.

Strings are split into words, and the words make an inverted index of arrays (`TextIndex`), which is
cached with the columns of its version and computes the scores. To use an index stored with the
version instead, only `TextIndex.build` would have to be replaced.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.schema import Field

K1 = 1.2
"""BM25's k1: the smaller it is, the less further occurrences of a word add to the score."""

B = 0.75
"""BM25's b, from 0 to 1: how much the length of a string lowers its score."""

NO_WORD = r"[^\pL\pM\pN_]+"
"""Separates words: matches anything but letters, marks, digits and ``_``."""

BLOCK_TEXTS = 65_536
"""Number of strings that are split at a time."""


def words(text: str) -> list[str]:
    """Return the words of a string, case-folded and in compatibility form (NFKC).

    >>> words("Straße & STRASSE, nº 5")
    ['strasse', 'strasse', 'no', '5']
    """
    import pyarrow.compute as pc  # takes 0.1 s, and only text search needs it

    parts = pc.split_pattern_regex(pa.array([text]), NO_WORD).flatten().to_pylist()
    return [_folded(part) for part in parts if part]


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word.casefold())


@dataclass(frozen=True, eq=False)
class TextIndex:
    """An inverted index: for each word its postings, that is, the strings that have it.

    Strings are numbered by their position. The postings of all words are concatenated.

    Examples
    --------
    >>> index = TextIndex.build(pa.array(["a rose is a rose", "a tulip", None]))
    >>> index.scores("rose").round(3).tolist()
    [0.387, 0.0, 0.0]
    """

    numbers: dict[str, int]
    """The words, each with its number."""
    starts: NDArray[np.int64]
    """Where the postings of each word begin, and where the last ones end, (words + 1,)."""
    texts: NDArray[np.int32]
    """String of each posting, (postings,), ascending within a word."""
    counts: NDArray[np.int32]
    """Number of times that the word occurs in that string, (postings,)."""
    lengths: NDArray[np.int32]
    """Number of words of each string, (strings,)."""
    present: NDArray[np.bool_]
    """Whether each string is not null, (strings,)."""

    @property
    def nbytes(self) -> int:
        """Approximate size in memory."""
        arrays = (self.starts, self.texts, self.counts, self.lengths, self.present)
        return sum(a.nbytes for a in arrays) + 120 * len(self.numbers)

    @classmethod
    def build(cls, texts: pa.Array) -> TextIndex:
        """Build the index of a column of strings, (n,)."""
        numbers: dict[str, int] = {}
        blocks = list(_split_words(texts, numbers))
        occurrences = np.concatenate([p for p, _ in blocks]) if blocks else np.empty(0, np.int64)
        lengths = np.concatenate([n for _, n in blocks]) if blocks else np.empty(0, np.int32)
        # One integer for each occurrence: sorting them sorts by word, and then by string.
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
        """Return the scores of strings for the words of a query, 0 where they have none of them.

        Parameters
        ----------
        query : str
            Words; a word that occurs twice counts twice.
        rows : ndarray, (n,) int64, optional
            Positions of the strings that make up the collection; by default all.

        Notes
        -----
        BM25 with k1 = 1.2 and b = 0.75: Robertson and Zaragoza, The probabilistic relevance
        framework: BM25 and beyond, 2009. The weight of a word that n of N texts have is
        ``log(1 + (N − n + 0.5) / (n + 0.5))``, which is never negative, as in Lucene.
        """
        lengths = self.lengths if rows is None else self.lengths[rows]
        present = self.present if rows is None else self.present[rows]
        total = int(present.sum())
        mean = lengths.sum() / total if total else 0.0
        out = np.zeros(len(lengths))
        for word in words(query):
            if word not in self.numbers:
                continue
            texts, counts = self._postings(self.numbers[word], rows)
            weight = np.log1p((total - len(texts) + 0.5) / (len(texts) + 0.5))
            out[texts] += weight * counts / (counts + K1 * (1 - B + B * lengths[texts] / mean))
        return out

    def _postings(
        self, word: int, rows: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the rows that have a word, as indices into `rows`, and how often they have it."""
        span = slice(self.starts[word], self.starts[word + 1])
        if rows is None:
            return self.texts[span].astype(np.int64), self.counts[span].astype(np.float64)
        by_text = np.zeros(len(self.lengths), np.int32)
        by_text[self.texts[span]] = self.counts[span]
        counts = by_text[rows]
        matches = np.flatnonzero(counts)
        return matches, counts[matches].astype(np.float64)


def _split_words(
    texts: pa.Array, numbers: dict[str, int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield the words of blocks of strings as numbers, and the number of words of each string.

    Words that are new are added to `numbers`.
    """
    import pyarrow.compute as pc

    for start in range(0, len(texts), BLOCK_TEXTS):
        block = texts.slice(start, BLOCK_TEXTS).cast(pa.string()).fill_null("")
        parts = pc.split_pattern_regex(block, NO_WORD)
        encoded = parts.flatten().dictionary_encode()
        at = [numbers.setdefault(_folded(w), len(numbers)) if w else -1
              for w in encoded.dictionary.to_pylist()]  # fmt: skip
        occurrences = np.asarray(at, np.int64)[encoded.indices.to_numpy()]
        owner = np.repeat(np.arange(len(block)), pc.list_value_length(parts).to_numpy())
        is_word = occurrences >= 0  # splitting leaves empty strings at the ends
        yield (
            occurrences[is_word],
            np.bincount(owner[is_word], minlength=len(block)).astype(np.int32),
        )


def scores(source: Source, f: Field, query: str) -> NDArray[np.float64]:
    """Return the scores of a source's rows, masked where the string is null.

    They are computed once per query, although they are needed for each block of rows.
    """
    key = ("scores", f.id, query)
    if key not in source.memo:
        index, slots = source.text_index(f)
        computed = index.scores(query, slots)
        present = index.present if slots is None else index.present[slots]
        source.memo[key] = computed if present.all() else np.ma.MaskedArray(computed, ~present)
    result: NDArray[np.float64] = source.memo[key]
    return result
