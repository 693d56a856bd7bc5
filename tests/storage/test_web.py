"""Lakes on a web server are read, and not changed."""

import pytest

import deeplake_lite as dl
from deeplake_lite.testing.slow_store import SlowStore

HTTP = {"allow_http": True}


@pytest.fixture
def url(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32", "data": "bytes"})
    ds.append({"x": [1, 2], "data": [b"a" * 100_000, b"b"]})
    ds.commit("rows")
    ds.tag("v1")
    ds.append({"x": [3], "data": [b"c"]})
    ds.commit("more")
    with SlowStore(tmp_path, 0.0) as server:
        yield f"{server.endpoint}/lakes/a.lake"


def test_lake_on_a_web_server_is_read(url):
    assert dl.exists(url, storage_options=HTTP)
    ds = dl.open(url, storage_options=HTTP)
    assert ds.read_only
    assert ds["x"][:].tolist() == [1, 2, 3]
    assert ds["data"][0] == b"a" * 100_000
    assert [commit.message for commit in ds.log()] == ["more", "rows", "created"]
    assert dl.open(url, version="v1", storage_options=HTTP)["x"][:].tolist() == [1, 2]
    assert ds.query("SELECT x FROM ds WHERE x > 1")["x"][:].tolist() == [2, 3]


def test_lake_on_a_web_server_is_not_changed(url):
    ds = dl.open(url, storage_options=HTTP)
    with pytest.raises(dl.ReadOnlyError, match="because it is on a web server"):
        ds.append({"x": [4], "data": [b""]})
    for change in (lambda: ds.tag("v2"), lambda: ds.branch("b"), ds.vacuum, ds.optimize):
        with pytest.raises(dl.LakeError):
            change()
    with pytest.raises(dl.ReadOnlyError, match="is on a web server"):
        dl.create(f"{url}2", {"x": "int32"}, storage_options=HTTP)


def test_missing_lake_on_a_web_server_is_reported(url):
    assert not dl.exists(f"{url}/none", storage_options=HTTP)
    with pytest.raises(dl.LakeNotFoundError, match="There is no lake at"):
        dl.open(f"{url}/none", storage_options=HTTP)


def test_plain_http_needs_permission(url):
    with pytest.raises(dl.OptionError, match="must begin with https://"):
        dl.open(url)
    with pytest.raises(dl.OptionError, match=r"arguments of http_storage, but 'region'"):
        dl.open(url, storage_options={**HTTP, "region": "eu"})
