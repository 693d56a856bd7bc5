"""A published lake has the rows of one version, what belongs to it, and nothing else."""

import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from datetime import timedelta

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import chunks
from deeplake_lite.storage.repo.vacuums import ROOT
from deeplake_lite.storage.table import Table
from deeplake_lite.testing.tiny import tiny_chunks
from tests.dataset.everything import SCHEMA, VALUES

MARK = b"nobody may read this"


def everything(url, **options):
    """Create a lake with a column of every type, deleted rows, and rows in another order."""
    ds = dl.create(url, SCHEMA, metadata={"licence": "CC0"}, **options)
    ds.append(VALUES)
    ds.commit("first")
    ds.append(VALUES)
    ds.update([0], {"x": [77], "blob": [b"new"]})
    ds.handle.edit(lambda table: table.arrange(table.rows.live()[::-1]))
    ds.delete([1, 4])
    ds.rename_column("x", "renamed")
    ds.commit("second")
    return ds


def digests(ds):
    """Return a digest of each cell by column, and the row ids."""
    table, slots = ds.handle.table, ds.handle.table.rows.live()
    cells = {f.name: table.digests(f.id, slots).tolist() for f in table.schema}
    return cells, ds.row_ids.tolist()


def files_in(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.fixture
def ds(tmp_path):
    return everything(str(tmp_path / "a.lake"))


@pytest.fixture
def small(tmp_path):
    ds = dl.create(str(tmp_path / "small.lake"), {"x": "int32"})
    ds.append({"x": [1, 2, 3]})
    ds.commit("three")
    return ds


@pytest.mark.parametrize("tiny", [False, True])
def test_every_cell_is_the_same(tmp_path, tiny):
    with tiny_chunks() if tiny else nullcontext():
        ds = everything(str(tmp_path / "a.lake"))
        done = ds.publish(str(tmp_path / "b.lake"))
        copy = dl.open(str(tmp_path / "b.lake"))
        assert digests(copy) == digests(ds)
        assert copy.schema == ds.schema
        assert [f.id for f in copy.schema] == [f.id for f in ds.schema]
        assert copy.metadata == ds.metadata == {"licence": "CC0"}
        assert copy.verify()
        assert done.rows == len(copy) == 4
        assert done.version == copy.version
        assert copy.handle.table.rows.slots == 4


def test_lake_has_one_commit_that_names_the_original(ds, tmp_path):
    ds.publish(str(tmp_path / "b.lake"))
    [commit] = dl.open(str(tmp_path / "b.lake")).log()
    original = ds.log()[0]
    assert commit.message == "second"
    assert commit.metadata["published"] == {
        "version": original.id,
        "time": original.time.isoformat(),
    }
    assert commit.parent == ROOT
    assert str(tmp_path).encode() not in b"".join(
        (tmp_path / "b.lake" / name).read_bytes() for name in files_in(tmp_path / "b.lake")
    )


def test_older_version_is_published(ds, tmp_path):
    old = dl.open(ds.url, version=ds.log()[1].id)
    done = old.publish(str(tmp_path / "b.lake"))
    assert digests(dl.open(str(tmp_path / "b.lake"))) == digests(old)
    assert "branch 'main'" in done.left_out


def test_bytes_of_deleted_rows_and_replaced_cells_are_not_published(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"data": "bytes"})
    ds.append({"data": [os.urandom(10_000) for _ in range(4)] + [MARK * 500] * 2})
    ds.commit("with a secret")
    ds.delete([4])
    ds.update([4], {"data": [b"harmless"]})
    ds.commit("without")
    ds.publish(str(tmp_path / "b.lake"))

    def holds_mark(lake):
        return any(MARK in (lake / name).read_bytes() for name in files_in(lake))

    assert holds_mark(tmp_path / "a.lake")
    assert not holds_mark(tmp_path / "b.lake")


def test_names_of_the_version_are_copied_and_others_are_reported(ds, tmp_path):
    old = dl.open(ds.url, version=ds.log()[1].id)
    ds.add_column("guess", dl.ClassLabel(["rose", "tulip"], default="rose"))
    ds.commit("third")
    ds.tag("v2")
    ds.branch("review")
    old.tag("v1")
    ds[[2, 0]].save("two")
    old[[0]].save("old")
    ds.query("SELECT renamed, renamed * 2 AS y FROM ds ORDER BY renamed").save("doubled")
    ds.query("SELECT d.renamed + o.x AS s FROM ds AS d JOIN old AS o ON d.renamed = o.x").save(
        "both"
    )
    ds.evaluate("guess", "label").save("same")
    done = ds.publish(str(tmp_path / "b.lake"))
    assert done.tags == ("v2",)
    assert sorted(done.views) == ["doubled", "two"]
    assert done.evaluations == ("same",)
    assert sorted(done.left_out) == [
        "3 older versions", "linked files of column 'link'", "saved view 'both'",
        "saved view 'old'", "tag 'v1'",
    ]  # fmt: skip
    copy = dl.open(str(tmp_path / "b.lake"), version="v2")
    assert sorted(copy.views()) == ["doubled", "two"]
    assert copy.views()["two"].row_ids.tolist() == ds[[2, 0]].row_ids.tolist()
    expected = ds.views()["doubled"].to_arrow().to_pylist()
    assert copy.views()["doubled"].to_arrow().to_pylist() == expected
    assert copy.evaluations()["same"].version == copy.version
    assert list(copy.branches) == ["main"]
    assert copy.verify()


def test_damaged_view_is_left_out(small, tmp_path):
    small[[0]].save("good")
    small[[1]].save("bad")
    documents = dict(small.views()._documents)
    documents["bad"] = {**documents["bad"], "array": "views/none"}
    from deeplake_lite.dataset.saved import named_views

    with small.handle.repository.lock():
        named_views._write_once(small.handle.repository, documents, "damage", {}, overwrite=True)
    done = small.publish(str(tmp_path / "b.lake"))
    assert done.views == ("good",)
    assert "saved view 'bad', which is damaged" in done.left_out


def test_publishing_again_writes_nothing_until_something_has_changed(small, tmp_path):
    target = tmp_path / "b.lake"
    done = small.publish(str(target))
    before = {name: (target / name).stat().st_mtime_ns for name in files_in(target)}
    assert small.publish(str(target)) == done
    assert {name: (target / name).stat().st_mtime_ns for name in files_in(target)} == before
    small.tag("v1")
    with pytest.raises(
        dl.ExistsError, match=r"its tags have changed since: they were \[\], and are now"
    ):
        small.publish(str(target))
    assert small.publish(str(target), overwrite=True).tags == ("v1",)
    small.append({"x": [4]})
    small.commit("four")
    with pytest.raises(dl.ExistsError, match="replace it with overwrite=True"):
        small.publish(str(target))
    small.publish(str(target), overwrite=True)
    assert dl.open(str(target))["x"][:].tolist() == [1, 2, 3, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.lake", "small.lake"]


def test_only_published_lakes_are_replaced(small, ds):
    with pytest.raises(dl.ExistsError, match="Only a published lake can be replaced"):
        small.publish(ds.url, overwrite=True)
    for overwrite in (False, True):
        with pytest.raises(dl.OptionError, match="is in the lake, or"):
            small.publish(f"{small.url}/../small.lake", overwrite=overwrite)
    assert len(dl.open(ds.url)) == 4


def test_folder_with_other_files_is_not_touched(small, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("mine")
    with pytest.raises(dl.ExistsError, match="contains files"):
        small.publish(str(tmp_path / "site"), overwrite=True)
    assert files_in(tmp_path / "site") == ["index.html"]


def test_uncommitted_edits_are_not_published(small, tmp_path):
    small.append({"x": [4]})
    with pytest.raises(dl.UncommittedError, match="A published lake"):
        small.publish(str(tmp_path / "b.lake"))
    assert not (tmp_path / "b.lake").exists()


@pytest.mark.parametrize("url", ["https://example.org/a", "hf://datasets/me/flowers"])
def test_nothing_is_published_directly_on_a_web_server(small, url):
    with pytest.raises(dl.ReadOnlyError, match="Publish to a folder, and upload the folder"):
        small.publish(url)


def test_damaged_cell_is_not_published(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"data": "bytes"})
    ds.append({"data": [os.urandom(5_000_000)]})
    ds.commit("row")
    chunk = max((tmp_path / "a.lake" / "chunks").iterdir(), key=lambda path: path.stat().st_size)
    chunk.write_bytes(bytes(chunk.stat().st_size))
    with pytest.raises(dl.DamagedError, match="column 'data', row 0"):
        dl.open(ds.url).publish(str(tmp_path / "b.lake"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.lake"]


KILLED = """
import os, signal, sys
import deeplake_lite as dl
from deeplake_lite.storage.repo import Session
from deeplake_lite.dataset import publishing
publishing.Session = Session
*owner, name = sys.argv[3].split(".")
place = getattr(publishing, owner[0]) if owner else publishing
setattr(place, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
dl.open(sys.argv[1]).publish(sys.argv[2], overwrite=len(sys.argv) > 4)
"""


@pytest.mark.parametrize("moment", ["Session.commit", "_Content.write_names", "remove_notes"])
@pytest.mark.parametrize("replaces", [False, True])
def test_killed_process_leaves_no_partial_lake(small, tmp_path, moment, replaces):
    target = tmp_path / "b.lake"
    small.tag("v1")
    if replaces:
        small.publish(str(target))
        small.append({"x": [4]})
        small.commit("four")
    script = [sys.executable, "-c", KILLED, small.url, str(target), moment]
    died = subprocess.run([*script, *(["overwrite"] if replaces else [])], check=False)
    assert died.returncode == -signal.SIGKILL
    assert dl.exists(str(target)) == replaces
    if replaces:
        assert dl.open(str(target), version="v1")["x"][:].tolist() == [1, 2, 3]
    done = small.publish(str(target), overwrite=replaces)
    assert dl.open(str(target))["x"][:].tolist() == small["x"][:].tolist()
    assert done.files == len(files_in(target))
    dl.open(str(target)).vacuum()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.lake", "small.lake"]


def test_rows_are_copied_in_parts_that_fit_into_memory(tmp_path, monkeypatch):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32", "data": "bytes"})
    sizes = [400, 400, 400, 3_000, 10, 10, 10]
    ds.append({"x": range(7), "data": [bytes(n) for n in sizes]})
    ds.commit("rows")
    monkeypatch.setattr(chunks, "COPY_BYTES", 1_000)
    parts, append = [], Table._append
    monkeypatch.setattr(
        Table, "_append", lambda self, block: parts.append(_rows(block)) or append(self, block)
    )
    ds.publish(str(tmp_path / "b.lake"))
    assert parts == [2, 1, 1, 3]
    parts.clear()
    ds.optimize()
    assert parts == [2, 1, 1, 3]


def _rows(block):
    return len(next(iter(block.values())))


def test_lake_without_rows_or_columns_is_published(tmp_path):
    for name, schema in (("rows", {"x": "int32"}), ("columns", {})):
        ds = dl.create(str(tmp_path / name), schema)
        assert ds.publish(str(tmp_path / f"{name}.copy")).rows == 0
        assert dl.open(str(tmp_path / f"{name}.copy")).columns == ds.columns


def test_layout_is_contiguous(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32", "text": "text"})
    for start in range(0, 100, 10):
        ds.append({"x": range(start, start + 10), "text": [str(n) * 50 for n in range(10)]})
        ds.commit("ten")
    ds.delete(np.arange(0, 100, 2))
    ds.commit("half")
    done = ds.publish(str(tmp_path / "b.lake"))
    assert done.files == len(files_in(tmp_path / "b.lake")) < len(files_in(tmp_path / "a.lake")) / 2
    assert (
        done.bytes
        == sum(p.stat().st_size for p in (tmp_path / "b.lake").rglob("*/*"))
        + (tmp_path / "b.lake" / "repo").stat().st_size
    )


@pytest.mark.parametrize(("size", "count"), [(1_000, 1), (3_000_000, 1), (5_000_000, 15)])
def test_last_bytes_of_a_column_take_few_files(tmp_path, size, count):
    ds = dl.create(str(tmp_path / "a.lake"), {"data": "bytes", "lists": dl.Sequence("bytes")})
    data = os.urandom(size)
    ds.append({"data": [data], "lists": [[data[: size // 2], data[size // 2 :]]]})
    ds.commit("row")
    done = ds.publish(str(tmp_path / "b.lake"))
    copy = dl.open(done.url)
    assert copy["data"][0] == data
    assert b"".join(copy["lists"][0]) == data
    assert copy.verify()
    files = list((tmp_path / "b.lake" / "chunks").iterdir())
    large = [path for path in files if path.stat().st_size > 2_000]
    assert len(large) <= 2 * count
    ds.optimize()
    assert ds["data"][0] == data


def test_lake_is_published_to_an_object_store(bucket, small, tmp_path):
    small.tag("v1")
    small[[1]].save("one")
    done = small.publish(bucket.url(), storage_options=bucket.options)
    assert (done.files, done.bytes) == (None, None)
    assert bucket.open(version="v1")["x"][:].tolist() == [1, 2, 3]
    assert bucket.open().views()["one"]["x"][:].tolist() == [2]
    before = bucket.objects()
    assert small.publish(bucket.url(), storage_options=bucket.options) == done
    assert bucket.objects() == before
    small.append({"x": [4]})
    small.commit("four")
    for overwrite in (False, True):
        with pytest.raises(dl.ExistsError, match="already exists"):
            small.publish(bucket.url(), overwrite=overwrite, storage_options=bucket.options)
    copy = dl.open(bucket.url(), storage_options=bucket.options)
    copy.publish(str(tmp_path / "back"))
    assert digests(dl.open(str(tmp_path / "back"))) == digests(copy)


def test_publishing_to_an_object_store_is_repeated_after_a_failure(bucket, tmp_path, monkeypatch):
    ds = dl.create(str(tmp_path / "a.lake"), {"data": "bytes"})
    ds.append({"data": [os.urandom(4_500_000)]})
    ds.commit("row")
    ds.tag("v1")

    def publish():
        return ds.publish(bucket.url(), storage_options=bucket.options)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("deeplake_lite.storage.repo.Session.commit", die)
        with pytest.raises(KeyboardInterrupt):
            publish()
    left = bucket.objects("lake/chunks")
    assert left
    with pytest.raises(dl.FormatError, match="not a lake"):
        bucket.open()
    with monkeypatch.context() as patched:
        patched.setattr("deeplake_lite.dataset.publishing._Content.write_names", die)
        # The chunks that were left belong to the recent past of the store's clock.
        patched.setattr("deeplake_lite.dataset.publishing.SKEW", timedelta(minutes=-1))
        with pytest.raises(KeyboardInterrupt):
            publish()
    assert not left & bucket.objects("lake/chunks")
    assert bucket.open()["data"][:] == ds["data"][:]
    assert bucket.open().tags == {}
    publish()
    assert bucket.open().tags.keys() == {"v1"}
