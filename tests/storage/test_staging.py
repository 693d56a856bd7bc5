"""Lakes created or replaced by processes that are killed in between."""

import errno
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import staging
from deeplake_lite.storage.table import Table


def make(path, value, **options):
    ds = dl.create(str(path), {"x": "int32"}, **options)
    ds.append({"x": [value]})
    ds.commit("made")
    return ds


@pytest.fixture
def killed(tmp_path):
    """Replace a lake in a process that is killed at its nth change of the parent folder."""

    def replace(n):
        make(tmp_path / "lake", 1)
        code = f"""
        import os, pathlib, shutil, signal
        import deeplake_lite as dl
        left = [{n}]
        def dying(change):
            def changed(*arguments, **named):
                left[0] -= 1
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                return change(*arguments, **named)
            return changed
        pathlib.Path.rename = dying(pathlib.Path.rename)
        shutil.rmtree = dying(shutil.rmtree)
        dl.create({str(tmp_path / "lake")!r}, {{"y": "int32"}}, overwrite=True)
        """
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
        assert done.returncode == -signal.SIGKILL
        return tmp_path / "lake"

    return replace


def beside(lake):
    return sorted(p.name for p in lake.parent.iterdir())


@pytest.mark.parametrize(("n", "column"), [(1, "x"), (2, "y"), (3, "y")])
def test_next_open_completes_a_killed_replacement(killed, n, column):
    lake = killed(n)
    assert len(beside(lake)) > 1
    ds = dl.open(str(lake))
    assert ds.columns == (column,)
    ds.vacuum()
    assert beside(lake) == ["lake"]
    ds.append({column: [2]})
    ds.commit("goes on")


def test_creating_a_lake_finds_the_one_that_was_being_replaced(killed):
    lake = killed(2)
    assert dl.exists(str(lake))
    with pytest.raises(dl.ExistsError, match="contains a lake"):
        make(lake, 3)
    make(lake, 3, overwrite=True)
    assert dl.open(str(lake))["x"][:].tolist() == [3]


def test_lake_whose_replacement_is_gone_is_restored(killed):
    lake = killed(2)
    [old] = lake.parent.glob(".lake-*-old")
    shutil.rmtree(str(old).removesuffix("-old"))
    assert dl.open(str(lake))["x"][:].tolist() == [1]
    assert beside(lake) == ["lake"]


def test_reader_waits_for_a_replacement_in_progress(tmp_path, monkeypatch):
    make(tmp_path / "lake", 1)
    rename, between, goes_on = Path.rename, threading.Event(), threading.Event()

    def slow(self, target):
        done = rename(self, target)
        if str(target).endswith("-old"):
            between.set()
            assert goes_on.wait(1_800)
        return done

    monkeypatch.setattr(Path, "rename", slow)
    result = []
    replacing = threading.Thread(
        target=lambda: dl.create(str(tmp_path / "lake"), {"y": "int32"}, overwrite=True)
    )
    replacing.start()
    assert between.wait(1_800)
    reading = threading.Thread(
        target=lambda: result.append(dl.open(str(tmp_path / "lake")).columns)
    )
    reading.start()
    goes_on.set()
    replacing.join(60)
    reading.join(60)
    assert result == [("y",)]
    assert beside(tmp_path / "lake") == ["lake"]


def test_vacuum_removes_unfinished_lakes_and_nothing_else(tmp_path):
    ds = make(tmp_path / "lake", 1)
    for name in (".lake-0123abcd", ".lake-0123abce-old"):
        shutil.copytree(tmp_path / "lake", tmp_path / name)
    (tmp_path / ".lake-0123abcf.lock").touch()
    (tmp_path / ".lake-12345678").mkdir()
    (tmp_path / ".lake-12345678" / "mine.txt").write_text("mine")
    for other in (".lake-note", ".other-0123abcd", "lake-0123abcd"):
        (tmp_path / other).mkdir()

    def fail():
        with staging.staging(tmp_path / "lake") as live:
            ds.vacuum()
            assert live.is_dir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    left = {".lake-12345678", ".lake-note", ".other-0123abcd", "lake", "lake-0123abcd"}
    assert set(beside(tmp_path / "lake")) == left


def test_write_that_ends_after_another_failed_leaves_nothing(tmp_path, monkeypatch):
    late = []

    def rmtree(path, **options):
        removed(path, **options)
        if not late:
            late.append(path / "snapshots")
            late[0].mkdir(parents=True)

    removed = shutil.rmtree
    monkeypatch.setattr(staging, "shutil", SimpleNamespace(rmtree=rmtree))
    with (
        pytest.raises(OSError, match="No space left"),
        staging.staging(tmp_path / "lake"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert len(late) == 1
    assert beside(tmp_path / "lake") == []


def meanwhile(monkeypatch, action):
    """Call an action once, just before a process writes the first version of a lake."""
    original, called = Table.create, []

    def create(*arguments):
        if not called:
            called.append(1)
            action()
        return original(*arguments)

    monkeypatch.setattr(Table, "create", create)


def test_a_lake_that_another_process_has_created_meanwhile_stays(tmp_path, monkeypatch):
    meanwhile(monkeypatch, lambda: make(tmp_path / "lake", 1))
    with pytest.raises(dl.ExistsError, match="contains a lake"):
        make(tmp_path / "lake", 2)
    assert dl.open(str(tmp_path / "lake"))["x"][:].tolist() == [1]
    assert beside(tmp_path / "lake") == ["lake"]


def test_files_that_another_process_has_written_meanwhile_stay(tmp_path, monkeypatch):
    def write():
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "mine.txt").write_text("mine")

    for options in ({}, {"overwrite": True}):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        with monkeypatch.context() as patch:
            meanwhile(patch, write)
            with pytest.raises(dl.ExistsError, match="contains files"):
                make(tmp_path / "lake", 2, **options)
        assert (tmp_path / "lake" / "mine.txt").read_text() == "mine"
        assert beside(tmp_path / "lake") == ["lake"]


def test_a_lake_that_is_created_meanwhile_is_overwritten_if_asked(tmp_path, monkeypatch):
    meanwhile(monkeypatch, lambda: make(tmp_path / "lake", 1))
    make(tmp_path / "lake", 2, overwrite=True)
    assert dl.open(str(tmp_path / "lake"))["x"][:].tolist() == [2]


def test_a_lake_that_is_created_at_the_last_moment_stays(tmp_path, monkeypatch):
    """The other lake appears between the check of the folder and the renaming.

    If an old lake is being replaced, other processes wait.
    """
    rename, called = Path.rename, []

    def slow(self, target):
        if target == tmp_path / "lake" and not called:
            called.append(1)
            make(tmp_path / "lake", 1)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", slow)
    with pytest.raises(dl.ExistsError, match="another process has created"):
        make(tmp_path / "lake", 2)
    assert dl.open(str(tmp_path / "lake"))["x"][:].tolist() == [1]
    assert beside(tmp_path / "lake") == ["lake"]


def test_an_empty_folder_becomes_a_lake(tmp_path):
    (tmp_path / "lake").mkdir()
    assert make(tmp_path / "lake", 1)["x"][:].tolist() == [1]
    assert beside(tmp_path / "lake") == ["lake"]
