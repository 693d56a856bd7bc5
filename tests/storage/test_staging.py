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
