"""Lakes on an object store: a real S3 server on this machine, started and stopped here."""

import contextlib
import logging
import os
import threading
import time
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from uuid import uuid4

import boto3
import numpy as np
import pytest
from moto.server import ThreadedMotoServer

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, Session, vacuums
from deeplake_lite.storage.repo.lake_refs import pin_name

KEYS = {"access_key_id": "key", "secret_access_key": "secret", "region": "us-east-1"}


@pytest.fixture(scope="module")
def endpoint():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="lakes")
    client.close()
    yield url
    server.stop()


@pytest.fixture
def options(endpoint):
    return {**KEYS, "endpoint_url": endpoint, "allow_http": True, "force_path_style": True}


def rows(start, count, size):
    return {
        "x": list(range(start, start + count)),
        "text": [f"row {i}" for i in range(start, start + count)],
        "data": [os.urandom(size) for _ in range(count)],
    }


def lake(name, options):
    schema = {"x": "int32", "text": "text", "data": "bytes"}
    return dl.create(f"s3://lakes/{name}", schema, storage_options=options)


def test_lake_on_s3_is_written_and_read(options):
    ds = lake("plain", options)
    data = rows(0, 3, 5_000_000)
    ds.append(data)
    first = ds.commit("three rows")
    ds.delete([1])
    ds.commit("one less")
    again = dl.open(ds.url, storage_options=options)
    assert again["x"][:].tolist() == [0, 2]
    assert again["data"][1] == data["data"][2]
    old = dl.open(ds.url, version=first, storage_options=options)
    assert old["text"][:] == ["row 0", "row 1", "row 2"]
    assert again.verify()


def test_view_is_materialized_on_s3(options):
    ds = lake("whole", options)
    ds.append(rows(0, 3, 10))
    ds.commit("three rows")
    copy = ds[[2, 0]].materialize("s3://lakes/part", storage_options=options)
    assert copy["x"][:].tolist() == [2, 0]
    again = dl.open("s3://lakes/part", storage_options=options)
    assert again["text"][:] == ["row 2", "row 0"]
    with pytest.raises(dl.ExistsError):
        ds.materialize("s3://lakes/whole", storage_options=options)


@pytest.mark.parametrize("overwrite", [False, True])
def test_lake_is_not_created_among_other_objects(options, endpoint, overwrite):
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1",
                          aws_access_key_id="key", aws_secret_access_key="secret")  # fmt: skip
    client.put_object(Bucket="lakes", Key="photos/readme.txt", Body=b"mine")
    with pytest.raises(dl.ExistsError, match="created at an empty location"):
        dl.create("s3://lakes/photos", {"x": "int32"}, storage_options=options, overwrite=overwrite)
    result = client.list_objects_v2(Bucket="lakes", Prefix="photos/")["Contents"]
    assert [thing["Key"] for thing in result] == ["photos/readme.txt"]
    client.close()


def test_copy_of_a_local_lake_on_s3_loses_no_change(options, endpoint, tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("row")
    client, _ = objects(endpoint, "copied", "")
    for path in (tmp_path / "a.lake").rglob("*"):
        if path.is_file():
            key = path.relative_to(tmp_path / "a.lake").as_posix()
            client.put_object(Bucket="lakes", Key=f"copied/{key}", Body=path.read_bytes())
    client.close()
    errors = []

    def branch(writer):
        try:
            repository = dl.open("s3://lakes/copied", storage_options=options).handle.repository
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
    assert len(dl.open("s3://lakes/copied", storage_options=options).branches) == 21


def test_missing_bucket_is_reported(options):
    assert not dl.exists("s3://none/x", storage_options=options)  # the engine makes no difference
    with pytest.raises(dl.LakeNotFoundError, match="There is no lake at"):
        dl.open("s3://none/x", storage_options=options)
    with pytest.raises(dl.StorageError, match=r"NoSuchBucket: .* does not exist\. Check the"):
        dl.create("s3://none/x", {"x": "int32"}, storage_options=options)


def test_appends_and_edits_of_two_writers_survive_on_s3(options):
    lake("two", options).commit()
    a, b = (dl.open("s3://lakes/two", storage_options=options) for _ in range(2))
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


def test_commit_that_loses_a_race_on_s3_is_written_again(options, monkeypatch):
    ds = lake("race", options)
    ds.append(rows(0, 2, 5_000_000))
    rivals = [dl.open(ds.url, storage_options=options)]
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


def test_commit_with_a_lost_reply_on_s3_is_not_written_twice(options, monkeypatch):
    ds = lake("lost", options)
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
    rival = dl.open(ds.url, storage_options=options)
    rival.append(rows(4, 1, 10))
    rival.commit("rival")
    ds.commit("lost")
    again = dl.open(ds.url, storage_options=options)
    assert again["x"][:].tolist() == [0, 1, 2, 3, 4]
    assert len(again.log()) == 4
    assert again.verify()


def test_old_pins_of_a_dead_vacuum_on_s3_are_removed(options):
    ds = lake("pins", options)
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
def test_name_with_a_lost_reply_on_s3_exists(options, kind):
    ds = lake(f"named-{kind}", options)
    repository, tip = ds.handle.repository, ds.version
    create = getattr(repository, f"create_{kind}")
    create("twice", tip)
    create("twice", tip)  # like the engine when it got no reply
    ds.append(rows(0, 1, 10))
    with pytest.raises(dl.ExistsError, match="taken"):
        create("twice", ds.commit("another version"))


def test_missing_lake_on_s3_is_reported(options):
    assert not dl.exists("s3://lakes/none", storage_options=options)
    with pytest.raises(dl.LakeNotFoundError, match="There is no lake at 's3://lakes/none'"):
        dl.open("s3://lakes/none", storage_options=options)


def test_lake_on_s3_is_not_created_twice(options):
    lake("once", options)
    with pytest.raises(dl.ExistsError, match=r"A lake at .* already exists"):
        lake("once", options)


def test_merge_that_loses_a_race_on_s3_is_repeated(options, monkeypatch):
    ds = lake("merge", options)
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix", storage_options=options)
    fix.append(rows(0, 2, 5_000_000))
    fix.commit("fix")
    rivals = [
        lambda other: (other.append(rows(10, 1, 10)), other.commit("rival")),
        lambda other: (other.restore("fix"), other.commit("rival")),
    ]
    commit = Session.commit

    def beaten(self, message, metadata=None):
        if message == "merge fix" and rivals:
            rivals.pop()(dl.open(ds.url, storage_options=options))
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


def objects(endpoint, name, kind):
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    result = client.list_objects_v2(Bucket="lakes", Prefix=f"{name}/{kind}").get("Contents", [])
    return client, {result["Key"] for result in result}


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
def test_commit_on_s3_with_vacuumed_chunks_is_refused(options, endpoint, edit, column):
    name = f"vacuumed-{edit.__name__}"
    ds = lake(name, options)
    ds.append(rows(0, 2, 10))
    before = ds.commit("two rows")
    _, there = objects(endpoint, name, "chunks/")
    edit(ds)
    client, now = objects(endpoint, name, "chunks/")
    assert now > there
    other = dl.open(ds.url, storage_options=options)
    assert other.vacuum(spare="0s").chunks == len(now - there)
    for _ in range(2):
        with pytest.raises(
            dl.StorageError, match=rf"deleted .* chunks? of '{column}'.*ds\.discard"
        ):
            ds.commit("acknowledged")
        assert ds.status()
        assert dl.open(ds.url, storage_options=options).version == before
    ds.discard()
    edit(ds)
    ds.commit("again")
    assert ds.verify()
    client.close()


@pytest.mark.usefixtures("old")
def test_merges_and_rewrites_on_s3_with_vacuumed_chunks_are_refused(options, monkeypatch):
    ds = lake("vacuumed-merge", options)
    ds.append(rows(0, 1, 10))
    ds.commit("row")
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix", storage_options=options)
    fix.append(rows(10, 2, 5_000_000))
    fix.commit("fix")
    ds["x"][0] = 5
    before = ds.commit("on main")
    commit, left = Session.commit, []

    def vacuum_first(self, message, metadata=None):
        if not left:
            left.append(True)
            dl.open(ds.url, storage_options=options).vacuum(spare="0s")
        return commit(self, message, metadata)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", vacuum_first)
        with pytest.raises(dl.StorageError, match="A vacuum has deleted"):
            ds.merge("fix")
        left.clear()
        with pytest.raises(dl.StorageError, match="deleted chunks that this commit needs"):
            fix.optimize()
    assert dl.open(ds.url, storage_options=options).version == before
    ds.merge("fix")
    fix.optimize()
    assert ds.verify()
    assert fix.verify()


@pytest.mark.usefixtures("old")
def test_vacuum_between_the_check_of_an_old_commit_and_its_end_deletes_nothing(
    options, monkeypatch
):
    ds = lake("vacuumed-between", options)
    ds.append(rows(0, 2, 5_000_000))
    check, other = Session.check_chunks, dl.open(ds.url, storage_options=options)
    freed = []

    def vacuum_then(self, keys):
        check(self, keys)
        freed.append(other.vacuum(spare="0s", older_than="0s").chunks)

    monkeypatch.setattr(Session, "check_chunks", vacuum_then)
    ds.commit("old")
    assert freed == [0]
    assert dl.open(ds.url, storage_options=options).verify()
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
def test_old_commit_on_s3_waits_for_the_vacuum_that_deletes_its_chunks(options, endpoint, at_work):
    ds = lake("vacuumed-meanwhile", options)
    before = ds.version
    ds.append(rows(0, 2, 5_000_000))
    client, chunks = objects(endpoint, "vacuumed-meanwhile", "chunks/")
    vacuum = vacuums.announce_vacuum(ds.handle.repository, datetime.now(UTC))
    vacuum.__enter__()
    at_work += [
        lambda: [client.delete_object(Bucket="lakes", Key=key) for key in chunks],
        lambda: vacuum.__exit__(None, None, None),
    ]
    with pytest.raises(dl.StorageError, match=r"deleted .* chunks? of 'data' .*ds\.discard"):
        ds.commit("old")
    assert not at_work
    assert ds["x"][:].tolist() == [0, 1]
    other = dl.open(ds.url, storage_options=options)
    assert other.version == before
    assert other.verify()
    client.close()


@pytest.mark.usefixtures("old", "at_work")
def test_wait_for_a_vacuum_on_s3_ends_and_a_dead_one_is_cleared(options, monkeypatch):
    monkeypatch.setattr("deeplake_lite.storage.repo.vacuums.POLLS", 3)
    ds = lake("vacuum-died", options)
    repository, now, day = ds.handle.repository, datetime.now(UTC), timedelta(hours=24)
    before = ds.version
    ds.append(rows(0, 2, 10))
    with vacuums.announce_vacuum(repository, now):
        with pytest.raises(dl.StorageError, match=r"began at .* UTC is still running.*try again"):
            ds.commit("rows")
        assert list(ds.branches) == ["main"]
        assert dl.open(ds.url, storage_options=options).version == before
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
    assert first not in [commit.id for commit in dl.open(ds.url, storage_options=options).log()]


NAMES = {"tag": lambda ds: ds.tag, "branch": lambda ds: ds.branch, "view": lambda ds: ds[[0]].save}


def expiring(name, options):
    """Return a handle at a version of a lake that no branch refers to any more."""
    ds = lake(name, options)
    ds.append(rows(0, 1, 10))
    old = dl.open(ds.url, version=ds.commit("old"), storage_options=options)
    ds.append(rows(1, 1, 10))
    ds.commit("new")
    return old, ds


@pytest.mark.usefixtures("old")
@pytest.mark.parametrize("kind", NAMES)
def test_version_on_s3_is_protected_from_vacuums_while_it_is_named(options, monkeypatch, kind):
    old, ds = expiring(f"naming-{kind}", options)
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
    again = dl.open(ds.url, storage_options=options)
    there = (
        again.views()["kept"]
        if kind == "view"
        else dl.open(ds.url, version="kept", storage_options=options)
    )
    assert there["x"][:].tolist() == [0]


@pytest.mark.parametrize("kind", NAMES)
def test_version_on_s3_vacuumed_while_it_is_named_gets_no_name(options, endpoint, at_work, kind):
    old, ds = expiring(f"unnamed-{kind}", options)
    old.log()  # the engine caches it
    client, [key] = objects(endpoint, f"unnamed-{kind}", f"snapshots/{old.version}")
    vacuum = vacuums.announce_vacuum(ds.handle.repository, datetime.now(UTC))
    vacuum.__enter__()
    at_work += [
        lambda: client.delete_object(Bucket="lakes", Key=key),
        lambda: vacuum.__exit__(None, None, None),
    ]
    with pytest.raises(dl.VersionNotFoundError, match="a vacuum deleted it"):
        NAMES[kind](old)("kept")
    assert not at_work
    assert not ds.tags
    assert list(ds.branches) == ["main"]
    assert not list(ds.views())
    client.close()


@pytest.mark.parametrize("lost", ["chunks", "manifests"])
@pytest.mark.parametrize("kind", NAMES)
def test_incomplete_version_on_s3_cannot_be_named(options, endpoint, kind, lost):
    name = f"part-{kind}-{lost}"
    ds = lake(name, options)
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix", storage_options=options)
    fix.append(rows(0, 1, 5_000_000))
    fix.commit("chunks")
    ds.delete_branch("fix")
    client, keys = objects(endpoint, name, f"{lost}/")
    kept = {key: client.get_object(Bucket="lakes", Key=key)["Body"].read() for key in keys}
    for key in keys:
        client.delete_object(Bucket="lakes", Key=key)
    with pytest.raises(dl.VersionNotFoundError, match="a vacuum deleted it"):
        NAMES[kind](fix)("kept")
    assert list(ds.branches) == ["main"]
    for key, data in kept.items():
        client.put_object(Bucket="lakes", Key=key, Body=data)
    NAMES[kind](fix)("kept")
    client.close()


@pytest.mark.parametrize("spare", ["0s", "59s", timedelta(minutes=9)])
def test_vacuum_on_s3_with_a_tiny_grace_period_is_refused(options, endpoint, spare):
    """A new commit does not check whether its chunks are still there."""
    name = f"spare-{spare}".replace(":", "-")
    ds = lake(name, options)
    ds.append(rows(0, 1, 5_000_000))
    client, before = objects(endpoint, name, "")
    other = dl.open(ds.url, storage_options=options)
    for dry_run in (True, False):
        with pytest.raises(ValueError, match=r"spare must be at least 10m.*spare='24h'"):
            other.vacuum(spare=spare, dry_run=dry_run)
    assert objects(endpoint, name, "")[1] == before
    ds.commit("young")
    assert dl.open(ds.url, storage_options=options).verify()
    assert other.vacuum(spare="10m").chunks == 0
    client.close()


def test_new_commit_on_s3_does_not_check_its_chunks(options, monkeypatch):
    ds = lake("young", options)
    ds.append(rows(0, 2, 5_000_000))
    monkeypatch.setattr(Session, "_find_lost", None)
    ds.commit("young")


def test_views_saved_by_others_meanwhile_on_s3_are_kept(options, monkeypatch):
    ds = lake("views", options)
    ds.append(rows(0, 2, 10))
    ds.commit("rows")
    rivals, commit = [dl.open(ds.url, storage_options=options)], Session.commit

    def beaten(self, message, metadata=None):
        if message == "save view mine" and rivals:
            rivals.pop()[[0]].save("theirs")
        return commit(self, message, metadata)

    monkeypatch.setattr(Session, "commit", beaten)
    ds[[1]].save("mine")
    assert sorted(ds.views()) == ["mine", "theirs"]


@contextlib.contextmanager
def counted():
    """Collect the requests to the server in this context."""
    result, log = [], logging.getLogger("werkzeug")
    handler, level = logging.Handler(), log.level
    handler.emit = lambda record: result.append(record.getMessage())
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield result
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


REQUESTS = {
    "open": 7,
    "first read": 1,
    "second read": 0,
    "append": 1,
    "commit": 34,
    "old commit": 54,
    "tag": 17,
    "refresh": 2,
}
"""Maximum number of requests per step; exact figures keep them from growing unnoticed."""


def test_number_of_requests_per_step_on_s3_is_bounded(options, monkeypatch):
    ds = lake("counted", options)
    for start in (0, 4):
        ds.append(rows(start, 4, 100))
        ds.commit("rows")
    actual = {}

    def count(step, action):
        with counted() as requests:
            result = action()
        actual[step] = len(requests)
        return result

    ds = count("open", lambda: dl.open(ds.url, storage_options=options))
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
