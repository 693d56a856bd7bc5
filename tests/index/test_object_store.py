"""Indexes of lakes on an object store, a real S3 server on this machine, and on a web server."""

from datetime import timedelta

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.versions import index_expiry
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.storage.repo.index_refs import INDEX, IndexName
from deeplake_lite.testing.proxy import Proxy
from deeplake_lite.testing.slow_store import SlowStore

NEAR = "SELECT n ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT 5 USING INDEX"
BEST = "SELECT n ORDER BY BM25_SIMILARITY(t, 'word3 word5') DESC LIMIT 5"


@pytest.fixture
def ds(bucket):
    schema = {"v": dl.Embedding(16), "n": "int32", "t": "text"}
    ds = dl.create(bucket.url(), schema, storage_options=bucket.options)
    vectors = np.random.default_rng(0).normal(size=(4_000, 16))
    ds.append({"v": vectors, "n": np.arange(4_000), "t": [f"word{i % 97}" for i in range(4_000)]})
    ds.commit("rows")
    return ds


def branches(ds):
    return [name for name in ds.handle.repository.branch_names() if name.startswith(INDEX)]


def test_indexes_are_built_and_searched_on_s3(ds, bucket):
    query, exact = ds["v"][5], ds.query(BEST)["n"][:].tolist()
    ds.create_index("v")
    ds.create_index("t")
    ds["v"][9] = query
    ds.delete([1])
    ds.commit("edit")
    CACHE.clear()
    fresh = bucket.open()
    result = fresh.query(NEAR, [query])
    assert "searched" in result.explain()
    assert set(result["n"][:2].tolist()) == {5, 9}
    assert fresh.query(BEST)["n"][:].tolist() == exact
    assert [index.used for index in fresh.indexes] == [True, True]


def test_search_on_s3_reads_a_few_lists(ds, bucket):
    ds.create_index("v", recall=0.5)
    CACHE.clear()
    with Proxy(bucket.endpoint) as proxy:
        far = bucket.at(proxy.endpoint).open()
        before = proxy.requests
        far.query(NEAR, [ds["v"][5]])
        first = proxy.requests - before
        far.query(NEAR, [ds["v"][5]])
        again = proxy.requests - before - first
    assert first <= 90
    assert again <= 50  # one for each of the vectors that are compared exactly, and the branches


def test_vacuum_on_s3_drops_indexes_that_no_version_uses(ds, monkeypatch):
    ds.create_index("v")
    ds.branch("fix")
    ds.checkout("fix")
    ds["n"][0] = 9
    ds.commit("edit")
    ds.create_index("v")
    ds.checkout("main")
    ds.delete_branch("fix")
    begun = IndexName.new("vector", "dot", "c0000000a", ds.version)
    ds.handle.repository.create_branch(begun.branch, ds.version)
    ds.vacuum()
    assert len(branches(ds)) == 2  # a build may have begun just now
    monkeypatch.setattr(index_expiry, "ANNOUNCED_AGE", -timedelta(minutes=1))
    ds.vacuum()
    assert len(branches(ds)) == 1
    assert [index.used for index in ds.indexes] == [True]


def test_index_of_a_lake_on_a_web_server_is_used_and_not_changed(tmp_path):
    local = dl.create(str(tmp_path / "a.lake"), {"v": dl.Embedding(16), "n": "int32", "t": "text"})
    vectors = np.random.default_rng(0).normal(size=(2_000, 16))
    local.append({"v": vectors, "n": range(2_000), "t": [f"word{i % 97}" for i in range(2_000)]})
    local.commit("rows")
    local.create_index("v")
    local.create_index("t")
    CACHE.clear()
    with SlowStore(tmp_path, 0.0) as server:
        ds = dl.open(f"{server.endpoint}/lakes/a.lake", storage_options={"allow_http": True})
        result = ds.query(NEAR, [vectors[5]])
        assert "searched" in result.explain()
        assert result["n"][0] == 5
        assert ds.query(BEST)["n"][:].tolist() == local.query(BEST)["n"][:].tolist()
        for change in (lambda: ds.create_index("v"), lambda: ds.drop_index("v")):
            with pytest.raises(dl.ReadOnlyError, match="because it is on a web server"):
                change()
