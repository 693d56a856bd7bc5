"""Lost or replaced branches and tags, and the records of what they pointed to."""

from __future__ import annotations

import contextlib
import shutil
import threading
from pathlib import Path

import icechunk
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository
from deeplake_lite.storage.repo.witnesses import Witnesses
from tests.storage.repo_file import lose, move, tip


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A lake with two diverged branches, one that is ahead, two tags and a saved view."""
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


def older(lake, name):
    """Make a ref refer to the first version of the lake."""
    move(lake, name, dl.open(str(lake), version="v1").version)


NAMES = ["branch.main", "branch.fix", "branch.ahead", "branch._aux", "tag.v1", "tag.v2"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("other", [*NAMES, "older", "deleted"])
def test_verify_detects_every_replaced_ref(lake, name, other):
    ds, before = dl.open(str(lake)), tip(lake, name)
    if other == "deleted":
        if name == "branch.main":  # Icechunk does not delete it
            return
        lose(lake, name)
    elif other == "older":
        older(lake, name)
    else:
        move(lake, name, tip(lake, other))
    if other != "deleted" and tip(lake, name) == before:
        return
    report = ds.verify()
    assert [d.ref for d in report.damaged] == [
        f"{name[: name.index('.')]} '{name[name.index('.') + 1 :]}'"
    ]
    assert "1 wrong ref" in str(report)
    with pytest.raises(dl.LakeError):
        ds.vacuum()
    if other == "deleted":
        return
    kind, _, short = name.partition(".")
    options = {"branch": short} if kind == "branch" else {"version": short}
    if short != "_aux":
        with pytest.raises(dl.DamagedError, match="its last writer recorded version"):
            dl.open(str(lake), verify="read", **options)


def test_lake_without_ref_records_verifies_and_gets_new_ones(lake):
    shutil.rmtree(lake / ".writers")
    ds = dl.open(str(lake))
    assert ds.verify()
    ds.append({"x": [5]})
    ds.commit("another")
    ds.vacuum()
    assert len(Witnesses(lake / ".writers").all()) == len(NAMES)
    older(lake, "branch.main")
    assert not ds.verify()


def test_unchanged_refs_verify(lake):
    for options in [{}, {"branch": "fix"}, {"version": "v1"}]:
        assert dl.open(str(lake), verify="read", **options).verify()


def test_copies_of_a_lake_verify(lake, tmp_path):
    copy = shutil.copytree(lake, tmp_path / "copy.lake")
    ds = dl.open(str(lake))
    for _ in range(2):
        ds.append({"x": [5]})
        ds.commit("later")
    assert dl.open(str(copy)).verify()
    shutil.copy(lake / "repo", copy)
    for folder in lake.iterdir():  # like a backup that leaves out .writers
        if folder.is_dir() and folder.name != ".writers":
            shutil.copytree(folder, copy / folder.name, dirs_exist_ok=True)
    again = dl.open(str(copy))
    assert again.version == ds.version
    assert again.verify()


@pytest.mark.parametrize("make", ["file", "link", "folders"])
def test_unwritable_ref_records_do_not_stop_writers(lake, make):
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


def test_process_killed_between_commit_and_ref_record_raises_no_alarm(lake, monkeypatch):
    ds = dl.open(str(lake))
    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr(Witnesses, "note", lambda *_: None)
            ds.append({"x": [5]})
            ds.commit("killed here")
        assert dl.open(str(lake)).verify()
    ds.append({"x": [6]})
    ds.commit("not killed")
    assert Witnesses(lake / ".writers").of("branch.main").version == ds.version
    with monkeypatch.context() as patch:
        patch.setattr(Witnesses, "note", lambda *_: None)
        ds.branch("new")
        ds.tag("new-tag")
    assert ds.verify()
    ds.delete_branch("new")
    ds.delete_tag("new-tag")
    assert ds.verify()


def append(ds):
    ds.append({"x": [9]})
    ds.commit("on the wrong version")


WRITES = {
    "commit": append,
    "edit": lambda ds: ds["x"].__setitem__(0, 5) or ds.commit("edited"),
    "merge": lambda ds: ds.merge("fix"),
    "merge of a tag": lambda ds: ds.merge("v2"),
    "optimize": lambda ds: ds.optimize(),
    "rebase": lambda ds: (ds.append({"x": [9]}), ds.rebase()),
}


@pytest.mark.parametrize("verify", [None, "read"])
@pytest.mark.parametrize("warm", [True, False])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_commit_on_top_of_a_rolled_back_branch_is_refused(lake, write, warm, verify):
    handle, lost = dl.open(str(lake), verify=verify), dl.open(str(lake)).version
    older(lake, "branch.main")
    first = tip(lake, "branch.main")
    if not warm and verify is None:
        handle = dl.open(str(lake))
    with pytest.raises(
        dl.DamagedError, match=f"'main' refers to version .* recorded version {lost}"
    ):
        write(handle)
    assert tip(lake, "branch.main") == first
    [damaged] = dl.open(str(lake)).verify().damaged
    assert damaged.ref == "branch 'main'"
    assert lost in damaged.reason


def test_view_is_not_saved_if_the_saved_views_were_rolled_back_or_lost(lake):
    ds, before = dl.open(str(lake)), tip(lake, "branch._aux")
    ds[[1]].save("other")
    move(lake, "branch._aux", before)
    for _ in range(2):
        with pytest.raises(dl.DamagedError, match="branch '_aux'"):
            dl.open(str(lake))[[0]].save("third")
        with contextlib.suppress(icechunk.NotFoundError):
            lose(lake, "branch._aux")


@pytest.mark.parametrize("verify", [None, "read"])
def test_lost_name_is_not_given_again(lake, verify):
    ds = dl.open(str(lake), verify=verify)
    for name in ("branch.fix", "tag.v1"):
        lose(lake, name)
    with pytest.raises(dl.DamagedError, match="The branch 'fix' is missing; it referred to"):
        ds.branch("fix")
    with pytest.raises(dl.DamagedError, match="The tag 'v1' is missing; it referred to"):
        ds.tag("v1")


def swap_tags(lake):
    one, two = tip(lake, "tag.v1"), tip(lake, "tag.v2")
    move(lake, "tag.v2", one)
    move(lake, "tag.v1", two)


DAMAGES = {
    "branch set back": ("fix", lambda lake: older(lake, "branch.fix")),
    "branch as another": (
        "fix",
        lambda lake: move(lake, "branch.fix", tip(lake, "branch.main")),
    ),
    "branch lost": ("fix", lambda lake: lose(lake, "branch.fix")),
    "tag set back": ("v2", lambda lake: older(lake, "tag.v2")),
    "tags swapped": ("v2", swap_tags),
    "tag lost": ("v2", lambda lake: lose(lake, "tag.v2")),
}

USES = {
    "checkout": lambda ds, name: ds.checkout(name),
    "diff to": lambda ds, name: ds.diff("main", name),
    "diff from": lambda ds, name: ds.diff(name, "main"),
    "merge": lambda ds, name: ds.merge(name),
    "restore": lambda ds, name: ds.restore(name),
    "query": lambda ds, name: ds.query(f"SELECT * FROM dataset VERSION '{name}'"),
    "open": lambda ds, name: dl.open(ds.url, version=name, verify="read"),
    "listing": lambda ds, name: ds.branches if name == "fix" else ds.tags,
}


@pytest.mark.parametrize(("name", "damage"), DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_checked_reads_detect_damage_wherever_a_name_is_used(lake, name, damage, use):
    ds = dl.open(str(lake), verify="read")
    if name == "v2" and use is USES["checkout"]:
        return
    damage(lake)
    kind = "branch" if name == "fix" else "tag"
    with pytest.raises(
        dl.DamagedError, match=rf"The (tag 'v1'|{kind} '{name}') (refers to|is missing)"
    ):
        use(ds, name)
    assert ds.checkout("main")["x"][:].tolist() == [1, 2]  # other refs still work
    assert dl.open(str(lake), version=ds.version, verify="read")["x"][:].tolist() == [1, 2]


def test_handle_with_checked_reads_does_not_follow_a_rolled_back_branch(lake):
    ds = dl.open(str(lake), verify="read")
    older(lake, "branch.main")
    for use in (ds.refresh, lambda: ds.checkout("main"), lambda: dl.open(ds.url, verify="read")):
        with pytest.raises(dl.DamagedError, match="The branch 'main' refers to version"):
            use()
    assert ds["x"][:].tolist() == [1, 2]


@pytest.mark.parametrize("use", [lambda ds: ds.checkout("fix"), lambda ds: ds.diff("main", "fix")])
def test_lost_name_is_distinguished_from_a_name_that_never_existed(lake, use):
    ds = dl.open(str(lake))
    lose(lake, "branch.fix")
    with pytest.raises(dl.DamagedError, match="The branch 'fix' is missing; it referred to"):
        use(ds)
    with pytest.raises(dl.VersionNotFoundError, match="There is no branch 'fox'"):
        ds.checkout("fox")


def test_concurrently_created_and_deleted_names_raise_no_alarm(lake, monkeypatch):
    writer, reader = dl.open(str(lake)), dl.open(str(lake), verify="read")
    look_up, first = Repository.look_up, dl.open(str(lake), version="v1").version
    again = dl.open(str(lake), branch="ahead")

    def deleted(name):
        writer.delete_branch(name)

    def made_anew(name):
        writer.delete_branch(name)
        again.handle.repository.create_branch(name, first)

    for meanwhile, outcome in ((made_anew, first), (deleted, None)):
        todo = [meanwhile]

        def look_up_meanwhile(self, ref, todo=todo):
            if ref == "branch.fix" and todo:
                todo.pop()("fix")
            return look_up(self, ref)

        with monkeypatch.context() as patch:
            patch.setattr(Repository, "look_up", look_up_meanwhile)
            if outcome is None:
                with pytest.raises(dl.VersionNotFoundError):
                    reader.checkout("fix")
            else:
                assert reader.checkout("fix").version == outcome


def test_checked_readers_and_active_writers_raise_no_alarm(lake):
    done, errors = threading.Event(), []

    def read():
        ds = dl.open(str(lake), verify="read")
        try:
            while not done.is_set():
                ds.refresh()
                assert ds.branches["main"]
                ds.diff("v1", "main")
        except Exception as error:
            errors.append(error)

    def write():
        ds = dl.open(str(lake), verify="read")
        try:
            for i in range(8):
                ds.append({"x": [i]})
                ds.commit("more")
                ds.branch(f"{threading.get_ident()}-{i}")
                ds.delete_branch(f"{threading.get_ident()}-{i}")
        except Exception as error:
            errors.append(error)

    reader, writers = threading.Thread(target=read), [threading.Thread(target=write) for _ in "ab"]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert errors == []
    assert len(dl.open(str(lake), verify="read")) == 2 + 16


def test_names_can_be_deleted_and_created_again(lake):
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


def test_commit_while_verify_reads_the_refs_raises_no_alarm(lake, monkeypatch):
    ds, look_up = dl.open(str(lake)), Repository.look_up
    reader = dl.open(str(lake), version="v1")
    others = [ds]

    def moved_on(self, ref):
        result = look_up(self, ref)
        if ref == "branch.main" and others:
            others.pop().append({"x": [5]})
            ds.commit("meanwhile")
        return result

    monkeypatch.setattr(Repository, "look_up", moved_on)
    assert reader.verify()
    assert not others


def test_verify_next_to_a_writer_raises_no_alarm(lake):
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


def test_replacement_lake_has_its_own_ref_records(lake):
    ds = dl.create(str(lake), {"y": "int32"}, overwrite=True)
    assert ds.verify()
    notes = Witnesses(Path(ds.url) / ".writers").all()
    assert {ref: note.version for ref, note in notes.items()} == {"branch.main": ds.version}


def commit_to(lake, branch, value):
    """Append a row on a branch; return the new version."""
    ds = dl.open(str(lake), branch=branch)
    ds.append({"x": [value]})
    return ds.commit(f"{value} on {branch}")


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("commits", [0, 1])
@pytest.mark.parametrize("at_old_commit", [False, True])
def test_version_of_an_earlier_branch_with_the_same_name_is_detected(
    lake, count, commits, at_old_commit
):
    ds = dl.open(str(lake))
    ds.branch("again")
    commit_to(lake, "again", 100)
    start = dl.open(str(lake), version="again") if at_old_commit else ds
    commit_to(lake, "again", 101)
    old = tip(lake, "branch.again")
    for _ in range(count):
        ds.delete_branch("again")
        start.branch("again")
        for value in range(commits):
            commit_to(lake, "again", value)
    assert dl.open(str(lake), branch="again", verify="read").verify()
    move(lake, "branch.again", old)
    [damaged] = ds.verify().damaged
    assert damaged.ref == "branch 'again'"
    with pytest.raises(dl.DamagedError, match="its last writer recorded version"):
        dl.open(str(lake), branch="again", verify="read")
    for write in (lambda: commit_to(lake, "again", 9), lambda: ds.vacuum()):
        with pytest.raises(dl.DamagedError, match="its last writer recorded version"):
            write()
    assert tip(lake, "branch.again") == old


@pytest.mark.parametrize("lost", ["no note", "the note of its first version", "all notes"])
def test_new_branch_with_an_old_name_raises_no_alarm(lake, monkeypatch, lost):
    ds = dl.open(str(lake))
    ds.branch("again")
    commit_to(lake, "again", 100)
    ds.delete_branch("again")
    with monkeypatch.context() as patch:
        if lost == "the note of its first version":
            patch.setattr(Witnesses, "note", lambda *_: None)
        ds.branch("again")
    for value in range(3):
        with monkeypatch.context() as patch:
            if lost == "all notes":
                patch.setattr(Witnesses, "note", lambda *_: None)
            commit_to(lake, "again", value)
        assert dl.open(str(lake), branch="again", verify="read").verify()
    ds.merge("again")
    ds.vacuum(older_than="0s", spare="0s")
    commit_to(lake, "again", 5)
    assert dl.open(str(lake), branch="again", verify="read").verify()


def test_branch_keeps_its_identity_when_its_ref_records_are_lost(lake):
    notes = Witnesses(lake / ".writers")
    commit_to(lake, "fix", 5)
    before = notes.of("branch.fix").identity
    shutil.rmtree(lake / ".writers")
    commit_to(lake, "fix", 6)
    assert notes.of("branch.fix").identity == before
    dl.open(str(lake)).vacuum()
    identities = {ref: note.identity for ref, note in notes.all().items()}
    branches = [identities[name] for name in NAMES if name.startswith("branch")]
    assert len(set(branches)) == len(branches)
    assert "" not in branches
    assert {identities["tag.v1"], identities["tag.v2"]} == {""}


def test_ref_record_of_another_identity_is_ignored(lake):
    path = next(p for p in (lake / ".writers").glob("*.ref") if "branch.fix" in p.read_text())
    identity = Witnesses(lake / ".writers").of("branch.fix").identity
    path.write_text(path.read_text().replace(identity, "0" * 16))
    assert Witnesses(lake / ".writers").of("branch.fix") is None
    assert dl.open(str(lake), branch="fix", verify="read").verify()
