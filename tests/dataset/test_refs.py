"""Files of branches and tags that were lost or replaced, and notes on what they named."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository
from deeplake_lite.storage.repo.witnesses import Witnesses


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A lake with two branches that have parted, one that is ahead, two tags and a saved view."""
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    ds = dl.create(str(folder), {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("first")
    ds.tag("v1")
    ds.branch("fix")
    ds[[0]].save("view")
    ds.append({"x": [2]})
    ds.commit("second")
    ds.tag("v2")
    ds.branch("ahead")
    for branch in ("fix", "ahead"):
        other = dl.open(str(folder), branch=branch)
        other.append({"x": [3]})
        other.commit(f"on {branch}")
    return folder


@pytest.fixture
def lake(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "a.lake")


def ref(lake, name):
    return lake / "refs" / name / "ref.json"


def older(lake, name):
    """Put back what a ref said before its last commit."""
    ds = dl.open(str(lake))
    first = dl.open(str(lake), version="v1").version
    text = ref(lake, name).read_text()
    tip = ds.tags[name[4:]] if name.startswith("tag.") else ds._lake.repository.tip(name[7:])
    ref(lake, name).write_text(text.replace(tip, first))


NAMES = ["branch.main", "branch.fix", "branch.ahead", "branch._aux", "tag.v1", "tag.v2"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", [*NAMES, "older", "deleted", "garbage"])
def test_verify_notices_every_ref_that_was_replaced(lake, name, other):
    ds, path = dl.open(str(lake)), ref(lake, name)
    before = path.read_bytes()
    if other == "deleted":
        path.unlink()
    elif other == "older":
        older(lake, name)
    elif other == "garbage":
        path.write_text('{"snapshot": 1')
    else:
        path.write_bytes(ref(lake, other).read_bytes())
    if path.exists() and path.read_bytes() == before:
        return
    report = ds.verify()
    assert [d.ref for d in report.damaged] == [
        f"{name[: name.index('.')]} '{name[name.index('.') + 1 :]}'"
    ]
    assert "1 wrong ref" in str(report)
    with pytest.raises(dl.LakeError):
        ds.vacuum()
    if other in ("deleted", "garbage"):
        return
    kind, _, short = name.partition(".")
    options = {"branch": short} if kind == "branch" else {"version": short}
    if short != "_aux":
        with pytest.raises(dl.DamagedError, match="left it at"):
            dl.open(str(lake), verify="read", **options)


def test_a_lake_without_notes_verifies_and_gets_new_ones(lake):
    shutil.rmtree(lake / ".writers")
    ds = dl.open(str(lake))
    assert ds.verify()
    ds.append({"x": [5]})
    ds.commit("another")
    ds.vacuum()
    assert len(Witnesses(lake / ".writers").all()) == len(NAMES)
    older(lake, "branch.main")
    assert not ds.verify()


def test_refs_that_nobody_touched_verify(lake):
    for options in [{}, {"branch": "fix"}, {"version": "v1"}]:
        assert dl.open(str(lake), verify="read", **options).verify()


def test_copies_of_a_lake_verify(lake, tmp_path):
    copy = shutil.copytree(lake, tmp_path / "copy.lake")
    ds = dl.open(str(lake))
    for _ in range(2):
        ds.append({"x": [5]})
        ds.commit("later")
    assert dl.open(str(copy)).verify()
    for folder in lake.iterdir():  # as a backup does that leaves out .writers
        if folder.is_dir() and folder.name != ".writers":
            shutil.copytree(folder, copy / folder.name, dirs_exist_ok=True)
    again = dl.open(str(copy))
    assert again.version == ds.version
    assert again.verify()


@pytest.mark.parametrize("make", ["file", "link", "folders"])
def test_notes_that_cannot_be_written_stop_nobody(lake, make):
    ds, folder = dl.open(str(lake)), lake / ".writers"
    notes = sorted(folder.glob("*.ref"))
    for note in notes:
        note.unlink()
        if make == "folders":
            note.mkdir()
        elif make == "link":
            note.symlink_to("/dev/zero")
        else:
            note.write_text("[[[")
    assert ds.verify()
    ds.append({"x": [5]})
    ds.commit("another")
    assert ds.verify()


def test_a_process_killed_between_commit_and_note_raises_no_alarm(lake, monkeypatch):
    ds = dl.open(str(lake))
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(Witnesses, "note", lambda *_: None)
            ds.append({"x": [5]})
            ds.commit("killed here")
        assert dl.open(str(lake)).verify()
    ds.append({"x": [6]})
    ds.commit("not killed")
    noted = Witnesses(lake / ".writers").of("branch.main")
    assert noted == ds.version
    with monkeypatch.context() as patch:
        patch.setattr(Witnesses, "note", lambda *_: None)
        ds.branch("new")
        ds.tag("new-tag")
    assert ds.verify()
    ds.delete_branch("new")
    ds.delete_tag("new-tag")
    assert ds.verify()


def test_a_commit_does_not_hide_that_a_branch_was_set_back(lake):
    lost = dl.open(str(lake)).version
    older(lake, "branch.main")
    ds = dl.open(str(lake))
    ds.append({"x": [9]})
    ds.commit("on the wrong version")
    [damaged] = dl.open(str(lake)).verify().damaged
    assert damaged.ref == "branch 'main'"
    assert lost in damaged.reason


def test_names_come_and_go_and_come_again(lake):
    ds = dl.open(str(lake))
    for name in ("fix", "ahead"):
        ds.delete_branch(name)
    ds.delete_tag("v1")
    ds.branch("fix")
    assert ds.verify()
    ds.optimize()
    ds.merge("fix")
    ds.views().delete("view")
    ds.vacuum(older_than="0s", spare="0s")
    assert ds.verify()


def test_a_commit_while_verify_reads_the_refs_raises_no_alarm(lake, monkeypatch):
    ds, tip = dl.open(str(lake)), Repository.tip
    reader = dl.open(str(lake), version="v1")
    others = [ds]

    def moved_on(self, branch):
        found = tip(self, branch)
        if branch == "main" and others:
            others.pop().append({"x": [5]})
            ds.commit("meanwhile")
        return found

    monkeypatch.setattr(Repository, "tip", moved_on)
    assert reader.verify()
    assert not others


def test_verify_beside_a_writer_raises_no_alarm(lake):
    reports, done = [], threading.Event()

    def verify():
        while not done.is_set():
            reports.append(dl.open(str(lake), version="v1").verify())

    reader = threading.Thread(target=verify)
    reader.start()
    ds = dl.open(str(lake))
    for i in range(15):
        ds.append({"x": [i]})
        ds.commit("more")
        ds.branch(f"b{i}")
        ds.delete_branch(f"b{i}")
    done.set()
    reader.join()
    assert all(reports), next(report for report in reports if not report)
    assert reports


def test_a_new_lake_that_replaces_another_has_notes_of_its_own(lake):
    ds = dl.create(str(lake), {"y": "int32"}, overwrite=True)
    assert ds.verify()
    assert Witnesses(Path(ds.url) / ".writers").all() == {"branch.main": ds.version}
