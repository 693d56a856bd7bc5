"""`verify` checks every version reachable from a branch or tag, not just the newest."""

import itertools
import os
import shutil

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, damaged_versions


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return a lake with versions reachable only from a branch, or only from a tag."""
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    ds = dl.create(str(folder), {"x": "int32", "y": "int32", "b": "bytes"})
    ds.append({"x": range(3), "y": range(3), "b": [os.urandom(1_500_000) for _ in range(3)]})
    ds.commit("rows")
    ds["x"][0] = 5
    ds.commit("a cell of x")
    ds.tag("v1")
    ds.branch("fix")
    fix = dl.open(str(folder), branch="fix")
    fix["y"][1] = 50
    fix.commit("a cell of y, on fix")
    fix["x"][1] = 51
    fix.commit("a cell of x, on fix")
    fix.tag("fixed")
    fix["x"][2] = 52
    fix.commit("behind the tag")
    for n in range(3):
        ds["y"][0] = 10 + n
        ds.commit(f"y {n}")
    ds.optimize()
    assert dl.open(str(folder)).verify()
    return folder


@pytest.fixture
def lake(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "a.lake")


def cut(path, _):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path, _):
    path.write_bytes(b"")


def flip(path, _):
    data = bytearray(path.read_bytes())
    data[-8] ^= 4
    path.write_bytes(data)


def delete(path, _):
    path.unlink()


def swap(path, other):
    shutil.copy(other, path)


def versions(lake):
    """Return a version of each branch behind its tip, and one that wrote different chunks."""
    main, fix = (dl.open(str(lake), branch=name).log() for name in ("main", "fix"))
    return main[3].id, fix[1].id, main[-2].id


def manifest_of(lake, version):
    """Return a manifest that the tip does not have, and another one."""
    repository = dl.open(str(lake)).handle.repository
    here, tip = (
        {m["id"] for m in repository.inspect(v)["manifests"]}
        for v in (version, repository.tip("main"))
    )
    return [lake / "manifests" / name for name in (*sorted(here - tip)[:1], *sorted(tip)[:1])]


@pytest.mark.parametrize("damage", [cut, empty, flip, delete, swap])
@pytest.mark.parametrize("kind", ["snapshots", "transactions", "manifests"])
@pytest.mark.parametrize("branch", ["main", "fix"])
def test_verify_detects_damage_in_older_versions(lake, branch, kind, damage):
    main, fix, another = versions(lake)
    version = main if branch == "main" else fix
    path, other = lake / kind / version, lake / kind / another
    if kind == "manifests":
        path, other = manifest_of(lake, version)
        if damage is flip:
            return  # only verify of that version compares cells with digests
    damage(path, other)
    report = dl.open(str(lake)).verify()
    assert version in {d.version for d in report.damaged}
    assert f"version {version}" in str(report)
    assert "damaged version" in str(report)


def test_flipped_bit_in_a_log_changes_no_diff(lake):
    newer, *_ = versions(lake)
    older = next(c.parent for c in dl.open(str(lake)).log() if c.id == newer)
    path, chance, told = lake / "transactions" / newer, np.random.default_rng(0), 0
    data = path.read_bytes()

    def differ():
        diff = dl.open(str(lake)).diff(older, newer)
        return str(diff), {
            c: (diff.before(c).tolist(), diff.after(c).tolist()) for c in diff.changed
        }

    before = differ()
    for at in chance.choice(len(data), 10, replace=False):
        changed = bytearray(data)
        changed[at] ^= 1 << int(chance.integers(8))
        path.write_bytes(changed)
        told += bool(damaged_versions(dl.open(str(lake)).handle.repository))
        assert differ() == before
    assert told


@pytest.mark.parametrize("damage", [cut, empty, flip, delete, swap])
def test_damaged_log_changes_no_merge(lake, damage):
    """A log is compared with the digest recorded by its commit."""
    *_, other = versions(lake)
    for commit in dl.open(str(lake), branch="fix").log()[:2]:
        damage(lake / "transactions" / commit.id, lake / "transactions" / other)
    ds = dl.open(str(lake))
    ds.restore("v1")
    ds.commit("as before")
    ds.branch("again")
    again = dl.open(str(lake), branch="again")
    again.merge("fix")
    assert again["x"][:].tolist() == [5, 51, 52]
    assert again["y"][:].tolist() == [0, 50, 2]


def size(lake, chunk):
    return (lake / "chunks" / chunk).stat().st_size


def test_verify_detects_missing_chunk_files_of_older_versions(lake):
    now = dl.open(str(lake))
    before = {p.name for p in lake.glob("chunks/*")}
    now["b"][0] = os.urandom(5_000_000)
    now.commit("a chunk")
    chunk = max({p.name for p in lake.glob("chunks/*")} - before, key=lambda p: size(lake, p))
    now["b"][0] = b""
    now.commit("no chunk")
    now.optimize()
    assert now.verify()
    (lake / "chunks" / chunk).unlink()
    report = dl.open(str(lake)).verify()
    assert {d.version for d in report.damaged} == {now.log()[1].id, now.log()[2].id}
    assert chunk in str(report)


def test_history_cut_by_a_vacuum_is_not_damage(lake):
    ds = dl.open(str(lake))
    ds.vacuum(older_than="0s", spare="0s")
    assert dl.open(str(lake)).verify()
    ds["x"][0] = 8
    ds.commit("on top")
    ds.merge("fix")
    ds.delete_branch("fix")
    ds.delete_tag("fixed")
    assert dl.open(str(lake)).verify()
    ds.vacuum(older_than="0s", spare="0s")
    assert dl.open(str(lake)).verify()


def test_version_cut_by_a_concurrent_vacuum_is_not_damage(lake, monkeypatch):
    ds, left, inner = dl.open(str(lake)), [True], Repository.chunks_of

    def vacuum_first(self, commit):
        if left and left.pop():
            dl.open(str(lake)).vacuum(older_than="0s", spare="0s")
        return inner(self, commit)

    monkeypatch.setattr(Repository, "chunks_of", vacuum_first)
    assert ds.verify()
    assert not left


def test_undamaged_history_is_read_once(lake, monkeypatch):
    """Each version is checked once, however many branches and tags lead to it."""
    seen, inner = [], Repository.chunks_of
    monkeypatch.setattr(
        Repository, "chunks_of", lambda self, commit: seen.append(commit.id) or inner(self, commit)
    )
    ds = dl.open(str(lake))
    for n in range(3):
        ds.tag(f"t{n}")
    assert ds.verify()
    assert len(seen) == len(set(seen))
    assert {commit.id for commit in ds.log()} <= set(seen)


@pytest.mark.parametrize("part", range(6))
def test_swapped_snapshots_are_never_read_for_each_other(tmp_path, part):
    """Every snapshot in place of every other: each ref gives its own rows, or an error."""
    url = tmp_path / "sound.lake"
    ds = dl.create(url, {"a": "int64"})
    ds.append({"a": [1, 2]})
    ds.commit("1")
    ds.tag("v1")
    ds.branch("side")
    side = dl.open(url, branch="side")
    side["a"][1] = 20
    side.commit("side")
    ds["a"][0] = 100
    ds.commit("2")
    ds.merge("side")
    ds.delete([0])
    ds.commit("3")
    names = {"main": {"branch": "main"}, "side": {"branch": "side"}, "v1": {"version": "v1"}}
    names |= {commit.id: {"version": commit.id} for commit in ds.log() if commit.parent}
    rows = {name: dl.open(url, **how)["a"][:].tolist() for name, how in names.items()}
    files = sorted(path.name for path in (url / "snapshots").iterdir())
    wrong, refused = [], 0
    for one, other in [*itertools.permutations(files, 2)][part::6]:
        copy = tmp_path / "copy.lake"
        shutil.copytree(url, copy)
        shutil.copy(url / "snapshots" / one, copy / "snapshots" / other)
        for name, how in names.items():
            for verify in (None, "read"):
                try:
                    result = dl.open(copy, verify=verify, **how)["a"][:].tolist()
                except dl.LakeError:
                    refused += 1
                    continue
                if result != rows[name]:
                    wrong.append((one, other, name))
        shutil.rmtree(copy)
    assert refused
    assert wrong == []
