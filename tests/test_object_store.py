"""Lakes on an object store: a real S3 server on this machine."""

import os
import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import log
from deeplake_lite.storage.repo import Repository, Session, vacuums
from deeplake_lite.storage.repo.conditional_writes import check_conditional_writes
from deeplake_lite.storage.repo.lake_refs import pin_name
from deeplake_lite.testing.proxy import Proxy


def rows(start, count, size):
    return {
        "x": list(range(start, start + count)),
        "text": [f"row {i}" for i in range(start, start + count)],
        "data": [os.urandom(size) for _ in range(count)],
    }


def lake(bucket):
    schema = {"x": "int32", "text": "text", "data": "bytes"}
    return dl.create(bucket.url(), schema, storage_options=bucket.options)


def test_lake_on_s3_is_written_and_read(bucket):
    ds = lake(bucket)
    data = rows(0, 3, 5_000_000)
    ds.append(data)
    first = ds.commit("three rows")
    ds.delete([1])
    ds.commit("one less")
    again = bucket.open()
    assert again["x"][:].tolist() == [0, 2]
    assert again["data"][1] == data["data"][2]
    old = bucket.open(version=first)
    assert old["text"][:] == ["row 0", "row 1", "row 2"]
    assert again.verify()


def test_view_is_materialized_on_s3(bucket):
    ds = lake(bucket)
    ds.append(rows(0, 3, 10))
    ds.commit("three rows")
    copy = ds[[2, 0]].materialize(bucket.url("part"), storage_options=bucket.options)
    assert copy["x"][:].tolist() == [2, 0]
    again = bucket.open("part")
    assert again["text"][:] == ["row 2", "row 0"]
    with pytest.raises(dl.ExistsError):
        ds.materialize(ds.url, storage_options=bucket.options)


@pytest.mark.parametrize("overwrite", [False, True])
def test_lake_is_not_created_among_other_objects(bucket, overwrite):
    bucket.write("photos/readme.txt", b"mine")
    with pytest.raises(dl.ExistsError, match="created at an empty location"):
        dl.create(
            bucket.url("photos"),
            {"x": "int32"},
            storage_options=bucket.options,
            overwrite=overwrite,
        )
    assert bucket.objects() == {"photos/readme.txt"}


def test_copy_of_a_local_lake_on_s3_loses_no_change(bucket, tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("row")
    for path in (tmp_path / "a.lake").rglob("*"):
        if path.is_file():
            key = path.relative_to(tmp_path / "a.lake").as_posix()
            bucket.write(f"copied/{key}", path.read_bytes())
    errors = []

    def branch(writer):
        try:
            repository = bucket.open("copied").handle.repository
            for n in range(5):
                repository.create_branch(f"b{writer}-{n}", ds.version)
        except dl.LakeError as error:
            errors.append(error)

    threads = [threading.Thread(target=branch, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(bucket.open("copied").branches) == 21


def test_missing_bucket_is_reported(bucket):
    assert not dl.exists(
        "s3://none/x", storage_options=bucket.options
    )  # the engine makes no difference
    with pytest.raises(dl.LakeNotFoundError, match="There is no lake at"):
        dl.open("s3://none/x", storage_options=bucket.options)
    with pytest.raises(dl.StorageError, match=r"NoSuchBucket: .* does not exist\. Check the"):
        dl.create("s3://none/x", {"x": "int32"}, storage_options=bucket.options)


def test_appends_and_edits_of_two_writers_survive_on_s3(bucket):
    lake(bucket).commit()
    a, b = (bucket.open() for _ in range(2))
    a.append(rows(0, 2, 5_000_000))
    a.commit("a")
    b.append(rows(10, 2, 5_000_000))
    b.commit("b")
    a.refresh()
    a["x"][0], b["text"][0] = 100, "changed"
    a.commit("number")
    b.commit("text")
    assert b["x"][:].tolist() == [100, 1, 10, 11]
    assert b["text"][0] == "changed"
    assert b.verify()


def test_commit_that_loses_a_race_on_s3_is_written_again(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 2, 5_000_000))
    rivals = [bucket.open()]
    commit = Session.commit

    def beaten(self, message, metadata=None):
        if message == "mine" and rivals:
            rival = rivals.pop()
            rival.append(rows(10, 1, 10))
            rival.commit("rival")
        return commit(self, message, metadata)

    monkeypatch.setattr(Session, "commit", beaten)
    ds.commit("mine")
    assert ds["x"][:].tolist() == [10, 0, 1]
    assert [c.message for c in ds.log()] == ["mine", "rival", "created"]
    assert ds.verify()


def test_commit_with_a_lost_reply_on_s3_is_not_written_twice(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 2, 5_000_000))
    commit, errors = Session.commit, [dl.StorageError("no reply"), dl.ConflictError("412")]

    def lose(self, message, metadata=None):
        done = commit(self, message, metadata)
        if errors:
            raise errors.pop()
        return done

    monkeypatch.setattr(Session, "commit", lose)
    ds.commit("the engine tries again by itself, and meets its own commit")
    ds.append(rows(2, 2, 5_000_000))
    with pytest.raises(dl.StorageError, match="no reply"):
        ds.commit("lost")
    rival = bucket.open()
    rival.append(rows(4, 1, 10))
    rival.commit("rival")
    ds.commit("lost")
    again = bucket.open()
    assert again["x"][:].tolist() == [0, 1, 2, 3, 4]
    assert len(again.log()) == 4
    assert again.verify()


def test_old_pins_of_a_dead_vacuum_on_s3_are_removed(bucket):
    ds = lake(bucket)
    ds.append(rows(0, 1, 10))
    ds.commit("row")
    repository, now = ds.handle.repository, datetime.now(UTC)
    old, young = (pin_name(now - timedelta(hours=hours)) for hours in (25, 23))
    for name in (old, young, "_pin-" + uuid4().hex):
        repository.create_branch(name, ds.version)
    ds.vacuum()
    with pytest.raises(dl.VersionNotFoundError, match=old):
        repository.tip(old)
    assert repository.tip(young) == ds.version
    assert len(repository.branch_names()) == 3
    assert ds.vacuum(older_than="0s", dry_run=True).chunks == 0


@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_name_with_a_lost_reply_on_s3_exists(bucket, kind):
    ds = lake(bucket)
    repository, tip = ds.handle.repository, ds.version
    create = getattr(repository, f"create_{kind}")
    create("twice", tip)
    create("twice", tip)  # like the engine when it got no reply
    ds.append(rows(0, 1, 10))
    with pytest.raises(dl.ExistsError, match="taken"):
        create("twice", ds.commit("another version"))


def test_missing_lake_on_s3_is_reported(bucket):
    assert not dl.exists(bucket.url("none"), storage_options=bucket.options)
    with pytest.raises(dl.LakeNotFoundError, match=f"There is no lake at '{bucket.url('none')}'"):
        bucket.open("none")


def test_lake_on_s3_is_not_created_twice(bucket):
    lake(bucket)
    with pytest.raises(dl.ExistsError, match=r"A lake at .* already exists"):
        lake(bucket)


def test_merge_that_loses_a_race_on_s3_is_repeated(bucket, monkeypatch):
    ds = lake(bucket)
    ds.branch("fix")
    fix = bucket.open(branch="fix")
    fix.append(rows(0, 2, 5_000_000))
    fix.commit("fix")
    rivals = [
        lambda other: (other.append(rows(10, 1, 10)), other.commit("rival")),
        lambda other: (other.restore("fix"), other.commit("rival")),
    ]
    commit = Session.commit

    def beaten(self, message, metadata=None):
        if message == "merge fix" and rivals:
            rivals.pop()(bucket.open())
        return commit(self, message, metadata)

    monkeypatch.setattr(Session, "commit", beaten)
    ds.merge("fix")
    assert sorted(ds["x"][:].tolist()) == [0, 1, 10]
    assert [c.message for c in ds.log()] == ["merge fix", "rival", "rival", "created"]
    assert ds.verify()


@pytest.fixture
def old(monkeypatch):
    """Treat every session as older than a vacuum's grace period, however short.

    An object store gives ages in whole seconds, and the engine spares the current one.
    """
    vacuum = dl.Dataset.vacuum

    def later(self, **options):
        time.sleep(1.1)
        return vacuum(self, **options)

    monkeypatch.setattr(dl.Dataset, "vacuum", later)
    monkeypatch.setattr("deeplake_lite.dataset.maintenance.MIN_AGE", timedelta(0))
    monkeypatch.setattr("deeplake_lite.storage.repo.session.CONFIRM_AFTER", -1.0)


def append(ds):
    ds.append(rows(2, 2, 5_000_000))


def update(ds):
    ds.update([0], {"data": [os.urandom(5_000_000)]})


def add_column(ds):
    ds.add_column("more", "bytes", values=[os.urandom(5_000_000)] * 2)


def add_numbers(ds):
    wide = dl.Array("uint8", (2**23,))
    ds.add_column("wide", wide, values=[np.full(2**23, i, np.uint8) for i in range(2)])
    others = {"x": [9] * 5, "text": ["w"] * 5, "data": [b""] * 5}
    ds.append({**others, "wide": np.ones((5, 2**23), np.uint8)})


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize(
    ("edit", "column"),
    [(append, "data"), (update, "data"), (add_column, "more"), (add_numbers, "wide")],
)
def test_commit_on_s3_with_vacuumed_chunks_is_refused(bucket, edit, column):
    ds = lake(bucket)
    ds.append(rows(0, 2, 10))
    before = ds.commit("two rows")
    there = bucket.objects("lake/chunks/")
    edit(ds)
    now = bucket.objects("lake/chunks/")
    assert now > there
    other = bucket.open()
    assert other.vacuum(spare="0s").chunks == len(now - there)
    for _ in range(2):
        with pytest.raises(
            dl.StorageError, match=rf"deleted .* chunks? of '{column}'.*ds\.discard"
        ):
            ds.commit("acknowledged")
        assert ds.status()
        assert bucket.open().version == before
    ds.discard()
    edit(ds)
    ds.commit("again")
    assert ds.verify()


@pytest.mark.usefixtures("old")
def test_merges_and_rewrites_on_s3_with_vacuumed_chunks_are_refused(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 1, 10))
    ds.commit("row")
    ds.branch("fix")
    fix = bucket.open(branch="fix")
    fix.append(rows(10, 2, 5_000_000))
    fix.commit("fix")
    ds["x"][0] = 5
    before = ds.commit("on main")
    commit, left = Session.commit, []

    def vacuum_first(self, message, metadata=None):
        if not left:
            left.append(True)
            bucket.open().vacuum(spare="0s")
        return commit(self, message, metadata)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", vacuum_first)
        with pytest.raises(dl.StorageError, match="A vacuum has deleted"):
            ds.merge("fix")
        left.clear()
        with pytest.raises(dl.StorageError, match="deleted chunks that this commit needs"):
            fix.optimize()
    assert bucket.open().version == before
    ds.merge("fix")
    fix.optimize()
    assert ds.verify()
    assert fix.verify()


@pytest.mark.usefixtures("old")
def test_vacuum_between_the_check_of_an_old_commit_and_its_end_deletes_nothing(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 2, 5_000_000))
    check, other = Session.check_chunks, bucket.open()
    freed = []

    def vacuum_then(self, keys):
        check(self, keys)
        freed.append(other.vacuum(spare="0s", older_than="0s").chunks)

    monkeypatch.setattr(Session, "check_chunks", vacuum_then)
    ds.commit("old")
    assert freed == [0]
    assert bucket.open().verify()
    assert [name for name in ds.handle.repository.branch_names() if name != "main"] == []


@pytest.fixture
def at_work(monkeypatch):
    """Return a vacuum that read the refs long ago, as if it had been waiting since."""
    todo = []

    def sleep(_):
        if todo:
            todo.pop(0)()

    clock = SimpleNamespace(sleep=sleep)
    monkeypatch.setattr("deeplake_lite.storage.repo.vacuums.time", clock)
    return todo


@pytest.mark.usefixtures("old")
def test_old_commit_on_s3_waits_for_the_vacuum_that_deletes_its_chunks(bucket, at_work):
    ds = lake(bucket)
    before = ds.version
    ds.append(rows(0, 2, 5_000_000))
    chunks = bucket.objects("lake/chunks/")
    vacuum = vacuums.announce_vacuum(ds.handle.repository, datetime.now(UTC))
    vacuum.__enter__()
    at_work += [
        lambda: [bucket.delete(key) for key in chunks],
        lambda: vacuum.__exit__(None, None, None),
    ]
    with pytest.raises(dl.StorageError, match=r"deleted .* chunks? of 'data' .*ds\.discard"):
        ds.commit("old")
    assert not at_work
    assert ds["x"][:].tolist() == [0, 1]
    other = bucket.open()
    assert other.version == before
    assert other.verify()


@pytest.mark.usefixtures("old", "at_work")
def test_wait_for_a_vacuum_on_s3_ends_and_a_dead_one_is_cleared(bucket, monkeypatch):
    monkeypatch.setattr("deeplake_lite.storage.repo.vacuums.POLLS", 3)
    ds = lake(bucket)
    repository, now, day = ds.handle.repository, datetime.now(UTC), timedelta(hours=24)
    before = ds.version
    ds.append(rows(0, 2, 10))
    with vacuums.announce_vacuum(repository, now):
        with pytest.raises(dl.StorageError, match=r"began at .* UTC is still running.*try again"):
            ds.commit("rows")
        assert list(ds.branches) == ["main"]
        assert bucket.open().version == before
        assert ds.status().added == 2
    with vacuums.announce_vacuum(repository, now - timedelta(minutes=2)):  # it spares newer ones
        ds.commit("rows")
    left = pin_name(now - 1.01 * day).replace("_pin", "_vacuum") + "-0fffffffffff"
    repository.create_branch(left, repository.tip("main"))
    ds.append(rows(2, 1, 10))
    ds.commit("a vacuum that was announced a day ago is dead")
    first = ds.version
    ds.append(rows(3, 1, 10))
    ds.commit("more")
    assert left in repository.branch_names()
    ds.vacuum()
    assert repository.branch_names() == ["main"]
    with vacuums.announce_vacuum(repository, now):
        kept = len(ds.log())
        assert ds.vacuum(older_than="0s", spare="0s").expired == kept - 1
    assert first not in [commit.id for commit in bucket.open().log()]


NAMES = {"tag": lambda ds: ds.tag, "branch": lambda ds: ds.branch, "view": lambda ds: ds[[0]].save}


def expiring(bucket):
    """Return a handle at a version of a lake that no branch refers to any more."""
    ds = lake(bucket)
    ds.append(rows(0, 1, 10))
    old = bucket.open(version=ds.commit("old"))
    ds.append(rows(1, 1, 10))
    ds.commit("new")
    return old, ds


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("kind", NAMES)
def test_version_on_s3_is_protected_from_vacuums_while_it_is_named(bucket, monkeypatch, kind):
    old, ds = expiring(bucket)
    method = {"tag": "create_tag", "branch": "create_branch", "view": "writer"}[kind]
    inner, left = getattr(Repository, method), [True]

    def vacuum_first(self, name, *args):
        if left and not name.startswith("_pin"):
            left.clear()
            ds.vacuum(spare="0s", older_than="0s")
        return inner(self, name, *args)

    monkeypatch.setattr(Repository, method, vacuum_first)
    NAMES[kind](old)("kept")
    assert not left
    again = bucket.open()
    there = again.views()["kept"] if kind == "view" else bucket.open(version="kept")
    assert there["x"][:].tolist() == [0]


@pytest.mark.parametrize("kind", NAMES)
def test_version_on_s3_vacuumed_while_it_is_named_gets_no_name(bucket, at_work, kind):
    old, ds = expiring(bucket)
    old.log()  # the engine caches it
    [key] = bucket.objects(f"lake/snapshots/{old.version}")
    vacuum = vacuums.announce_vacuum(ds.handle.repository, datetime.now(UTC))
    vacuum.__enter__()
    at_work += [
        lambda: bucket.delete(key),
        lambda: vacuum.__exit__(None, None, None),
    ]
    with pytest.raises(dl.VersionNotFoundError, match="a vacuum deleted it"):
        NAMES[kind](old)("kept")
    assert not at_work
    assert not ds.tags
    assert list(ds.branches) == ["main"]
    assert not list(ds.views())


@pytest.mark.parametrize("lost", ["chunks", "manifests"])
@pytest.mark.parametrize("kind", NAMES)
def test_incomplete_version_on_s3_cannot_be_named(bucket, kind, lost):
    ds = lake(bucket)
    ds.branch("fix")
    fix = bucket.open(branch="fix")
    fix.append(rows(0, 1, 5_000_000))
    fix.commit("chunks")
    ds.delete_branch("fix")
    kept = {key: bucket.read(key) for key in bucket.objects(f"lake/{lost}/")}
    for key in kept:
        bucket.delete(key)
    with pytest.raises(dl.VersionNotFoundError, match="a vacuum deleted it"):
        NAMES[kind](fix)("kept")
    assert list(ds.branches) == ["main"]
    for key, data in kept.items():
        bucket.write(key, data)
    NAMES[kind](fix)("kept")


@pytest.mark.parametrize("spare", ["0s", "59s", timedelta(minutes=9)])
def test_vacuum_on_s3_with_a_tiny_grace_period_is_refused(bucket, spare):
    """A new commit does not check whether its chunks are still there."""
    ds = lake(bucket)
    ds.append(rows(0, 1, 5_000_000))
    before = bucket.objects()
    other = bucket.open()
    for dry_run in (True, False):
        with pytest.raises(ValueError, match=r"spare must be at least 10m.*spare='24h'"):
            other.vacuum(spare=spare, dry_run=dry_run)
    assert bucket.objects() == before
    ds.commit("young")
    assert bucket.open().verify()
    assert other.vacuum(spare="10m").chunks == 0


def test_new_commit_on_s3_does_not_check_its_chunks(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 2, 5_000_000))
    monkeypatch.setattr(Session, "_find_lost", None)
    ds.commit("young")


def test_views_saved_by_others_meanwhile_on_s3_are_kept(bucket, monkeypatch):
    ds = lake(bucket)
    ds.append(rows(0, 2, 10))
    ds.commit("rows")
    rivals, commit = [bucket.open()], Session.commit

    def beaten(self, message, metadata=None):
        if message == "save view mine" and rivals:
            rivals.pop()[[0]].save("theirs")
        return commit(self, message, metadata)

    monkeypatch.setattr(Session, "commit", beaten)
    ds[[1]].save("mine")
    assert sorted(ds.views()) == ["mine", "theirs"]


REQUESTS = {
    "create": 23,
    "open": 5,
    "first read": 0,
    "second read": 0,
    "append": 0,
    "commit": 8,
    "old commit": 24,
    "tag": 17,
    "refresh": 1,
}
"""Maximum number of requests per step; exact figures keep them from growing unnoticed."""


def test_number_of_requests_per_step_on_s3_is_bounded(bucket, monkeypatch):
    actual = {}
    with Proxy(bucket.endpoint) as proxy:
        behind = bucket.at(proxy.endpoint)

        def count(step, action):
            before = proxy.requests
            result = action()
            actual[step] = proxy.requests - before
            return result

        ds = count("create", lambda: lake(behind))
        for start in (0, 4):
            ds.append(rows(start, 4, 100))
            ds.commit("rows")
        ds = count("open", behind.open)
        count("first read", lambda: ds["x"][:])
        count("second read", lambda: ds["x"][:])
        count("append", lambda: ds.append(rows(8, 1, 100)))
        count("commit", lambda: ds.commit("one row"))
        ds.append(rows(9, 1, 100))
        monkeypatch.setattr("deeplake_lite.storage.repo.session.CONFIRM_AFTER", -1.0)
        count("old commit", lambda: ds.commit("one row"))
        count("tag", lambda: ds.tag("v1"))
        count("refresh", ds.refresh)
    assert {step: n for step, n in actual.items() if n > REQUESTS[step]} == {}


def test_large_commit_on_s3_writes_few_arrays_and_its_first_row_takes_few_requests(
    bucket, monkeypatch
):
    monkeypatch.setattr(log, "MAX_BYTES", 64 * 1024)
    names, count = [f"class {i}" for i in range(9)], 1_000
    schema = {"x": "int64", "label": dl.ClassLabel(names), "text": "text", "image": "bytes"}
    with Proxy(bucket.endpoint) as proxy:
        behind = bucket.at(proxy.endpoint)
        ds = dl.create(behind.url(), schema, storage_options=behind.options)
        before = proxy.requests
        ds.append({
            "x": range(count),
            "label": [i % 9 for i in range(count)],
            "text": [f"text {i} " * 50 for i in range(count)],
            "image": [os.urandom(2_000)] * count,
        })  # fmt: skip
        ds.commit("rows")
        others = [e for e in proxy.exchanges[before:] if "/chunks/" not in e.target]
        assert len(others) <= 13  # chunks are written at the same time, and others in turn
        # the bytes of two columns; everything else is in the log
        assert len([k for k in bucket.objects("lake/") if "/manifests/" in k]) == 2
        ds = behind.open()
        before = proxy.requests
        assert ds[0]["text"].startswith("text 0")
        assert proxy.requests - before <= 4


def test_check_of_conditions_costs_at_most_four_small_requests(bucket):
    ds = lake(bucket)
    with Proxy(bucket.endpoint) as proxy:
        check_conditional_writes(ds.url, bucket.at(proxy.endpoint).options)
    assert set(proxy.operations) == {"put"}
    assert proxy.requests <= 4
    assert {each.status for each in proxy.exchanges} == {412}
    assert proxy.bytes < 5_000
