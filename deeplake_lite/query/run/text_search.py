"""Which texts are about some words: BM25, exact, over all texts of a column.

Steps: texts become words, words an inverted index in arrays (`TextIndex`), which is kept with the
columns of its version, and the index scores. An index that is stored beside its version would take
the place of `TextIndex.build`, and nothing else.
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
"""How soon more of one word counts for little."""

B = 0.75
"""How much the length of a text counts against it."""

NO_WORD = r"[^\pL\pM\pN_]+"
"""What stands between words: anything but letters, marks, digits and ``_``."""

BLOCK_TEXTS = 65_536
"""Texts that are taken apart at a time."""


def words(text: str) -> list[str]:
    """Return the words of a text, case-folded and in compatibility form (NFKC).

    >>> words("Straße & STRASSE, nº 5")
    ['strasse', 'strasse', 'no', '5']
    """
    import pyarrow.compute as pc  # 0.1 s, which other queries need not spend

    parts = pc.split_pattern_regex(pa.array([text]), NO_WORD).flatten().to_pylist()
    return [_folded(part) for part in parts if part]


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word.casefold())


@dataclass(frozen=True, eq=False)
class TextIndex:
    """Per word, the texts that have it and how often: postings, back to back by word.

    Examples
    --------
    >>> index = TextIndex.build(pa.array(["a rose is a rose", "a tulip", None]))
    >>> index.scores("rose").round(3).tolist()
    [0.387, 0.0, 0.0]
    """

    numbers: dict[str, int]
    """Number of each word."""
    starts: NDArray[np.int64]
    """Where each word's postings begin, and the last ones end, (words + 1,)."""
    texts: NDArray[np.int32]
    """Position of the text of each posting, ascending within a word."""
    counts: NDArray[np.int32]
    """How often the word is in it."""
    lengths: NDArray[np.int32]
    """Words of each text, (texts,)."""
    present: NDArray[np.bool_]
    """Which texts are not null, (texts,)."""

    @property
    def nbytes(self) -> int:
        """Size in memory, about."""
        arrays = (self.starts, self.texts, self.counts, self.lengths, self.present)
        return sum(a.nbytes for a in arrays) + 120 * len(self.numbers)

    @classmethod
    def build(cls, texts: pa.Array) -> TextIndex:
        """Take texts apart, (n,) of Arrow's text."""
        numbers: dict[str, int] = {}
        parts = list(_numbered(texts, numbers))
        found = np.concatenate([p for p, _ in parts]) if parts else np.empty(0, np.int64)
        lengths = np.concatenate([n for _, n in parts]) if parts else np.empty(0, np.int32)
        keys = found * len(texts) + np.repeat(np.arange(len(texts)), lengths)
        keys.sort()  # by word, and by text within
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
        """Return how well texts match the words of a query, 0 where none is in them.

        Parameters
        ----------
        query : str
            Words; one that comes twice counts twice.
        rows : ndarray, (n,) int64, optional
            Positions of the texts that are the whole collection; all that are not null without it.

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
        """Return which of the rows have a word, and how often."""
        span = slice(self.starts[word], self.starts[word + 1])
        if rows is None:
            return self.texts[span].astype(np.int64), self.counts[span].astype(np.float64)
        every = np.zeros(len(self.lengths), np.int32)
        every[self.texts[span]] = self.counts[span]
        counts = every[rows]
        found = np.flatnonzero(counts)
        return found, counts[found].astype(np.float64)


def _numbered(
    texts: pa.Array, numbers: dict[str, int]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
    """Yield the words of blocks of texts as numbers, and how many words each text has."""
    import pyarrow.compute as pc

    for start in range(0, len(texts), BLOCK_TEXTS):
        block = texts.slice(start, BLOCK_TEXTS).cast(pa.string()).fill_null("")
        parts = pc.split_pattern_regex(block, NO_WORD)
        encoded = parts.flatten().dictionary_encode()
        at = [numbers.setdefault(_folded(w), len(numbers)) if w else -1
              for w in encoded.dictionary.to_pylist()]  # fmt: skip
        found = np.asarray(at, np.int64)[encoded.indices.to_numpy()]
        owner = np.repeat(np.arange(len(block)), pc.list_value_length(parts).to_numpy())
        real = found >= 0
        yield found[real], np.bincount(owner[real], minlength=len(block)).astype(np.int32)


def scores(source: Source, f: Field, query: str) -> NDArray[np.float64]:
    """Return the scores of a source's rows, masked where the text is null.

    They are computed once per source, however many blocks of rows ask for them.
    """
    key = ("scores", f.id, query)
    if key not in source.memo:
        index, slots = source.text_index(f)
        found = index.scores(query, slots)
        present = index.present if slots is None else index.present[slots]
        source.memo[key] = found if present.all() else np.ma.MaskedArray(found, ~present)
    scored: NDArray[np.float64] = source.memo[key]
    return scored
