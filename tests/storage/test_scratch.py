"""Files of open transactions are created, held and released, whatever happens."""

import gc
import json
import os
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime, timedelta

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ConflictError, StorageError
from deeplake_lite.storage.repo import Repository, Session
from deeplake_lite.storage.repo.witnesses import Witnesses
from deeplake_lite.storage.scratch import (
    MAX_CHUNKS,
    MIN_ROOM,
    Registration,
    first_free,
    open_transactions,
)


def places(folder):
    """Return the files of open transactions."""
    return [p.name for p in (folder / ".writers").iterdir() if len(p.stem) == 32]


@pytest.fixture
def local(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32"})
    ds.append({"x": [1]})
    ds.commit("one")
    return ds


def test_dropped_handle_releases_its_writer_file(local, tmp_path):
    for _ in range(3):
        dl.open(local.url)["x"][0] = 5
    gc.collect()
    assert places(tmp_path / "lake") == []


def test_process_that_ends_in_a_transaction_releases_its_writer_file(local, tmp_path):
    code = f"import deeplake_lite as dl; ds = dl.open({local.url!r}); ds['x'][0] = 5"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert places(tmp_path / "lake") == []


def test_forked_process_does_not_release_its_parents_writer_file(tmp_path, monkeypatch):
    registration = Registration.enter(tmp_path, "V1")
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        registration.leave()
    assert [note["version"] for note in open_transactions(tmp_path)] == ["V1"]
    assert len(list(tmp_path.iterdir())) == 2
    registration.leave()
    registration.leave()
    assert not list(tmp_path.iterdir())


def test_writer_file_without_its_record_is_not_left_behind(local, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Registration, "write", full)
        with pytest.raises(OSError, match="No space left"):
            local["x"][0] = 5
    assert places(tmp_path / "lake") == []
    local["x"][0] = 6
    local.commit("room again")
    assert dl.open(local.url)["x"][:].tolist() == [6]


def test_failed_commit_keeps_its_writer_file_and_its_edits(local, tmp_path, monkeypatch):
    local["x"][0] = 5
    taken = places(tmp_path / "lake")
    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", lambda *_: (_ for _ in ()).throw(StorageError("full")))
        with pytest.raises(StorageError, match="full"):
            local.commit("fails")
    assert places(tmp_path / "lake") == taken
    local.discard()
    assert places(tmp_path / "lake") == []


def test_discard_reads_nothing_so_that_it_works_when_the_store_is_gone(
    local, tmp_path, monkeypatch
):
    local["x"][0] = 5
    with monkeypatch.context() as patch:
        patch.setattr(Repository, "reader", lambda *_: (_ for _ in ()).throw(StorageError("gone")))
        local.discard()
    assert places(tmp_path / "lake") == []
    assert not local.status()
    assert local["x"][0] != 5


def test_conflicting_merge_of_crosswise_merges_leaves_no_writer_file(local, tmp_path):
    local.branch("fix")
    fix = dl.open(local.url, branch="fix")
    local.append({"x": [2]})
    local.commit("main")
    fix.append({"x": [3]})
    fix.commit("fix")
    main_tip, fix_tip = local.version, fix.version
    local.merge(fix_tip)
    fix.merge(main_tip)
    local["x"][0], fix["x"][0] = 10, 20
    local.commit("main")
    fix.commit("fix")
    with pytest.raises(ConflictError):
        local.merge("fix")
    gc.collect()
    assert places(tmp_path / "lake") == []


def test_records_of_dead_writers_are_removed(tmp_path):
    code = f"""
        import os
        from pathlib import Path
        from deeplake_lite.storage.scratch import Registration
        registration = Registration.enter(Path({str(tmp_path)!r}), "V1")
        registration.write({{"0/c/values": 3}})
        os._exit(9)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == 9
    alive = Registration.enter(tmp_path, "V2")
    alive.write({"0/c/values": 5})
    assert len(list(tmp_path.glob("*.json"))) == 2
    [note] = open_transactions(tmp_path)
    assert (note["version"], note["claims"]) == ("V2", {"0/c/values": 5})
    assert [json.loads(p.read_text())["version"] for p in tmp_path.glob("*.json")] == ["V2"]
    alive.leave()
    assert not list(tmp_path.iterdir())


def test_transaction_leaves_nothing_behind_when_it_ends(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"b": "bytes"})
    ds.append({"b": [bytes(5 * 2**20)]})
    ds.commit("large")
    ds.append({"b": [bytes(5 * 2**20)]})
    ds.discard()
    folder = tmp_path / "lake" / ".writers"
    assert {ref: note.version for ref, note in Witnesses(folder).all().items()} == {
        "branch.main": ds.version
    }
    [note] = folder.glob("*.ref")
    left = {p.name for p in folder.iterdir()}
    locks = {f"{name}{end}.lock" for name in ("commit", "claims", "pins") for end in ("", "-line")}
    assert left <= {*locks, "repo.lock", note.name}


def test_handle_that_moves_on_releases_the_writer_file_of_a_refused_edit(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32"})
    with pytest.raises(dl.InvalidValueError):
        ds.append({"x": ["none"]})
    view = ds[:]  # holds on to the open transaction's table
    ds.refresh()
    assert not list((tmp_path / "lake" / ".writers").glob("*.json"))
    assert len(view) == 0


def test_clock_ahead_of_the_file_systems_does_not_affect_a_transaction(tmp_path, monkeypatch):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=1)

    ds = dl.create(str(tmp_path / "lake"), {"b": "bytes"})
    with monkeypatch.context() as patch:
        patch.setattr("deeplake_lite.storage.scratch.datetime", Ahead)
        ds.append({"b": [bytes(5 * 2**20)]})
    dl.open(ds.url).vacuum(spare="0s")
    ds.commit("large")
    assert dl.open(ds.url).verify()


def test_commit_with_missing_chunks_is_refused_whatever_the_clocks_say(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"b": "bytes"})
    ds.append({"b": [bytes(5 * 2**20)]})
    later = time.time() + 3600  # the file system's clock was set back to before its start
    for name in places(tmp_path / "lake"):
        path = tmp_path / "lake" / ".writers" / name
        if path.suffix == ".json":
            note = json.loads(path.read_text())
            note["started"] = datetime.fromtimestamp(later, UTC).isoformat()
            path.write_text(json.dumps(note))
        os.utime(path, (later, later))
    assert dl.open(ds.url).vacuum(spare="0s").chunks == 1
    with pytest.raises(StorageError, match="has deleted 1 chunk of 'b'"):
        ds.commit("large")
    assert len(dl.open(ds.url)) == 0


def overlapping(writers):
    """Return how many transactions fit into a heap if a given number are open at any time."""
    end, count, alive = 0, 0, []
    while (start := first_free(end, alive)) < MAX_CHUNKS:
        alive.append(start)
        count += 1
        if len(alive) == writers:
            end = max(end, alive.pop(0) + 1)
    return count


@pytest.mark.parametrize("writers", [2, 5])
def test_hundreds_of_thousands_of_transactions_overlap_before_chunks_run_out(writers):
    assert overlapping(writers) > 300_000


@pytest.mark.parametrize("is_store", [False, True])
@pytest.mark.usefixtures("tiny")
def test_error_after_chunks_have_run_out_names_the_solution(tmp_path, monkeypatch, is_store):
    for place in ("heap.HEAP_CHUNKS", "scratch.MAX_CHUNKS"):
        monkeypatch.setattr(f"deeplake_lite.storage.{place}", 4 * MIN_ROOM)
    if is_store:  # a claim starts at a random position after the last one taken
        monkeypatch.setattr("deeplake_lite.storage.scratch.local_folder", lambda _: None)
    writers = [dl.create(str(tmp_path / "lake"), {"b": "bytes"}), dl.open(str(tmp_path / "lake"))]

    def commit_after_the_other_has_begun():
        for i in range(1, 4 * MIN_ROOM):
            writers[i % 2].append({"b": [bytes([i]) * 70]})
            writers[(i - 1) % 2].commit("the one before")

    writers[0].append({"b": [b"first" * 20]})
    with pytest.raises(StorageError, match=r"used up.*ds\.optimize\(\)"):
        commit_after_the_other_has_begun()
    for writer in writers:
        writer.discard()
    ds = dl.open(writers[0].url)
    before = ds["b"][:]
    ds.optimize()
    ds.append({"b": [b"more" * 20]})
    ds.commit("there is room again")
    ds = dl.open(ds.url)
    assert ds["b"][:] == [*before, b"more" * 20]
    assert ds.verify()
    assert len(before) >= 3
