"""Imports whose rows are read and encoded by processes or by an executor of another library."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, JobError, OptionError
from deeplake_lite.ingest import distributed
from deeplake_lite.ingest.folders import folder as folders
from deeplake_lite.ingest.tables import parquet

ROWS = 60


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    rng = np.random.default_rng(0)
    ds = dl.create(
        str(tmp_path_factory.mktemp("lakes") / "a.lake"),
        {"name": "text", "a": dl.Array("float32", (None,)), "label": dl.ClassLabel(["x", "y"]),
         "raw": dl.Bytes(nullable=True)},
    )  # fmt: skip
    ds.append(
        {
            "name": [f"row {i}" for i in range(ROWS)],
            "a": [np.arange(int(rng.integers(0, 90)), dtype="f4") for _ in range(ROWS)],
            "label": [i % 2 for i in range(ROWS)],
            "raw": [None if i % 7 == 0 else bytes(i) for i in range(ROWS)],
        }
    )
    ds.commit("rows")
    return ds


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root, rng = tmp_path_factory.mktemp("photos"), np.random.default_rng(0)
    for i in range(ROWS):
        (root / "ab"[i % 2]).mkdir(exist_ok=True)
        pixels = rng.integers(0, 255, (8, 8, 3), dtype="u1")
        Image.fromarray(pixels).save(root / "ab"[i % 2] / f"{i:02}.png")
    return root


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(folders, "BLOCK_ROWS", 7)
    monkeypatch.setattr(parquet, "PART_BYTES", 1)


def content(ds):
    table = ds.handle.table
    slots = table.rows.live()
    return {f.name: (f.htype, table.digests(f.id, slots).tolist()) for f in ds.schema}


class Here:
    """An executor that runs each task at once."""

    def __init__(self, before=lambda _: None):
        self.before, self.tasks = before, []

    def submit(self, fn, key, payload, task):
        future = Future()
        try:
            self.before(task)
            self.tasks.append(task)
            future.set_result(fn(key, payload, task))
        except BrokenPipeError as error:
            future.set_exception(error)
        return future


KEPT = ["name", "a", "label"]
"""Columns without nulls."""

SOURCES = {
    "from_folder": lambda _, photos, __: photos,
    "from_webdataset": lambda lake, _, out: lake.to_webdataset(out, shard_bytes="20KiB"),
    "from_tfrecord": lambda lake, _, out: [lake.to_tfrecord(out, shard_bytes="3KiB"), out][1],
    "from_arrayrecord": lambda lake, _, out: [lake.to_arrayrecord(out, shard_bytes="3KiB"), out][1],
    "from_mds": lambda lake, _, out: lake[KEPT].to_mds(out, shard_bytes="3KiB"),
    "from_litdata": lambda lake, _, out: lake[KEPT].to_litdata(out, chunk_bytes="3KiB"),
    "from_parquet": lambda lake, _, out: lake.to_parquet(out, rows_per_file=9) / "data",
    "from_numpy": lambda lake, _, out: lake[["label"]].to_numpy(out.with_suffix(".npz")),
    "from_torch": lambda lake, _, out: lake[["a", "label"]].to_torch(out.with_suffix(".pt")),
}


@pytest.mark.parametrize("name", SOURCES)
def test_executors_write_the_same_lake(name, lake, photos, new_url, tmp_path, processes):
    data, read = SOURCES[name](lake, photos, tmp_path / "data"), getattr(dl, name)
    one = read(data, new_url(), progress=False)
    assert len(one) == ROWS
    here = Here()
    for executor in (here, processes):
        other = read(data, new_url(), executor=executor, progress=False)
        assert content(other) == content(one)
        assert other.ingested.added == one.ingested.added
        assert other.metadata == one.metadata
        assert len(other.log()) == len(one.log())
    if name not in ("from_numpy", "from_torch"):
        assert len(here.tasks) > 2


def test_processes_write_the_same_lake(photos, new_url):
    one = dl.from_folder(photos, new_url(), progress=False)
    url = new_url()
    other = dl.from_folder(photos, url, executor=2, progress=False)
    assert content(other) == content(one)
    again = dl.from_folder(photos, url, executor=2, progress=False).ingested
    assert (again.added, again.unchanged) == (0, ROWS)


@pytest.mark.filterwarnings("ignore")
def test_workers_of_dask_write_the_same_lake(lake, photos, tmp_path, dask_client):
    tars = lake.to_webdataset(tmp_path / "data", shard_bytes="20KiB")
    for name, data in (("from_folder", photos), ("from_webdataset", tars)):
        read = getattr(dl, name)
        one = read(data, str(tmp_path / f"{name}-1.lake"), progress=False)
        other = read(data, str(tmp_path / f"{name}-2.lake"), executor=dask_client, progress=False)
        assert content(other) == content(one)


def test_changed_and_new_files_are_updated(photos, new_url, tmp_path, processes):
    import shutil

    root, urls = shutil.copytree(photos, tmp_path / "root"), [new_url(), new_url()]
    results = []
    for url, executor in zip(urls, (None, processes), strict=True):
        shutil.copyfile(photos / "a" / "04.png", root / "a" / "04.png")
        ds = dl.from_folder(root, url, executor=executor, progress=False)
        ds["label"][3] = "b"
        ds.delete([5])
        ds.commit("edits")
        shutil.copyfile(photos / "a" / "02.png", root / "a" / "04.png")
        ds = dl.from_folder(root, url, executor=executor, progress=False)
        Image.new("RGB", (4, 4)).save(root / "b" / "new.png")
        skipping = dl.from_folder(root, url, executor=executor, update=False, progress=False)
        (root / "b" / "new.png").unlink()
        absent = dl.from_folder(root, url, executor=executor, progress=False).ingested.absent
        results.append(
            (content(skipping), ds.ingested.changed, ds.ingested.kept, skipping.ingested.added,
             skipping.ingested.unchanged, absent["path"][:])
        )  # fmt: skip
    assert results[0] == results[1]
    assert results[0][1] == 1
    assert results[0][3] == 1
    assert results[0][5] == ["b/new.png"]


@pytest.fixture
def damaged(photos, tmp_path):
    import shutil

    root = shutil.copytree(photos, tmp_path / "damaged")
    for name in ("a/10.png", "a/40.png", "b/21.png"):
        path = root / name
        path.write_bytes(path.read_bytes()[:40])
    return root


def test_bad_rows_are_the_same(damaged, new_url, processes):
    errors, skipped, contents = [], [], []
    for executor in (None, processes, 2):
        url = new_url()
        with pytest.raises(InvalidValueError, match=r"10\.png") as caught:
            dl.from_folder(damaged, url, executor=executor, progress=False)
        errors.append(str(caught.value))
        assert not dl.exists(url)
        ds = dl.from_folder(damaged, url, executor=executor, on_error="skip", progress=False)
        skipped.append(ds.ingested.skipped)
        contents.append(content(ds))
    assert errors[1:] == errors[:1] * 2
    assert skipped[1:] == skipped[:1] * 2
    assert len(skipped[0]) == 3
    assert contents[1:] == contents[:1] * 2


def test_bad_records_name_file_and_row(new_url, tmp_path, processes):
    for at, count in enumerate((5, 6, 7)):
        texts = pa.array([b"ok"] * (count - 1) + [b"\xff" if at else b"ok"], pa.binary())
        table = pa.table({"t": pa.array(texts).cast(pa.string(), safe=False)})
        pq.write_table(table, tmp_path / f"{at}.parquet")
    messages, skipped = [], []
    for executor in (None, processes):
        with pytest.raises(InvalidValueError) as caught:
            dl.from_parquet(tmp_path, new_url(), executor=executor, progress=False)
        messages.append(str(caught.value))
        ds = dl.from_parquet(
            tmp_path, new_url(), executor=executor, on_error="skip", progress=False
        )
        skipped.append([str(s) for s in ds.ingested.skipped])
    assert messages[0] == messages[1]
    assert "row 10" in messages[0]
    assert skipped[0] == skipped[1]
    assert len(skipped[0]) == 2


def test_row_groups_of_one_file_are_parts(new_url, tmp_path):
    table = pa.table({"x": range(100), "t": [f"{i}" for i in range(100)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=9)
    here = Here()
    ds = dl.from_parquet(tmp_path / "a.parquet", new_url(), executor=here, progress=False)
    assert ds["x"][:].tolist() == [*range(100)]
    assert len(here.tasks) == 12
    assert all(len(task.rows) < 10_000 for task in here.tasks)


KILLED = """
import os, signal, sys
import deeplake_lite as dl
from deeplake_lite.ingest.run import Run
from concurrent.futures import ThreadPoolExecutor

commit, left = Run.commit, int(sys.argv[3])

def counted(self, **options):
    global left
    commit(self, **options)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

Run.commit = counted
executor = 2 if sys.argv[4] == "2" else ThreadPoolExecutor(2)
dl.from_mds(sys.argv[1], sys.argv[2], commit_every=10, executor=executor, progress=False)
"""


@pytest.mark.parametrize("executor", ["2", "threads"])
def test_killed_import_resumes_with_another_executor(lake, tmp_path, processes, executor):
    folder = lake[KEPT].to_mds(tmp_path / "mds", shard_bytes="3KiB")
    url = str(tmp_path / "b.lake")
    one = dl.from_mds(folder, str(tmp_path / "one.lake"), progress=False)
    for kills in (2, 1):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, str(folder), url, str(kills), executor],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    done = len(dl.open(url))
    assert 0 < done < ROWS
    here = Here()
    ds = dl.from_mds(folder, url, executor=here, progress=False)
    assert content(ds) == content(one)
    assert ds.ingested.added == ROWS - done
    assert dl.from_mds(folder, url, executor=processes, progress=False).ingested.repeated


def test_unknown_numbers_of_rows_are_skipped_when_resuming(lake, tmp_path, monkeypatch):
    from deeplake_lite.ingest.run import Run

    tars, url = lake.to_webdataset(tmp_path / "t", shard_bytes="20KiB"), str(tmp_path / "b.lake")
    one = dl.from_webdataset(tars, str(tmp_path / "one.lake"), progress=False)
    commit = Run.commit

    def fail(self, **options):
        commit(self, **options)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Run, "commit", fail)
        with pytest.raises(KeyboardInterrupt):
            dl.from_webdataset(tars, url, executor=Here(), commit_every=20, progress=False)
    done = len(dl.open(url))
    assert 20 <= done < ROWS
    ds = dl.from_webdataset(tars, url, executor=Here(), progress=False)
    assert content(ds) == content(one)
    assert ds.ingested.added == ROWS - done


KILL_ONCE = (
    "pickle.loads(block) if os.path.exists(marker) else "
    "(open(marker, 'w').close(), os.kill(os.getpid(), 9))"
)


class Deadly:
    """A block whose unpickling ends the process once."""

    def __init__(self, block, marker):
        self.block, self.marker = block, marker

    def __reduce__(self):
        names = {"block": pickle.dumps(self.block), "marker": self.marker}
        code = f"(lambda os, pickle: {KILL_ONCE})(__import__('os'), __import__('pickle'))"
        return eval, (code, names)


def test_killed_processes_are_replaced(photos, new_url, tmp_path, monkeypatch):
    one = dl.from_folder(photos, new_url(), progress=False)
    marker, count = str(tmp_path / "marker"), [0]

    def pickled(block):
        count[0] += 1
        return pickle.dumps(Deadly(block, marker) if count[0] == 3 else block)

    monkeypatch.setattr(distributed, "pickle_value", pickled)
    ds = dl.from_folder(photos, new_url(), executor=2, progress=False)
    assert os.path.exists(marker)
    assert content(ds) == content(one)


def test_workers_that_keep_dying_end_the_import(photos, new_url):
    def die(task):
        if task.number >= 2:
            raise BrokenPipeError("gone")

    url = new_url()
    with pytest.raises(JobError, match=r"in 5 attempts at encoding the rows from .*png to .*gone"):
        dl.from_folder(photos, url, executor=Here(die), progress=False)
    assert not dl.exists(url)
    dl.from_folder(photos, url, executor=Here(), progress=False)


def test_values_that_cannot_be_pickled_are_encoded_here(new_url):
    class Odd(np.ndarray):
        def __reduce__(self):
            raise TypeError("no")

    values = np.arange(12.0).view(Odd)
    ds = dl.from_arrays({"x": values}, new_url(), executor=Here(), progress=False)
    assert ds["x"][:].tolist() == [*range(12)]


def test_executors_are_checked(photos, new_url):
    for executor in ("dask", 0, True, 10**30, ThreadPoolExecutor):
        with pytest.raises(OptionError, match="executor must be"):
            dl.from_folder(photos, new_url(), executor=executor)
    closed = ThreadPoolExecutor(1)
    closed.shutdown()
    url = new_url()
    with pytest.raises(JobError, match="did not accept a task: RuntimeError"):
        dl.from_folder(photos, url, executor=closed, progress=False)
    assert not dl.exists(url)


def test_segments_disappear_with_a_vacuum(photos, tmp_path):
    ds = dl.from_folder(photos, str(tmp_path / "a.lake"), executor=Here(), progress=False)
    before = content(ds)
    assert ds.vacuum(spare="0s").chunks > 0
    assert content(dl.open(ds.url)) == before
    assert dl.open(ds.url).verify()


def test_source_without_rows_or_parts(new_url):
    ds = dl.from_arrays({"x": np.empty(0)}, new_url(), executor=Here(), progress=False)
    assert len(ds) == 0


def test_nothing_is_written_after_an_error(damaged, new_url):
    with ThreadPoolExecutor(3) as executor:
        for _ in range(5):
            url = new_url()
            with pytest.raises(InvalidValueError, match=r"10\.png"):
                dl.from_folder(damaged, url, executor=executor, progress=False)
            assert not dl.exists(url)
            ds = dl.from_folder(damaged, url, executor=executor, on_error="skip", progress=False)
            assert len(ds) == ROWS - 3
