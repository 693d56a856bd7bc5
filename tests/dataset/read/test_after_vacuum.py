"""After a vacuum, every handle knows which versions are gone and which ones saved views need."""

from __future__ import annotations

from itertools import count

import pytest

import deeplake_lite as dl

_numbers = count()


@pytest.fixture(params=["folder", "memory"])
def url(request, tmp_path):
    return str(tmp_path / "a.lake") if request.param == "folder" else f"memory://v{next(_numbers)}"


def with_versions(url):
    ds = dl.create(url, {"x": "int32"})
    versions = []
    for i in range(4):
        ds.append({"x": [i]})
        versions.append(ds.commit(str(i)))
    return ds, versions


def vacuum(ds):
    return ds.vacuum(older_than="0s", spare="0s")


USES = {
    "open": lambda ds, version: dl.open(ds.url, version=version),
    "diff": lambda ds, version: ds.diff(version),
    "restore": lambda ds, version: ds.restore(version),
    "merge": lambda ds, version: ds.merge(version),
    "query": lambda ds, version: ds.query(f"SELECT x FROM ds VERSION '{version}'"),
}


def test_log_lists_the_remaining_versions(url):
    ds, _ = with_versions(url)
    assert len(ds.log()) == 5
    assert vacuum(ds).expired
    assert [c.id for c in ds.log()] == [c.id for c in dl.open(url).log()]
    assert len(ds.log()) < 5
    ds.append({"x": [9]})
    ds.commit("another")
    assert [c.id for c in ds.log()] == [c.id for c in dl.open(url).log()]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("whose", ["own", "another", "fresh"])
def test_deleted_version_cannot_be_opened(url, use, whose):
    ds, versions = with_versions(url)
    other = dl.open(url)
    assert len(other.log()) == len(ds.log()) == 5
    vacuum(ds)
    handle = {"own": ds, "another": other, "fresh": dl.open(url)}[whose]
    with pytest.raises(dl.VersionNotFoundError, match=f"There is no version '{versions[1]}'"):
        USES[use](handle, versions[1])


def test_time_before_the_vacuum_selects_no_deleted_version(url):
    ds, versions = with_versions(url)
    other = dl.open(url)
    then = next(c.time for c in other.log() if c.id == versions[1])
    vacuum(ds)
    with pytest.raises(dl.VersionNotFoundError, match="The oldest version on 'main' is from"):
        other.diff(then)


@pytest.mark.parametrize("whose", ["own", "another", "fresh"])
@pytest.mark.parametrize("saved", ["rows", "query"])
def test_versions_of_saved_views_can_be_opened_by_id(url, whose, saved):
    ds, versions = with_versions(url)
    other = dl.open(url)
    old = dl.open(url, version=versions[1])
    view = old[[1, 0]] if saved == "rows" else old.query("SELECT SUM(x) AS total")
    view.save("old")
    vacuum(ds)
    handle = {"own": ds, "another": other, "fresh": dl.open(url)}[whose]
    version = handle.views()["old"].version
    assert version == versions[1] not in {c.id for c in dl.open(url).log()}
    assert dl.open(url, version=version)["x"][:].tolist() == [0, 1]
    assert len(handle.diff(version).added) == 2
    assert handle.query(f"SELECT x FROM ds VERSION '{version}'")["x"][:].tolist() == [0, 1]
    before = handle.version
    assert handle.merge(version) == before
    handle.restore(version)
    handle.commit("as it was")
    assert handle["x"][:].tolist() == [0, 1]
    handle.views().delete("old")
    if whose == "own":
        vacuum(handle)
        with pytest.raises(dl.VersionNotFoundError, match="There is no version"):
            dl.open(url, version=version)
