"""Unreachable versions can be tagged or branched only while they are complete."""

import os

import numpy as np
import pytest

import deeplake_lite as dl

KINDS = {"tag": lambda ds: ds.tag, "branch": lambda ds: ds.branch, "view": lambda ds: ds[[0]].save}


def manifests_of(ds, version):
    return {m["id"] for m in ds.handle.repository.inspect(version)["manifests"]}


@pytest.fixture
def history(tmp_path):
    """Return a lake of several versions, a handle at the second, and the id of the first."""
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32", "b": "bytes"})
    ds.append({"x": [1], "b": [os.urandom(5_000_000)]})
    first = ds.commit("chunks")
    ds["x"][0] = 2
    old = dl.open(ds.url, version=ds.commit("the same chunks"))
    ds["b"][0] = b"other"
    ds.commit("other bytes")
    ds.optimize()  # without the chunk
    return ds, old, first


@pytest.mark.parametrize("lost", ["chunks", "manifests", "snapshots"])
@pytest.mark.parametrize("kind", KINDS)
def test_partially_vacuumed_version_cannot_be_named(history, tmp_path, kind, lost):
    ds, old, first = history
    lake = tmp_path / "a.lake"
    shared = manifests_of(ds, first) & manifests_of(ds, old.version)
    aged = {
        "chunks": lake.glob("chunks/*"),
        "manifests": [lake / "manifests" / name for name in shared],
        "snapshots": [lake / "snapshots" / first],
    }
    for path in aged[lost]:
        os.utime(path, (0, 0))
    assert ds.vacuum(older_than="0s", spare="1h").bytes
    assert (lake / "snapshots" / old.version).exists()
    with pytest.raises(dl.LakeError, match=r"a vacuum deleted|stored object is missing"):
        KINDS[kind](old)("kept")
    assert not ds.tags
    assert list(ds.branches) == ["main"]
    assert not list(ds.views())
    ds.vacuum(older_than="0s", spare="0s")
    assert ds.verify()


@pytest.mark.parametrize("kind", KINDS)
def test_version_of_a_deleted_branch_can_be_named_again(make_lake, kind):
    ds = make_lake({"x": "int32", "b": "bytes"}, x=[1], b=[os.urandom(100_000)])
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    fix["x"][0] = 5
    fix.commit("five")
    ds.delete_branch("fix")
    KINDS[kind](fix)("again")
    ds.vacuum(older_than="0s", spare="0s")
    result = ds.views()["again"] if kind == "view" else dl.open(ds.url, version="again")
    assert result["x"][:].tolist() == [5]
    assert result["b"][:] == ds["b"][:]


def append_and_commit(ds):
    ds.append({"x": np.ones((1, 1000), "float32")})
    ds.commit("more")


@pytest.mark.parametrize(
    "use",
    [
        lambda ds: ds.branch("other"), lambda ds: ds.tag("v1"), append_and_commit,
        lambda ds: ds.log(), lambda ds: ds["x"][:], lambda ds: ds.verify(),
        lambda ds: ds.diff("main"),
    ],
)  # fmt: skip
def test_handle_of_a_replaced_lake_says_so(tmp_path, use):
    url = tmp_path / "x.lake"
    ds = dl.create(url, {"x": dl.Array("float32", (1000,))})
    ds.append({"x": np.ones((20_000, 1000), "float32")})
    ds.commit("rows")
    old = dl.open(url)
    dl.create(url, {"y": "int64"}, overwrite=True)
    with pytest.raises(dl.LakeError, match="the lake was recreated"):
        use(old)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("has_read", [False, True])
def test_expired_version_cannot_be_named(make_lake, kind, has_read):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.append({"x": [2]})
    ds.commit("two")
    old = dl.open(ds.url)
    if has_read:
        old.log()
    ds.append({"x": [3]})
    ds.commit("three")
    assert ds.vacuum(older_than="0s").expired  # whose files are not deleted
    with pytest.raises(dl.VersionNotFoundError, match=r"a vacuum deleted it.*ds\.refresh\(\)"):
        KINDS[kind](old)("kept")
    old.refresh()
    KINDS[kind](old)("kept")
    if kind == "view":
        assert ds.views()["kept"]["x"][:].tolist() == [1]
        return
    ds.append({"x": [4]})
    ds.commit("four")
    ds.merge("kept")
    dl.open(ds.url, version="kept")
