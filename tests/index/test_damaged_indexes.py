"""Damaged indexes are named with the calls that replace them, and the lake's data stays usable."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run.cache import CACHE

NEAREST = "SELECT n ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT 5"
BEST = "SELECT n ORDER BY BM25_SIMILARITY(t, 'word3') DESC LIMIT 5"
KINDS = ("manifests", "snapshots", "transactions", "chunks")


def files(folder):
    return {p.relative_to(folder) for kind in KINDS for p in (folder / kind).glob("*")}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Return the folder of a lake, and the files of each index by the indexed column."""
    folder = tmp_path_factory.mktemp("damaged") / "a.lake"
    ds = dl.create(folder, {"v": dl.Embedding(8), "n": "int32", "t": "text"})
    vectors = np.random.default_rng(0).normal(size=(3_000, 8))
    texts = [f"word{i % 7} word{i % 11}" for i in range(3_000)]
    ds.append({"v": vectors, "n": np.arange(3_000), "t": texts})
    ds.commit("rows")
    of_index, known = {}, files(folder)
    for column in ("v", "t"):
        ds.create_index(column)
        of_index[column], known = sorted(files(folder) - known), files(folder)
    return folder, of_index


@pytest.fixture
def copy(lake, tmp_path):
    shutil.copytree(lake[0], tmp_path / "a.lake")
    CACHE.clear()
    return tmp_path / "a.lake"


def damage(folder, of_index, column, kind, how):
    """Damage a file of an index, and return the lake."""
    path = next(folder / name for name in of_index[column] if name.parts[0] == kind)
    data = path.read_bytes()
    if how == "lost":
        path.unlink()
    else:
        path.write_bytes(bytes(255 - byte for byte in data) if how == "changed" else b"")
    return dl.open(folder)


def answers(ds):
    vector = np.ones(8)
    return ds.query(NEAREST, [vector])["n"][:].tolist(), ds.query(BEST)["n"][:].tolist()


WAYS_OUT = {
    "v": r"ds.drop_index\('v', 'vector'\), .* ds.create_index\('v', 'vector', metric='cosine'\)",
    "t": r"ds.drop_index\('t', 'text'\), .* ds.create_index\('t', 'text'\)",
}


CASES = [
    *[("v", kind, how) for kind in KINDS for how in ("lost", "changed")],
    ("v", "chunks", "empty"), ("t", "chunks", "changed"), ("t", "snapshots", "lost"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "kind", "how"), CASES)
def test_verify_names_a_damaged_index_and_the_way_out_works(lake, copy, column, kind, how):
    ds = damage(copy, lake[1], column, kind, how)
    [damaged] = ds.verify().damaged
    assert damaged.index == {"v": "vector index on 'v' (cosine)", "t": "text index on 't' (bm25)"}[
        column
    ]  # fmt: skip
    assert re.search(WAYS_OUT[column], damaged.reason)
    assert "1 damaged index:" in repr(ds.verify())
    assert [i.column for i in ds.indexes] == ["v", "t"]
    is_opened = kind != "snapshots"
    assert [bool(i.damage) for i in ds.indexes] == [c == column and not is_opened for c in "vt"]
    options = {"kind": "vector", "metric": "cosine"} if column == "v" else {"kind": "text"}
    assert ds.drop_index(column, options["kind"]) == 1
    ds.create_index(column, **options)
    assert ds.vacuum(spare="0s").bytes
    assert ds.verify()
    assert all(i.used and not i.damage for i in ds.indexes)


@pytest.mark.parametrize("column", ["v", "t"])
@pytest.mark.parametrize("kind", ["manifests", "snapshots"])
def test_query_names_a_damaged_index_and_is_right(lake, copy, column, kind):
    exact = answers(dl.open(copy))
    CACHE.clear()
    ds = damage(copy, lake[1], column, kind, "lost")
    query = (NEAREST + " USING INDEX", [np.ones(8)]) if column == "v" else (BEST,)
    with pytest.warns(dl.IndexWarning, match=WAYS_OUT[column]):
        result = ds.query(*query)["n"][:].tolist()
    assert result == exact[column == "t"]


def test_new_index_replaces_a_damaged_one_of_the_same_version(lake, copy):
    ds = damage(copy, lake[1], "v", "snapshots", "changed")
    assert "damaged: A stored object cannot be read" in repr(ds.indexes[0])
    ds.create_index("v")
    assert [i.damage for i in ds.indexes] == ["", ""]
    assert ds.verify()


def test_damaged_index_of_a_dropped_column_is_listed_and_dropped(lake, copy):
    ds = damage(copy, lake[1], "t", "snapshots", "lost")
    ds.drop_column("t")
    ds.commit("dropped")
    [index] = [i for i in ds.indexes if i.kind == "text"]
    assert index.column is None
    assert repr(index).startswith("text index on a dropped column (bm25), damaged: A stored object")
    [damaged] = ds.verify().damaged
    assert "ds.drop_index(index)" in damaged.reason
    assert ds.drop_index(index) == 1
    assert ds.verify()


def test_damage_to_the_rows_is_not_blamed_on_their_index(lake, copy):
    own = {name for names in lake[1].values() for name in names}
    for name in files(copy) - own:
        if name.parts[0] == "chunks":
            (copy / name).unlink()
            break
    assert all(d.index is None for d in dl.open(copy).verify().damaged)
    assert not dl.open(copy).verify()


def test_index_that_the_verified_version_cannot_use_is_not_read(copy):
    ds = dl.open(copy)
    ds.branch("old")
    ds.append({"v": np.ones((1, 8)), "n": [1], "t": ["x"]})
    ds.commit("a row")
    known = files(copy)
    ds.create_index("v")
    chunks = [n for n in files(copy) - known if n.parts[0] == "chunks"]
    for name in chunks:
        Path(copy, name).write_bytes(b"x")
    assert not dl.open(copy).verify()
    assert dl.open(copy, branch="old").verify()
