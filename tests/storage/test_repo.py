"""URLs, refs, locks and engine errors."""

import contextlib
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime

import icechunk
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import (
    ConflictError,
    DamagedError,
    ExistsError,
    FormatError,
    LakeError,
    LakeNotFoundError,
    StorageError,
    VersionNotFoundError,
)
from deeplake_lite.schema import Schema
from deeplake_lite.storage.chunk_files import ChunkFiles
from deeplake_lite.storage.repo import (
    Repository,
    Session,
    creating,
    local_folder,
    run,
    settings,
    vacuums,
)
from deeplake_lite.storage.state import FORMAT, KEY
from deeplake_lite.storage.table import Table


def test_missing_path_is_not_a_lake(tmp_path):
    with pytest.raises(LakeNotFoundError, match=r"There is no lake at .*nowhere.*dl\.create"):
        dl.open(str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_folder_of_other_files_is_not_a_lake(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(LakeNotFoundError, match="There is no lake"):
        dl.open(str(tmp_path))
    assert not dl.exists(str(tmp_path))


def test_file_is_not_a_lake(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LakeNotFoundError, match="There is no lake"):
        dl.open(str(tmp_path / "file"))
    with pytest.raises(ExistsError, match=r"new or empty folder; .* contains files"):
        dl.create(str(tmp_path / "file"), {"x": "int32"})


def test_in_memory_lake_that_was_never_created_is_not_a_lake():
    with pytest.raises(LakeNotFoundError, match="There is no lake"):
        dl.open("memory://never-made")


def test_brackets_are_allowed_in_names_of_lakes_in_memory_but_not_of_buckets():
    dl.create("memory://flowers[0", {"x": "int32"})
    assert dl.exists("memory://flowers[0")
    with pytest.raises(LakeNotFoundError, match="not a valid URL"):
        dl.open("s3://[flowers")


def test_unknown_url_scheme_is_refused():
    with pytest.raises(
        LakeNotFoundError, match=r"folder, memory://, s3://, gs://, az://, https:// or hf://"
    ):
        dl.create("ftp://host/lake", {"x": "int32"})


def test_creating_over_a_lake_is_refused(tmp_path):
    dl.create(str(tmp_path / "lake"), {"x": "int32"})
    with pytest.raises(ExistsError, match=r"contains a lake.*dl\.open"):
        dl.create(str(tmp_path / "lake"), {"x": "int32"})


def test_creating_over_other_files_is_refused_and_they_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(ExistsError, match=r"new or empty folder; .* contains files"):
        dl.create(str(tmp_path), {"x": "int32"})
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_empty_folder_becomes_a_lake(tmp_path):
    dl.create(str(tmp_path), {"x": "int32"})
    assert dl.exists(str(tmp_path))


def test_file_url_is_a_folder(tmp_path):
    ds = dl.create(f"file://{tmp_path}/lake", {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("one")
    assert dl.open(str(tmp_path / "lake"))["x"][:].tolist() == [1]
    assert local_folder(f"file://{tmp_path}/lake") == tmp_path / "lake"


def test_icechunk_repository_that_is_not_a_lake_says_so(new_url):
    url = new_url()
    with creating(url) as repository:
        pass
    session = repository.writer("main")
    run(session.set_attributes({"other": 1}))
    session.commit("something else")
    with pytest.raises(FormatError, match="an Icechunk repository, but not a lake"):
        dl.open(url)


def test_newer_format_is_refused_with_both_numbers(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    session = Repository.open(ds.url).writer("main")
    document = run(session.attributes())[KEY]
    run(session.set_attributes({KEY: document | {"format": FORMAT + 1}}))
    session.commit("from the future")
    match = (
        rf"format {FORMAT + 1}, but this release of deeplake-lite reads format {FORMAT}.*Upgrade"
    )
    with pytest.raises(FormatError, match=match):
        dl.open(ds.url)


def test_commit_on_a_branch_that_moved_is_a_conflict(make_lake):
    repository = Repository.open(make_lake({"x": "int32"}).url)
    late, early = repository.writer("main"), repository.writer("main")
    run(early.set_attributes({"a": 1}))
    early.commit("early")
    run(late.set_attributes({"a": 2}))
    with pytest.raises(ConflictError, match=r"moved the branch during this commit: .*Commit again"):
        late.commit("late")


def test_pins_preserve_a_version_for_a_while_and_expire(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    repository = Repository.open(ds.url)
    with vacuums.pin_versions(repository, [ds.version]) as [name]:
        assert repository.tip(name) == ds.version
        assert name not in repository.branches()
    with pytest.raises(LakeError, match=name):
        repository.tip(name)


def test_claims_are_made_while_the_commit_lock_is_held(make_lake):
    repository = Repository.open(make_lake({"x": "int32"}).url)
    with repository.lock(), repository.lock("claims"):
        pass


def test_lake_whose_branches_cannot_be_read_says_so(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32"})
    repo = tmp_path / "lake" / "repo"
    repo.write_bytes(b"{" + repo.read_bytes())
    with pytest.raises(DamagedError, match="cannot be read"):
        dl.open(ds.url)


class Refusing:
    """An engine whose store refuses every request."""

    def __getattr__(self, name):
        def refuse(*_, **__):
            raise icechunk.IcechunkError("no space left on device\n\ncontext:\n   0", "io")

        return refuse


@pytest.mark.parametrize(
    "ask",
    [
        lambda r: r.reader("V"),
        lambda r: r.writer("main"),
        lambda r: r.fork("main", "V"),
        lambda r: r.branches(),
        lambda r: r.tags(),
        lambda r: r.tip("main"),
        lambda r: r.create_branch("b", "V"),
        lambda r: r.delete_branch("b"),
        lambda r: r.create_tag("t", "V"),
        lambda r: r.delete_tag("t"),
        lambda r: list(r.ancestry("V")),
        lambda r: r.changed_chunks("V", "W"),
        lambda r: vacuums.unpin(r, datetime.now(UTC)),
        lambda r: vacuums.expire(r, datetime.now(UTC)),
        lambda r: vacuums.collect(r, datetime.now(UTC), dry_run=True),
    ],
)
def test_every_refusal_of_the_store_raises_our_error(tmp_path, ask):
    with pytest.raises(
        StorageError, match="A request to the store failed: no space left on device"
    ):
        ask(Repository(str(tmp_path), Refusing()))


def test_missing_branches_and_tags_are_reported(make_lake):
    repository = Repository.open(make_lake({"x": "int32"}).url)
    for ask in (repository.tip, repository.delete_branch, repository.delete_tag):
        with pytest.raises(VersionNotFoundError, match=r"no such branch.* or commit: .*nope"):
            ask("nope")
    for version in ("abc", "0" * 20):
        with pytest.raises(VersionNotFoundError, match=version):
            list(repository.ancestry(version))


def test_existing_branches_and_tags_are_reported(make_lake):
    ds = make_lake({"x": "int32"})
    repository = Repository.open(ds.url)
    with pytest.raises(ExistsError, match="The name is already taken"):
        repository.create_branch("main", ds.version)
    repository.create_tag("v1", ds.version)
    repository.delete_tag("v1")
    with pytest.raises(ExistsError, match="a tag cannot be reused"):
        repository.create_tag("v1", ds.version)


@contextlib.contextmanager
def off_the_loop(monkeypatch, owner, name):
    """Record calls of a method, and check that none is made in the thread of the event loop."""
    threads, method = [], getattr(owner, name)

    def noted(*arguments, **named):
        threads.append(threading.current_thread())
        return method(*arguments, **named)

    async def of_the_loop():
        return threading.current_thread()

    monkeypatch.setattr(owner, name, noted)
    yield
    assert threads
    assert run(of_the_loop()) not in threads


def test_fork_is_made_and_merged_while_others_read(make_lake, monkeypatch):
    ds = make_lake({"b": "bytes"})
    with (
        off_the_loop(monkeypatch, Repository, "fork"),
        off_the_loop(monkeypatch, Session, "merge"),
    ):
        ds.append({"b": [bytes(5 * 2**20)]})
        ds.commit("large")


def test_manifests_are_parsed_once_while_others_read(make_lake, monkeypatch):
    ds = make_lake({"b": "bytes"}, b=[bytes(5 * 2**20), bytes(5 * 2**20)])
    with off_the_loop(monkeypatch, ChunkFiles, "_load"):
        ds = dl.open(ds.url)
        ds["b"][[0, 1]]
    monkeypatch.setattr(ChunkFiles, "_load", None)
    ds["b"][0]


class Unreachable:
    """The engine's store, which cannot fetch a snapshot and reports missing metadata."""

    async def get(self, key, _):
        raise KeyError(key)

    async def exists(self, key):
        raise StorageError(f"A request to the store failed: {key}.")


@pytest.mark.parametrize("ask", [lambda s: s.attributes(), lambda s: s.length("0/rows/id")])
def test_unavailable_metadata_does_not_count_as_absent(make_lake, monkeypatch, ask):
    session = make_lake({"x": "int32"}).handle.repository.writer("main")
    monkeypatch.setattr(session, "_objects", Unreachable())
    with pytest.raises(StorageError, match="request to the store failed"):
        run(ask(session))


QUIET = """
import sys
import deeplake_lite as dl
for _ in range(2):  # deleting a branch looks it up, whose error imports the package
    ds = dl.open(sys.argv[1])
    ds.branch("b")
    dl.open(sys.argv[1]).delete_branch("b")
"""


def test_nothing_is_printed_about_local_lakes(tmp_path):
    url = str(tmp_path / "a.lake")
    dl.create(url, {"x": "int32"})
    env = {key: value for key, value in os.environ.items() if key != "ICECHUNK_LOG"}
    command = [sys.executable, "-c", QUIET, url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert (done.stdout, done.stderr) == ("", "")


def test_a_commit_to_a_deleted_branch_names_the_branch(bucket):
    ds = dl.create(bucket.url(), {"x": "int32"}, storage_options=bucket.options)
    repository = ds.handle.repository
    repository.create_branch("fix", ds.version)
    session = repository.writer("fix")
    run(session.set_attributes({"x": 1}))
    repository.delete_branch("fix")
    with pytest.raises(VersionNotFoundError, match="The branch 'fix' was deleted before this"):
        session.commit("late")


def test_the_first_version_of_a_lake_is_written_once(bucket):
    schema = Schema.build({"x": "int32"})
    with creating(bucket.url(), bucket.options) as repository:
        pass
    Table.create(repository, schema, {})
    with pytest.raises(ConflictError, match="Another process has created the lake"):
        Table.create(repository, schema, {})


def test_two_processes_create_a_lake_on_a_store_at_the_same_moment(bucket, monkeypatch):
    """The other process creates the repository after this one has found none."""
    original, called = settings.engine_exists, []

    def exists(*arguments):
        found = original(*arguments)
        if not called:
            called.append(1)
            dl.create(bucket.url(), {"x": "int32"}, storage_options=bucket.options)
        return found

    monkeypatch.setattr(settings, "engine_exists", exists)
    with pytest.raises(ExistsError):
        dl.create(bucket.url(), {"y": "int32"}, storage_options=bucket.options)
    assert bucket.open().columns == ("x",)
