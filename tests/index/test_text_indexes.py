"""Scores of strings with a stored index, which must equal the scores without one."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.index import words
from deeplake_lite.index.words import TextIndex
from deeplake_lite.query.run import text_search
from deeplake_lite.query.run.best_texts import best_positions
from deeplake_lite.query.run.cache import CACHE

WORDS = [f"word{i}" for i in range(40)] + ["Straße", "café", "nº", "ΣΊΣΥΦΟΣ", "ﷺ"]
QUERIES = ["word3", "word1 word1 CAFÉ", "STRASSE σίσυφος", "nowhere", "", "no ﷺ", "wor word3x"]


def texts(count, seed=0):
    random = np.random.default_rng(seed)
    ranks = [np.minimum(random.zipf(1.3, random.integers(0, 9)), len(WORDS)) - 1
             for _ in range(count)]  # fmt: skip
    return [" ".join(WORDS[i] for i in of_text) for of_text in ranks]


@pytest.fixture
def ds(make_lake):
    strings = texts(400)
    strings[7] = None
    return make_lake({"t": dl.Text(nullable=True), "n": "int32"}, t=strings, n=range(400))


def answers(view):
    CACHE.clear()
    out = []
    for query in QUERIES:
        result = view.query("SELECT n, BM25_SIMILARITY(t, ?) AS s", [query])
        best = view.query("SELECT n ORDER BY BM25_SIMILARITY(t, ?) DESC LIMIT 7", [query])
        out.append((np.ma.filled(result["s"][:], -1).tolist(), best["n"][:].tolist()))
    return out


def check_same(view, monkeypatch, *, used=True):
    """Check that scores and orders are the same with and without the stored index."""
    built = []
    build = TextIndex.build
    with monkeypatch.context() as patch:
        patch.setattr(TextIndex, "build", lambda s: built.append(len(s)) or build(s))
        with_index = answers(view)
    assert (max(built, default=0) < 200) == used
    with monkeypatch.context() as patch:
        patch.setattr(text_search, "find_index", lambda *_: None)
        assert answers(view) == with_index
    for (scores, best), query in zip(with_index, QUERIES, strict=True):
        n = view["n"][:]
        assert best == n[np.argsort(-np.array(scores), kind="stable")[:7]].tolist(), query


def test_scores_are_the_same_after_all_kinds_of_changes(ds, monkeypatch):
    check_same(ds, monkeypatch, used=False)
    ds.create_index("t")
    check_same(ds, monkeypatch)
    ds["t"][10:30] = texts(20, seed=1)
    ds["t"][3] = None
    ds.commit("changed")
    check_same(ds, monkeypatch)
    ds.delete(range(50, 90))
    ds.append({"t": [*texts(30, seed=2), None], "n": np.arange(500, 531)})
    ds.commit("fewer and more")
    check_same(ds, monkeypatch)
    check_same(ds[::3], monkeypatch)
    check_same(ds[::-1], monkeypatch)
    ds.optimize(shuffle=True)
    check_same(ds, monkeypatch)


@pytest.mark.parametrize("share", [0, 2, 10**9])
def test_scores_of_few_and_of_all_strings_are_the_same(ds, monkeypatch, share):
    expected = answers(ds)
    monkeypatch.setattr(words, "SPARSE", share)
    assert answers(ds) == expected
    ds.create_index("t")
    assert answers(ds) == expected
    assert answers(ds[::-2]) == answers(ds[::-2])


def test_uncommitted_strings_are_scored(ds, monkeypatch):
    ds.create_index("t")
    ds["t"][10:30] = texts(20, seed=1)
    check_same(ds, monkeypatch)
    ds.delete(range(5, 15))
    ds.append({"t": texts(9, seed=3), "n": range(600, 609)})
    ds["t"][-1] = "word3 word3"
    check_same(ds, monkeypatch)
    ds.commit("edits")
    ds["n"][0] = 5_000
    check_same(ds, monkeypatch)


def test_plan_names_the_index(ds):
    ds.create_index("t")
    plan = ds.query("SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 3").explain()
    assert f"index of t (bm25, version {ds.version})" in plan


def test_plan_names_an_index_that_was_built_after_an_earlier_query(ds):
    ds.create_index("t")
    text = "SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 3"
    ds.append({"t": ["word3"], "n": [7_000]})
    ds.commit("a row")
    rows = ds.query(text)["n"][:].tolist()
    built = ds.create_index("t")
    result = ds.query(text)
    assert f"index of t (bm25, version {ds.version})" in result.explain()
    assert result["n"][:].tolist() == rows
    assert [i.key for i in ds.indexes if i.used] == [built.key]
    ds.drop_index("t")
    assert "index of t" not in ds.query(text).explain()


def test_conditions_and_offsets_are_kept(ds):
    ds.create_index("t")
    score = "BM25_SIMILARITY(t, 'word2 word5')"
    for where in ("WHERE n % 2 = 1", f"WHERE {score} < 1", "WHERE LEN(t) > 20", "WHERE n < 0"):
        whole = ds.query(f"SELECT n {where} ORDER BY {score} DESC")["n"][:].tolist()
        for end in ("LIMIT 5", "LIMIT 5 OFFSET 4", "LIMIT 0", "LIMIT 1000"):
            part = ds.query(f"SELECT n {where} ORDER BY {score} DESC {end}")["n"][:].tolist()
            start = 4 if "OFFSET" in end else 0
            assert part == whole[start : start + int(end.split()[1])]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_lake_with_few_strings_has_an_index(make_lake, count):
    ds = make_lake({"t": "text"})
    if count:
        ds.append({"t": ["a rose", "", "a red rose"][:count]})
        ds.commit("rows")
    ds.create_index("t")
    assert len(ds.query("SELECT t ORDER BY BM25_SIMILARITY(t, 'rose') DESC LIMIT 5")) == count


def test_best_positions_have_the_best_rows_of_any_scores():
    random = np.random.default_rng(0)
    for _ in range(200):
        scores = random.integers(0, 4, random.integers(1, 12)).astype(float)
        count = int(random.integers(1, 14))
        order = np.argsort(-scores, kind="stable")[:count]
        rows = best_positions(scores, count)
        within = rows[np.argsort(-scores[rows], kind="stable")[:count]]
        assert within.tolist() == order.tolist()
