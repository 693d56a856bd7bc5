"""BM25 over a column of strings, compared with the formula."""

import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.index import words
from deeplake_lite.index.words import TextIndex
from deeplake_lite.query.run import sources

TEXTS = [
    "A red rose, a RED rose!",
    "the tulip is red",
    "",
    "the the the the quick brown fox",
    "Ünïcode: naïve café — ΣΊΣΥΦΟΣ",
    "rose",
    "lilies and roses",
]


def bm25(texts, query):
    """Return the scores of strings by the paper's formula, one string at a time."""
    split = [[w.casefold() for w in re.findall(r"\w+", t)] for t in texts]
    mean = sum(map(len, split)) / len(split)
    out = []
    for text in split:
        count, total = Counter(text), 0.0
        for word in re.findall(r"\w+", query.casefold()):
            n = sum(word in other for other in split)
            weight = np.log(1 + (len(split) - n + 0.5) / (n + 0.5))
            length = 1 - 0.75 + 0.75 * len(text) / mean
            total += weight * count[word] / (count[word] + 1.2 * length) if count[word] else 0
        out.append(total)
    return out


@pytest.mark.parametrize("query", ["rose", "red ROSE", "the fox", "café", "σίσυφος", "", "nowhere"])
def test_scores_follow_the_formula(query):
    np.testing.assert_allclose(
        TextIndex.build(pa.array(TEXTS)).scores(query), bm25(TEXTS, query), rtol=1e-12
    )


def test_repeated_query_word_counts_twice():
    index = TextIndex.build(pa.array(TEXTS))
    np.testing.assert_allclose(index.scores("rose rose"), 2 * index.scores("rose"))


def test_blocks_of_strings_form_one_index(monkeypatch):
    whole = TextIndex.build(pa.array(TEXTS)).scores("red the rose")
    monkeypatch.setattr(words, "BLOCK_TEXTS", 2)
    assert TextIndex.build(pa.array(TEXTS)).scores("red the rose").tolist() == whole.tolist()


def test_empty_strings_and_no_words_score_zero():
    assert TextIndex.build(pa.array([], pa.string())).scores("rose").tolist() == []
    assert TextIndex.build(pa.array(["", "?!"])).scores("rose").tolist() == [0, 0]


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {"text": dl.Text(nullable=True), "n": "int32"}, text=[*TEXTS, None], n=range(8)
    )


def test_score_filters_sorts_and_is_selected(ds):
    expected = bm25(TEXTS, "red rose")
    result = ds.query("SELECT n, BM25_SIMILARITY(text, 'red rose') AS score")
    np.testing.assert_allclose(result["score"][:7], expected)
    assert ds.query("SELECT n WHERE BM25_SIMILARITY(text, 'rose') > 0")["n"][:].tolist() == [0, 5]
    best = ds.query("SELECT n ORDER BY BM25_SIMILARITY(text, ?) DESC LIMIT 3", ["red rose"])
    assert best["n"][:].tolist() == np.argsort(expected)[::-1][:3].tolist()


def test_null_string_scores_null(ds):
    assert ds.query("SELECT n WHERE BM25_SIMILARITY(text, 'rose') IS NULL")["n"][:].tolist() == [7]


def test_view_is_its_own_collection(ds):
    view = ds[[5, 1, 0]]
    result = view.query("SELECT BM25_SIMILARITY(text, 'red rose') AS s")["s"][:]
    np.testing.assert_allclose(result, bm25([TEXTS[i] for i in (5, 1, 0)], "red rose"))


def test_uncommitted_rows_are_found_and_deleted_ones_are_not(ds):
    ds.append({"text": ["a rose of today"], "n": [8]})
    ds.delete([0])
    result = ds.query("SELECT n WHERE BM25_SIMILARITY(text, 'rose') > 0")
    assert result["n"][:].tolist() == [5, 8]


def test_index_of_a_version_is_built_once(ds, monkeypatch):
    sources.CACHE.clear()
    built = []
    build = TextIndex.build
    monkeypatch.setattr(TextIndex, "build", lambda texts: built.append(1) or build(texts))
    for word in ("rose", "red"):
        ds.query("SELECT n ORDER BY BM25_SIMILARITY(text, $word) DESC LIMIT 1", {"word": word})
        ds[:3].query("SELECT n ORDER BY BM25_SIMILARITY(text, 'the') DESC LIMIT 1")
    assert built == [1]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("BM25_SIMILARITY(n, 'rose')", "must be a text column of a source"),
        ("BM25_SIMILARITY(UPPER(text), 'rose')", "To search computed strings, store them"),
        ("BM25_SIMILARITY(text, text)", "the same for all rows"),
        ("BM25_SIMILARITY(text, 3)", "the same for all rows"),
        ("BM25_SIMILARITY(text)", "takes a text column and search words"),
    ],
)
def test_invalid_arguments_are_reported(ds, call, reason):
    with pytest.raises(dl.QueryTypeError, match=reason):
        ds.query(f"SELECT {call} AS s")
