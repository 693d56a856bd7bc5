"""Sharded exports: the same files in every case, and resumption after an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from threading import Event

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.export.shards import processes, writer
from deeplake_lite.dataset.export.shards.journal import NAME, Journal
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.errors import ExistsError, InvalidValueError, OptionError
from deeplake_lite.remote import child

ROWS = 40
SCHEMA = {"txt": "text", "bin": dl.Bytes(nullable=True), "a": dl.Array("float32", (None,))}


@pytest.fixture
def view(make_lake):
    rng = np.random.default_rng(0)
    return make_lake(
        SCHEMA,
        txt=[f"{i}" * int(rng.integers(1, 90)) for i in range(ROWS)],
        bin=[None if i % 7 == 0 else bytes(int(rng.integers(0, 3_000))) for i in range(ROWS)],
        a=[np.arange(int(rng.integers(0, 300)), dtype="f4") for _ in range(ROWS)],
    )


EXPORTS = {
    "webdataset": lambda view, out, **more: view.to_webdataset(out, shard_bytes="20KiB", **more),
    "parquet": lambda view, out, **more: view.to_parquet(out, rows_per_file=7, **more),
}


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(params=[*EXPORTS])
def export(request):
    return EXPORTS[request.param]


@pytest.fixture
def large(monkeypatch):
    """Let processes write small exports."""
    monkeypatch.setattr(writer, "LARGE_ROWS", 0)
    monkeypatch.setattr(writer, "THREADS", 0)


@pytest.mark.usefixtures("large")
def test_number_of_workers_changes_no_byte(view, export, tmp_path):
    for workers in (1, 2, 5):
        export(view, tmp_path / str(workers), executor=workers)
    first = content(tmp_path / "1")
    assert len(first) > 3
    assert content(tmp_path / "2") == first
    assert content(tmp_path / "5") == first
    with pytest.raises(OptionError, match="executor must be an integer of at least 1"):
        export(view, tmp_path / "0", executor=0)


def test_tar_files_have_the_planned_size(view, tmp_path):
    paths = view.to_webdataset(tmp_path / "out", shard_bytes=20_480)
    end, most = 10_240, 20_480  # a tar file is padded to whole records
    assert all(path.stat().st_size <= most + end for path in paths)
    assert sum(path.stat().st_size for path in paths[:-1]) > 0.6 * most * len(paths[:-1])


@pytest.mark.parametrize("after", [0, 1, 3])
def test_ctrl_c_leaves_what_the_same_call_continues(view, export, tmp_path, monkeypatch, after):
    export(view, tmp_path / "whole")
    out = tmp_path / "out"
    written, add = [], Journal.add

    def interrupted(self, file):
        if len(written) == after:
            raise KeyboardInterrupt
        add(self, file)
        written.append(file.path)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            export(view, out)
    if not after:
        assert not out.exists()
    else:
        assert f"{after} of" in caught.value.__notes__[0]
        assert not list(out.rglob("*.part"))
    times = {name: (out / name).stat().st_mtime_ns for name in written}
    export(view, out)
    assert content(out) == content(tmp_path / "whole")
    assert {name: (out / name).stat().st_mtime_ns for name in written} == times


def test_only_the_same_rows_and_options_continue(view, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def begin():
        add = Journal.add

        def interrupted(self, file):
            add(self, file)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(Journal, "add", interrupted)
            with pytest.raises(KeyboardInterrupt):
                view.to_webdataset(out, shard_bytes=20_480)

    begin()
    for other in (
        lambda: view[1:].to_webdataset(out, shard_bytes=20_480),
        lambda: view.to_webdataset(out, shard_bytes=30_000),
        lambda: view[["txt", "bin"]].to_webdataset(out, shard_bytes=20_480),
        lambda: view.to_parquet(out),
    ):
        with pytest.raises(ExistsError, match="rows or options are different"):
            other()


def test_uncommitted_edits_do_not_continue_an_export_of_others(new_url, tmp_path, monkeypatch):
    ds = dl.create(new_url(), {"bin": dl.Bytes()})
    ds.append({"bin": [bytes(900)] * 20})
    add = Journal.add

    def interrupted(self, file):
        add(self, file)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ds.to_webdataset(tmp_path / "out", shard_bytes=4_000)
    ds.update([3], {"bin": [b"x" * 900]})
    with pytest.raises(ExistsError, match="rows or options are different"):
        ds.to_webdataset(tmp_path / "out", shard_bytes=4_000)


def test_damaged_leftovers_are_written_again(view, export, tmp_path, monkeypatch):
    export(view, tmp_path / "whole")
    out, add, written = tmp_path / "out", Journal.add, []

    def interrupted(self, file):
        add(self, file)
        written.append(file.path)
        if len(written) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(view, out)
    (out / written[0]).unlink()
    (out / written[1]).write_bytes(b"short")
    journal = out / NAME
    journal.write_text(journal.read_text() + '[1]\n{"path": 5}\n{"path": "00')
    export(view, out)
    assert content(out) == content(tmp_path / "whole")


KILLED = """
import sys, threading, os, time, signal
import deeplake_lite as dl
from deeplake_lite.dataset.export.shards import writer
from deeplake_lite.dataset.export.shards.journal import Journal
writer.LARGE_ROWS = writer.THREADS = 0
add, count = Journal.add, int(sys.argv[3])

def counted(self, file):
    global count
    add(self, file)
    count -= 1
    if count == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Journal.add = counted
dl.open(sys.argv[1]).to_webdataset(sys.argv[2], shard_bytes="20KiB", executor=2)
"""


def test_killed_export_resumes(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"bin": dl.Bytes()})
    ds.append({"bin": [bytes([i]) * 5_000 for i in range(ROWS)]})
    ds.commit("rows")
    out = tmp_path / "out"
    for kill_after in (2, 3):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED, ds.url, str(out), str(kill_after)],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert killed.returncode == -signal.SIGKILL, killed.stderr
    lines = [json.loads(line) for line in (out / NAME).read_text().splitlines()]
    assert len(lines) == 1 + 5
    times = {line["path"]: (out / line["path"]).stat().st_mtime_ns for line in lines[1:]}
    ds.to_webdataset(out, shard_bytes="20KiB")
    ds.to_webdataset(tmp_path / "whole", shard_bytes="20KiB")
    assert content(out) == content(tmp_path / "whole")
    assert {name: (out / name).stat().st_mtime_ns for name in times} == times


def test_error_in_a_row_leaves_nothing(make_lake, tmp_path):
    ds = make_lake({"t": dl.Text(nullable=True)}, t=["x" * 900] * 30 + [None])
    for folder in (tmp_path / "new", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InvalidValueError, match="row 30: must have a value"):
            ds.to_webdataset(folder, shard_bytes=3_000, executor=3)
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "empty").iterdir()) == []


def test_full_disk_leaves_what_the_same_call_continues(view, tmp_path, monkeypatch):
    view.to_webdataset(tmp_path / "whole", shard_bytes="20KiB")
    out, write = tmp_path / "out", writer.write_file
    left = [3]

    def full(*given):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return write(*given)

    with monkeypatch.context() as patched:
        patched.setattr(writer, "write_file", full)
        with pytest.raises(dl.StorageError, match="No space left on device"):
            view.to_webdataset(out, shard_bytes="20KiB", executor=1)
    assert (out / "000000.tar").is_file()
    view.to_webdataset(out, shard_bytes="20KiB")
    assert content(out) == content(tmp_path / "whole")


def test_planning_reads_no_cell(view, monkeypatch):
    part = Part(view, view.schema.fields, lambda n, _: str(n), None, max_bytes=9_000)
    table = view.rows.table
    monkeypatch.setattr(type(table), "read", lambda *_: pytest.fail("cells are read"))
    shards = part.shards()
    assert part.measure() == part.measure()
    assert [row for shard in shards for row in shard.rows] == list(range(ROWS))
    sizes = [int(part.sizes(s.rows.start, s.rows.stop).sum()) for s in shards]
    assert max(sizes) <= 9_000
    # Each file is full: the first row of the next one would be too much.
    for shard, size in zip(shards[:-1], sizes[:-1], strict=True):
        end = shard.rows.stop
        assert size + int(part.sizes(end, end + 1)[0]) > 9_000


def test_files_of_no_rows_are_written_where_a_format_needs_one(make_lake, tmp_path):
    ds = make_lake({"t": "text"}, t=[])
    assert os.listdir(ds.to_mds(tmp_path / "m")) == ["index.json"]
    assert [path.name for path in ds.to_webdataset(tmp_path / "w")] == ["000000.tar"]
    assert os.listdir(ds.to_parquet(tmp_path / "p") / "data") == ["train-00000-of-00001.parquet"]


@pytest.mark.usefixtures("large")
def test_errors_of_processes_are_raised_here(make_lake, tmp_path):
    ds = make_lake({"t": dl.Text(nullable=True)}, t=["x" * 900] * 30 + [None])
    with pytest.raises(InvalidValueError, match="row 30: must have a value") as caught:
        ds.to_webdataset(tmp_path / "out", shard_bytes=3_000, executor=2)
    assert caught.value.row == 30
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("threads", [0, 1])
def test_processes_and_a_thread_share_the_files(view, tmp_path, monkeypatch, threads):
    monkeypatch.setattr(writer, "LARGE_ROWS", 0)
    monkeypatch.setattr(writer, "THREADS", threads)
    begun, written = Event(), []
    write_there, write_here = processes.Worker.write, writer.write_file

    def there(*given):
        begun.set()
        return write_there(*given)

    def here(*given):
        begun.wait()  # until the process has a file, too
        written.append(given)
        return write_here(*given)

    monkeypatch.setattr(processes.Worker, "write", there)
    monkeypatch.setattr(writer, "write_file", here)
    files = view.to_webdataset(tmp_path / "out", shard_bytes=3_000, executor=2)
    assert len(written) < len(files)
    assert bool(written) == bool(threads)
    monkeypatch.undo()
    same = view.to_webdataset(tmp_path / "same", shard_bytes=3_000, executor=1)
    assert [p.read_bytes() for p in files] == [p.read_bytes() for p in same]


@pytest.mark.usefixtures("large")
def test_process_that_is_killed_is_a_storage_error(view, tmp_path, monkeypatch):
    monkeypatch.setattr(child, "PROGRAM", "import os, signal; os.kill(os.getpid(), 9)")
    with pytest.raises(dl.StorageError, match=r"exited with code -9\. If it ran out of memory"):
        view.to_webdataset(tmp_path / "out", shard_bytes=3_000, executor=2)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("large")
def test_rows_that_other_processes_cannot_read_are_written_here(new_url, tmp_path):
    ds = dl.create(new_url(), {"t": "text"})
    ds.append({"t": [f"{i}" * 900 for i in range(9)]})
    paths = ds.to_webdataset(tmp_path / "out", shard_bytes=3_000, executor=2)
    ds.commit("rows")
    same = ds.to_webdataset(tmp_path / "same", shard_bytes=3_000, executor=2)
    assert [p.read_bytes() for p in paths] == [p.read_bytes() for p in same]


@pytest.mark.usefixtures("large")
def test_rows_of_a_query_are_written_by_processes(view, tmp_path):
    result = view.query("SELECT txt, LENGTH(txt) AS n ORDER BY n")
    one = result.to_webdataset(tmp_path / "1", shard_bytes=9_000, executor=1)
    two = result.to_webdataset(tmp_path / "2", shard_bytes=9_000, executor=2)
    assert len(one) > 1
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]


@pytest.mark.usefixtures("large")
def test_rows_that_only_this_process_can_compute_are_written_here(view, tmp_path):
    @dl.function(returns="int64")
    def doubled(x):
        return 2 * x

    result = view.query("SELECT txt, doubled(LENGTH(txt)) AS n")
    paths = result.to_webdataset(tmp_path / "out", shard_bytes=9_000, executor=2)
    assert len(paths) > 1
    assert b"".join(path.read_bytes() for path in paths).count(b".txt") == ROWS


def test_killed_beginning_is_no_obstacle(view, tmp_path):
    (tmp_path / f"{NAME}.part").write_text("{")
    assert view.to_webdataset(tmp_path)
    assert not (tmp_path / f"{NAME}.part").exists()
